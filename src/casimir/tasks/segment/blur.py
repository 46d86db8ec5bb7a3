"""Gaussian blurs of short axes, as products with small matrices."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from casimir.tasks.segment.superpixels import Float32

_REACH = 4.0  # standard deviations


@lru_cache(maxsize=32)
def gaussian_matrix(size: int, sigma: float, *, mirrored: bool) -> Float32:
    """float32[size, size]: row i has the weights of all cells in the blurred cell i.

    mirrored  whether cells go on beyond the border as in a mirror; else the last one repeats
    """
    radius = int(_REACH * sigma + 0.5)
    steps = np.arange(-radius, radius + 1)
    weights = np.exp(-0.5 * np.square(steps / sigma))
    places = np.arange(size)[:, None] + steps
    if mirrored:
        places %= 2 * size
        places = np.minimum(places, 2 * size - 1 - places)
    matrix = np.zeros((size, size))
    np.add.at(matrix, (np.arange(size)[:, None], np.clip(places, 0, size - 1)), weights / weights.sum())
    return matrix.astype(np.float32)
