"""Pictures in the manner of scikit-learn's displays. They need matplotlib: pip install "casimir[plot]"."""

from casimir.plotting.convergence import ConvergenceDisplay, plot_convergence, save_convergence
from casimir.plotting.regularization import RegularizationPathDisplay
from casimir.plotting.reliability import ReliabilityDisplay
from casimir.plotting.transitions import TransitionDisplay

__all__ = [
    "ConvergenceDisplay",
    "RegularizationPathDisplay",
    "ReliabilityDisplay",
    "TransitionDisplay",
    "plot_convergence",
    "save_convergence",
]
