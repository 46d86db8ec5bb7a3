"""Labels of a model file, checked."""

from __future__ import annotations

import math
from typing import Any


def distinct_labels(given: Any) -> tuple[Any, ...]:
    """The labels, of which there is one at least: strings or finite numbers that are all different."""
    if not isinstance(given, list | tuple) or not given:
        raise ValueError("the model file is damaged: it has no proper list of labels.")
    for label in given:
        if not isinstance(label, str | int | float) or (isinstance(label, float) and not math.isfinite(label)):
            raise ValueError(f"the model file is damaged: {label!r} is no label; one is a string or a number.")
    seen: set[Any] = set()
    for label in given:
        if label in seen:
            raise ValueError(f"the model file is damaged: it has the label {label!r} twice.")
        seen.add(label)
    return tuple(given)


def distinct_strings(given: Any, what: str) -> list[str]:
    """The strings, all different."""
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
        raise ValueError(f"the model file is damaged: its {what} are no list of strings.")
    if len(set(given)) != len(given):
        raise ValueError(f"the model file is damaged: one of its {what} comes twice.")
    return given
