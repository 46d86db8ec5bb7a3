"""How many threads the native core may use."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import ceil
from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup")
_OWN_GROUP = Path("/proc/self/cgroup")
_most: ContextVar[int | None] = ContextVar("most", default=None)


@functools.cache
def n_threads() -> int:
    """CASIMIR_NUM_THREADS, or else as many as there are CPUs that this process may use, and never more than these.

    It is looked up once per process; n_threads.cache_clear() makes the next call look again.
    """
    given = os.environ.get("CASIMIR_NUM_THREADS", "").strip()
    if not given:
        return allowed_cpus()
    if not given.isdecimal() or int(given) < 1:
        raise ValueError(
            f"CASIMIR_NUM_THREADS={given!r}; it must be a whole number, 1 or larger. Unset it for all CPUs."
        )
    return min(int(given), allowed_cpus())


def threads_of_oracles() -> int:
    """The same, or less where `at_most` says so."""
    most = _most.get()
    return n_threads() if most is None else min(n_threads(), most)


@contextmanager
def at_most(count: int) -> Iterator[None]:
    """Within the block, oracles that this thread calls take no more threads than that."""
    token = _most.set(max(1, count))
    try:
        yield
    finally:
        _most.reset(token)


def allowed_cpus() -> int:
    """CPUs that this process may run on, and that its control group lets it use."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = _quota()
    return count if quota is None else max(1, min(count, ceil(quota)))


def _quota() -> float | None:
    """CPUs that the control groups of this process grant in all; None where there is no limit, or none to be found."""
    try:
        entries = [line.split(":", 2) for line in _OWN_GROUP.read_text().splitlines()]
    except (OSError, ValueError):
        return None
    found = []
    for number, controllers, name in (entry for entry in entries if len(entry) == 3):
        if number == "0":
            root, read = _GROUPS, _quota_of_v2
        elif "cpu" in controllers.split(","):
            root, read = _GROUPS / "cpu", _quota_of_v1
        else:
            continue
        own = root / name.lstrip("/")
        found += [read(folder) for folder in (own, *own.parents) if folder.is_relative_to(root)]
    quotas = [quota for quota in found if quota is not None]
    return min(quotas) if quotas else None


def _quota_of_v2(folder: Path) -> float | None:
    """cpu.max is "quota period", or "max period"."""
    try:
        quota, period = map(int, (folder / "cpu.max").read_text().split())
    except (OSError, ValueError):
        return None
    return quota / period if quota > 0 and period > 0 else None


def _quota_of_v1(folder: Path) -> float | None:
    try:
        quota, period = (int((folder / f"cpu.cfs_{name}_us").read_text()) for name in ("quota", "period"))
    except (OSError, ValueError):
        return None
    return quota / period if quota > 0 and period > 0 else None
