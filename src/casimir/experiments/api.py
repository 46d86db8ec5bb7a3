"""run: makes the runs of an experiment, tuned first where that is asked for."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from casimir._validate import positive_int
from casimir.experiments.base import FIRST_SEED, Experiment, Places
from casimir.experiments.grid import complete
from casimir.experiments.manifest import Cell, cell_of, update
from casimir.experiments.optimum import optimum_trial
from casimir.experiments.registry import find
from casimir.experiments.results import Results, results_of
from casimir.experiments.selection import parts_of
from casimir.experiments.trials import Loaded, Trial, trial_of
from casimir.experiments.tuning import Search, tune

PathLike = str | os.PathLike[str]


class Watcher(Protocol):
    """Where `run` tells how far it is."""

    def stage(self, name: str) -> None:
        """A grid begins, such as "ner-solvers: tuning"."""
        ...

    def progress(self, done: int, total: int) -> None:
        """So many of its runs have a record."""
        ...

    def tuned(self, searches: Sequence[Search]) -> None:
        """Tuning has ended."""
        ...


class Silent:
    """A Watcher that tells nothing."""

    def stage(self, name: str) -> None: ...

    def progress(self, done: int, total: int) -> None: ...

    def tuned(self, searches: Sequence[Search]) -> None: ...


def run(
    experiment: str | Experiment,
    *,
    out: PathLike,
    data: PathLike | None = None,
    seeds: int | None = None,
    jobs: int = 1,
    tune: bool = False,
    only: str | None = None,
    watcher: Watcher | None = None,
) -> list[Results]:
    """Makes the runs that have no record in `out` yet, and returns all results.

    experiment  its name, "smoke" for a tiny version of each, or an Experiment
    data        the folder with data sets; experiments on embedded data need none
    seeds       how many; None: the experiment's own number
    jobs        processes of one thread each
    tune        look for the knobs of the methods first, instead of taking the values that the experiment has
    only        a part of it, such as "method=sgd,bcfw,lam=1/n"
    """
    chosen = find(experiment) if isinstance(experiment, str) else [experiment]
    if seeds is not None:
        chosen = [replace(one, seeds=positive_int(seeds, "seeds")) for one in chosen]
    positive_int(jobs, "jobs")
    parts = parts_of(chosen, only)
    folder, places = Path(out), Places(None if data is None else Path(data), Path(out) / "cache")
    for _, part in parts:
        _check_data(part, places)
    loaded = Loaded(places)
    return [_run(part, whole, folder, loaded, jobs, tune, watcher or Silent()) for whole, part in parts]


def _run(
    experiment: Experiment,
    whole: Experiment,
    folder: Path,
    loaded: Loaded,
    jobs: int,
    wants_tuning: bool,
    watcher: Watcher,
) -> Results:
    """The runs of `experiment`, a part of the `whole`."""

    def make(name: str) -> Callable[[list[Trial]], None]:
        def make_runs(trials: list[Trial]) -> None:
            if not trials:
                return
            watcher.stage(f"{experiment.name}: {name}")
            complete(trials, folder, loaded, jobs, watcher.progress)

        return make_runs

    optima = [optimum_trial(case) for case in experiment.cases if case.source.convex]
    make("F*")(optima)
    if wants_tuning:
        searches = tune(experiment, folder, make("tuning"))
        watcher.tuned(searches)
    else:
        searches = []
        _note_guesses(experiment)
    cells = _cells(experiment, searches)
    manifest = update(folder, whole, cells)
    make("runs")(_trials(experiment, cells))
    return results_of(folder, manifest)


def _cells(experiment: Experiment, searches: list[Search]) -> list[Cell]:
    by_pair = {(s.case.name, s.method.name): s for s in searches}
    seeds = range(FIRST_SEED, FIRST_SEED + experiment.seeds)
    cells = []
    for case in experiment.cases:
        for method in experiment.methods:
            search = by_pair.get((case.name, method.name))
            params = method.params(case) if search is None else search.params(search.best)
            cells.append(cell_of(experiment, case, method, params, seeds, None if search is None else search.report))
    return cells


def _trials(experiment: Experiment, cells: list[Cell]) -> list[Trial]:
    cases = {case.name: case for case in experiment.cases}
    methods = {method.name: method for method in experiment.methods}
    return [
        trial_of(experiment, cases[cell.case], methods[cell.method], cell.params, int(seed))
        for cell in cells
        for seed in cell.runs
    ]


def _note_guesses(experiment: Experiment) -> None:
    missing = [(c, m) for c in experiment.cases for m in experiment.methods if not m.is_tuned(c)]
    if missing:
        named = ", ".join(dict.fromkeys(method.name for _, method in missing))
        warnings.warn(
            f"{experiment.name} has no tuned values for {named} on {len({c.name for c, _ in missing})} of "
            f"{len(experiment.cases)} cases; the guesses of its file are taken. --tune finds better ones.",
            stacklevel=2,
        )


def _check_data(experiment: Experiment, places: Places) -> None:
    """A missing file is told before anything runs."""
    files = list(dict.fromkeys(file for case in experiment.cases for file in case.source.files))
    if not files:
        return
    needed = f"{experiment.name} needs a data folder with {', '.join(files)}"
    if places.data is None:
        raise ValueError(f"{needed}; give one (--data DIR).")
    if not places.data.is_dir():
        raise FileNotFoundError(f"There is no data folder {places.data}; {needed}.")
    missing = [file for file in files if not (places.data / file).exists()]
    if missing:
        raise FileNotFoundError(f"{places.data} has no {missing[0]}; {needed}.")
