"""What an experiment made in a folder: its cases and methods, their parameters, and the records of every seed.

`NAME.json` in the folder. Records belong to no experiment: two experiments that need the same run share it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from casimir.experiments.base import Case, Experiment, Method, Params
from casimir.experiments.claims import claim
from casimir.experiments.optimum import optimum_trial
from casimir.experiments.records import is_key, write_at_once
from casimir.experiments.trials import trial_of
from casimir.persistence.files import read_regular
from casimir.persistence.seal import unread

FORMAT, FORMAT_VERSION = "casimir-experiment", 1


@dataclass(frozen=True)
class Cell:
    """One method on one case.

    runs     seed -> key of its record
    optimum  the key of the certified run that gives F*; None where F is not convex
    tuning   how the parameters were found in this folder: rule, grid, choice; None: they were given
    """

    case: str
    data: str
    lam: str
    method: str
    label: str
    params: dict[str, float]
    runs: dict[str, str]
    optimum: str | None
    tuning: dict[str, Any] | None = None

    @property
    def tuning_runs(self) -> list[str]:
        """The keys of the records that tuning made; none where the folder was written before they were noted."""
        grid = [] if self.tuning is None else self.tuning["grid"]
        return [key for point in grid for key in point.get("runs", ())]


@dataclass(frozen=True)
class Manifest:
    name: str
    title: str
    figure: str
    passes: int
    metrics: list[str]
    cells: list[Cell] = field(default_factory=list)


def cell_of(
    experiment: Experiment, case: Case, method: Method, params: Params, seeds: Iterable[int], tuning: Any = None
) -> Cell:
    runs = {str(seed): trial_of(experiment, case, method, params, seed).key for seed in seeds}
    optimum = optimum_trial(case).key if case.source.convex else None
    return Cell(case.name, case.source.name, case.lam, method.name, method.title, dict(params), runs, optimum, tuning)


def update(folder: Path, experiment: Experiment, cells: list[Cell]) -> Manifest:
    """The manifest with these cells. Others stay, and so do other seeds, unless the budget or parameters are others."""
    e = experiment
    with claim(folder / "claims" / e.name, wait=True):
        path, known = folder / f"{e.name}.json", {}
        if path.exists():
            before = read(path)
            if (before.passes, before.metrics) == (e.passes, list(e.metrics)):
                known = {(cell.case, cell.method): cell for cell in before.cells}
        for cell in cells:
            known[cell.case, cell.method] = _joined(known.get((cell.case, cell.method)), cell)
        manifest = Manifest(e.name, e.title, e.figure, e.passes, list(e.metrics), _ordered(list(known.values()), e))
        text = json.dumps({"format": FORMAT, "format_version": FORMAT_VERSION, **asdict(manifest)}, indent=1)
        write_at_once(path, text.encode() + b"\n")
        return manifest


def read(path: Path) -> Manifest:
    data = read_regular(path)
    try:
        fields: dict[str, Any] = unread(data)
        found = fields.pop("format"), fields.pop("format_version")
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError):
        raise _damaged(path) from None
    if found != (FORMAT, FORMAT_VERSION):
        raise ValueError(f"{path} has format {found[0]} {found[1]}; this casimir reads {FORMAT} {FORMAT_VERSION}.")
    try:
        made = Manifest(**{**fields, "cells": [Cell(**cell) for cell in fields["cells"]]})
    except (KeyError, TypeError):
        raise _damaged(path) from None
    if not isinstance(fields["cells"], list) or not _is_proper(made):
        raise _damaged(path)
    return made


def _damaged(path: Path) -> ValueError:
    return ValueError(f"{path} is not the list of an experiment's runs, or is damaged; it was left as it is.")


def _is_proper(made: Manifest) -> bool:
    """Whether the entries are of their types, and name records of this folder."""
    texts = made.name, made.title, made.figure
    if not all(isinstance(text, str) for text in texts) or type(made.passes) is not int:
        return False
    are_names = isinstance(made.metrics, list) and all(isinstance(name, str) for name in made.metrics)
    return are_names and all(map(_is_proper_cell, made.cells))


def _is_proper_cell(cell: Cell) -> bool:
    texts = cell.case, cell.data, cell.lam, cell.method, cell.label
    if not all(isinstance(text, str) for text in texts) or not isinstance(cell.runs, dict):
        return False
    if not isinstance(cell.params, dict) or not all(isinstance(v, int | float) for v in cell.params.values()):
        return False
    if not all(seed.isdecimal() for seed in cell.runs) or not isinstance(cell.tuning, dict | None):
        return False
    grid = [] if cell.tuning is None else cell.tuning.get("grid")
    if not isinstance(grid, list) or not all(isinstance(point, dict) for point in grid):
        return False
    tried = [point.get("runs", []) for point in grid]
    if not all(isinstance(keys, list) for keys in tried):
        return False
    named = [*cell.runs.values(), *chain.from_iterable(tried), *([] if cell.optimum is None else [cell.optimum])]
    return all(map(is_key, named))


def manifests(folder: Path) -> list[Manifest]:
    """Of all experiments in the folder, in the order of their names."""
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {folder}; give the one that `casimir experiment run` wrote to.")
    found = [read(path) for path in sorted(folder.glob("*.json"))]
    if not found:
        raise FileNotFoundError(f"{folder} has no experiment; give a folder that `casimir experiment run` wrote to.")
    return found


def _ordered(cells: list[Cell], experiment: Experiment) -> list[Cell]:
    """As the experiment has them; those that it has no more come last."""
    pairs = [(case.name, method.name) for case in experiment.cases for method in experiment.methods]
    places = {pair: k for k, pair in enumerate(pairs)}
    return sorted(cells, key=lambda cell: places.get((cell.case, cell.method), len(places)))


def _joined(before: Cell | None, cell: Cell) -> Cell:
    """The cell with the seeds and the tuning that it had before, if they belong to the same solver and budget."""
    if before is None or before.params != cell.params:
        return cell
    if any(before.runs[seed] != cell.runs[seed] for seed in before.runs.keys() & cell.runs.keys()):
        return cell
    runs = {**before.runs, **cell.runs}
    ordered = dict(sorted(runs.items(), key=lambda run: int(run[0])))
    return replace(cell, runs=ordered, tuning=before.tuning if cell.tuning is None else cell.tuning)
