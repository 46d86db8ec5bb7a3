"""Processes that save, load and are killed all at once: nobody ever sees half of a model, and nothing is left."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from soak.budget import tries

from casimir.persistence import load_folder, save_folder


def save(path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    save_folder(path, "tagger", {"seed": seed}, {"w": np.full(int(rng.integers(1, 20_000)), float(seed))})


def save_for_ever(path: Path, first: int) -> None:
    seed = first
    while True:
        save(path, seed)
        seed += 1


def check(path: Path) -> None:
    _, meta, arrays = load_folder(path)
    assert np.all(arrays["w"] == float(meta["seed"]))
    assert len(arrays["w"]) == int(np.random.default_rng(meta["seed"]).integers(1, 20_000))


@pytest.mark.skipif(sys.platform == "win32", reason="folders cannot be locked there")
def test_savers_that_are_killed_leave_a_whole_model(tmp_path: Path) -> None:
    out, context = tmp_path / "out", multiprocessing.get_context("spawn")
    save(out, 0)
    (out / "notes.txt").write_text("mine")
    for number in tries(2, share=0.05):
        rng = np.random.default_rng(number)
        savers = [context.Process(target=save_for_ever, args=(out, 10_000 * k)) for k in range(1, 3)]
        for process in savers:
            process.start()
        until = time.monotonic() + 1.5 + rng.random()
        while time.monotonic() < until:
            check(out)
        for process in savers:
            assert process.is_alive()
            os.kill(process.pid or 0, signal.SIGKILL)
            check(out)
            process.join()
        check(out)
        save(out, number)
        assert sorted(name.partition("-")[0] for name in os.listdir(out)) == ["model", "model.json", "notes.txt"]
        assert os.listdir(tmp_path) == ["out"]
    assert (out / "notes.txt").read_text() == "mine"
