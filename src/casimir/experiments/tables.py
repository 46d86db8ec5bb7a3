"""Final values: a row per case and method, means and standard deviations over seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from casimir.experiments.counts import measured
from casimir.experiments.grids import Grid
from casimir.experiments.manifest import Cell
from casimir.experiments.optimum import Interval
from casimir.experiments.records import Record
from casimir.experiments.results import Results

_CALLS = ("steps", "searches", "full_gradients", "evaluations")


class Spread(NamedTuple):
    """Mean and standard deviation over seeds."""

    mean: float
    std: float


@dataclass(frozen=True)
class Row:
    """objective     F in the last row within `passes` n oracle calls, full gradients left out
    objective_all the same with full gradients counted; None where no row is that early
    error, error_all    (F - F*) / F* of both; None where F* is not known
    metrics       where `objective` was taken, by name
    calls         oracle calls / n up to there, by what they were for
    diverged      runs that did; they are in none of the means
    """

    experiment: str
    case: str
    method: str
    params: dict[str, float]
    runs: int
    diverged: int
    optimum: Interval | None
    objective: Spread | None
    objective_all: Spread | None
    error: Spread | None
    error_all: Spread | None
    metrics: dict[str, Spread]
    calls: dict[str, float]
    cpu_seconds: float

    note: ClassVar[str] = (
        "excess: (F - F*) / F* at the end of the budget, or F where it is not convex; all calls: the same with full"
        " gradients counted"
    )

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def grids(cls, rows: Sequence[Row]) -> list[Grid]:
        """One per case."""
        made = []
        for mine in _by_case(rows):
            names = _header(mine)
            made.append(Grid(_title(mine[0]), names, [_cells(row, names) for row in mine]))
        return made


def rows_of(results: Results) -> list[Row]:
    return [_row(results, cell) for cell in results.cells]


def _row(results: Results, cell: Cell) -> Row:
    records, best = results.records[cell.case, cell.method], results.optima[cell.case]
    good = [record for record in records if record.status != "diverged"]
    ends = [last_row(record, "paper", results.manifest.passes) for record in good]
    ends_all = [last_row(record, "full", results.manifest.passes) for record in good]
    end, end_all = (_spread(_values(good, rows, "objective")) for rows in (ends, ends_all))
    metrics = {name: _spread(_values(good, ends, name)) for name in results.manifest.metrics}
    calls = {name: _spread(_values(good, ends, name)) for name in _CALLS}
    seconds = _spread(_values(good, ends, "cpu_seconds"))
    return Row(
        results.manifest.name,
        cell.case,
        cell.label,
        cell.params,
        len(records),
        len(records) - len(good),
        best,
        end,
        end_all,
        _relative(end, best),
        _relative(end_all, best),
        {name: found for name, found in metrics.items() if found is not None},
        {name: found.mean / good[0].n for name, found in calls.items() if found is not None},
        0.0 if seconds is None else seconds.mean,
    )


def last_row(record: Record, measure: str, passes: float) -> int | None:
    """The last row within the budget; None where the first one is beyond it."""
    reached = np.flatnonzero(measured(record, measure) <= passes + 1e-9)
    return int(reached[-1]) if len(reached) else None


def _values(records: Sequence[Record], rows: Sequence[int | None], name: str) -> list[float]:
    """A column at these rows; nothing where one of them is missing, as a mean over fewer runs would mislead."""
    if any(row is None for row in rows):
        return []
    return [float(record.column(name)[row]) for record, row in zip(records, rows, strict=True)]


def _spread(values: Sequence[float]) -> Spread | None:
    """The standard deviation is that of a sample; of one value it is 0."""
    if not values:
        return None
    return Spread(float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0)


def _relative(found: Spread | None, best: Interval | None) -> Spread | None:
    if found is None or best is None or best.middle <= 0.0:
        return None
    return Spread((found.mean - best.middle) / best.middle, found.std / best.middle)


# --- as text


def _header(rows: Sequence[Row]) -> list[str]:
    metrics = list(dict.fromkeys(name for row in rows for name in row.metrics))
    shown = "excess" if any(row.optimum is not None for row in rows) else "F"
    return ["method", "runs", shown, "all calls", *metrics, "steps", "full", "CPU s"]


def _cells(row: Row, names: Sequence[str]) -> list[str]:
    """The figures of a row as text, in the order of `_header`; "excess" is F - F* relative to F*, or F itself."""
    first, second = (row.error, row.error_all) if row.optimum is not None else (row.objective, row.objective_all)
    runs = f"{row.runs}" + (f" ({row.diverged} diverged)" if row.diverged else "")
    counts = {"steps": 0.0, "searches": 0.0, "full_gradients": 0.0, **row.calls}
    calls = [f"{counts['steps'] + counts['searches']:.0f}", f"{counts['full_gradients']:.0f}"]
    metrics = [_text(row.metrics.get(name)) for name in names[4:-3]]
    return [row.method, runs, _text(first), _text(second), *metrics, *calls, f"{row.cpu_seconds:.2f}"]


def _by_case(rows: Sequence[Row]) -> list[list[Row]]:
    """The rows of every experiment's cases, in order."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.experiment, row.case), []).append(row)
    return list(groups.values())


def _title(row: Row) -> str:
    best = "F is not convex: F itself" if row.optimum is None else f"F* in {row.optimum}"
    return f"{row.experiment}: {row.case} ({best})"


def _text(found: Spread | None) -> str:
    """Two digits of the deviation and the mean to the same place; without deviation four digits of the mean.

    Deviations below 1e-6 are written with exponents.
    """
    if found is None:
        return "-"
    if found.std <= 1e-12 * abs(found.mean):  # rounding
        return f"{found.mean:.4g}"
    if found.std < 1e-6 and abs(found.mean) < 1e-3:
        return f"{found.mean:.1e} ± {found.std:.1e}"
    digits = min(max(1 - math.floor(math.log10(found.std)), 0), 8)
    return f"{found.mean:.{digits}f} ± {found.std:.{digits}f}"
