"""Tuning as Sec. 7.3 says: grids of a factor two around a guess, extended while an end of the grid wins.

A grid is extended around its best place alone: the rest of the box would be runs far from it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
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
    """The grid of one method on one case: the places around the guess, then around the best, until the best stays.

    It ends when every neighbour of the best, in all directions, was tried. A step of the best along one of two knobs
    costs three runs more, however far it is from the guess.
    """

    experiment: Experiment
    case: Case
    method: Method
    seeds: Sequence[int] = TUNING_SEEDS
    found: dict[Place, dict[str, float]] = field(default_factory=dict)

    def params(self, place: Place) -> dict[str, float]:
        values = {name: knob.value(k) for (name, knob), k in zip(self.method.knobs.items(), place, strict=True)}
        return {**self.method.fixed, **values}

    def trials(self, place: Place) -> list[Trial]:
        made = [trial_of(self.experiment, self.case, self.method, self.params(place), seed) for seed in self.seeds]
        every = self.experiment.evaluate_every_tuning
        return made if every is None else [replace(trial, evaluate_every=every) for trial in made]

    def missing(self) -> list[Place]:
        """The neighbours of the best place that nothing is known of; at first those of the guess."""
        middle = self.best if self.found else (0,) * len(self.method.knobs)
        ranges = (range(max(k - 1, -_MOST), min(k + 1, _MOST) + 1) for k in middle)
        return [place for place in itertools.product(*ranges) if place not in self.found]

    def learn(self, folder: Path) -> bool:
        """Reads the runs that were missing. True when the best has no unknown neighbour."""
        for place in self.missing():
            records = [read_record(record_path(folder, trial.key)) for trial in self.trials(place)]
            outcomes = [outcome(record, self.experiment.metrics) for record in records]
            self.found[place] = {name: float(np.mean([one[name] for one in outcomes])) for name in outcomes[0]}
        return not self.missing()

    @property
    def best(self) -> Place:
        places = list(self.found)
        return places[self.experiment.rule.best([self.found[place] for place in places])]

    @property
    def report(self) -> dict[str, Any]:
        """For the manifest: the rule, every place that was tried with the keys of its records, and the choice."""
        grid = [
            {"params": self.params(place), **_plain(found), "runs": [trial.key for trial in self.trials(place)]}
            for place, found in sorted(self.found.items())
        ]
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
