"""Where a box lies in its picture and among the other candidates: numbers that a linear score can use."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from casimir.scores import FloatArray, IntArray

KNOTS = 6
N_PLACES = 6 * KNOTS + 4
N_CROWD = 5
_WITHIN = 0.9  # share of a box that makes it lie in another


def hats(values: FloatArray, knots: int = KNOTS) -> FloatArray:
    """hat_k(v) = max(0, 1 - |(knots - 1) v - k|): float64[m, knots], with v float64[m] cut to [0, 1]. Rows sum to 1.

    A score that is linear in them is any function of v that is linear between the knots k / (knots - 1).
    """
    spread = (knots - 1) * np.clip(values, 0.0, 1.0)
    return np.maximum(0.0, 1.0 - np.abs(spread[:, None] - np.arange(knots)))


def places(boxes: IntArray, shape: Any) -> FloatArray:
    """float64[m, 40], all in [0, 1]: size, shape and position of boxes (top, left, bottom, right) in a picture.

    With height h, width w and centre (y, x) as shares of those of the picture, whose shape is [2]: the hats of
    sqrt(h w), h, w, y, |2 x - 1| (left and right are alike) and 1/2 + log2(h' / w') / 4 of the sides in pixels; and
    1/2 for each of the top, left, bottom and right border that the box touches.
    """
    low, high = boxes[:, :2], boxes[:, 2:] + 1
    (h, w), (y, x) = ((high - low) / shape).T, ((low + high) / 2.0 / shape).T
    aspect = 0.5 + np.log2((high - low)[:, 0] / (high - low)[:, 1]) / 4.0
    touches = np.concatenate([low <= 0, high >= shape], axis=1)
    return np.concatenate([*map(hats, (np.sqrt(h * w), h, w, y, np.abs(2.0 * x - 1.0), aspect)), touches / 2.0], axis=1)


def overlaps(boxes: IntArray) -> tuple[FloatArray, FloatArray]:
    """IoU of all pairs of boxes, and the share of box i (row) that lies in box j (column): float64[m, m] each."""
    top, left, bottom, right = boxes.T.astype(np.float64)
    height = np.minimum.outer(bottom, bottom) - np.maximum.outer(top, top) + 1.0
    width = np.minimum.outer(right, right) - np.maximum.outer(left, left) + 1.0
    both = np.maximum(height, 0.0) * np.maximum(width, 0.0)
    area = (bottom - top + 1.0) * (right - left + 1.0)
    return both / (area[:, None] + area - both), both / area[:, None]


def crowd(iou: FloatArray, share: FloatArray) -> FloatArray:
    """float64[m, 5], all in [0, 1]: how many of the m candidates agree with each one, from `overlaps`.

    log(1 + c) / log(1 + m) of the numbers c of candidates with an IoU above 0.5 and above 0.7, of those within the box
    and around it, and of sum_j IoU_j^4. Selective search proposes an object many times, in nearly the same box.
    """
    counts = [iou > 0.5, iou > 0.7, share.T > _WITHIN, share > _WITHIN, _nearness(iou)]
    sums = np.stack([count.sum(axis=1) for count in counts], axis=1)
    relative: FloatArray = np.log1p(sums) / np.log1p(len(iou))
    return relative


def neighbours(rows: npt.NDArray[np.float32], iou: FloatArray) -> npt.NDArray[np.float32]:
    """sum_j IoU_ij^4 rows_j / sum_j IoU_ij^4: what the candidates near candidate i look like; float32[m, d]."""
    near = _nearness(iou)
    mean: npt.NDArray[np.float32] = (near / near.sum(axis=1, keepdims=True)).astype(np.float32) @ rows
    return mean


def _nearness(iou: FloatArray) -> FloatArray:
    return np.square(np.square(iou))  # many times as fast as iou**4
