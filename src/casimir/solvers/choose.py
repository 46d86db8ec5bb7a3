"""Solver names, and the one to take when nobody asks for one."""

from __future__ import annotations

from collections.abc import Callable

from casimir.objective import Objective
from casimir.solvers.base import Solver, check_solver
from casimir.solvers.bcfw import BCFW
from casimir.solvers.casimir import Casimir
from casimir.solvers.cutting_planes import CuttingPlanes
from casimir.solvers.dual_proximal import DualProximal, has_dual_steps
from casimir.solvers.excessive_gap import ExcessiveGap
from casimir.solvers.exponentiated_gradient import ExponentiatedGradient
from casimir.solvers.lbfgs import LBFGS
from casimir.solvers.saga import SAGA
from casimir.solvers.sdca import SDCA
from casimir.solvers.sgd import SGD
from casimir.solvers.svrg import SVRG

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
SOLVER_NAMES = ("auto", *_MAKERS)


def choose(solver: str | Solver, objective: Objective) -> Solver:
    """The solver of that name; "auto" is the one that certifies this objective fastest; an object is itself."""
    if not isinstance(solver, str):
        check_solver(solver, f", or one of {_names()}")
        return solver
    if solver == "auto":
        return _best_for(objective)
    if solver not in _MAKERS:
        raise ValueError(f"solver={solver!r}; it must be one of {_names()}, or a solver such as BCFW().")
    return _MAKERS[solver]()


def _best_for(objective: Objective) -> Solver:
    """What certified a gap of 1e-2 in the least CPU time on named entity data.

    A proximal point method around dual steps, for hinge losses and, where the dual variables fit into memory, losses
    smoothed by the entropy. Casimir-SVRG for the rest.
    """
    if objective.sets is not None:
        from casimir.solvers.concave_convex import ConcaveConvex  # which chooses the solver of its rounds here

        return ConcaveConvex()
    return DualProximal() if has_dual_steps(objective) else Casimir()


def _names() -> str:
    return ", ".join(repr(name) for name in SOLVER_NAMES)
