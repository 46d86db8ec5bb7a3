"""Tuning as Sec. 7.3 says: grids of a factor two around a guess, extended while an end of the grid wins."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from casimir.experiments.base import Case, Experiment, Method
from casimir.experiments.records import read_record, record_path
from casimir.experiments.trials import Trial, trial_of

TUNING_SEEDS = (0,)
_MOST = 12  # steps away from the guess: a factor of 4,096
Place = tuple[int, ...]  # powers of the factors, one per knob


@dataclass
class Search:
    """The grid of one method on one case: a box of places around the guess, and what was found there."""

    experiment: Experiment
    case: Case
    method: Method
    seeds: Sequence[int] = TUNING_SEEDS
    low: list[int] = field(default_factory=list)
    high: list[int] = field(default_factory=list)
    found: dict[Place, dict[str, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.low, self.high = [-1] * len(self.method.knobs), [1] * len(self.method.knobs)

    def params(self, place: Place) -> dict[str, float]:
        values = {name: knob.value(k) for (name, knob), k in zip(self.method.knobs.items(), place, strict=True)}
        return {**self.method.fixed, **values}

    def trials(self, place: Place) -> list[Trial]:
        return [trial_of(self.experiment, self.case, self.method, self.params(place), seed) for seed in self.seeds]

    def missing(self) -> list[Place]:
        """The places of the box that nothing is known of."""
        box = itertools.product(*(range(a, b + 1) for a, b in zip(self.low, self.high, strict=True)))
        return [place for place in box if place not in self.found]

    def learn(self, folder: Path) -> bool:
        """Reads the runs of the box. True when the best is inside it; else the box has grown."""
        for place in self.missing():
            records = [read_record(record_path(folder, trial.key)) for trial in self.trials(place)]
            outcomes = [outcome(record, self.experiment.metrics) for record in records]
            self.found[place] = {name: float(np.mean([one[name] for one in outcomes])) for name in outcomes[0]}
        best = self.best
        for k, at in enumerate(best):
            if at == self.low[k] and at > -_MOST:
                self.low[k] -= 1
            if at == self.high[k] and at < _MOST:
                self.high[k] += 1
        return not self.missing()

    @property
    def best(self) -> Place:
        places = list(self.found)
        return places[self.experiment.rule.best([self.found[place] for place in places])]

    @property
    def report(self) -> dict[str, Any]:
        """For the manifest: the rule, every place that was tried, and the choice."""
        grid = [{"params": self.params(place), **_plain(found)} for place, found in sorted(self.found.items())]
        return {
            "rule": repr(self.experiment.rule),
            "seeds": list(self.seeds),
            "runs": len(self.found) * len(self.seeds),
            "grid": grid,
            "chosen": self.params(self.best),
        }


def tune(experiment: Experiment, folder: Path, make_runs: Callable[[list[Trial]], None]) -> list[Search]:
    """A finished search for every case and every method with knobs; all of them take turns in the same grids."""
    searches = [Search(experiment, case, m) for case in experiment.cases for m in experiment.methods if m.knobs]
    unfinished = searches
    while unfinished:
        make_runs([trial for search in unfinished for place in search.missing() for trial in search.trials(place)])
        unfinished = [search for search in unfinished if not search.learn(folder)]
    return searches


def outcome(record: Any, metrics: Sequence[str]) -> dict[str, float]:
    """The row of the lowest objective; a run that diverged has an infinite one."""
    if record.status == "diverged" or not len(record):
        return {"objective": math.inf, **dict.fromkeys(metrics, 0.0)}
    objective = record.column("objective")
    row = int(np.argmin(objective))
    return {"objective": float(objective[row]), **{name: float(record.column(name)[row]) for name in metrics}}


def _plain(found: dict[str, float]) -> dict[str, float | None]:
    return {name: value if math.isfinite(value) else None for name, value in found.items()}
