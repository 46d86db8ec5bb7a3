"""Memory for weights, their sums and inner products, and arrays that nobody can write to."""

from __future__ import annotations

import mmap
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from casimir._native import core
from casimir.scores import FloatArray

AnyArray = npt.NDArray[Any]

_ALIGNMENT = 64  # bytes: one cache line, one 512-bit vector
_LONG = 2**17  # numbers: a megabyte
_LARGE_PAGES = 2**19  # numbers: two pages of two megabytes
# memory of this process alone: what it writes after a fork stays its own
_PRIVATE: dict[str, Any] = {} if sys.platform == "win32" else {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS}
_BLOCK = 2**15  # numbers: three of them fit into a second-level cache


def aligned_zeros(n: int) -> FloatArray:
    """float64[n] of zeros that starts at a multiple of 64 bytes; untouched pages cost no memory.

    Long arrays are pages of their own, which go back to the system with the array; those of malloc often do not. Those
    of many megabytes ask for large pages: the rows of features are read here and there, and with small pages every
    such reading waits for the page table too.
    """
    if n >= _LONG:
        pages = anonymous_pages(n * 8)
        if n >= _LARGE_PAGES and hasattr(mmap, "MADV_HUGEPAGE"):
            with suppress(OSError):  # a kernel without them: advice, nothing is lost where it is not taken
                pages.madvise(mmap.MADV_HUGEPAGE)
        return np.frombuffer(pages, dtype=np.float64)
    extra = _ALIGNMENT // np.dtype(np.float64).itemsize
    padded = np.zeros(n + extra)
    skip = -padded.ctypes.data % _ALIGNMENT // padded.itemsize
    return padded[skip : skip + n]


def anonymous_pages(size: int) -> mmap.mmap:
    """Zeros of this process alone, in pages of their own."""
    return mmap.mmap(-1, size, **_PRIVATE)


def blocks(n: int) -> Iterator[slice]:
    """Cuts n numbers so that a few of the pieces fit into a cache."""
    for start in range(0, n, _BLOCK):
        yield slice(start, start + _BLOCK)


def combine(a: float, x: FloatArray, b: float, y: FloatArray, out: FloatArray | None = None) -> FloatArray:
    """a x + b y in one pass over float64[d]; `out` may be x or y."""
    out = np.empty(len(x)) if out is None else out
    core.combine(a, np.ascontiguousarray(x), b, np.ascontiguousarray(y), out)
    return out


def frozen(array: AnyArray) -> AnyArray:
    """The array itself where nobody can write to its memory, else a read-only copy.

    The core keeps pointers into arrays that say where it reads; a number changed there later would be a crash.
    """
    if _is_writeable(array):
        array = array.copy()
    array.setflags(write=False)
    return array


def read_only(array: AnyArray) -> AnyArray:
    """A view that cannot be written to, of numbers too many to copy; whoever made the array can still change them."""
    view = array.view()
    view.setflags(write=False)
    return view


def _is_writeable(array: Any) -> bool:
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return True
        array = array.base
    try:
        return array is not None and not memoryview(array).readonly
    except TypeError:  # memory of something that gives no other view of it
        return False


def dot(a: FloatArray, b: FloatArray) -> float:
    """<a, b> of float64[d] in a fixed order: a BLAS gives other last bits on other numbers of threads."""
    return float(core.dot(np.ascontiguousarray(a), np.ascontiguousarray(b)))
