"""Edges between touching superpixels, and what it should cost to cut the image there."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from casimir.tasks.segment.superpixels import Float32, IntArray, Superpixels, scale_of

N_EDGE_FEATURES = 6
_UNIT = 1.0 / 7_000  # per pixel of boundary in an image of the usual size: makes weights of about 1
_COLOUR_SCALES = (0.5, 0.1)  # of the mean squared difference of touching superpixels in the image
_FIXED_SCALE = 0.02  # of squared differences in Lab
_SCORE_SCALE = 0.2


def boundaries(lab: Float32, superpixels: Superpixels, score: Float32) -> tuple[IntArray, npt.NDArray[np.float64]]:
    """Edges int64[m, 2] with u < v, and their features float64[m, 6] >= 0.

    Every feature is a length: that of the boundary, or one that counts less where the image changes.

    0  the number of pixel pairs across the boundary
    1  sum of exp(-beta |difference of the two pixels|^2) over them, beta = 1 / (2 mean square in the image)
    2-4  length times exp(-|difference of mean colours|^2 / scale), for two relative and one fixed scale
    5  length times exp(-|difference of scores| / 0.2), scores being those of the look before
    """
    first, second, change = _pixel_pairs(lab, superpixels.labels)
    beta = 1.0 / max(2.0 * float(change.mean()), 1e-9)
    across = first != second
    low, high = np.minimum(first, second)[across], np.maximum(first, second)[across]
    key, edge = np.unique(low * len(superpixels) + high, return_inverse=True)
    ends = np.stack([key // len(superpixels), key % len(superpixels)], axis=1)
    length = np.bincount(edge, minlength=len(key)).astype(np.float64)
    smooth = np.bincount(edge, np.exp(-beta * change[across]), minlength=len(key))
    u, v = ends.T
    colour = superpixels.mean(lab).astype(np.float64)
    difference = np.square(colour[u] - colour[v]).sum(axis=1)
    usual = max(float(difference.mean()), 1e-9) if len(ends) else 1.0
    falls = [difference / (usual * scale) for scale in _COLOUR_SCALES]
    falls += [difference / _FIXED_SCALE, np.abs(score[u] - score[v]) / _SCORE_SCALE]
    features = np.stack([length, smooth, *(length * np.exp(-fall) for fall in falls)], axis=1)
    return ends, features * (_UNIT / scale_of(*superpixels.labels.shape))


def _pixel_pairs(lab: Float32, labels: IntArray) -> tuple[IntArray, IntArray, npt.NDArray[np.float64]]:
    """Superpixels of all pairs of pixels side by side or above each other, and their squared difference in colour."""
    first = np.concatenate([labels[:, :-1].ravel(), labels[:-1].ravel()])
    second = np.concatenate([labels[:, 1:].ravel(), labels[1:].ravel()])
    steps = (np.diff(lab, axis=1), np.diff(lab, axis=0))
    change = np.concatenate([np.square(step, dtype=np.float64).sum(axis=2).ravel() for step in steps])
    return first, second, change
