"""All boxes of a map, in Python: brute force, and Efficient Subwindow Search as a problem for BranchAndBound."""

from __future__ import annotations

import itertools

import numpy as np

from casimir._boxes import iou
from casimir.scores import FloatArray, IntArray, Scores
from casimir.testing import Listing

Sides = tuple[tuple[int, int], ...]  # intervals of top, left, bottom, right


def list_boxes(height: int, width: int, truth: IntArray | None = None) -> Listing:
    """All boxes and the cells they cover; with a truth one more part, 1 - IoU."""
    rows = itertools.combinations_with_replacement(range(height), 2)
    columns = itertools.combinations_with_replacement(range(width), 2)
    boxes = np.array(sorted((t, l, b, r) for (t, b), (l, r) in itertools.product(rows, columns)), dtype=np.int64)
    cells = np.zeros((len(boxes), height, width))
    for k, (t, l, b, r) in enumerate(boxes):
        cells[k, t : b + 1, l : r + 1] = 1.0
    parts = cells.reshape(len(boxes), -1)
    if truth is not None:
        parts = np.concatenate([parts, 1.0 - iou(boxes, truth)[:, None]], axis=1)
    return Listing(boxes, parts)


class BoxProblem:
    """The search of the native core's "corners" bound, written without integral images."""

    def __init__(self, s: Scores, truth: IntArray | None = None) -> None:
        self.s, self.map, self.truth = s, s.unary(0), truth
        self.weight = 0.0 if s.whole is None else float(s.whole[0])

    def root(self) -> Sides:
        rows, columns = ((0, side - 1) for side in self.map.shape)
        return rows, columns, rows, columns

    def split(self, node: Sides) -> list[Sides]:
        side = int(np.argmax([high - low for low, high in node]))
        low, high = node[side]
        middle = (low + high) // 2
        halves = ((low, middle), (middle + 1, high))
        return [trimmed for h in halves if (trimmed := _trim((*node[:side], h, *node[side + 1 :])))]

    def bound(self, node: Sides) -> float:
        (t1, t2), (l1, l2), (b1, b2), (r1, r2) = node
        gain = np.maximum(self.map[t1 : b2 + 1, l1 : r2 + 1], 0.0).sum()
        loss = np.minimum(self.map[t2 : b1 + 1, l2 : r1 + 1], 0.0).sum()
        return float(gain + loss) + self._overlap((t1, l1, b2, r2), (t2, l2, b1, r1))

    def leaf(self, node: Sides) -> list[int] | None:
        return [low for low, _ in node] if all(low == high for low, high in node) else None

    def first(self, node: Sides) -> tuple[int, ...]:
        return tuple(low for low, _ in node)

    def parts(self, box: IntArray) -> Scores:
        t, l, b, r = box
        cells = np.zeros(self.map.shape)
        cells[t : b + 1, l : r + 1] = 1.0
        whole = None if self.truth is None else 1.0 - np.atleast_1d(iou(box, self.truth))
        return Scores(cells.ravel(), self.s.offsets, shapes=self.s.shapes, whole=whole)

    def _overlap(self, largest: tuple[int, ...], smallest: tuple[int, ...]) -> float:
        if self.truth is None or self.weight == 0.0:
            return 0.0
        most, least = _common(largest, self.truth), _common(smallest, self.truth)
        area = _common(self.truth, self.truth)
        if self.weight > 0.0:
            return self.weight * (1.0 - least / (_common(largest, largest) + area - most))
        return self.weight * (1.0 - most / (_common(smallest, smallest) + area - least))


def _common(a: IntArray | tuple[int, ...], b: IntArray | tuple[int, ...]) -> float:
    """Cells that two boxes share; 0 for an empty one."""
    sides = [min(a[k + 2], b[k + 2]) - max(a[k], b[k]) + 1 for k in (0, 1)]
    empty = any(x[k + 2] < x[k] for x in (a, b) for k in (0, 1))
    return 0.0 if empty else float(max(sides[0], 0) * max(sides[1], 0))


def _trim(node: Sides) -> Sides | None:
    """Without the sides that no box of the set can have."""
    (t1, t2), (l1, l2), (b1, b2), (r1, r2) = node
    trimmed = ((t1, min(t2, b2)), (l1, min(l2, r2)), (max(b1, t1), b2), (max(r1, l1), r2))
    return trimmed if all(low <= high for low, high in trimmed) else None


def exhaustive(scores: FloatArray) -> tuple[float, IntArray]:
    """The best box of one map and its score, by integral image."""
    height, width = scores.shape
    sums = np.zeros((height + 1, width + 1))
    sums[1:, 1:] = scores.cumsum(axis=0).cumsum(axis=1)
    t, l, b, r = np.meshgrid(*(np.arange(side) for side in (height, width, height, width)), indexing="ij", sparse=True)
    value = sums[b + 1, r + 1] - sums[t, r + 1] - sums[b + 1, l] + sums[t, l]
    value = np.where((t <= b) & (l <= r), value, -np.inf)
    return float(value.max()), np.array(np.unravel_index(np.argmax(value), value.shape), dtype=np.int64)
