"""The record of a run: one row per epoch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np

from casimir.scores import FloatArray


@dataclass(frozen=True, slots=True)
class TraceRow:
    """epoch            number of epochs done
    oracle_calls     inferences made so far in this run: the sum of the next four
    steps            those of stochastic steps and dual visits
    full_gradients   those of passes that a solver's steps need
    evaluations      those of passes that report F or certify
    searches         those of searches for step sizes and smoothing levels
    seconds          wall-clock time so far, callbacks and metrics left out
    cpu_seconds      CPU time of the process so far, callbacks, metrics and evaluations left out
    evaluation_seconds   CPU time of the evaluations so far
    objective        F(w) of this epoch's iterate
    smoothed         F_mu(w) where the solver knows it, else None
    dual             best lower bound of min F so far
    gap              (best F so far - dual) / best F so far, certified
    mu, kappa        smoothing and proximal parameters, or None
    lipschitz, gamma constant L and step length in use, or None
    prox_gradient    an upper bound of |w - w'| / eta, w' the end of an exact prox-linear step from w: the measure of
                     stationarity of non-convex objectives; None for other solvers
    restarts         how often extrapolation began anew, or None
    metrics          what the metrics of `minimize` gave at this epoch's iterate, by name
    """

    epoch: int
    oracle_calls: int
    seconds: float
    objective: float
    smoothed: float | None
    dual: float
    gap: float
    mu: float | None
    kappa: float | None
    prox_gradient: float | None = None
    steps: int = 0
    full_gradients: int = 0
    evaluations: int = 0
    searches: int = 0
    cpu_seconds: float = 0.0
    lipschitz: float | None = None
    gamma: float | None = None
    evaluation_seconds: float = 0.0
    restarts: int | None = None
    metrics: dict[str, float] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        return self.metrics[name] if name in self.metrics else getattr(self, name)

    def as_dict(self) -> dict[str, Any]:
        """All columns by name."""
        return asdict(self)


OWN_COLUMNS = tuple(f.name for f in fields(TraceRow) if f.name != "metrics")


class Trace:
    """The rows of a run, in order; trace["gap"] is one column as float64[rows], NaN where a value is missing."""

    def __init__(self, rows: list[TraceRow] | None = None) -> None:
        self.rows: list[TraceRow] = [] if rows is None else rows

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns, metrics last."""
        return (*OWN_COLUMNS, *(self.rows[0].metrics if self.rows else ()))

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[TraceRow]:
        return iter(self.rows)

    def __getitem__(self, key: Any) -> Any:
        return self.column(key) if isinstance(key, str) else self.rows[key]

    def column(self, name: str) -> FloatArray:
        """float64[rows]: one column; NaN where a value is missing."""
        if name not in self.columns:
            raise KeyError(f"no column {name!r} in a trace; it has {', '.join(self.columns)}.")
        return np.array([np.nan if row[name] is None else row[name] for row in self.rows], dtype=np.float64)

    def as_dicts(self) -> list[dict[str, Any]]:
        """A dict per row, ready for JSON or a data frame."""
        return [row.as_dict() for row in self.rows]
