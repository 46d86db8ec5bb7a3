"""Pixel accuracy and intersection over union of predicted masks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from casimir.tasks.segment.pictures import Mask


@dataclass(frozen=True)
class SegmentScores:
    """accuracy     share of all pixels that have the right label
    iou          |truth & predicted| / |truth | predicted| of the foreground pixels of all pictures together
    mean_iou     the mean of every picture's own; 1 for a picture without foreground in either mask
    pictures     their number
    """

    accuracy: float
    iou: float
    mean_iou: float
    pictures: int


def segment_scores(truth: Sequence[Mask], predicted: Sequence[Mask]) -> SegmentScores:
    """Scores of masks of the same shapes, in the same order."""
    if len(truth) != len(predicted) or not truth:
        raise ValueError(f"Got {len(truth)} true and {len(predicted)} predicted masks; give one of each, at least.")
    pairs = list(zip(truth, predicted, strict=True))
    for i, (t, p) in enumerate(pairs):
        if t.shape != p.shape:
            raise ValueError(f"Masks {i} have the shapes {list(t.shape)} and {list(p.shape)}; they must be equal.")
    right = sum(int((t == p).sum()) for t, p in pairs)
    both = np.array([(t & p).sum() for t, p in pairs], dtype=np.float64)
    either = np.array([(t | p).sum() for t, p in pairs], dtype=np.float64)
    own = np.divide(both, either, out=np.ones_like(both), where=either > 0)
    iou = both.sum() / either.sum() if either.sum() > 0 else 1.0
    return SegmentScores(right / sum(t.size for t in truth), float(iou), float(own.mean()), len(pairs))
