"""How many threads: what is asked for, and never more than the CPUs that a process may use."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import casimir as cs
from casimir import _threads
from casimir._threads import allowed_cpus, at_most, n_threads, threads_of_oracles
from casimir.solvers.kept import Kept

QUOTA, PERIOD = "cpu.cfs_quota_us", "cpu.cfs_period_us"


def test_more_threads_than_cpus_are_never_taken(
    set_threads: Callable[[str | None], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_threads, "allowed_cpus", lambda: 4)
    for asked, found in (("100000000", 4), ("4", 4), ("3", 3), (None, 4), ("9" * 30, 4)):
        set_threads(asked)
        assert n_threads() == found


def test_a_huge_number_of_threads_runs(set_threads: Callable[[str | None], None]) -> None:
    set_threads("100000000")
    chain = cs.Chain(n_labels=2)
    s = chain.scores([np.eye(2)] * 50, np.eye(2))
    assert len(chain.topk(s, 2).outputs) == 50


FORKED = """
import os, numpy as np, casimir as cs
from casimir._native import core
from casimir.solvers.kept import Kept
w = np.ones(400_000)
def total():
    return Kept.of(w, 3).products_of_sum(0.0, 1.0, w)[0]
assert total() == 400_000  # its threads are there now, and wait
child = os.fork()
if child == 0:
    os._exit(0 if total() == 400_000 else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert total() == 400_000
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_makes_threads_of_its_own() -> None:
    subprocess.run([sys.executable, "-c", FORKED], check=True, timeout=120)


def test_calls_from_several_threads_at_once_agree() -> None:
    """One of them has the team of the process; the others start threads."""
    w = np.arange(300_000.0)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: Kept.of(w, 3).products_of_sum(0.5, 0.5, w), range(40)))
    assert found == [found[0]] * 40


def test_affinity_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5, 8}, raising=False)
    monkeypatch.setattr(_threads, "_quota", lambda: None)
    assert allowed_cpus() == 3


@pytest.mark.parametrize(
    ("own", "files", "cpus"),
    [
        ("0::/\n", {"cpu.max": "150000 100000\n"}, 2),
        ("0::/\n", {"cpu.max": "max 100000\n"}, 8),
        ("0::/\n", {"cpu.max": "5000 100000\n"}, 1),
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000", "a/cpu.max": "300000 100000"}, 3),
        ("0::/a/b\n", {"a/b/cpu.max": "600000 100000", "a/cpu.max": "900000 100000"}, 6),
        ("0::/gone\n", {}, 8),
        (
            "4:cpu,cpuacct:/x\n1:memory:/x\n",
            {"cpu/x/cpu.cfs_quota_us": "400000", "cpu/x/cpu.cfs_period_us": "100000"},
            4,
        ),
        ("4:cpu:/\n", {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, 8),
        ("nonsense\n", {"cpu.max": "100000 100000"}, 8),
        ("0::/\n", {"cpu.max": "some words"}, 8),
        (None, {}, 8),
    ],
)
def test_control_groups_count(
    own: str | None, files: dict[str, str], cpus: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.setattr(_threads, "_GROUPS", tmp_path / "groups")
    monkeypatch.setattr(_threads, "_OWN_GROUP", tmp_path / "own")
    if own is not None:
        (tmp_path / "own").write_text(own)
    for name, text in files.items():
        file = tmp_path / "groups" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert allowed_cpus() == cpus


def test_fewer_threads_within_a_block(
    set_threads: Callable[[str | None], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_threads, "allowed_cpus", lambda: 8)
    set_threads("6")
    with at_most(2):
        assert threads_of_oracles() == 2
        with at_most(20):
            assert threads_of_oracles() == 6
        assert threads_of_oracles() == 2
    assert threads_of_oracles() == 6
