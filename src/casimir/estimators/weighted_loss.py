"""The loss of a tagger whose mistakes, labels or sentences do not all count alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from casimir._outputs import Outputs, ShardedOutputs
from casimir.costs import Hamming
from casimir.estimators.class_weights import class_weights, sentence_weights
from casimir.estimators.label_costs import cost_table
from casimir.estimators.labels import Label
from casimir.losses import Loss, loss_named
from casimir.objective import checked_weights
from casimir.scores import FloatArray


def weighted_loss(
    loss: str,
    label_costs: Any,
    class_weight: Any,
    classes: Sequence[Label],
    y: Outputs | ShardedOutputs,
    sample_weight: Any,
) -> tuple[Loss, FloatArray | None]:
    """The loss with its cost, and the weights of the sentences.

    A class weight multiplies the costs of tokens of that label under a hinge loss. A log loss has no costs: there a
    sentence counts as much as its labels on average.

    y  the places of the labels in classes, -1 where a label is not known
    """
    weights = None if sample_weight is None else checked_weights(sample_weight, len(y))
    has_costs = loss_named(loss, Hamming()).cost is not None
    if label_costs is not None and not has_costs:
        raise ValueError(f"label_costs belong to loss='hinge'; loss={loss!r} has no cost. Leave one of them out.")
    table = 1.0 - np.eye(len(classes)) if label_costs is None else cost_table(label_costs, classes)
    if class_weight is None:
        return loss_named(loss, Hamming(table)), weights
    per_class = class_weights(class_weight, classes, y, weights)
    if has_costs:
        return loss_named(loss, Hamming(table * per_class[:, None])), weights
    per_sentence = sentence_weights(per_class, y)
    return loss_named(loss, Hamming(table)), per_sentence if weights is None else per_sentence * weights
