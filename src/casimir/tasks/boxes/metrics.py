"""How well boxes are found: mean IoU and CorLoc, the share of boxes with an IoU above one half."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from casimir._boxes import iou
from casimir.scores import FloatArray, IntArray
from casimir.tasks.boxes.images import Image


@dataclass(frozen=True)
class BoxScores:
    """mean_iou  mean of |found & true| / |found | true|, in pixels
    corloc    share of images where it is above 0.5
    n         images
    """

    mean_iou: float
    corloc: float
    n: int


def box_scores(true: IntArray, found: IntArray) -> BoxScores:
    """Both int64[n, 4], in pixels."""
    if true.shape != found.shape or not len(true):
        raise ValueError(f"There are {len(true)} true and {len(found)} found boxes; give one of each per image.")
    overlap = iou(true, found)
    return BoxScores(float(overlap.mean()), float(np.mean(overlap > 0.5)), len(true))


def whole_images(images: Sequence[Image]) -> IntArray:
    """The largest box of every image: the simplest baseline."""
    return np.array([[0, 0, *np.array(image.pixels.shape[:2]) - 1] for image in images], dtype=np.int64)


def relative_box(images: Sequence[Image], boxes: IntArray) -> FloatArray:
    """float64[2]: the mean height and width of the boxes, as shares of the image's."""
    sides = np.array([image.pixels.shape[:2] for image in images])
    return np.asarray(((boxes[:, 2:] - boxes[:, :2] + 1) / sides).mean(axis=0), dtype=np.float64)


def centre_boxes(images: Sequence[Image], share: FloatArray) -> IntArray:
    """A box in the middle of every image with the mean shape of the training boxes."""
    sides = np.array([image.pixels.shape[:2] for image in images])
    size = np.maximum(np.rint(sides * share), 1.0).astype(np.int64)
    low = (sides - size) // 2
    return np.concatenate([low, low + size - 1], axis=1).astype(np.int64)
