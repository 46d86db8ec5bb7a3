"""How much the labels count: in the cost of a token for a hinge loss, in the weight of a sentence for a log loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from casimir._outputs import Outputs, ShardedOutputs, in_shards
from casimir.estimators.labels import Label
from casimir.scores import FloatArray, IntArray

_NEEDED = "a dict {label: weight}, 'balanced' or None"


def class_weights(
    class_weight: Any, classes: Sequence[Label], y: Outputs | ShardedOutputs, sample_weight: FloatArray | None
) -> FloatArray:
    """float64[L]: the weight of every label.

    class_weight  {label: weight}, 1 for labels that are not in it; or "balanced": tokens / (L times those of the label)
    y             the place of every token's label in classes, -1 where it is not known
    sample_weight float64[n]: how much each sentence counts; None: all 1
    """
    if isinstance(class_weight, str) and class_weight == "balanced":
        counts = np.zeros(len(classes))
        for first, own in in_shards(y):
            known = own.flat >= 0
            weights = None
            if sample_weight is not None:
                weights = np.repeat(sample_weight[first : first + len(own)], np.diff(own.offsets))[known]
            counts += np.bincount(own.flat[known], weights, minlength=len(classes))
        seen = counts > 0.0
        return np.where(seen, counts.sum() / (len(classes) * np.where(seen, counts, 1.0)), 1.0)
    if not isinstance(class_weight, Mapping):
        is_short = isinstance(class_weight, str | int | float)
        given = repr(class_weight) if is_short else f"a {type(class_weight).__name__}"
        raise TypeError(f"class_weight is {given}; it must be {_NEEDED}.")
    return np.array([_checked(class_weight.get(label, 1.0), label) for label in _known(class_weight, classes)])


def sentence_weights(per_class: FloatArray, y: Outputs | ShardedOutputs) -> FloatArray:
    """float64[n]: the mean weight of a sentence's labels, of those that are known; 1 where none is."""
    return np.concatenate([_mean_weights(per_class, own.flat, own.offsets) for _, own in in_shards(y)])


def _mean_weights(per_class: FloatArray, places: IntArray, offsets: IntArray) -> FloatArray:
    known = places >= 0
    weights = np.where(known, per_class[places], 0.0)
    totals, counts = (np.add.reduceat(values, offsets[:-1]) for values in (weights, known.astype(np.float64)))
    return np.where(counts > 0.0, totals / np.maximum(counts, 1.0), 1.0)


def _known(class_weight: Mapping[Any, Any], classes: Sequence[Label]) -> Sequence[Label]:
    missing = [label for label in class_weight if label not in classes]
    if missing:
        raise ValueError(f"class_weight has the label {missing[0]!r}; y has only {list(classes)}.")
    return classes


def _checked(weight: Any, label: Label) -> float:
    if isinstance(weight, bool) or not isinstance(weight, int | float | np.number):
        raise TypeError(f"class_weight[{label!r}] is {weight!r}; a weight is a number.")
    if not 0.0 <= float(weight) < np.inf:
        raise ValueError(f"class_weight[{label!r}] is {weight}; weights must be finite, 0 or larger.")
    return float(weight)
