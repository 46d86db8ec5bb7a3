"""Who is there first: CPU seconds and oracle calls until F is close to F*, or until a run's own certificate says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from casimir.experiments.counts import MEASURES, measured
from casimir.experiments.grids import Grid
from casimir.experiments.manifest import Cell
from casimir.experiments.optimum import Interval
from casimir.experiments.plots import figure_of
from casimir.experiments.records import Record
from casimir.experiments.results import Results


@dataclass(frozen=True)
class RaceRow:
    """reached    measure -> per level, the mean over seeds until F <= (1 + level) low, low <= F*; None: not all came
    certified  CPU seconds until the run's own gap is at most the last but one level
    """

    experiment: str
    case: str
    method: str
    runs: int
    optimum: Interval | None
    levels: tuple[float, ...]
    reached: dict[str, list[float | None]]
    certified: float | None

    note: ClassVar[str] = (
        "CPU seconds, without evaluations, until (F - F*) / F* is at most so much; oracle calls / n, full gradients"
        " left out and counted; own: CPU seconds until the run's own certificate says so"
    )

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def grids(cls, rows: Sequence[RaceRow]) -> list[Grid]:
        """One per case."""
        made = []
        for name, case in dict.fromkeys((row.experiment, row.case) for row in rows):
            mine = [row for row in rows if (row.experiment, row.case) == (name, case)]
            levels = mine[0].levels
            middle = f"{levels[-2]:.2g}"
            header = ["method", "runs", *(f"CPU s to {level:g}" for level in levels)]
            header += [f"calls to {middle}", f"all calls to {middle}", f"own, {middle}"]
            title = f"{name}: {case} (F* in {mine[0].optimum})"
            made.append(Grid(title, header, [row._cells() for row in mine]))
        return made

    def _cells(self) -> list[str]:
        calls = [self.reached[count][-2] for count in ("paper", "full")]
        seconds = [_number(value) for value in self.reached["cpu"]]
        return [self.method, str(self.runs), *seconds, *(_number(value) for value in calls), _number(self.certified)]


@dataclass(frozen=True)
class Race:
    """The view: a table of times to relative accuracies, and the usual picture of the objective."""

    levels: tuple[float, ...] = (0.1, 0.01, 0.001)

    def rows(self, results: Results) -> list[RaceRow]:
        return [self._row(results, cell) for cell in results.cells]

    def figures(self, results: Results) -> dict[str, Any]:
        return {"objective": figure_of(results, "objective")}

    def _row(self, results: Results, cell: Cell) -> RaceRow:
        records, best = results.records[cell.case, cell.method], results.optima[cell.case]
        reached: dict[str, list[float | None]] = {}
        for measure in MEASURES:
            reached[measure] = [None if best is None else _until(records, measure, best, one) for one in self.levels]
        own = [_first(record, "cpu", record.column("gap") <= self.levels[-2]) for record in records]
        name = results.manifest.name
        return RaceRow(name, cell.case, cell.label, len(records), best, self.levels, reached, _mean(own))


def _until(records: Sequence[Record], measure: str, best: Interval, level: float) -> float | None:
    limit = (1.0 + level) * best.low
    return _mean([_first(record, measure, record.column("objective") <= limit) for record in records])


def _first(record: Record, measure: str, is_there: Any) -> float | None:
    """The measure in the first row of these; None where there is none, or where nothing is measured: no steps."""
    rows = np.flatnonzero(is_there)
    if not len(rows) or (measure == "paper" and not record.column("steps").any()):
        return None
    return float(measured(record, measure)[rows[0]])


def _mean(values: Sequence[float | None]) -> float | None:
    """None where one is missing: a mean over fewer runs would mislead."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known and len(known) == len(values) else None


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"
