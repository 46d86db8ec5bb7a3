"""Task losses as part scores, so that cost-augmented inference is inference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from casimir._arrays import aligned_zeros, blocks
from casimir._boxes import iou, whole_boxes
from casimir._outputs import Outputs
from casimir._validate import finite_float, flat_labels, sequence_of
from casimir.scores import FloatArray, IntArray, Scores, offsets_of
from casimir.structures.base import Structure, split_flat

BoolArray = npt.NDArray[np.bool_]


class Cost(Protocol):
    """l(y, y') >= 0 with l(y, y) = 0."""

    def parts(self, structure: Structure, s: Scores, y: Sequence[Any]) -> Scores:
        """The cost of every part, given the true outputs: score_of(parts, y') = l(y, y').

        Most costs write down numbers, such as the cost of every label of every node, and let `part_scores` ask the
        structure to make part scores of them.
        """
        ...

    def __call__(self, y_true: Any, y_pred: Any, example: int | None = None) -> float:
        """l(y_true, y_pred); `example` says which one it is, for costs that depend on it."""
        ...


def part_scores(structure: Structure, s: Scores, costs: Any, cost: str) -> Scores:
    """structure.parts_of_cost(s, costs); an error that names the cost where the structure has no such method."""
    parts_of_cost = getattr(structure, "parts_of_cost", None)
    if parts_of_cost is None:
        raise TypeError(
            f"{cost} needs {type(structure).__name__}.parts_of_cost, which it does not have. "
            "Add the method, or use a cost that writes the part scores itself."
        )
    parts: Scores = parts_of_cost(s, costs)
    return parts


@dataclass(frozen=True, eq=False)
class Hamming:
    """l(y, y') = sum_v weights[y_v, y'_v], by default the number of wrong labels, sum_v [y_v != y'_v].

    weights  None or float64[L, L] (true, predicted), non-negative with a zero diagonal

    In the place of y there may be a mask of the labels that count as true, bool[p, L] (bool[m] for m candidates): then
    l = sum_v min {weights[j, y'_v] : mask[v, j]}, which is 0 for every output that the mask allows.
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

    def parts(self, structure: Structure, s: Scores, y: Sequence[Any]) -> Scores:
        is_certain = isinstance(y, Outputs) or not any(_is_mask(true) for true in y)
        if is_certain and getattr(structure, "nodes_are_labels", False):
            return Scores.unchecked(self._of_outputs(s.nodes.shape[1], np.diff(s.offsets), y), s.offsets)
        sizes = np.diff(s.offsets)
        if isinstance(y, Outputs) and getattr(structure, "nodes_are_outputs", False) and np.ptp(sizes) == 0:
            classes = int(sizes[0])  # of every example
            return Scores.unchecked(self._of_outputs(classes, np.ones_like(sizes), y).ravel(), s.offsets)
        shapes, name = _label_shapes(structure, s)
        if self.weights is not None:
            if hasattr(structure, "label_shapes"):  # there may be labels that no listed output has
                shapes = np.maximum(shapes, [[0, len(self.weights)]])
            _check_table(self.weights, shapes[:, 1], name)
        parts = part_scores(structure, s, [self._of_mask(mask) for mask in _true_labels(y, shapes)], "Hamming")
        if s.nodes.ndim == 1 and not any(np.asarray(true).dtype == np.bool_ for true in y):
            structure.score_of(s, y)  # its error, where good labels do not make an output
        return parts

    def __call__(self, y_true: Any, y_pred: Any, example: int | None = None) -> float:
        true, pred = np.atleast_1d(y_true), np.atleast_1d(y_pred)
        if true.dtype == np.bool_:
            mask = _checked_mask(true, (len(pred), true.shape[-1]), "y_true")
            return float(self._of_mask(mask)[np.arange(len(pred)), pred].sum())
        if true.shape != pred.shape:
            raise ValueError(f"y_true has shape {list(true.shape)} and y_pred {list(pred.shape)}; they must be equal.")
        return float(np.sum(true != pred) if self.weights is None else self.weights[true, pred].sum())

    def _of_outputs(self, n_labels: int, lengths: IntArray, y: Sequence[Any]) -> FloatArray:
        """float64[N, L]: weights[y_v, j], of the nodes of all examples."""
        table = 1.0 - np.eye(n_labels) if self.weights is None else self.weights
        if self.weights is not None:
            _check_table(table, np.array([n_labels]), "labels")
        labels = flat_labels(y, lengths, n_labels, "y")
        costs = aligned_zeros(len(labels) * n_labels).reshape(-1, n_labels)  # goes back to the system once it was read
        for part in blocks(len(labels)):
            costs[part] = table[labels[part]]
        return costs

    def _of_mask(self, mask: BoolArray) -> FloatArray:
        """float64[p, L]: min {weights[j', j] : mask[v, j']}."""
        if self.weights is None:
            return np.asarray(~mask, dtype=np.float64)
        costs: FloatArray = self.weights[mask.argmax(axis=1)]  # of the first true label; most nodes have no other
        for v in np.flatnonzero(mask.sum(axis=1) > 1):
            costs[v] = self.weights[mask[v]].min(axis=0)
        return costs


def _is_mask(true: Any) -> bool:
    return isinstance(true, np.ndarray) and true.dtype == np.bool_


@dataclass(frozen=True, eq=False)
class IoU:
    """l(y, y') = 1 - |box_y & box_y'| / |box_y | box_y'|.

    boxes  None when an output is a box (top, left, bottom, right) itself, as for BoxSearch; else a list of
           float64[m_i, 4], one box per candidate. Both ends are inclusive

    With boxes, there may be a mask of the candidates that count as true in the place of y, bool[m_i]: l is the least of
    their costs.
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

    def parts(self, structure: Structure, s: Scores, y: Sequence[Any]) -> Scores:
        if self.boxes is None:
            return part_scores(structure, s, y, "IoU()")
        if not len(self.boxes) == len(s) == len(y):
            raise ValueError(
                f"IoU has the boxes of {len(self.boxes)} examples and got {len(s)} scores and {len(y)} outputs. "
                "Take the parts of all examples first, then Scores.select a sub-batch."
            )
        return part_scores(structure, s, [self._costs(true, i) for i, true in enumerate(y)], "IoU")

    def __call__(self, y_true: Any, y_pred: Any, example: int | None = None) -> float:
        if self.boxes is None:
            return float(1.0 - iou(_one_box(y_true, "y_true"), _one_box(y_pred, "y_pred")))
        if example is None and len(self.boxes) != 1:
            raise ValueError(f"IoU has the boxes of {len(self.boxes)} examples; say which: cost(y, y', example=i).")
        i = range(len(self.boxes))[example or 0]
        return float(self._costs(y_true, i)[_index(y_pred, self.boxes[i], i)])

    def _costs(self, true: Any, i: int) -> FloatArray:
        """float64[m_i]: the cost of every candidate of example i; true is an index, or a mask of candidates."""
        assert self.boxes is not None
        boxes = self.boxes[i]
        if np.asarray(true).dtype != np.bool_:
            return np.asarray(1.0 - iou(boxes[_index(true, boxes, i)], boxes))
        mask = _checked_mask(np.asarray(true), (1, len(boxes)), f"y[{i}]")[0]
        return np.asarray(1.0 - iou(boxes[mask][:, None], boxes).max(axis=0))


def _label_shapes(structure: Structure, s: Scores) -> tuple[IntArray, str]:
    """int64[n, 2]: nodes and labels of every example, and what to call the labels; by the layout of the scores."""
    sizes = np.diff(s.offsets)
    if hasattr(structure, "label_shapes"):
        return structure.label_shapes(s), "labels"
    if s.nodes.ndim == 2:
        return np.stack([sizes, np.full_like(sizes, s.nodes.shape[1])], axis=1), "labels"
    if s.shapes is not None:
        return s.shapes, "columns"
    return np.stack([np.ones_like(sizes), sizes], axis=1), "candidates"


def _check_table(weights: FloatArray, labels: IntArray, name: str) -> None:
    """Whether every example has as many labels as the table has weights."""
    odd = np.flatnonzero(labels != len(weights))
    if len(odd):
        i, count = int(odd[0]), int(labels[odd[0]])
        raise ValueError(
            f"The cost table has shape {list(weights.shape)}; {count} labels need {[count, count]}."
            if name == "labels"
            else f"Example {i} has {count} {name}; a {list(weights.shape)} cost table needs {len(weights)}."
        )


def _true_labels(y: Sequence[Any], shapes: IntArray) -> list[BoolArray]:
    """List of bool[p_i, L_i]: the labels that count as true, from outputs int[p_i] or masks; shapes: (p_i, L_i)."""
    given = [np.atleast_1d(np.asarray(true)) for true in sequence_of(y, "y")]
    if len(given) != len(shapes):
        raise ValueError(f"y has {len(given)} entries for {len(shapes)} examples; give one output per example.")
    sizes = shapes.tolist()
    known = [np.zeros(p, dtype=np.int64) if y.dtype == np.bool_ else y for y, (p, _) in zip(given, sizes, strict=True)]
    labels = split_flat(flat_labels(known, shapes[:, 0], shapes[:, 1], "y"), offsets_of(shapes[:, 0]))
    return [
        _checked_mask(true, (p, L), f"y[{i}]") if true.dtype == np.bool_ else np.arange(L) == labels[i][:, None]
        for i, (true, (p, L)) in enumerate(zip(given, sizes, strict=True))
    ]


def _checked_mask(mask: BoolArray, shape: tuple[int, int], name: str) -> BoolArray:
    """bool[p, L], at least one label of every node; bool[L] stands for one node."""
    table = mask[None] if mask.ndim == 1 and shape[0] == 1 else mask
    if table.shape != shape:
        raise ValueError(f"{name} is a mask of shape {list(mask.shape)}; it must be {list(shape)}, nodes by labels.")
    empty = np.flatnonzero(~table.any(axis=1))
    if len(empty):
        raise ValueError(f"{name} allows no label of node {empty[0]}; a mask must allow one or more of every node.")
    return table


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
