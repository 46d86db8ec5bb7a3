"""Final values: a row per case and method, means and standard deviations over seeds."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from casimir.experiments.counts import measured
from casimir.experiments.manifest import Cell
from casimir.experiments.optimum import Interval
from casimir.experiments.records import Record
from casimir.experiments.results import Results, load_results

_CALLS = ("steps", "searches", "full_gradients", "evaluations")


class Spread(NamedTuple):
    """Mean and standard deviation over seeds."""

    mean: float
    std: float


@dataclass(frozen=True)
class Row:
    """objective     F at the end, after `passes` n oracle calls without full gradients
    objective_all F when `passes` n oracle calls were made, full gradients counted; None where no row is that early
    error, error_all    (F - F*) / F* of both; None where F* is not known
    metrics       at the end, by name
    calls         oracle calls / n by what they were for
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

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def table(folder: str | os.PathLike[str]) -> list[Row]:
    """The rows of every experiment in a folder."""
    return [row for results in load_results(Path(folder)) for row in rows_of(results)]


def rows_of(results: Results) -> list[Row]:
    return [_row(results, cell) for cell in results.cells]


def _row(results: Results, cell: Cell) -> Row:
    records, best = results.records[cell.case, cell.method], results.optima[cell.case]
    good = [record for record in records if record.status != "diverged"]
    end = _spread([float(record.column("objective")[-1]) for record in good])
    early = [_at(record, results.manifest.passes) for record in good]
    early_spread = None if any(value is None for value in early) else _spread([v for v in early if v is not None])
    return Row(
        results.manifest.name,
        cell.case,
        cell.label,
        cell.params,
        len(records),
        len(records) - len(good),
        best,
        end,
        early_spread,
        _relative(end, best),
        _relative(early_spread, best),
        {name: found for name in results.manifest.metrics if (found := _spread(_last(good, name))) is not None},
        {name: float(np.mean([record.column(name)[-1] / record.n for record in good])) for name in _CALLS if good},
        float(np.mean(_last(good, "cpu_seconds"))) if good else 0.0,
    )


def _last(records: Sequence[Record], name: str) -> list[float]:
    return [float(record.column(name)[-1]) for record in records]


def _at(record: Record, passes: float) -> float | None:
    """F of the last row whose calls, full gradients counted, are within the budget."""
    reached = np.flatnonzero(measured(record, "full") <= passes + 1e-9)
    return float(record.column("objective")[reached[-1]]) if len(reached) else None


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


def header(rows: Sequence[Row]) -> list[str]:
    metrics = list(dict.fromkeys(name for row in rows for name in row.metrics))
    return ["method", "runs", "excess", "all calls", *metrics, "steps", "full", "CPU s"]


def cells(row: Row, names: Sequence[str]) -> list[str]:
    """The figures of a row as text, in the order of `header`; "excess" is F - F* relative to F*, or F itself."""
    first, second = (row.error, row.error_all) if row.optimum is not None else (row.objective, row.objective_all)
    runs = f"{row.runs}" + (f" ({row.diverged} diverged)" if row.diverged else "")
    counts = {"steps": 0.0, "searches": 0.0, "full_gradients": 0.0, **row.calls}
    calls = [f"{counts['steps'] + counts['searches']:.0f}", f"{counts['full_gradients']:.0f}"]
    metrics = [_text(row.metrics.get(name)) for name in names[4:-3]]
    return [row.method, runs, _text(first), _text(second), *metrics, *calls, f"{row.cpu_seconds:.2f}"]


def markdown(rows: Sequence[Row]) -> str:
    """A table per case."""
    parts = []
    for experiment, case in dict.fromkeys((row.experiment, row.case) for row in rows):
        mine = [row for row in rows if (row.experiment, row.case) == (experiment, case)]
        names = header(mine)
        lines = [names, ["---"] * len(names), *(cells(row, names) for row in mine)]
        text = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        parts.append(f"### {title_of(mine[0])}\n\n{text}")
    return "\n\n".join(parts) + "\n"


def title_of(row: Row) -> str:
    best = "F is not convex: F itself" if row.optimum is None else f"F* in {row.optimum}"
    return f"{row.experiment}: {row.case} ({best})"


def _text(found: Spread | None) -> str:
    """Two digits of the deviation and the mean to the same place; of a single run four digits of the mean."""
    if found is None:
        return "-"
    size = found.std if found.std > 0.0 else abs(found.mean) / 100.0
    digits = 4 if size == 0.0 else min(max(1 - math.floor(math.log10(size)), 0), 8)
    return f"{found.mean:.{digits}f} ± {found.std:.{digits}f}"
