"""What experiments took: how many runs every method had, for tuning and in the end, and their CPU minutes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from casimir.experiments.grids import Grid
from casimir.experiments.records import Record
from casimir.experiments.results import Results

OPTIMUM = "F*"


@dataclass(frozen=True)
class Cost:
    """method          over all cases; "F*" stands for the certified runs
    tuning_runs     with the values of a method's knobs that were tried in this folder
    tuning_minutes  of CPU, evaluations included; None: the folder does not know which records those are
    runs, minutes   the same of the final runs
    """

    experiment: str
    method: str
    tuning_runs: int
    tuning_minutes: float | None
    runs: int
    minutes: float

    note: ClassVar[str] = "runs, and their CPU minutes with evaluations; runs that experiments share count in each"

    def to_dict(self) -> dict[str, Any]:
        """Its fields."""
        return asdict(self)

    def cells(self) -> list[str]:
        """Its figures as text."""
        tuning = ["-", "-"]
        if self.tuning_runs:
            tuning = [str(self.tuning_runs), "?" if self.tuning_minutes is None else f"{self.tuning_minutes:.1f}"]
        return [*tuning, str(self.runs), f"{self.minutes:.1f}"]


def costs_of(results: Results) -> list[Cost]:
    """One per method, by its label, and one for F* where it is known."""
    name, cells = results.manifest.name, results.manifest.cells
    costs = []
    for label in dict.fromkeys(cell.label for cell in cells):
        mine = [cell for cell in cells if cell.label == label]
        final = [record for cell in mine for record in results.records[cell.case, cell.method]]
        tuned = [cell for cell in mine if cell.tuning is not None]
        known = [results.tuning.get((cell.case, cell.method)) for cell in tuned]
        spent = None if None in known else cpu_minutes(record for one in known for record in one or [])
        tries = sum(int((cell.tuning or {})["runs"]) for cell in tuned)
        costs.append(Cost(name, label, tries, spent, len(final), cpu_minutes(final)))
    certified = [record for records in results.certified.values() for record in records]
    return costs + [Cost(name, OPTIMUM, 0, 0.0, len(certified), cpu_minutes(certified))] * bool(certified)


def total(costs: Sequence[Cost]) -> Cost:
    """Of one experiment."""
    tuning = [cost.tuning_minutes for cost in costs]
    known = [minutes for minutes in tuning if minutes is not None]
    return Cost(
        costs[0].experiment,
        "all",
        sum(cost.tuning_runs for cost in costs),
        sum(known) if len(known) == len(tuning) else None,
        sum(cost.runs for cost in costs),
        sum(cost.minutes for cost in costs),
    )


def cpu_minutes(records: Iterable[Record]) -> float:
    """Evaluations included; reading the data is not in records."""
    clocks = ("cpu_seconds", "evaluation_seconds")
    return sum(float(record.column(clock)[-1]) for record in records if len(record) for clock in clocks) / 60.0


def cost_grid(found: Sequence[Results]) -> Grid:
    """A line per method of one experiment; of several a line each."""
    costs = [costs_of(results) for results in found]
    header = ["tuning runs", "CPU min", "runs", "CPU min"]
    if len(costs) == 1:
        lines = [*costs[0], total(costs[0])]
        return Grid(f"{lines[0].experiment}: cost", ["method", *header], [[c.method, *c.cells()] for c in lines])
    sums = [total(one) for one in costs]
    return Grid("cost", ["experiment", *header], [[c.experiment, *c.cells()] for c in sums])


def tuned_grid(results: Results) -> Grid | None:
    """The values that tuning chose in this folder: a line per method, a column per case; None where nothing was."""
    cells = [cell for cell in results.manifest.cells if cell.tuning is not None]
    if not cells:
        return None
    cases = list(dict.fromkeys(cell.case for cell in cells))
    lines = []
    for label in dict.fromkeys(cell.label for cell in cells):
        mine = {cell.case: cell.tuning or {} for cell in cells if cell.label == label}
        tries = sum(int(tuning["runs"]) for tuning in mine.values())
        lines.append([label, str(tries), *(chosen(mine[case]) if case in mine else "-" for case in cases)])
    return Grid(f"{results.manifest.name}: tuning", ["method", "runs", *cases], lines)


def chosen(tuning: dict[str, Any]) -> str:
    """The values of the knobs: of the parameters that differ within the grid."""
    return ", ".join(f"{name} {value:g}" for name, value in knobs_of(tuning).items())


def knobs_of(tuning: dict[str, Any]) -> dict[str, float]:
    """The choice without the parameters that were given."""
    grid = [point["params"] for point in tuning["grid"]]
    return {name: value for name, value in tuning["chosen"].items() if len({params[name] for params in grid}) > 1}
