"""What a solver is: frozen hyperparameters and a loop that reports to a monitor after every epoch."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from casimir.objective import DualPoint, Objective
from casimir.scores import FloatArray


class Monitor(Protocol):
    """Where a solver reports its progress."""

    @property
    def tol(self) -> float:
        """The relative gap at which the run ends."""
        ...

    @property
    def is_last(self) -> bool:
        """Whether the epoch under way is the last of the budget, so that it has to be reported."""
        ...

    def skip(self) -> None:
        """Counts an epoch that is not evaluated."""
        ...

    def epoch(
        self,
        w: FloatArray,
        *,
        objective: float | None = None,
        smoothed: float | None = None,
        dual: DualPoint | float | None = None,
        mu: float | None = None,
        kappa: float | None = None,
        prox_gradient: float | None = None,
        is_stationary: bool = False,
    ) -> bool:
        """Records the iterate w (not kept: it is copied if it is the best). Returns True when the run should end.

        objective  F(w) if the solver knows it; without it the monitor makes a pass of its own
        dual       a dual point, or the value of one
        prox_gradient   |w - w'| / eta of a prox-linear step, for the trace
        is_stationary   whether no further step can improve F by more than a share of tol, for non-convex F
        """
        ...


class Solver(Protocol):
    """A frozen dataclass of hyperparameters. One that has `starts_at_zero` set to True takes no other w0."""

    def run(self, objective: Objective, w0: FloatArray, monitor: Monitor, rng: np.random.Generator) -> None:
        """Minimises F from w0, which is left alone; returns when monitor.epoch says so."""
        ...


def check_plain(objective: Objective, name: str) -> None:
    """F must be convex, over all w."""
    objective.check_convex(name)
    if objective.nonnegative is not None:
        raise TypeError(
            f"{name} cannot keep weights non-negative, as this model wants. Use Casimir(), BCFW(), LBFGS() or SGD()."
        )


def check_solver(solver: object, others: str = "") -> None:
    """A class has `run` too, so SGD instead of SGD() gets a hint."""
    if isinstance(solver, type):
        raise TypeError(f"solver={solver.__name__} is a class; it must be a solver: write {solver.__name__}().")
    if not callable(getattr(solver, "run", None)):
        raise TypeError(f"solver={solver!r}; it must be a solver such as BCFW(){others}.")
