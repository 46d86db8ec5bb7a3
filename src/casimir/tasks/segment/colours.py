"""Colours of an image's own foreground against those of its background, as in GrabCut."""

from __future__ import annotations

import numpy as np

from casimir.tasks.segment.blur import gaussian_matrix
from casimir.tasks.segment.superpixels import Float32, IntArray

_BINS = (16, 32, 32)  # L, a, b
_UNIT = ((1.0, 0.0), (0.5, 0.5), (0.5, 0.5))  # scale and shift that take a channel to 0 .. 1
_RARE = 1e-5  # share of pixels that every colour has at least


def colour_ratio(lab: Float32, probability: Float32) -> Float32:
    """float32[H, W]: log p(colour | foreground) / p(colour | background).

    Both are smoothed colour histograms of the image, with the probability of foreground (or of background) of every
    pixel as its weight.
    """
    cell = _cells(lab)
    inside, outside = (_histogram(cell, weight) for weight in (probability, 1 - probability))
    ratio = np.log((inside + _RARE) / (outside + _RARE)).astype(np.float32)
    return np.asarray(ratio.ravel()[cell])


def _cells(lab: Float32) -> IntArray:
    """int64[H, W]: number of the colour's bin."""
    number = np.zeros(lab.shape[:2], dtype=np.int64)
    for channel, (bins, (scale, shift)) in enumerate(zip(_BINS, _UNIT, strict=True)):
        place = (lab[..., channel] * np.float32(scale * bins) + np.float32(shift * bins)).astype(np.int64)
        number = number * bins + np.clip(place, 0, bins - 1)
    return number


def _histogram(cell: IntArray, weight: Float32) -> np.ndarray:
    smooth: np.ndarray = np.bincount(cell.ravel(), weight.ravel(), minlength=int(np.prod(_BINS))).reshape(_BINS)
    for axis, size in enumerate(_BINS):
        smooth = np.moveaxis(gaussian_matrix(size, 1.0, mirrored=False) @ np.moveaxis(smooth, axis, 1), 1, axis)
    return np.asarray(smooth / max(smooth.sum(), 1e-12))
