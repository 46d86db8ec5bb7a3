"""Solver names, and the one to take when nobody asks for one."""

from __future__ import annotations

from collections.abc import Callable

from casimir.losses import is_entropic, is_smooth
from casimir.objective import Objective
from casimir.solvers.base import Solver, check_solver


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
        return _make("ConcaveConvex")
    is_penalised = objective.penalty.strong_convexity > 0.0 or objective.penalty.quadratic is None
    return _MAKERS["dual"]() if is_penalised and _has_dual_steps(objective) else _MAKERS["casimir"]()


def _has_dual_steps(objective: Objective) -> bool:
    from casimir.solvers.sdca import SDCA, memory_of

    if is_smooth(objective.loss):
        return is_entropic(objective.loss) and memory_of(objective) <= SDCA().memory
    return True


def _make(name: str) -> Solver:
    import casimir.solvers

    made: Solver = getattr(casimir.solvers, name)()
    return made


def _names() -> str:
    return ", ".join(repr(name) for name in SOLVER_NAMES)


_MAKERS: dict[str, Callable[[], Solver]] = {
    "bcfw": lambda: _make("BCFW"),
    "casimir": lambda: _make("Casimir"),
    "dual": lambda: _make("DualProximal"),
    "eg": lambda: _make("ExponentiatedGradient"),
    "lbfgs": lambda: _make("LBFGS"),
    "saga": lambda: _make("SAGA"),
    "sdca": lambda: _make("SDCA"),
    "sgd": lambda: _make("SGD"),
    "svrg": lambda: _make("SVRG"),
}
SOLVER_NAMES = ("auto", *_MAKERS)
