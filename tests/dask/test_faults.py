"""Workers that are killed in the middle of a pass change nothing but the time it takes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="needs Dask: pip install 'casimir[dask]'")


def test_five_kills_in_training_give_the_same_result() -> None:
    script = Path(__file__).parent / "kills.py"
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["crf"]["kills"] == 3
    assert found["hinge"]["kills"] == 2
    assert found["crf"]["same"]
    assert found["hinge"]["same"]
    assert found["crf"]["gap"] <= 1e-5
