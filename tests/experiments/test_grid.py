"""Grids that are killed, shared and made again end with the same records."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from experiment_cases import EXPERIMENT, RUNS, records, without_clocks

from casimir import experiments as ex

TESTS = Path(__file__).resolve().parents[1]
COMMAND = [sys.executable, "-c", "import experiment_cases; experiment_cases.main()"]


def start(folder: Path, jobs: int, **variables: str) -> subprocess.Popen[bytes]:
    """The tiny experiment in a process group of its own."""
    path = os.pathsep.join([str(TESTS), *sys.path])
    environment = {**os.environ, "PYTHONPATH": path, "EXPERIMENT_LOG": str(folder.with_suffix(".log"))}
    environment |= variables
    return subprocess.Popen([*COMMAND, str(folder), str(jobs)], env=environment, start_new_session=True)


def started(folder: Path) -> list[int]:
    """The processes that began a run, once per run."""
    log = folder.with_suffix(".log")
    return [int(line) for line in log.read_text().split()] if log.exists() else []


def wait_for_runs(folder: Path, count: int) -> None:
    end = time.monotonic() + 60.0
    while len(started(folder)) < count:
        assert time.monotonic() < end, "no run has begun"
        time.sleep(0.005)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed")
    ex.run(EXPERIMENT, out=folder)
    return folder


def test_a_run_is_a_function_of_its_settings(undisturbed: Path, tmp_path: Path) -> None:
    ex.run(EXPERIMENT, out=tmp_path, jobs=2)
    assert without_clocks(tmp_path) == without_clocks(undisturbed)
    assert len(records(tmp_path)) == RUNS


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_grid_killed_at_random_points_ends_with_the_same_records(
    undisturbed: Path, tmp_path: Path, jobs: int
) -> None:
    folder, rng = tmp_path / "out", np.random.default_rng(jobs)
    for _ in range(3):
        process = start(folder, jobs)
        wait_for_runs(folder, len(started(folder)) + int(rng.integers(1, 4)))
        time.sleep(rng.uniform(0.0, 0.03))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert len(records(folder)) < RUNS  # all of them whole, or reading would fail
    assert start(folder, jobs).wait(timeout=60) == 0
    assert without_clocks(folder) == without_clocks(undisturbed)
    assert (folder / "tiny.json").read_bytes() == (undisturbed / "tiny.json").read_bytes()


def test_two_commands_share_a_grid_and_make_nothing_twice(undisturbed: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    processes = [start(folder, 1, EXPERIMENT_TOGETHER=f"{tmp_path}:2") for _ in range(2)]
    assert [process.wait(timeout=60) for process in processes] == [0, 0]
    assert len(started(folder)) == RUNS
    assert set(started(folder)) == {process.pid for process in processes}
    assert without_clocks(folder) == without_clocks(undisturbed)


def test_workers_end_when_their_command_is_killed(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    process = start(folder, 2)
    wait_for_runs(folder, 4)
    process.kill()
    process.wait()
    end = time.monotonic() + 20.0
    while any(_is_running(worker) for worker in set(started(folder)) - {process.pid}):
        assert time.monotonic() < end, "a worker goes on alone"
        time.sleep(0.05)
    assert len(records(folder)) < RUNS


def _is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_finished_grid_is_not_made_again(undisturbed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("casimir.experiments.grid.perform", None)  # would fail if it were called
    before = {path.name: path.stat().st_mtime_ns for path in (undisturbed / "runs").iterdir()}
    ex.run(EXPERIMENT, out=undisturbed)
    assert {path.name: path.stat().st_mtime_ns for path in (undisturbed / "runs").iterdir()} == before


def test_an_error_in_a_worker_is_that_of_the_command(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="nothing"):
        ex.run(_with_metrics(("nothing",)), out=tmp_path, jobs=2)


def _with_metrics(names: tuple[str, ...]) -> ex.Experiment:
    from dataclasses import replace

    return replace(EXPERIMENT, metrics=names)
