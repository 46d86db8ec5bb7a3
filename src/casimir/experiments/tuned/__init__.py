"""Values that tuning found, one JSON file per experiment: {method: {case: {knob: value}}}.

`tools/keep_tuned.py DIR` writes them from the folder of a run with --tune.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from importlib import resources

from casimir.experiments.base import Case, Method


def with_tuned(experiment: str, methods: Sequence[Method]) -> tuple[Method, ...]:
    """The methods with the values that are kept for an experiment; those without any stay as they are."""
    known = _known(experiment)
    return tuple(replace(method, tuned=known[method.name]) if method.name in known else method for method in methods)


def tuned_values(
    experiment: str, method: str, knobs: Collection[str], cases: Sequence[Case]
) -> dict[str, dict[str, float]]:
    """case -> the values of these knobs of a method of an experiment, for another one that varies something else."""
    found = _known(experiment).get(method, {})
    return {c.name: {name: found[c.name][name] for name in knobs} for c in cases if c.name in found}


def _known(experiment: str) -> dict[str, dict[str, dict[str, float]]]:
    file = resources.files(__name__) / f"{experiment}.json"
    known: dict[str, dict[str, dict[str, float]]] = (
        json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    )
    return known
