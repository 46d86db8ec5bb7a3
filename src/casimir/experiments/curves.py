"""Curves over seeds: mean and standard deviation of a column against one of the three measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from casimir.experiments.counts import measured
from casimir.experiments.records import Record
from casimir.scores import FloatArray


@dataclass(frozen=True, eq=False)
class Curve:
    """x, mean, std: float64[points]"""

    x: FloatArray
    mean: FloatArray
    std: FloatArray


def curve(
    records: Sequence[Record], column: str, measure: str, zero: float | None = None, points: int = 60
) -> Curve | None:
    """Runs report at different places, so they are interpolated between the places that all of them have.

    zero    the value is (F - zero) / zero; None: F itself
    points  at the most
    Runs that diverged are left out; None where no other is left.
    """
    lines = [_line(record, column, measure, zero) for record in records if record.status != "diverged" and len(record)]
    if not lines:
        return None
    first, last = max(x[0] for x, _ in lines), min(x[-1] for x, _ in lines)
    x = _places([places for places, _ in lines], first, max(first, last), points)
    values = np.array([np.interp(x, places, line) for places, line in lines])
    std = values.std(axis=0, ddof=1) if len(lines) > 1 else np.zeros(len(x))
    return Curve(x, values.mean(axis=0), std)


def _line(record: Record, column: str, measure: str, zero: float | None) -> tuple[FloatArray, FloatArray]:
    values = record.column(column)
    return measured(record, measure), values if zero is None else (values - zero) / zero


def _places(seen: Sequence[FloatArray], first: float, last: float, most: int) -> FloatArray:
    """Those of the first run that lie in the common part, and its ends; thinned where there are many."""
    inside = seen[0][(seen[0] > first) & (seen[0] < last)]
    places = np.unique(np.concatenate([[first], inside, [last]]))
    keep = np.unique(np.linspace(0, len(places) - 1, min(most, len(places))).round().astype(np.int64))
    return np.asarray(places[keep], dtype=np.float64)
