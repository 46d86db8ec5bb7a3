"""`--jobs N`: how many threads a command may use, and pieces of work that run side by side."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from typing import Any, TypeVar

from casimir._threads import n_threads

Found = TypeVar("Found")
Stop = Callable[..., bool]  # a callback of training, which ends it where it returns True
_VARIABLE = "CASIMIR_NUM_THREADS"


@contextmanager
def threads(jobs: int | None) -> Iterator[None]:
    """The core's threads, until the end of the block; None leaves them as they are."""
    if jobs is None:
        yield
        return
    before = os.environ.get(_VARIABLE)
    os.environ[_VARIABLE] = str(jobs)
    n_threads.cache_clear()
    try:
        yield
    finally:
        os.environ.pop(_VARIABLE)
        if before is not None:
            os.environ[_VARIABLE] = before
        n_threads.cache_clear()


def side_by_side(
    work: Sequence[Callable[[Stop | None], Found]],
    jobs: int,
    track: Callable[[Iterable[Any], str], Iterable[Any]],
    what: str,
) -> list[Found]:
    """The results in the order of the work; `jobs` pieces at a time, which share the core's threads.

    Ctrl-C ends the trainings that were given the callback, and then all of it.
    """
    if jobs == 1:
        return [piece(None) for piece in track(work, what)]
    stopped = Event()
    with threads(max(1, n_threads() // jobs)), ThreadPoolExecutor(jobs) as pool:
        running: list[Future[Found]] = [pool.submit(piece, lambda *_: stopped.is_set()) for piece in work]
        try:
            return [future.result() for future in track(running, what)]
        except BaseException:
            stopped.set()
            pool.shutdown(cancel_futures=True)
            raise
