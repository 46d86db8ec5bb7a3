"""Solver names, and the one to take when nobody asks for one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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

    A proximal point method around pairwise dual steps for the hinge loss; it needs a dual, hence lam > 0. Casimir-SVRG
    for the rest: on a CRF it took a quarter to two thirds of L-BFGS's time on CoNLL-2003.
    """
    return _MAKERS["casimir"]() if objective.is_smooth or objective.lam == 0.0 else _MAKERS["dual"]()


def _make(name: str, **parameters: Any) -> Solver:
    import casimir.solvers

    made: Solver = getattr(casimir.solvers, name)(**parameters)
    return made


def _names() -> str:
    return ", ".join(repr(name) for name in SOLVER_NAMES)


_MAKERS: dict[str, Callable[[], Solver]] = {
    "bcfw": lambda: _make("BCFW"),
    "casimir": lambda: _make("Casimir", inner=_make("SVRG")),
    "dual": lambda: _make("Casimir"),
    "lbfgs": lambda: _make("LBFGS"),
    "sgd": lambda: _make("SGD"),
    "svrg": lambda: _make("SVRG"),
}
SOLVER_NAMES = ("auto", *_MAKERS)
