"""Trainings that are killed at random moments go on to the same bits (see `kills.py`)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from soak.budget import tries

HARNESS = Path(__file__).with_name("kills.py")
KILLS = 8  # a try


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_killed_trainings_go_on_to_the_same_bits(tmp_path: Path) -> None:
    kills = 0
    for number in tries(1, share=0.25):
        command = [sys.executable, str(HARNESS), str(tmp_path), str(number), str(KILLS)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"seed {number}: {done.stderr}"
        kills += json.loads(done.stdout)["kills"]
    assert kills >= KILLS
    print(f"{kills} kills")
