"""What a solver is: frozen hyperparameters and a loop that reports to a monitor after every epoch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from casimir.duality import DualPoint
from casimir.losses import Loss
from casimir.objective import Evaluation, Objective
from casimir.persistence.state import keeps
from casimir.scores import FloatArray
from casimir.smoothing import Smoothing

keeps(DualPoint)


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

    @property
    def is_due(self) -> bool:
        """Whether the epoch under way is to be evaluated; if not, `skip` counts it."""
        ...

    @property
    def resumed(self) -> Any:
        """What `rest` was given when the checkpoint was written that this run goes on from; None in a new run."""
        ...

    def rest(self, state: Any) -> None:
        """Between any two epochs, the first one of this process included: a place to go on from.

        state  all that the epochs to come depend on, beside the objective and the random numbers: numbers, strings,
               arrays, lists, tuples and dicts of them, objects of dataclasses decorated by `keeps`, and objects with a
               method `state()`, which gives such things. It is written at once or not at all, so nothing has to be
               copied. What comes back has the same bits, in memory of its own; what was one array is one again
        """
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
        lipschitz: float | None = None,
        gamma: float | None = None,
        prox_gradient: float | None = None,
        gap: float | None = None,
        is_stationary: bool = False,
        restarts: int | None = None,
    ) -> bool:
        """Records the iterate w (not kept: it is copied if it is the best). Returns True when the run should end.

        objective  F(w) if the solver knows it; without it the monitor makes a pass of its own
        dual       a dual point, or the value of one
        lipschitz, gamma    the constant L and the step length in use, for the trace
        prox_gradient   an upper bound of |w - w'| / eta of an exact prox-linear step, for the trace
        gap        of the convex model that a round or step has minimised, where F itself has no lower bound
        is_stationary   whether no further step can improve F by more than a share of tol, for non-convex F
        restarts   how often extrapolation began anew so far, for the trace
        """
        ...


class Solver(Protocol):
    """A frozen dataclass of hyperparameters.

    One that has `starts_at_zero` set to True gains nothing from another w0, or takes none; wrappers give it none. One
    that calls `monitor.rest` between epochs can go on from checkpoints.
    """

    def run(self, objective: Objective, w0: FloatArray, monitor: Monitor, rng: np.random.Generator) -> None:
        """Minimises F from w0, which is left alone; returns when monitor.epoch says so."""
        ...


@keeps
@dataclass(frozen=True, eq=False)
class InnerState:
    """Where an inner solver stands.

    w           float64[d]: its point
    evaluation  of the smoothed objective at w, with its gradient
    lipschitz   the constant L of its steps, or None where it has none
    gamma       the length of the last epoch's steps, or None
    is_worse    whether the last epoch made things worse because its steps, whose length was free, were too long
    memory      whatever else it carries from epoch to epoch, and from one subproblem to the next; for checkpoints of a
                kind that `Monitor.rest` takes
    """

    w: FloatArray
    evaluation: Evaluation
    lipschitz: float | None = None
    is_worse: bool = False
    memory: Any = None
    gamma: float | None = None


class Inner(Protocol):
    """A solver that Casimir can run inside, an epoch at a time, on objectives with a proximal penalty.

    Optional, and together with `lipschitz` (None where L is free):
    begin(objective, loss, w, lipschitz)     -> InnerState at w, with an L that is known
    advance(objective, loss, state, rng)     -> float64[d], the end of an epoch, not evaluated
    With them Casimir saves a pass per epoch, and chooses L by the progress.
    """

    @property
    def smoothing(self) -> Smoothing:
        """How it smooths losses that are not smooth."""
        ...

    @property
    def mu(self) -> float | None:
        """Level of smoothing; None leaves it to the outer solver."""
        ...

    def start(
        self, objective: Objective, loss: Loss, w: FloatArray, rng: np.random.Generator, before: InnerState | None
    ) -> InnerState:
        """Starts at w on `objective`, whose loss is smoothed to `loss`; `before` is the end of the last subproblem."""
        ...

    def epoch(self, objective: Objective, loss: Loss, state: InnerState, rng: np.random.Generator) -> InnerState:
        """About n_active oracle calls on, and a full gradient at the new point."""
        ...


def check_inner(inner: object) -> None:
    missing = [name for name in ("smoothing", "mu", "start", "epoch") if not hasattr(inner, name)]
    if missing or isinstance(inner, type):
        raise TypeError(
            f"inner={inner!r}; Casimir needs an inner solver with {', '.join(missing or ['start'])}, such as SVRG(), "
            "SAGA(), LBFGS() or GradientDescent(). For dual steps use DualProximal()."
        )


def check_solver(solver: object, others: str = "") -> None:
    """A class has `run` too, so SGD instead of SGD() gets a hint."""
    if isinstance(solver, type):
        raise TypeError(f"solver={solver.__name__} is a class; it must be a solver: write {solver.__name__}().")
    if not callable(getattr(solver, "run", None)):
        raise TypeError(f"solver={solver!r}; it must be a solver such as BCFW(){others}.")


def penalty_gradient(objective: Objective, w: FloatArray) -> FloatArray:
    """float64[d] = grad R(w) of a penalty that is a plain square."""
    quadratic = objective.penalty.quadratic
    assert quadratic is not None
    return np.asarray(quadratic.sigma * (w if quadratic.center is None else w - quadratic.center), dtype=np.float64)
