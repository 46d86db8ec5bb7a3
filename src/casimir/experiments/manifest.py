"""What an experiment made in a folder: its cases and methods, their parameters, and the records of every seed.

`NAME.json` in the folder. Records belong to no experiment: two experiments that need the same run share it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from casimir.experiments.base import Case, Experiment, Method, Params
from casimir.experiments.claims import claim
from casimir.experiments.optimum import optimum_trial
from casimir.experiments.records import write_at_once
from casimir.experiments.trials import trial_of

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
    """The manifest with these cells; others that it had stay, and so do other seeds of the same parameters."""
    e = experiment
    with claim(folder / "claims" / e.name, wait=True):
        path = folder / f"{e.name}.json"
        known = {(c.case, c.method): c for c in read(path).cells} if path.exists() else {}
        for cell in cells:
            before = known.get((cell.case, cell.method))
            runs = before.runs if before is not None and _same_runs(before, cell) else {}
            known[cell.case, cell.method] = Cell(**{**asdict(cell), "runs": {**runs, **cell.runs}})
        places = {(case.name, method.name): k for k, (case, method) in enumerate(_pairs(e))}
        ordered = sorted((c for key, c in known.items() if key in places), key=lambda c: places[c.case, c.method])
        manifest = Manifest(e.name, e.title, e.figure, e.passes, list(e.metrics), ordered)
        text = json.dumps({"format": FORMAT, "format_version": FORMAT_VERSION, **asdict(manifest)}, indent=1)
        write_at_once(path, text.encode() + b"\n")
        return manifest


def read(path: Path) -> Manifest:
    try:
        fields: dict[str, Any] = json.loads(path.read_bytes())
        found = fields.pop("format"), fields.pop("format_version")
        if found != (FORMAT, FORMAT_VERSION):
            raise ValueError(f"{path} has format {found[0]} {found[1]}; this casimir reads {FORMAT} {FORMAT_VERSION}.")
        return Manifest(**{**fields, "cells": [Cell(**cell) for cell in fields["cells"]]})
    except (KeyError, TypeError, AttributeError, json.JSONDecodeError):
        raise ValueError(
            f"{path} is not the list of an experiment's runs, or is damaged; it was left as it is."
        ) from None


def manifests(folder: Path) -> list[Manifest]:
    """Of all experiments in the folder, in the order of their names."""
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {folder}; give the one that `casimir experiment run` wrote to.")
    found = [read(path) for path in sorted(folder.glob("*.json"))]
    if not found:
        raise FileNotFoundError(f"{folder} has no experiment; give a folder that `casimir experiment run` wrote to.")
    return found


def _pairs(experiment: Experiment) -> list[tuple[Case, Method]]:
    return [(case, method) for case in experiment.cases for method in experiment.methods]


def _same_runs(before: Cell, cell: Cell) -> bool:
    """Whether the seeds of both belong together: the same solver and the same budget."""
    shared = before.runs.keys() & cell.runs.keys()
    return before.params == cell.params and all(before.runs[seed] == cell.runs[seed] for seed in shared)
