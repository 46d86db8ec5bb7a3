"""Solver names, and the one to take when nobody asks for one."""

from __future__ import annotations

import logging
from collections.abc import Callable

import numpy as np

from casimir.objective import Objective
from casimir.solvers.at_zero import evenness
from casimir.solvers.base import Solver, check_solver
from casimir.solvers.bcfw import BCFW
from casimir.solvers.casimir import Casimir
from casimir.solvers.cutting_planes import CuttingPlanes
from casimir.solvers.dual_proximal import DualProximal, has_dual_steps
from casimir.solvers.excessive_gap import ExcessiveGap
from casimir.solvers.exponentiated_gradient import ExponentiatedGradient
from casimir.solvers.lbfgs import LBFGS
from casimir.solvers.metric import RowMetric, useful_metric
from casimir.solvers.names import SOLVER_NAMES
from casimir.solvers.proximal_kappa import Conditioning
from casimir.solvers.saga import SAGA
from casimir.solvers.sdca import SDCA
from casimir.solvers.sgd import SGD
from casimir.solvers.svrg import SVRG

_log = logging.getLogger(__name__)

_MAKERS: dict[str, Callable[[], Solver]] = {
    "bcfw": BCFW,
    "casimir": Casimir,
    "cuts": CuttingPlanes,
    "dual": DualProximal,
    "eg": ExponentiatedGradient,
    "excessive-gap": ExcessiveGap,
    "lbfgs": LBFGS,
    "saga": SAGA,
    "sdca": SDCA,
    "sgd": SGD,
    "svrg": SVRG,
}
_FEW_WEIGHTS = 10_000
_EASY = 0.6  # mean_i |grad f_i(0)|^2 over lam n: up to it, a pass of stochastic steps is all but enough
_EVEN = 0.4  # on random classes L-BFGS is ahead at 0.47 and more, dual steps are at 0.24 and less


def choose(solver: str | Solver, objective: Objective) -> Solver:
    """The solver of that name; "auto" is the one that certifies this objective fastest; an object is itself."""
    if not isinstance(solver, str):
        check_solver(solver, f", or one of {_names()}")
        return solver
    if solver == "auto":
        best = _best_for(objective)
        _log.info("auto takes %s for %d examples and %d weights", best, objective.n_active, objective.n_params)
        return best
    if solver not in _MAKERS:
        raise ValueError(f"solver={solver!r}; it must be one of {_names()}, or a solver such as BCFW().")
    return _MAKERS[solver]()


def _best_for(objective: Objective) -> Solver:
    """What certified gaps of 1e-2 and 1e-3 in the least CPU time, or within 1.2 of it, on the problems of benchmarks.

    A proximal point method around dual steps, for hinge losses and, where the dual variables fit into memory, losses
    smoothed by the entropy; for the latter L-BFGS where it needs a few iterations, by itself or in coordinates that the
    model tells. Casimir-SVRG for the rest, and for smooth losses under a penalty so strong that its first pass comes
    near the optimum.
    """
    if objective.sets is not None:
        from casimir.solvers.concave_convex import ConcaveConvex  # which chooses the solver of its rounds here

        return ConcaveConvex()
    if not has_dual_steps(objective) or _is_easy(objective):
        return Casimir()
    return LBFGS() if _has_metric(objective) or _is_well_conditioned(objective) else DualProximal()


def _is_easy(objective: Objective) -> bool:
    if objective.dual_variables != "potentials" or objective.penalty.quadratic is None:
        return False
    at = Conditioning.of(objective)
    return at.square <= _EASY * at.lam_n


def _has_metric(objective: Objective) -> bool:
    """Whether L-BFGS knows coordinates in which a smooth loss is round, as of dense features that are correlated."""
    if objective.dual_variables != "potentials":
        return False
    if RowMetric.of(objective, objective.loss.mu) is None:
        return False
    at_zero = objective.evaluate(np.zeros(objective.n_params), count="searches")
    return useful_metric(objective, objective.loss, at_zero) is not None


def _is_well_conditioned(objective: Objective) -> bool:
    """Whether a smooth loss is curved much alike in all directions: few weights, whose features are spread evenly.

    Then a few L-BFGS iterations are enough whatever lam is, where dual steps need more passes the smaller lam n is.
    """
    if objective.dual_variables != "potentials" or objective.penalty.quadratic is None:
        return False
    is_small = objective.n_params <= min(objective.n_active, _FEW_WEIGHTS)
    return is_small and evenness(objective, np.random.default_rng(0)) >= _EVEN


def _names() -> str:
    return ", ".join(repr(name) for name in SOLVER_NAMES)
