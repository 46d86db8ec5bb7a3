"""Memory for what training keeps of every example: anonymous up to a limit, mapped files beyond it.

Mapped files have no names, go with their last user, and are written and dropped by the system as it likes: they make
training slower where they do not fit into memory, but do not fill it.
"""

from __future__ import annotations

import mmap
import os
import tempfile
import weakref
from typing import Any

import numpy as np

from casimir._arrays import anonymous_pages
from casimir._native import core

_ANONYMOUS, _IN_FILES = "anonymous", "in files"
_LEAST = 2**26  # bytes of a segment that chunks are cut from


class StateMemory:
    """limit  bytes that may be anonymous; None: all"""

    def __init__(self, limit: int | None = None) -> None:
        self.limit, self._held = limit, {_ANONYMOUS: 0, _IN_FILES: 0}
        self._segment: np.ndarray = np.empty(0, dtype=np.uint8)
        self._segments: list[np.ndarray] = []  # the core keeps pointers into them

    @property
    def anonymous(self) -> int:
        """Bytes that no file stands behind."""
        return self._held[_ANONYMOUS]

    @property
    def in_files(self) -> int:
        """Bytes of mapped files."""
        return self._held[_IN_FILES]

    def array(self, length: int, dtype: Any) -> np.ndarray:
        """An array of zeros, in memory of its own."""
        size = length * np.dtype(dtype).itemsize
        return self._new(max(size, 1))[:size].view(dtype)

    def chunks(self) -> Any:
        """A core.ChunkMemory that takes its chunks from here."""
        return core.ChunkMemory(self._chunk)

    def _chunk(self, size: int) -> np.ndarray:
        size = -(-size // 64) * 64
        if len(self._segment) < size:
            most = _LEAST if self.limit is None else min(_LEAST, max(self.limit // 8, 2**20))
            self._segment = self._new(max(size, most))
            self._segments.append(self._segment)
        found: np.ndarray = self._segment[:size]
        self._segment = self._segment[size:]
        return found

    def _new(self, size: int) -> np.ndarray:
        kind = _ANONYMOUS if self.limit is None or self.anonymous + size <= self.limit else _IN_FILES
        memory = anonymous_pages(size) if kind == _ANONYMOUS else _unnamed_file(size)
        self._held[kind] += size
        weakref.finalize(memory, _give_back, self._held, kind, size)
        return np.frombuffer(memory, dtype=np.uint8)


def _give_back(held: dict[str, int], kind: str, size: int) -> None:
    held[kind] -= size


def _unnamed_file(size: int) -> mmap.mmap:
    try:
        with tempfile.TemporaryFile() as file:
            if hasattr(os, "posix_fallocate"):  # a disk that is full says so now, and not by a signal later
                os.posix_fallocate(file.fileno(), 0, size)
            else:
                file.truncate(size)
            return mmap.mmap(file.fileno(), size)
    except OSError as error:
        raise OSError(
            error.errno,
            f"Training needs {size / 2**20:,.0f} MB more of disk for its dual variables than '{tempfile.gettempdir()}' "
            f"has ({error.strerror}). Set TMPDIR to a folder on a larger disk, or give more memory",
        ) from None
