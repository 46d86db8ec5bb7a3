"""Task losses as part scores, so that cost-augmented inference is inference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from casimir._boxes import iou, whole_boxes
from casimir._validate import finite_float, sequence_of
from casimir.scores import FloatArray, IntArray, Scores
from casimir.structures.base import Structure


class Cost(Protocol):
    """l(y, y') >= 0 with l(y, y) = 0."""

    def parts(self, structure: Structure, s: Scores, y: Sequence[IntArray]) -> Scores:
        """The cost of every part, given the true outputs: score_of(parts, y') = l(y, y')."""
        ...

    def __call__(self, y_true: Any, y_pred: Any, example: int | None = None) -> float:
        """l(y_true, y_pred); `example` says which one it is, for costs that depend on it."""
        ...


@dataclass(frozen=True, eq=False)
class Hamming:
    """l(y, y') = sum_v weights[y_v, y'_v], by default the number of wrong labels, sum_v [y_v != y'_v].

    weights  None or float64[L, L] (true, predicted), non-negative with a zero diagonal
    """

    weights: FloatArray | None = None

    def __post_init__(self) -> None:
        if self.weights is None:
            return
        table = finite_float(self.weights, "weights").copy()
        if table.ndim != 2 or table.shape[0] != table.shape[1]:
            raise ValueError(f"weights has shape {list(table.shape)}; it must be [L, L] (true, predicted).")
        if np.any(np.diag(table) != 0):
            label = int(np.flatnonzero(np.diag(table))[0])
            raise ValueError(f"weights[{label}, {label}] is {table[label, label]}; a correct label must cost 0.")
        if np.any(table < 0):
            raise ValueError(f"weights has the negative entry {table.min()}; a cost must be 0 or larger.")
        object.__setattr__(self, "weights", table)

    def parts(self, structure: Structure, s: Scores, y: Sequence[IntArray]) -> Scores:
        costs: Scores = _capability(structure, "label_costs", "Hamming")(s, y, self.weights)
        return costs

    def __call__(self, y_true: Any, y_pred: Any, example: int | None = None) -> float:
        true, pred = np.atleast_1d(y_true), np.atleast_1d(y_pred)
        if true.shape != pred.shape:
            raise ValueError(f"y_true has shape {list(true.shape)} and y_pred {list(pred.shape)}; they must be equal.")
        return float(np.sum(true != pred) if self.weights is None else self.weights[true, pred].sum())


@dataclass(frozen=True, eq=False)
class IoU:
    """l(y, y') = 1 - |box_y & box_y'| / |box_y | box_y'|.

    boxes  None when an output is a box (top, left, bottom, right) itself, as for BoxSearch(truth=y); else a list of
           float64[m_i, 4], one box per candidate. Both ends are inclusive
    """

    boxes: Sequence[FloatArray] | None = None

    def __post_init__(self) -> None:
        if self.boxes is None:
            return
        checked = [finite_float(b, f"boxes[{i}]") for i, b in enumerate(sequence_of(self.boxes, "boxes"))]
        for i, b in enumerate(checked):
            if b.ndim != 2 or b.shape[1] != 4 or not len(b):
                raise ValueError(f"boxes[{i}] has shape {list(b.shape)}; it must be [m, 4] with m >= 1.")
            bad = np.flatnonzero((b[:, 2:] < b[:, :2]).any(axis=1))
            if len(bad):
                raise ValueError(
                    f"boxes[{i}][{bad[0]}] is {b[bad[0]].tolist()}; (top, left, bottom, right) needs "
                    "top <= bottom and left <= right."
                )
        object.__setattr__(self, "boxes", tuple(checked))

    def parts(self, structure: Structure, s: Scores, y: Sequence[IntArray]) -> Scores:
        costs: Scores
        if self.boxes is None:
            costs = _capability(structure, "box_costs", "IoU()")(s, y)
            return costs
        output_costs = _capability(structure, "output_costs", "IoU")
        if not len(self.boxes) == len(s) == len(y):
            raise ValueError(
                f"IoU has the boxes of {len(self.boxes)} examples and got {len(s)} scores and {len(y)} outputs. "
                "Take the parts of all examples first, then Scores.select a sub-batch."
            )
        listed = enumerate(zip(self.boxes, y, strict=True))
        costs = output_costs(s, [1.0 - iou(b[_index(true, b, i)], b) for i, (b, true) in listed])
        return costs

    def __call__(self, y_true: Any, y_pred: Any, example: int | None = None) -> float:
        if self.boxes is None:
            return float(1.0 - iou(_one_box(y_true, "y_true"), _one_box(y_pred, "y_pred")))
        if example is None and len(self.boxes) != 1:
            raise ValueError(f"IoU has the boxes of {len(self.boxes)} examples; say which: cost(y, y', example=i).")
        i = range(len(self.boxes))[example or 0]
        boxes = self.boxes[i]
        return float(1.0 - iou(boxes[_index(y_true, boxes, i)], boxes[_index(y_pred, boxes, i)]))


def _one_box(y: Any, name: str) -> IntArray:
    if np.shape(y) != (4,):
        raise ValueError(
            f"{name} has shape {list(np.shape(y))}; IoU() compares boxes (top, left, bottom, right). "
            "For indices of candidates give their boxes: IoU(boxes)."
        )
    box: IntArray = whole_boxes([y], name)[0]
    return box


def _index(y: Any, boxes: FloatArray, example: int) -> int:
    """The candidate index in an output int64[1] or a plain integer."""
    index = np.asarray(y).reshape(-1)
    if len(index) != 1 or index.dtype.kind not in "iu" or not 0 <= index[0] < len(boxes):
        raise ValueError(f"Example {example} got the output {y!r}; it must be one index from 0 to {len(boxes) - 1}.")
    return int(index[0])


def _capability(structure: Structure, method: str, cost: str) -> Any:
    found = getattr(structure, method, None)
    if found is None:
        raise TypeError(
            f"{cost} needs {type(structure).__name__}.{method}, which it does not have. "
            "Add the method, or use a cost that is a sum over the parts of this structure."
        )
    return found
