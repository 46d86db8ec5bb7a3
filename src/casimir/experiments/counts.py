"""How far a run is: the three measures that plots and tables show side by side."""

from __future__ import annotations

from casimir.experiments.records import Record
from casimir.scores import FloatArray

MEASURES = {
    "paper": "oracle calls / n, full gradients left out",
    "full": "oracle calls / n, full gradients counted",
    "cpu": "CPU seconds, without evaluations",
}


def measured(record: Record, measure: str) -> FloatArray:
    """float64[rows]: "paper" is (steps + searches) / n, "full" adds full gradients, "cpu" is CPU seconds.

    Oracle calls of evaluations, which only report, are in none of them.
    """
    if measure == "cpu":
        return record.column("cpu_seconds")
    calls = record.column("steps") + record.column("searches")
    if measure == "full":
        calls = calls + record.column("full_gradients")
    return calls / record.n
