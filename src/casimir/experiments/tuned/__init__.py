"""Values that tuning found, one JSON file per experiment: {method: {case: {knob: value}}}.

`tools/keep_tuned.py DIR` writes them from the folder of a run with --tune.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from importlib import resources

from casimir.experiments.base import Method


def with_tuned(experiment: str, methods: Sequence[Method]) -> tuple[Method, ...]:
    """The methods with the values that are kept for an experiment; those without any stay as they are."""
    file = resources.files(__name__) / f"{experiment}.json"
    known = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return tuple(replace(method, tuned=known[method.name]) if method.name in known else method for method in methods)
