"""What every task shares: a certified fit, and the figures of it that are kept with the model."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from casimir.errors import Intractable
from casimir.persistence.load import load
from casimir.scores import FloatArray

if TYPE_CHECKING:  # solvers are loaded when something is trained
    from casimir.objective import Objective
    from casimir.solvers import Result, Trace
    from casimir.solvers.base import Solver
    from casimir.solvers.run import Callback


@dataclass(frozen=True)
class Run:
    """How a training run ended.

    status        "converged", "stationary", "epochs", "interrupted", "stalled" or "callback"
    objective     F(w)
    dual          a certified lower bound of min F
    gap           (objective - dual) / objective
    lam           regularisation
    epochs, oracle_calls, seconds    what it took
    convex        False for scores that are not linear in the weights: then nothing is certified, and dual is 0
    prox_gradient the last step's length over eta, a measure of stationarity; None for solvers that have none
    """

    status: str
    objective: float
    dual: float
    gap: float
    lam: float
    epochs: int
    oracle_calls: int
    seconds: float
    convex: bool = True
    prox_gradient: float | None = None

    @classmethod
    def of(cls, result: Result, lam: float, convex: bool = True) -> Run:
        """From what `minimize` returned."""
        run = cls.of_trace(result.status, result.objective, result.dual, result.gap, lam, result.trace)
        return run if convex else replace(run, convex=False, prox_gradient=result.trace[-1].prox_gradient)

    @classmethod
    def of_trace(cls, status: str, objective: float, dual: float, gap: float, lam: float, trace: Trace) -> Run:
        """From the figures of a result and its trace."""
        last = trace[-1]
        return cls(status, objective, dual, gap, lam, last.epoch, last.oracle_calls, last.seconds)

    @classmethod
    def from_dict(cls, meta: Any) -> Run:
        """The run that `to_dict` described; a ValueError when a field is missing."""
        try:
            step = meta.get("prox_gradient")
            known = {name: kind(meta[name]) for name, kind in _FIELDS.items()}
            return cls(
                **known, convex=bool(meta.get("convex", True)), prox_gradient=None if step is None else float(step)
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"the model file is damaged: its training figures have no proper {error}.") from None

    def to_dict(self) -> dict[str, Any]:
        """All fields; the last two only where they say something."""
        return {name: value for name, value in asdict(self).items() if name in _FIELDS or not self.convex}


_FIELDS: Mapping[str, Any] = {
    "status": str,
    "objective": float,
    "dual": float,
    "gap": float,
    "lam": float,
    "epochs": int,
    "oracle_calls": int,
    "seconds": float,
}


class TaskModel(Protocol):
    """What a task's training gives: it predicts in its own way, and is kept in a model folder that `load` reads."""

    @property
    def run(self) -> Run:
        """How training ended."""
        ...

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model folder that `casimir.load` reads."""
        ...


def fit(
    objective: Objective,
    *,
    solver: str | Solver = "auto",
    tol: float = 1e-2,
    epochs: int = 500,
    seed: int = 0,
    callbacks: Iterable[Callback] = (),
    w0: FloatArray | None = None,
) -> Result:
    """minimize, with a warning when the certified gap that was asked for is not reached.

    An objective that is not convex has no certificate, so nothing is said of one.
    """
    from casimir.solvers import minimize
    from casimir.solvers.choose import choose

    try:
        result = minimize(objective, choose(solver, objective), epochs, tol, seed, callbacks, w0=w0)
    except Intractable as error:
        if isinstance(solver, str):
            raise Intractable(
                f"The solver {solver!r} cannot train this model: {error} Or use the solver 'auto'."
            ) from None
        raise
    if not result.converged and objective.is_convex:
        from sklearn.exceptions import ConvergenceWarning  # scikit-learn takes a second to load

        ended = {"interrupted": "was interrupted", "stalled": "stalled"}.get(result.status, "ended")
        warnings.warn(
            f"Training {ended} after {result.trace[-1].epoch} epochs at a certified relative gap of {result.gap:.1e}; "
            f"tol={tol:.1e} was asked for. The best weights so far are kept.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return result


Model = TypeVar("Model")


def load_as(path: str | os.PathLike[str], kind: type[Model], command: str) -> Model:
    """The model in the folder `path`, which must be of the given class; `command` says how such a model is made."""
    model = load(path)
    if not isinstance(model, kind):
        raise ValueError(
            f"'{path}' holds a {type(model).__name__}, not a {kind.__name__}. Give a folder made by `{command}`, "
            "or use casimir.load in Python."
        )
    return model
