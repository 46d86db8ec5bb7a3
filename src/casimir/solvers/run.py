"""minimize: runs a solver on an objective, certifies every epoch, keeps the best point."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from numbers import Real

import numpy as np

from casimir._validate import positive_int
from casimir.objective import DualPoint, Objective, relative_gap
from casimir.scores import FloatArray
from casimir.solvers.base import Solver, check_solver
from casimir.solvers.trace import Trace, TraceRow

Callback = Callable[[TraceRow, FloatArray], object]


@dataclass(frozen=True, eq=False)
class Result:
    """w          float64[d]: the best point seen
    objective  F(w)
    dual       a lower bound of min F
    gap        (objective - dual) / objective: w is certified to be this close to the optimum
    status     "converged" (gap <= tol), "stationary" (no step of ProxLinear can improve a non-convex objective by a
               share of more than tol), "epochs" (budget used up), "callback", "interrupted" or "stalled" (the solver
               could not improve any more)
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
        return self.status == "converged"


def minimize(
    objective: Objective,
    solver: Solver,
    epochs: int = 50,
    tol: float = 1e-2,
    seed: int | np.random.Generator = 0,
    callbacks: Iterable[Callback] = (),
    w0: FloatArray | None = None,
) -> Result:
    """Runs `solver` until the certified relative gap is at most tol, or for `epochs` epochs.

    callbacks are called as callback(row, w) after every epoch; one that returns True ends the run. Ctrl-C ends it too:
    the best point so far is returned with status "interrupted". The same seed gives the same result.
    """
    check_solver(solver)
    positive_int(epochs, "epochs")
    if isinstance(tol, bool) or not isinstance(tol, Real):
        raise TypeError(f"tol={tol!r}; it must be a number, 0 or larger.")
    if not tol >= 0.0:
        raise ValueError(f"tol={tol}; it must be 0 or larger.")
    start = np.zeros(objective.n_params) if w0 is None else np.ascontiguousarray(w0, dtype=np.float64)
    if start.shape != (objective.n_params,):
        raise ValueError(f"w0 has shape {list(start.shape)}; it must be {objective.n_params} numbers.")
    if not np.isfinite(start).all():
        raise ValueError("w0 has entries that are NaN or infinite; they must be finite.")
    recorder = Recorder(objective, epochs, tol, tuple(callbacks))
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # a step size that is too large gets an error of its own
            solver.run(objective, start, recorder, np.random.default_rng(seed))
    except KeyboardInterrupt:
        if not recorder.trace.rows:
            raise
        recorder.status = "interrupted"
    return recorder.result()


class Recorder:
    """The Monitor of `minimize`: best point, best bound, trace and stopping."""

    def __init__(self, objective: Objective, epochs: int, tol: float, callbacks: tuple[Callback, ...]) -> None:
        self._objective, self._epochs, self._callbacks = objective, epochs, callbacks
        self._tol = tol
        self._start, self._paused = time.perf_counter(), 0.0
        self._best_w: FloatArray | None = None
        self._best = np.inf
        self._dual = 0.0  # every loss here is at least 0
        self._epoch = 0
        self.status = "stalled"
        self.trace = Trace()

    @property
    def tol(self) -> float:
        return self._tol

    @property
    def is_last(self) -> bool:
        return self._epoch + 1 >= self._epochs

    def skip(self) -> None:
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
        prox_gradient: float | None = None,
        is_stationary: bool = False,
    ) -> bool:
        self._epoch += 1
        value = self._objective.value(w) if objective is None else objective
        if not np.isfinite(value):
            raise FloatingPointError(
                f"The objective became {value} in epoch {self._epoch}; the step size is too large. "
                "Leave it at its default, or use a smaller one."
            )
        if value < self._best:
            self._best, self._best_w = value, self._objective.allowed(w).copy()
        if dual is not None:
            bound = self._objective.bound(dual) if isinstance(dual, DualPoint) else dual
            self._dual = max(self._dual, bound)
        row = TraceRow(
            epoch=self._epoch,
            oracle_calls=self._objective.oracle_calls,
            seconds=time.perf_counter() - self._start - self._paused,
            objective=value,
            smoothed=smoothed,
            dual=self._dual,
            gap=relative_gap(self._best, self._dual),
            mu=mu,
            kappa=kappa,
            prox_gradient=prox_gradient,
        )
        self.trace.rows.append(row)
        return self._call_back(row, w) or self._finished(row, is_stationary)

    def result(self) -> Result:
        assert self._best_w is not None, "a solver reports at least one epoch"
        gap = relative_gap(self._best, self._dual)
        return Result(self._best_w, self._best, self._dual, gap, self.status, self.trace)

    def _call_back(self, row: TraceRow, w: FloatArray) -> bool:
        before = time.perf_counter()
        wants_to_stop = [_is_true(callback(row, w)) for callback in self._callbacks]
        self._paused += time.perf_counter() - before
        if any(wants_to_stop):
            self.status = "callback"
        return any(wants_to_stop)

    def _finished(self, row: TraceRow, is_stationary: bool) -> bool:
        if row.gap <= self._tol or is_stationary:
            self.status = "converged" if row.gap <= self._tol else "stationary"
            return True
        if row.epoch >= self._epochs:
            self.status = "epochs"
            return True
        return False


def _is_true(answer: object) -> bool:
    """True, NumPy's as well; anything else that a callback happens to return does not end a run."""
    return isinstance(answer, bool | np.bool_) and bool(answer)
