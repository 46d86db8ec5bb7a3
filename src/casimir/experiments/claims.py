"""Locks between processes, which the system frees when their holder ends, however it ends."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def claim(path: Path, *, wait: bool = False) -> Iterator[bool]:
    """Whether the lock `path` is ours; the file goes away once the work under it is done.

    Whoever locked the old file in the meantime must look whether the work is done; so must everybody else.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        yield True
        if not wait:
            path.unlink(missing_ok=True)
