"""minimize: runs a solver on an objective, certifies every epoch, keeps the best point."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from casimir._arrays import aligned_zeros
from casimir._validate import positive_int
from casimir.duality import DualPoint, relative_gap
from casimir.errors import BrokenCertificate, Diverged
from casimir.objective import Counts, Objective
from casimir.scores import FloatArray
from casimir.solvers.base import Solver, check_solver
from casimir.solvers.checkpoint import Checkpoint, Keeper, key_of
from casimir.solvers.kept import Kept
from casimir.solvers.trace import OWN_COLUMNS, Trace, TraceRow

_log = logging.getLogger(__name__)

Callback = Callable[[TraceRow, FloatArray], object]
Metric = Callable[[FloatArray], float]

_ROUNDING = 1e-8  # relative to F: by how much a lower bound may exceed it without being wrong


@dataclass(frozen=True, eq=False)
class Result:
    """w          float64[d]: the best point seen
    objective  F(w)
    dual       a lower bound of min F
    gap        (objective - dual) / objective: w is certified to be this close to the optimum. Where truths are sets,
               that of the last round's convex problem
    status     "converged" (gap <= tol), "stationary" (no step of ProxLinear and no round of ConcaveConvex can improve
               the objective by a share of more than tol), "epochs" (budget used up), "callback",
               "interrupted", "stalled" (the solver could not improve any more) or "diverged" (the weights became
               infinite)
    trace      a TraceRow per evaluated epoch
    """

    w: FloatArray
    objective: float
    dual: float
    gap: float
    status: str
    trace: Trace

    @property
    def converged(self) -> bool:
        """Whether the certified gap that was asked for is reached."""
        return self.status == "converged"


def minimize(
    objective: Objective,
    solver: Solver,
    epochs: int = 50,
    tol: float = 1e-2,
    seed: int | np.random.Generator = 0,
    callbacks: Iterable[Callback] = (),
    *,
    w0: FloatArray | None = None,
    checkpoint: Checkpoint | None = None,
    metrics: Mapping[str, Metric] | None = None,
    evaluate_every: int = 1,
) -> Result:
    """Runs `solver` until the certified relative gap is at most tol, or for `epochs` epochs.

    callbacks are called as callback(row, w) after every evaluated epoch; one that returns True ends the run. Ctrl-C
    ends it too: the best point so far is returned with status "interrupted". The same seed gives the same result. A run
    whose weights become infinite raises `Diverged`, which holds the result so far.

    w0              where the solver starts; None: 0. What is returned is never worse than that, within tol
    checkpoint      where the run stands is kept there, and a run that finds itself there goes on from it, bit for bit
                    as if it had not been interrupted. Ctrl-C and callbacks then end the run when its epoch is over. A
                    run that has ended is not run again, but one that used up its epochs goes on when there are more.
                    What a callback's method `state()` gives is kept too, and given to its `restore(state)`
    metrics         {name: function of w}: figures of your own, columns of the trace
    evaluate_every  epochs from one row of the trace, with its certificate, to the next; the last epoch has one too.
                    DualProximal leaves out epochs by itself
    """
    check_solver(solver)
    positive_int(epochs, "epochs")
    if isinstance(tol, bool) or not isinstance(tol, Real):
        raise TypeError(f"tol={tol!r}; it must be a number, 0 or larger.")
    if not tol >= 0.0:
        raise ValueError(f"tol={tol}; it must be 0 or larger.")
    start = aligned_zeros(objective.n_params) if w0 is None else _checked_start(objective, w0)
    if not np.isfinite(objective.penalty.value(start)):
        where = "w = 0" if w0 is None else "w0"
        raise ValueError(f"{type(objective.penalty).__name__} is infinite at {where}; give a w0 that it allows.")
    named = {} if metrics is None else _checked_metrics(metrics)
    every, kept, keeper = positive_int(evaluate_every, "evaluate_every"), Checkpoint.of(checkpoint), None
    if kept is not None:
        keeper = Keeper(kept, key_of(objective, solver, tol, seed, start, every), type(solver).__name__)
    rng = np.random.default_rng(seed)
    recorder = Recorder(objective, epochs, tol, tuple(callbacks), named, every, keeper, rng)
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # a step size that is too large gets an error of its own
            recorder.run(solver, start)
    except KeyboardInterrupt:
        if not recorder.trace.rows:
            raise
        recorder.status = "interrupted"
    except FloatingPointError as error:
        recorder.status = "diverged"
        raise Diverged(str(error), recorder.result(start) if recorder.trace.rows else None) from None
    result = recorder.result(start)
    ended = result.status, result.trace[-1].epoch, result.objective, result.gap
    _log.info("%s: %s after %d epochs, objective %.6g, gap %.2e", type(solver).__name__, *ended)
    return result


def _checked_metrics(metrics: Mapping[str, Metric]) -> dict[str, Metric]:
    for name, metric in metrics.items():
        if name in OWN_COLUMNS:
            raise ValueError(f"metrics has the name {name!r}, which is a column of every trace; take another one.")
        if not callable(metric):
            raise TypeError(f"metrics[{name!r}] is a {type(metric).__name__}; it must be a function of w.")
    return dict(metrics)


def _checked_start(objective: Objective, w0: FloatArray) -> FloatArray:
    start = np.ascontiguousarray(w0, dtype=np.float64)
    if start.shape != (objective.n_params,):
        raise ValueError(f"w0 has shape {list(start.shape)}; it must be {objective.n_params} numbers.")
    if not np.isfinite(start).all():
        raise ValueError("w0 has entries that are NaN or infinite; they must be finite.")
    own = getattr(objective.penalty, "separable", None)
    if own is not None and not np.array_equal(own.allowed(start), start):
        raise ValueError("w0 has weights that the penalty forbids: negative ones, or ones that it fixes at 0.")
    return start


class Recorder:
    """The Monitor of `minimize`: best point, best bound, trace and stopping."""

    def __init__(
        self,
        objective: Objective,
        epochs: int,
        tol: float,
        callbacks: tuple[Callback, ...],
        metrics: dict[str, Metric],
        every: int,
        keeper: Keeper | None,
        rng: np.random.Generator,
    ) -> None:
        self._objective, self._epochs, self._callbacks = objective, epochs, callbacks
        self._keeper, self._rng, self._has_rested, self._is_over = keeper, rng, False, False
        self.tol, self._metrics, self._every, self._last_row = tol, metrics, every, 0
        self._start, self._cpu_start = time.perf_counter(), time.process_time()
        self._counts_before, self._evaluated_before = replace(objective.counts), objective.clock.evaluations
        self._best_w: Kept | None = None
        self._best = np.inf
        self._dual = 0.0  # every loss here is at least 0
        self._epoch = 0
        self.status = "stalled"
        self.trace = Trace()
        self._resumed = None if keeper is None else keeper.take()
        if self._resumed is not None:
            self._go_on_from(self._resumed)

    def run(self, solver: Solver, start: FloatArray) -> None:
        """The solver, until it ends; with a checkpoint, what is left of it."""
        if self._is_over:
            return
        with nullcontext() if self._keeper is None else self._keeper.holding_signals():
            try:
                solver.run(self._objective, start, self, self._rng)
            except _Over:
                return
            if self._keeper is not None and self.status in _ENDED:
                self._keeper.write(self._state(None))

    @property
    def resumed(self) -> Any:
        return None if self._resumed is None else self._resumed["solver"]

    def rest(self, state: Any) -> None:
        if self._keeper is None:
            return
        self._has_rested = True
        if self._resumed is not None:
            self._rewind(self._resumed)
            self._resumed = None
            return
        self._keeper.check(state)
        if self._is_over or self._keeper.is_due():
            self._keeper.write(self._state(None if self._is_over and self.status in _ENDED else state))
        if self._is_over:
            raise _Over
        self._keeper.deliver()

    @property
    def is_last(self) -> bool:
        return self._epoch + 1 >= self._epochs

    @property
    def is_due(self) -> bool:
        return self.is_last or self._epoch + 1 >= self._last_row + self._every

    def skip(self) -> None:
        if self._keeper is not None and self._epoch > 0 and not self._has_rested:
            raise self._keeper.refuse()
        if self._is_over:
            raise _Over
        self._epoch += 1

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
        if not (self.is_due or is_stationary):
            self.skip()
            return False
        self.skip()
        self._last_row = self._epoch
        value = self._objective.value(w) if objective is None else objective
        if not np.isfinite(value):
            raise FloatingPointError(
                f"The objective became {value} in epoch {self._epoch}; the step size is too large. "
                "Leave it at its default, or use a smaller one."
            )
        if value < self._best:
            try:  # the last one goes before memory for this one is asked for
                self._best, self._best_w = value, None
                self._best_w = Kept.of(w)
            except KeyboardInterrupt:  # in the middle of it: nobody else has these weights
                self._best, self._best_w = value, Kept.of(w)
                raise
        if dual is not None:
            bound = dual.value(self._objective.penalty) if isinstance(dual, DualPoint) else dual
            self._dual = max(self._dual, bound)
        _check_certificate(self._best, self._dual)
        counts = self._objective.counts.since(self._counts_before)
        evaluated = self._objective.clock.evaluations - self._evaluated_before
        row = TraceRow(
            epoch=self._epoch,
            oracle_calls=counts.oracle_calls,
            seconds=time.perf_counter() - self._start,
            cpu_seconds=time.process_time() - self._cpu_start - evaluated,
            evaluation_seconds=evaluated,
            **asdict(counts),
            objective=value,
            smoothed=smoothed,
            dual=self._dual,
            gap=relative_gap(self._best, self._dual) if gap is None else gap,
            mu=mu,
            kappa=kappa,
            lipschitz=lipschitz,
            gamma=gamma,
            prox_gradient=prox_gradient,
            restarts=restarts,
            metrics=self._measured(w) if self._metrics else {},
        )
        self.trace.rows.append(row)
        _log.debug("epoch %d: objective %.6g, lower bound %.6g, gap %.2e", row.epoch, value, self._dual, row.gap)
        ends = bool(self._callbacks) and self._call_back(row, w)
        if self._keeper is None:
            return ends or self._finished(row, gap is None, is_stationary)
        self._is_over = self._finished(row, gap is None, is_stationary) or ends
        return False  # `rest` ends the run, when the solver's state is that of its end

    def result(self, start: FloatArray) -> Result:
        """The best point seen. Where it is not certified to be within tol, the start is looked at as well."""
        assert self._best_w is not None, "a solver reports at least one epoch"
        if self.status not in ("converged", "stationary"):
            value = self._objective.value(start)
            if value < self._best:
                self._best, self._best_w = value, Kept.of(start)
        gap = relative_gap(self._best, self._dual) if self._objective.sets is None else self.trace[-1].gap
        return Result(self._best_w.vector(), self._best, self._dual, gap, self.status, self.trace)

    @contextmanager
    def _pause(self) -> Iterator[None]:
        """The clocks stop while a user's functions run, evaluations of their own included."""
        clock = self._objective.clock
        began, cpu_began, evaluated = time.perf_counter(), time.process_time(), clock.evaluations
        yield
        self._start += time.perf_counter() - began
        self._cpu_start += time.process_time() - cpu_began
        self._evaluated_before += clock.evaluations - evaluated

    def _measured(self, w: FloatArray) -> dict[str, float]:
        with self._pause():
            return {name: float(metric(w)) for name, metric in self._metrics.items()}

    def _call_back(self, row: TraceRow, w: FloatArray) -> bool:
        """With a checkpoint all of them see the row, whoever asks for an end: their states go on from here."""
        ends = []
        with self._pause():
            for callback in self._callbacks:
                try:
                    ends += ["callback"] if _is_true(callback(row, w)) else []
                except KeyboardInterrupt:
                    if self._keeper is None:
                        raise
                    ends.append("interrupted")
        if ends:
            self.status = "interrupted" if "interrupted" in ends else "callback"
        return bool(ends)

    def _finished(self, row: TraceRow, is_certified: bool, is_stationary: bool) -> bool:
        if (is_certified and row.gap <= self.tol) or is_stationary:
            self.status = "converged" if is_certified and row.gap <= self.tol else "stationary"
            return True
        if row.epoch >= self._epochs:
            self.status = "epochs"
            return True
        return False

    def _state(self, of_solver: Any) -> dict[str, Any]:
        """What a run goes on from; the solver's part is None where nothing comes after it."""
        evaluated, counts = self._objective.clock.evaluations - self._evaluated_before, self._objective.counts
        return {
            "solver": of_solver,
            "rng": self._rng.bit_generator.state,
            "counts": asdict(counts.since(self._counts_before)),
            "clocks": [time.perf_counter() - self._start, time.process_time() - self._cpu_start, evaluated],
            "run": {name: getattr(self, name) for name in _KEPT},
            "trace": self.trace.as_dicts(),
            "callbacks": self._with_states(),
        }

    def _with_states(self) -> list[Any]:
        """The callbacks whose state is kept; others, such as a line of progress, may come and go."""
        return [callback for callback in self._callbacks if hasattr(callback, "state")]

    def _go_on_from(self, state: dict[str, Any]) -> None:
        """All but what setting up the solver changes again."""
        for name, value in state["run"].items():
            setattr(self, name, value)
        self._best_w = None if self._best_w is None else Kept.of(self._best_w)
        self.trace = Trace([TraceRow(**row) for row in state["trace"]])
        kept, now = state["callbacks"], self._with_states()
        if len(kept) != len(now):
            raise ValueError(
                f"The checkpoint has the states of {len(kept)} callbacks, and this run has {len(now)} with a method "
                "`state`; give the callbacks that the run had, or another folder."
            )
        for callback, its in zip(now, kept, strict=True):
            callback.restore(its)
        self._rewind(state)
        has_ended = state["solver"] is None
        self._is_over = has_ended or self._epoch >= self._epochs
        if not self._is_over:
            self.status = "stalled"
        elif not has_ended:
            self.status = "epochs"
        _log.info("goes on after epoch %d, from the checkpoint of a run that was %s", self._epoch, self.status)

    def _rewind(self, state: dict[str, Any]) -> None:
        """The random numbers and counts of then; the clocks go on from then."""
        self._rng.bit_generator.state = state["rng"]
        counts, objective, (seconds, cpu, evaluated) = state["counts"], self._objective, state["clocks"]
        self._counts_before = Counts(**{name: n - counts[name] for name, n in asdict(objective.counts).items()})
        self._start, self._cpu_start = time.perf_counter() - seconds, time.process_time() - cpu
        self._evaluated_before = objective.clock.evaluations - evaluated


_ENDED = ("converged", "stationary", "stalled")  # nothing comes after these
_KEPT = ("_epoch", "_last_row", "_best", "_best_w", "_dual", "status")


class _Over(BaseException):
    """Ends a run between two epochs, when its checkpoint is written."""


def _is_true(answer: object) -> bool:
    """True, NumPy's as well; anything else that a callback happens to return does not end a run."""
    return isinstance(answer, bool | np.bool_) and bool(answer)


def _check_certificate(objective: float, dual: float) -> None:
    """A lower bound above the objective is a wrong one, and so is every gap that is made of it."""
    if dual > objective + _ROUNDING * max(1.0, abs(objective)):
        raise BrokenCertificate(
            f"The lower bound {dual:.12g} exceeds the objective {objective:.12g}, so one of them is wrong. An oracle "
            "of the structure, or a smoothing, cost or penalty of your own, does not give what it promises."
        )
