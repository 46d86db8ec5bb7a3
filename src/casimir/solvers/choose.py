"""Solver names, and the one to take when nobody asks for one."""

from __future__ import annotations

from collections.abc import Callable

from casimir.losses import is_smooth
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

    A proximal point method around pairwise dual steps for the hinge loss. Casimir-SVRG for the rest: on a CRF it took a
    quarter to two thirds of L-BFGS's time on CoNLL-2003.
    """
    if objective.sets is not None:
        return _make("ConcaveConvex")
    is_penalised = objective.penalty.strong_convexity > 0.0 or objective.penalty.quadratic is None
    return _MAKERS["dual"]() if is_penalised and not is_smooth(objective.loss) else _MAKERS["casimir"]()


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
    "lbfgs": lambda: _make("LBFGS"),
    "saga": lambda: _make("SAGA"),
    "sgd": lambda: _make("SGD"),
    "svrg": lambda: _make("SVRG"),
}
SOLVER_NAMES = ("auto", *_MAKERS)
