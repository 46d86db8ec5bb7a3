"""Workers that are killed or stopped in the middle of a pass change nothing but the time it takes; a client that is
killed goes on from its checkpoint."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("distributed", reason="needs Dask: pip install 'casimir[dask]'")
HERE = Path(__file__).parent


def test_five_kills_in_a_training_and_a_worker_that_sleeps_give_the_same_result() -> None:
    done = subprocess.run([sys.executable, str(HERE / "kills.py")], capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert [(one["kills"], one["naps"]) for one in found.values()] == [(1, 1), (5, 1)]
    assert [one["same"] for one in found.values()] == [True, True]
    assert [one["same_with_nap"] for one in found.values()] == [True, True]
    assert all(0.0 <= one["gap"] < 0.01 for one in found.values())


@pytest.mark.parametrize("solver", ["lbfgs", "sharded"])
def test_a_client_that_is_killed_goes_on_from_its_checkpoint(tmp_path: Path, solver: str) -> None:
    def client(folder: str, found: str) -> list[str]:
        script = str(HERE / "killed_client.py")
        return [sys.executable, script, str(tmp_path / folder), str(tmp_path / found), "12", solver]

    subprocess.run(client("whole", "whole.npz"), check=True, timeout=200)
    victim, kept = subprocess.Popen(client("kept", "none.npz")), tmp_path / "kept" / "run.checkpoint"
    try:
        versions, until = set(), time.monotonic() + 150.0
        while len(versions) < 4:
            assert victim.poll() is None
            assert time.monotonic() < until
            if kept.exists():
                versions.add(kept.stat().st_mtime_ns)
            time.sleep(0.01)
    finally:
        victim.kill()
        victim.wait()
    assert not (tmp_path / "none.npz").exists()
    subprocess.run(client("kept", "again.npz"), check=True, timeout=200)
    whole, again = np.load(tmp_path / "whole.npz"), np.load(tmp_path / "again.npz")
    for name in ("w", "dual", "rows"):
        np.testing.assert_array_equal(whole[name], again[name])
