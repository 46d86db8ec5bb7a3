"""Made-up records and results, for tests of what is read from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from casimir.experiments.manifest import Cell, Manifest
from casimir.experiments.optimum import Interval
from casimir.experiments.records import Record
from casimir.experiments.results import Results


def record(n: int, status: str = "budget", seed: int = 0, **columns: Sequence[float]) -> Record:
    """Columns that are not given are 0; cpu_seconds is a clock."""
    rows = len(columns["objective"])
    names = ("steps", "searches", "full_gradients", "epoch")
    trace: dict[str, Any] = {name: [0.0] * rows for name in names}
    clocks = {"cpu_seconds": list(columns.pop("cpu_seconds", [0.0] * rows))}
    trace |= {name: list(values) for name, values in columns.items()}
    return Record({"settings": {"seed": seed}, "n": n, "status": status, "trace": trace, "clocks": clocks})


def cell(case: str, lam: str, method: str, label: str, **params: float) -> Cell:
    return Cell(case, "made-up", lam, method, label, dict(params), {}, None)


def results(cells: Sequence[Cell], records: Mapping[tuple[str, str], list[Record]], low: float, high: float) -> Results:
    """All cases have the same interval of F*."""
    manifest = Manifest("made-up", "Made up", "", 10, [], list(cells))
    return Results(manifest, dict(records), {one.case: Interval(low, high) for one in cells})
