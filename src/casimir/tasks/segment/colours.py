"""Colours of an image's own foreground against those of its background, as in GrabCut."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import gaussian_filter

from casimir.tasks.segment.superpixels import Float32

_BINS = (16, 32, 32)  # L, a, b
_RARE = 1e-5  # share of pixels that every colour has at least


def colour_ratio(lab: Float32, probability: Float32) -> Float32:
    """float32[H, W]: log p(colour | foreground) / p(colour | background).

    Both are smoothed colour histograms of the image, with the probability of foreground (or of background) of every
    pixel as its weight.
    """
    cell = _cells(lab)
    inside, outside = (_histogram(cell, weight) for weight in (probability, 1 - probability))
    ratio = np.log((inside + _RARE) / (outside + _RARE))
    return np.asarray(ratio.ravel()[cell], dtype=np.float32)


def _cells(lab: Float32) -> np.ndarray:
    """int64[H, W]: number of the colour's bin."""
    unit = lab * (1.0, 0.5, 0.5) + (0.0, 0.5, 0.5)
    index = np.clip((unit * _BINS).astype(np.int64), 0, np.array(_BINS) - 1)
    return np.asarray(np.ravel_multi_index(tuple(np.moveaxis(index, 2, 0)), _BINS))


def _histogram(cell: np.ndarray, weight: Float32) -> np.ndarray:
    counts = np.bincount(cell.ravel(), weight.ravel(), minlength=int(np.prod(_BINS))).reshape(_BINS)
    smooth = gaussian_filter(counts, 1.0, mode="nearest")
    return np.asarray(smooth / max(smooth.sum(), 1e-12))
