"""Memory for weights, and their inner product."""

from __future__ import annotations

import mmap
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from casimir._native import core
from casimir.scores import FloatArray

_ALIGNMENT = 64  # bytes: one cache line, one 512-bit vector
_LONG = 2**17  # numbers: a megabyte
# memory of this process alone: what it writes after a fork stays its own
_PRIVATE: dict[str, Any] = {} if sys.platform == "win32" else {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS}
_BLOCK = 2**15  # numbers: three of them fit into a second-level cache


def aligned_zeros(n: int) -> FloatArray:
    """float64[n] of zeros that starts at a multiple of 64 bytes; untouched pages cost no memory.

    Long arrays are pages of their own, which go back to the system with the array; those of malloc often do not.
    """
    if n >= _LONG:
        return np.frombuffer(mmap.mmap(-1, n * 8, **_PRIVATE), dtype=np.float64)
    extra = _ALIGNMENT // np.dtype(np.float64).itemsize
    padded = np.zeros(n + extra)
    skip = -padded.ctypes.data % _ALIGNMENT // padded.itemsize
    return padded[skip : skip + n]


def blocks(n: int) -> Iterator[slice]:
    """Cuts n numbers so that a few of the pieces fit into a cache."""
    for start in range(0, n, _BLOCK):
        yield slice(start, start + _BLOCK)


def add_scaled(out: FloatArray, scale: float, x: FloatArray, factor: float) -> None:
    """out = scale out + factor x, without memory for the product."""
    for part in blocks(len(out)):
        out[part] *= scale
        out[part] += factor * x[part]


def dot(a: FloatArray, b: FloatArray) -> float:
    """<a, b> of float64[d] in a fixed order: a BLAS gives other last bits on other numbers of threads."""
    return float(core.dot(np.ascontiguousarray(a), np.ascontiguousarray(b)))
