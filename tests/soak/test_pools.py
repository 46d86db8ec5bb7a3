"""Many threads at once, and pools of processes: the same bits as alone, and nobody waits for ever."""

from __future__ import annotations

import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import pytest
from soak.budget import tries
from soak.workers import all_equal

from casimir import _threads

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def test_24_threads_with_24_threads_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_threads, "allowed_cpus", lambda: 24)
    _threads.n_threads.cache_clear()
    try:
        with ThreadPoolExecutor(24) as pool:
            for seed in tries(1, share=0.02):
                all_equal(pool, seed, 24, 24)
    finally:
        _threads.n_threads.cache_clear()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_pools_of_processes(how: str) -> None:
    """Forked processes come from one that has used the core's threads before."""
    for seed in tries(1, share=0.02):
        with ProcessPoolExecutor(2, multiprocessing.get_context(how)) as pool:
            all_equal(pool, seed, 4, 2)
