"""What mistakes cost: {(true, predicted): cost}, a table, or the name of a preset -> float64[L, L]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from casimir._validate import finite_float
from casimir.estimators.labels import Label
from casimir.scores import FloatArray

ANY = "*"
PRESETS: dict[str, dict[tuple[Label, Label], float]] = {"recall": {(ANY, "O"): 3.0}}
_NEEDED = "a dict {(true, predicted): cost}, an array [L, L] (true, predicted) or 'recall'"


def cost_table(label_costs: Any, classes: Sequence[Label]) -> FloatArray:
    """float64[L, L] (true, predicted) of what `SequenceTagger` takes as label_costs; pairs without a cost cost 1.

    "*" in a pair is any label. Later pairs go before earlier ones, and a right label costs nothing.
    """
    if isinstance(label_costs, str):
        return _of_pairs(_preset(label_costs, classes), classes)
    if isinstance(label_costs, Mapping):
        return _of_pairs(label_costs, classes)
    if not isinstance(label_costs, np.ndarray | list | tuple):
        raise TypeError(f"label_costs is a {type(label_costs).__name__}; it must be {_NEEDED}.")
    table, size = finite_float(label_costs, "label_costs"), len(classes)
    if table.shape != (size, size):
        raise ValueError(
            f"label_costs has shape {list(table.shape)}; the {size} labels {list(classes)} need [{size}, {size}], "
            "rows and columns in that order."
        )
    return table


def _preset(name: str, classes: Sequence[Label]) -> dict[tuple[Label, Label], float]:
    if name not in PRESETS:
        raise ValueError(f"label_costs={name!r}; it must be {_NEEDED}.")
    if "O" not in classes:
        raise ValueError(
            f"label_costs={name!r} makes it dear to take a label for 'O', which y does not have; its labels are "
            f"{list(classes)}. Write a dict {{(true, predicted): cost}}."
        )
    return PRESETS[name]


def _of_pairs(costs: Mapping[Any, Any], classes: Sequence[Label]) -> FloatArray:
    number = {label: j for j, label in enumerate(classes)}
    table = 1.0 - np.eye(len(classes))
    for pair, cost in costs.items():
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"label_costs has the key {pair!r}; its keys are pairs (true label, predicted label).")
        missing = [label for label in pair if label != ANY and label not in number]
        if missing:
            raise ValueError(f"label_costs has the label {missing[0]!r}; y has only {list(classes)}.")
        true, predicted = (slice(None) if label == ANY else number[label] for label in pair)
        table[true, predicted] = cost
        if ANY in pair:
            np.fill_diagonal(table, 0.0)
    return table
