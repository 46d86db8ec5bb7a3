"""Labels that are not fully known: None for a token whose label is unknown, a set for one of several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from casimir.estimators.labels import Label, LabelSequences
from casimir.scores import IntArray
from casimir.structures.base import split_flat

if TYPE_CHECKING:  # predictions need no solver
    from casimir.solvers.base import Solver

BoolArray = npt.NDArray[np.bool_]


def label_masks(labels: LabelSequences, classes: Sequence[Label]) -> list[BoolArray]:
    """A bool[p_i, L] per sentence: the labels that every token may have."""
    return split_flat(_table(labels, classes)[labels.numbers], labels.offsets)


def fixed_masks(fixed: Any, classes: Sequence[Label], offsets: IntArray) -> list[BoolArray]:
    """The same of what `predict` takes as fixed: None for a sentence of which nothing is known."""
    if isinstance(fixed, list | tuple):
        lengths = [*np.diff(offsets).tolist(), *([0] * len(fixed))]  # more entries than sentences are an error below
        fixed = [[None] * p if y is None else y for y, p in zip(fixed, lengths, strict=False)]
    labels = LabelSequences.of(fixed, offsets, "fixed")
    for j, label in enumerate(labels.distinct):
        unknown = [one for one in _options(label) if one not in classes]
        if unknown:
            i, position = labels.first_place(j)
            raise ValueError(
                f"fixed[{i}][{position}] is {label!r}, and the model has no label {unknown[0]!r}; its labels are "
                f"{list(classes)}."
            )
    return label_masks(labels, classes)


def right_labels(labels: LabelSequences, classes: Sequence[Label], predicted: IntArray) -> BoolArray:
    """bool[known]: whether the predicted label is the true one, or one of several, of tokens whose label is known."""
    known = np.array([label is not None for label in labels.distinct], dtype=np.bool_)[labels.numbers]
    return np.asarray(_table(labels, classes)[labels.numbers[known], predicted[known]])


def around(solver: Solver) -> Solver:
    """The solver for truths that are sets: rounds of the concave-convex procedure, each solved by the one given."""
    from casimir.solvers.concave_convex import ConcaveConvex

    return solver if isinstance(solver, ConcaveConvex) else ConcaveConvex(solver)


def _table(labels: LabelSequences, classes: Sequence[Label]) -> BoolArray:
    """bool[distinct, L]: which labels an entry stands for."""
    table = np.zeros((len(labels.distinct), len(classes)), dtype=np.bool_)
    place = {label: j for j, label in enumerate(classes)}
    for row, label in zip(table, labels.distinct, strict=True):
        if label is None:
            row[:] = True
        row[[place[one] for one in _options(label) if one in place]] = True
    return table


def _options(label: Label) -> Sequence[Label]:
    """What a label that was given may stand for, () for None."""
    if label is None:
        return ()
    return tuple(label) if isinstance(label, frozenset) else (label,)
