"""One run of a solver on a case: what it is called, and how it is done."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from casimir.errors import Diverged
from casimir.experiments.base import Case, Data, Experiment, Method, Params, Places, Source, described
from casimir.experiments.records import key_of
from casimir.scores import FloatArray
from casimir.solvers.choose import choose
from casimir.solvers.run import minimize
from casimir.solvers.trace import Trace, TraceRow

REFERENCE_N = 1000  # solvers are described as they are made for so many examples
CLOCKS = ("seconds", "cpu_seconds", "evaluation_seconds")
_EPOCHS_PER_PASS = 4  # for solvers whose epochs make less than n steps


@dataclass(frozen=True)
class Trial:
    """A pure function of these fields: the same trial gives the same record, clocks aside.

    passes         None: until the gap is tol
    calls, target  see `Experiment`
    """

    case: Case
    method: Method
    params: Params
    seed: int
    passes: int | None
    metrics: tuple[str, ...] = ()
    evaluate_every: int = 1
    tol: float = 0.0
    calls: int | None = None
    target: float | None = None

    @property
    def settings(self) -> dict[str, Any]:
        solver = self.method.make(self.case.size(REFERENCE_N), **self.params)
        ends = {"calls": self.calls, "target": self.target}
        return {
            "data": self.case.source.name,
            "lam": self.case.lam,
            "solver": described(solver),
            "seed": self.seed,
            "passes": self.passes,
            "tol": self.tol,
            "evaluate_every": self.evaluate_every,
            "metrics": list(self.metrics),
            **{name: value for name, value in ends.items() if value is not None},
        }

    @cached_property
    def key(self) -> str:
        return key_of(self.settings)


def trial_of(experiment: Experiment, case: Case, method: Method, params: Params, seed: int) -> Trial:
    e = experiment
    every = e.evaluate_every if method.evaluate_every is None else method.evaluate_every
    target = None if e.target is None else params.get("eps", e.target)
    return Trial(case, method, params, seed, e.passes, e.metrics, every, e.tol, e.calls, target)


@dataclass
class Loaded:
    """The data of the last source that was asked for: trials come ordered by source."""

    places: Places
    source: Source | None = None
    data: Data | None = None

    def get(self, source: Source) -> Data:
        if self.source != source or self.data is None:
            self.data = None  # makes room before the next one is read
            self.data, self.source = source.load(self.places), source
            if self.data.objective.n_threads != 1:
                raise ValueError(
                    f"The objective of {source.name!r} has n_threads={self.data.objective.n_threads}; give it 1."
                )
        return self.data


@dataclass
class Spent:
    """A callback that ends a run when its budget is used up, or when F is low enough.

    calls      full gradients left out
    all_calls  full gradients counted
    """

    calls: float
    all_calls: float = math.inf
    low_enough: float = -math.inf

    def __call__(self, row: TraceRow, w: FloatArray) -> bool:
        calls = row.steps + row.searches
        is_spent = calls >= self.calls or calls + row.full_gradients >= self.all_calls
        return is_spent or row.objective <= self.low_enough


def perform(trial: Trial, data: Data, bound: float | None = None) -> dict[str, Any]:
    """Runs the trial; what a record holds of it.

    bound  a lower bound of F*, for trials with a target: F - F* <= target is certain where F - bound is
    """
    objective = trial.case.objective(data)
    n = objective.n_active
    solver = choose(trial.method.make(trial.case.size(n), **trial.params), objective)
    start = None if data.start is None else data.start(trial.seed)
    spent = _spent(trial, n, bound)
    try:
        result = minimize(
            objective,
            solver,
            100_000 if trial.passes is None else _EPOCHS_PER_PASS * trial.passes,
            trial.tol,
            trial.seed,
            [spent],
            w0=start,
            metrics={name: data.metrics[name] for name in trial.metrics},
            evaluate_every=trial.evaluate_every,
        )
        status, trace = result.status, result.trace
    except Diverged as error:
        status, trace = "diverged", Trace() if error.result is None else error.result.trace
    if status == "interrupted":
        raise KeyboardInterrupt
    columns = {name: _plain(trace, name) for name in trace.columns} if len(trace) else {}
    return {
        "settings": trial.settings,
        "solver": described(solver),
        "n": n,
        "status": "budget" if status in ("callback", "epochs") else status,
        "trace": {
            name: values
            for name, values in columns.items()
            if name not in CLOCKS and any(v is not None for v in values)
        },
        "clocks": {name: columns.get(name, []) for name in CLOCKS},
    }


def _spent(trial: Trial, n: int, bound: float | None) -> Spent:
    passes = math.inf if trial.passes is None else trial.passes
    calls = math.inf if trial.calls is None else trial.calls
    if trial.target is None:
        return Spent(passes * n, calls)
    assert bound is not None, "a trial with a target needs F*"
    return Spent(passes * n, calls, bound + trial.target)


def _plain(trace: Trace, name: str) -> list[Any]:
    """A column as JSON can hold it: what is missing or not finite is None."""
    values = [row[name] for row in trace]
    return [v if isinstance(v, int) or (isinstance(v, float) and math.isfinite(v)) else None for v in values]
