"""What every task shares: a certified fit, and the figures of it that are kept with the model."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from casimir.errors import Intractable
from casimir.scores import FloatArray

if TYPE_CHECKING:  # solvers are loaded when something is trained
    from casimir.estimators.chain_tagger import ChainTagger
    from casimir.objective import Objective
    from casimir.solvers import Result, Trace
    from casimir.solvers.base import Solver
    from casimir.solvers.checkpoint import Checkpoint


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
    def of_tagger(cls, tagger: ChainTagger) -> Run:
        """From a tagger that is fitted."""
        t = tagger
        return cls.of_trace(t.status_, t.objective_, t.dual_, t.gap_, t.lam_, t.trace_)

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


@dataclass(frozen=True)
class Training:
    """How to minimise an objective: what the `train` functions of all tasks take.

    lam        regularisation; None is the task's own default
    epochs     at most; None is the task's own default, 500 as a rule
    callbacks  as in `minimize`, or as in `SequenceTagger.fit` where that is what is trained
    checkpoint as in `minimize`; a task that trains several models takes parts of it
    """

    lam: float | None = None
    solver: str | Solver = "auto"
    tol: float = 1e-2
    epochs: int | None = None
    seed: int = 0
    callbacks: tuple[Any, ...] = ()
    checkpoint: Checkpoint | None = None

    def part(self, name: str) -> Training:
        """For one model of several: the same with a checkpoint of its own."""
        return self if self.checkpoint is None else replace(self, checkpoint=self.checkpoint.part(name))

    def lam_or(self, default: float) -> float:
        """The regularisation, or the task's own."""
        return default if self.lam is None else self.lam

    def epochs_or(self, default: int = 500) -> int:
        """The number of epochs at most, or the task's own."""
        return default if self.epochs is None else self.epochs

    def tagger(self, lam: float, *, cluster: str | None = None, **parameters: Any) -> ChainTagger:
        """A tagger that is trained in this way; `lam` is the task's own default.

        cluster  the address of a Dask scheduler, or "local:4"; None: in this process
        """
        from casimir.estimators.chain_tagger import ChainTagger  # scikit-learn takes a second to load

        make: Any = ChainTagger
        if cluster is not None:
            from casimir import dask

            make = partial(dask.SequenceTagger, cluster)
        tagger: ChainTagger = make(
            lam=self.lam_or(lam),
            solver=self.solver,
            tol=self.tol,
            random_state=self.seed,
            max_epochs=self.epochs_or(),
            checkpoint=self.checkpoint,
            **parameters,
        )
        return tagger


DEFAULT = Training()


def fit(objective: Objective, how: Training = DEFAULT, w0: FloatArray | None = None) -> Result:
    """minimize, with a warning when the certified gap that was asked for is not reached.

    An objective that is not convex has no certificate, so nothing is said of one.
    """
    from casimir.solvers import minimize
    from casimir.solvers.choose import choose

    try:
        solver = choose(how.solver, objective)
        options = how.epochs_or(), how.tol, how.seed, how.callbacks
        result = minimize(objective, solver, *options, w0=w0, checkpoint=how.checkpoint)
    except Intractable as error:
        if isinstance(how.solver, str):
            raise Intractable(
                f"The solver {how.solver!r} cannot train this model: {error} Or use the solver 'auto'."
            ) from None
        raise
    if not result.converged and objective.is_convex:
        from sklearn.exceptions import ConvergenceWarning  # scikit-learn takes a second to load

        ended = {"interrupted": "was interrupted", "stalled": "stalled"}.get(result.status, "ended")
        warnings.warn(
            f"Training {ended} after {result.trace[-1].epoch} epochs at a certified relative gap of {result.gap:.1e}; "
            f"tol={how.tol:.1e} was asked for. The best weights so far are kept.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return result
