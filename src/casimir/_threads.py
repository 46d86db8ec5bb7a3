"""How many threads the native core may use."""

from __future__ import annotations

import functools
import os


@functools.cache
def n_threads() -> int:
    """CASIMIR_NUM_THREADS if it is set, else the number of CPUs that this process may run on.

    It is looked up once per process; n_threads.cache_clear() makes the next call look again.
    """
    given = os.environ.get("CASIMIR_NUM_THREADS", "").strip()
    if not given:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not given.isdecimal() or int(given) < 1:
        raise ValueError(
            f"CASIMIR_NUM_THREADS={given!r}; it must be a whole number, 1 or larger. Unset it for all CPUs."
        )
    return int(given)
