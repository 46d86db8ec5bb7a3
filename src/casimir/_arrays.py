"""Memory for weights, and their inner product."""

from __future__ import annotations

import numpy as np

from casimir._native import core
from casimir.scores import FloatArray

_ALIGNMENT = 64  # bytes: one cache line, one 512-bit vector


def aligned_zeros(n: int) -> FloatArray:
    """float64[n] of zeros that starts at a multiple of 64 bytes; untouched pages cost no memory."""
    extra = _ALIGNMENT // np.dtype(np.float64).itemsize
    padded = np.zeros(n + extra)
    skip = -padded.ctypes.data % _ALIGNMENT // padded.itemsize
    return padded[skip : skip + n]


def dot(a: FloatArray, b: FloatArray) -> float:
    """<a, b> of float64[d] in a fixed order: a BLAS gives other last bits on other numbers of threads."""
    return float(core.dot(np.ascontiguousarray(a), np.ascontiguousarray(b)))
