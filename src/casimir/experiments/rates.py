"""Rates of convergence: oracle calls to F - F* <= eps against 1/eps, n and 1/lam, and slopes in logarithms.

    N(eps, n, lam) = the calls at the first row of a trace with F - low <= eps,   low a certified lower bound of F*

Where solvers need eps in advance there is a run for every eps (a parameter eps of the method), and methods of one label
are one line. A slope is that of log N, N the geometric mean over seeds; what was reached in the first row may have been
reached before it, and is in no fit. Its spread is the standard deviation of the slopes of single seeds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from casimir.experiments.counts import measured
from casimir.experiments.grids import Grid
from casimir.experiments.manifest import Cell
from casimir.experiments.records import Record
from casimir.experiments.results import Results

AXES = {"eps": "1/ε", "n": "n", "lam": "1/λ"}
COUNTS = {"paper": "full gradients left out", "full": "full gradients counted"}
_FEWEST = 3  # points of a fit
_SAME = 1e-3  # relative: lam comes from a name such as 0.3162/n

Bound = Callable[[float, float, float], float]  # (eps, n, lam) -> oracle calls, up to constants


class Point(NamedTuple):
    """calls, a mean over seeds, at one place; is_first where a run reached eps in its first row."""

    eps: float
    n: int
    lam: float
    calls: float
    is_first: bool

    def x(self, axis: str) -> float:
        """What grows along an axis: 1/eps, n or 1/lam."""
        return float(self.n) if axis == "n" else 1.0 / float(getattr(self, axis))


class Place(NamedTuple):
    n: int
    lam: float


def calls_to(record: Record, count: str, low: float, eps: float) -> tuple[float, bool] | None:
    """Calls at the first row with F - low <= eps, and whether no row is before it; None where there is none.

    A method that makes no steps has no count without full gradients.
    """
    if record.status == "diverged" or (count == "paper" and not record.column("steps").any()):
        return None
    reached = np.flatnonzero(record.column("objective") - low <= eps)
    if not len(reached):
        return None
    return float(measured(record, count)[reached[0]] * record.n), bool(reached[0] == 0)


def points_of(results: Results, label: str, count: str, eps: Sequence[float], seed: int | None = None) -> list[Point]:
    """All that a line reached, on every case; a place counts where all seeds came there.

    seed  the place of one seed among all, to read its runs alone
    """
    points = []
    for cell in results.cells:
        best = results.optima[cell.case]
        if cell.label != label or best is None:
            continue
        records = results.records[cell.case, cell.method]
        records = records if seed is None else records[seed : seed + 1]
        if not records:
            continue
        n = records[0].n
        for one in [cell.params["eps"]] if "eps" in cell.params else eps:
            found = [calls_to(record, count, best.low, one) for record in records]
            calls = [each for each in found if each is not None]
            if len(calls) == len(records):
                mean = float(np.exp(np.mean([math.log(number) for number, _ in calls])))
                points.append(Point(one, *_place(cell, n), mean, any(is_first for _, is_first in calls)))
    return points


def _place(cell: Cell, n: int) -> Place:
    return Place(n, float(cell.lam.removesuffix("/n")) / n)


def _is_same(one: Any, other: Place, names: Iterable[str]) -> bool:
    return all(math.isclose(getattr(one, name), getattr(other, name), rel_tol=_SAME) for name in names)


def sweep(points: Iterable[Point], axis: str, at: Place) -> list[Point]:
    """The points along one axis through a place; along n and 1/lam at the smallest eps that most of them reached."""
    line = [p for p in points if _is_same(p, at, {"n", "lam"} - {axis})]
    if axis != "eps":
        reached = {p.eps: sum(q.eps == p.eps and not q.is_first for q in line) for p in line}
        line = [p for p in line if p.eps == min(reached, key=lambda eps: (-reached[eps], eps))]
    return sorted(line, key=lambda p: p.x(axis))


def slope(points: Sequence[Point], axis: str, calls: Callable[[Point], float] = lambda p: p.calls) -> float | None:
    """Least squares in logarithms; None for fewer than three points."""
    used = [p for p in points if not p.is_first]
    if len(used) < _FEWEST:
        return None
    x, y = (np.log([value(p) for p in used]) for value in (lambda p: p.x(axis), calls))
    return float(np.polyfit(x, y, 1)[0])


class Slope(NamedTuple):
    """seen    the slope of the calls, theory that of the bound at the same points
    spread  the standard deviation of `seen` over seeds; None for one seed
    eps     that it was read at; 0 along eps itself
    points  in the fit
    """

    seen: float | None
    theory: float | None
    eps: float
    points: int
    spread: float | None = None


@dataclass(frozen=True)
class RateRow:
    """slopes  (axis, count) -> slope
    calls   count -> calls at the reference, at the smallest eps that was reached there
    bound   the theory's number there, without its constants and logarithms
    """

    experiment: str
    method: str
    runs: int
    slopes: dict[tuple[str, str], Slope]
    eps: float | None
    calls: dict[str, float]
    bound: float | None

    note: ClassVar[str] = (
        "Slopes of log N, N the oracle calls to F - F* <= eps: full gradients left out | counted; theory: of the bound"
        " at the same points. calls: N at the reference, and the bound without constants"
    )

    def to_dict(self) -> dict[str, Any]:
        fields = asdict(self)
        fields["slopes"] = {f"{a} {c}": found._asdict() for (a, c), found in self.slopes.items()}
        return fields

    @classmethod
    def grids(cls, rows: Sequence[RateRow]) -> list[Grid]:
        made = []
        for name in dict.fromkeys(row.experiment for row in rows):
            mine = [row for row in rows if row.experiment == name]
            axes = list(dict.fromkeys(axis for axis, _ in mine[0].slopes))
            header = ["method", *(f"{AXES[a]}: {what}" for a in axes for what in ("theory", "seen", "all"))]
            header += [*(f"{AXES[a]}: at ε" for a in axes if a != "eps"), "smallest ε", "calls", "all calls", "bound"]
            made.append(Grid(f"{name}: slopes", header, [row._cells(axes) for row in mine]))
        return made

    def _cells(self, axes: Sequence[str]) -> list[str]:
        cells = [self.method]
        for axis in axes:
            paper, full = self.slopes[axis, "paper"], self.slopes[axis, "full"]
            cells += [_number(full.theory), *(_with_spread(one) for one in (paper, full))]
        read = [self.slopes[axis, "full"].eps for axis in axes if axis != "eps"]
        small = ["-" if not eps else f"{eps:.1g}" for eps in (*read, self.eps)]
        calls = [self.calls.get(count) for count in COUNTS]
        return [*cells, *small, *("-" if value is None else f"{value:.1e}" for value in (*calls, self.bound))]


@dataclass(frozen=True)
class Rates:
    """The view of an experiment on rates.

    at      the place where the lines along 1/eps, n and 1/lam meet; that of the first case where nothing is there
    eps     accuracies that are read from traces
    bounds  label -> the theory's number of oracle calls
    axes    those that the experiment has
    """

    at: Place
    eps: tuple[float, ...]
    bounds: dict[str, Bound] = field(default_factory=dict)
    axes: tuple[str, ...] = tuple(AXES)

    def rows(self, results: Results) -> list[RateRow]:
        return [self._row(results, label) for label in labels_of(results)]

    def figures(self, results: Results) -> dict[str, Any]:
        from casimir.experiments.rates_figure import figure_of

        return {"calls": figure_of(self, results)}

    def line(self, results: Results, label: str, count: str, axis: str) -> list[Point]:
        return sweep(points_of(results, label, count, self.eps), axis, self.place(results))

    def place(self, results: Results) -> Place:
        """`at`, or the place of the first case of a part that leaves it out."""
        places = [_place(cell, results.records[cell.case, cell.method][0].n) for cell in results.cells]
        return self.at if any(_is_same(place, self.at, ("n", "lam")) for place in places) else places[0]

    def _row(self, results: Results, label: str) -> RateRow:
        slopes = {(a, c): self._slope(results, label, c, a) for a in self.axes for c in COUNTS}
        ends = {count: self.line(results, label, count, "eps")[-1:] for count in COUNTS}
        last = ends["full"][0] if ends["full"] else None
        bound = self.bounds.get(label)
        runs = sum(len(results.records[c.case, c.method]) for c in results.cells if c.label == label)
        return RateRow(
            results.manifest.name,
            label,
            runs,
            slopes,
            None if last is None else last.eps,
            {count: end[0].calls for count, end in ends.items() if end},
            None if last is None or bound is None else bound(*last[:3]),
        )

    def _slope(self, results: Results, label: str, count: str, axis: str) -> Slope:
        line, bound = self.line(results, label, count, axis), self.bounds.get(label)
        theory = None if bound is None else slope(line, axis, lambda p: bound(*p[:3]))
        eps = 0.0 if axis == "eps" or not line else line[0].eps
        spread = self._spread(results, label, count, axis, line)
        return Slope(slope(line, axis), theory, eps, sum(not p.is_first for p in line), spread)

    def _spread(self, results: Results, label: str, count: str, axis: str, line: list[Point]) -> float | None:
        """Of the slopes of single seeds through the places of the line that are in its fit."""
        places = {p[:3] for p in line if not p.is_first}
        found = []
        for seed in range(max((len(results.records[c.case, c.method]) for c in results.cells), default=0)):
            points = points_of(results, label, count, self.eps, seed)
            one = slope([p for p in points if p[:3] in places], axis)
            found += [] if one is None else [one]
        return float(np.std(found, ddof=1)) if len(found) > 1 else None


def labels_of(results: Results) -> list[str]:
    return list(dict.fromkeys(cell.label for cell in results.cells))


def _with_spread(found: Slope) -> str:
    spread = "" if found.spread is None or found.seen is None else f" ± {_number(found.spread)}"
    return f"{_number(found.seen)}{spread}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{round(value, 2) + 0.0:.2f}"  # no -0.00
