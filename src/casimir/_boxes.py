"""Boxes (top, left, bottom, right) of cells, both ends inclusive."""

from __future__ import annotations

from typing import Any

import numpy as np

from casimir.scores import FloatArray, IntArray


def iou(a: Any, b: Any) -> FloatArray:
    """|a & b| / |a | b| of boxes float64[..., 4]; broadcasts."""
    a, b = np.asarray(a), np.asarray(b)
    low, high = np.maximum(a[..., :2], b[..., :2]), np.minimum(a[..., 2:], b[..., 2:])
    both = np.prod(np.maximum(high - low + 1.0, 0.0), axis=-1)
    area_a = np.prod(a[..., 2:] - a[..., :2] + 1.0, axis=-1)
    area_b = np.prod(b[..., 2:] - b[..., :2] + 1.0, axis=-1)
    ratio: FloatArray = both / (area_a + area_b - both)
    return ratio


def whole_boxes(boxes: Any, name: str) -> IntArray:
    """int64[n, 4] of boxes on a grid, with top <= bottom and left <= right."""
    array = np.asarray(boxes)
    if array.size == 0:
        return np.zeros((0, 4), dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 4:
        raise ValueError(f"{name} has shape {list(array.shape)}; it must be [n, 4]: (top, left, bottom, right) each.")
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} has dtype {array.dtype}; the sides of a box are whole numbers of cells.")
    array = array.astype(np.int64)
    bad = np.flatnonzero((array[:, 2:] < array[:, :2]).any(axis=1) | (array[:, :2] < 0).any(axis=1))
    if len(bad):
        raise ValueError(
            f"{name}[{bad[0]}] is {array[bad[0]].tolist()}; (top, left, bottom, right) needs "
            "0 <= top <= bottom and 0 <= left <= right."
        )
    return array


def check_inside(boxes: IntArray, shapes: IntArray, name: str) -> None:
    """Whether box i lies in a map of shape shapes[i]."""
    bad = np.flatnonzero((boxes[:, 2:] >= shapes).any(axis=1))
    if len(bad):
        i, (height, width) = bad[0], shapes[bad[0]]
        raise ValueError(
            f"{name}[{i}] is {boxes[i].tolist()}, which is not inside its map of {height} rows and {width} columns; "
            "both ends of (top, left, bottom, right) are inclusive and counted from 0."
        )
