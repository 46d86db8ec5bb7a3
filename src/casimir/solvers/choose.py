"""Solver names, and the one to take when nobody asks for one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from casimir.objective import Objective
from casimir.solvers.base import Solver


def choose(solver: str | Solver, objective: Objective) -> Solver:
    """The solver of that name; "auto" is the one that certifies this objective fastest; an object is itself."""
    if not isinstance(solver, str):
        if not callable(getattr(solver, "run", None)):
            raise TypeError(f"solver={solver!r}; it must be a solver such as BCFW(), or one of {_names()}.")
        return solver
    if solver == "auto":
        return _best_for(objective)
    if solver not in _MAKERS:
        raise ValueError(f"solver={solver!r}; it must be one of {_names()}, or a solver such as BCFW().")
    return _MAKERS[solver]()


def _best_for(objective: Objective) -> Solver:
    """A smooth objective suits LBFGS; proximal point around pairwise dual steps needs a dual, hence lam > 0."""
    if objective.is_smooth:
        return _make("LBFGS")
    return _MAKERS["dual"]() if objective.lam > 0.0 else _MAKERS["casimir"]()


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
