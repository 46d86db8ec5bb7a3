"""Trainings that are killed at random and go on: `python kills.py FOLDER SEED KILLS`; a line of JSON says how it went.

Every training runs in a process of its own, forked from this one before it has any thread. It is killed (SIGKILL) at a
random moment of training, of writing a checkpoint or of saving its model, and started again until it ends by itself.
Then it must have the bits of a training that nobody has killed, no part may have lost more than the epoch under way,
and nothing may lie in the folders but a checkpoint and a model.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from checkpoints import told
from problems import chain_parts

import casimir as cs
from casimir.persistence import load_folder, save_folder

SOLVERS: list[tuple[Any, str]] = [
    (cs.DualProximal(), "hinge"),
    (cs.DualProximal(), "crf"),
    (cs.SGD(), "hinge"),
    (cs.BCFW(pairwise=True, cached_passes=3), "hinge"),
    (cs.BCFW(), "hinge"),
    (cs.Casimir(), "hinge"),
    (cs.Casimir(cs.SAGA()), "hinge"),
    (cs.Casimir.paper("const"), "hinge"),
    (cs.LBFGS(), "crf"),
    (cs.SVRG(), "crf"),
    (cs.ExponentiatedGradient(), "hinge"),
    (cs.ProxLinear(), "hinge"),
]
EPOCHS, SAVES = 25, 5


def trained(number: int, checkpoint: Any = None, callbacks: Any = ()) -> cs.Result:
    solver, loss = SOLVERS[number % len(SOLVERS)]
    parts = chain_parts(seed=number, valued=True, n=150, n_labels=5, n_features=3000, lengths=(1, 15))
    penalty = cs.Ridge(1e-3) if number % 2 else cs.ElasticNet(1e-3, 0.2)
    objective = parts.objective(penalty, loss, n_threads=1)
    return cs.minimize(objective, solver, EPOCHS, 0.0, number, callbacks, checkpoint=checkpoint)


def whole_life(number: int, folder: Path, tell: int) -> None:
    """A training with checkpoints after every epoch, and saves of its model; epochs are told to the parent."""

    def passed(row: Any, w: Any) -> None:
        os.write(tell, b"%d " % row.epoch)

    result = trained(number, cs.Checkpoint(folder / "checkpoint", 0), [passed])
    for _ in range(SAVES):
        save_folder(folder / "model", "killed", {"told": told(result)["rows"]}, {"w": result.w})


def killed(number: int, folder: Path, after: float) -> tuple[bool, list[int]]:
    """Whether the process was killed, and the epochs that it told."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            whole_life(number, folder, theirs)
            code = 0
        finally:
            os._exit(code)
    os.close(theirs)
    until = time.monotonic() + after
    status = 0
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        time.sleep(0.001)
    else:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    with os.fdopen(ours, "rb") as stream:
        epochs = [int(word) for word in stream.read().split()]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the training failed"
    return os.WIFSIGNALED(status), epochs


def check_nothing_is_lost(before: list[int], epochs: list[int]) -> None:
    """The epoch that was told last may have been killed before its checkpoint was written; none before it."""
    if before and epochs:
        assert epochs[0] >= before[-1], f"epoch {before[-1]} was over, and the next process began with {epochs[0]}"


def check_files(folder: Path) -> None:
    found = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    assert found[:1] == ["checkpoint/run.checkpoint"], found
    assert [name.partition("-")[0] for name in found[1:]] == ["model/model", "model/model.json"], found


def attack(number: int, folder: Path, rng: np.random.Generator) -> int:
    """One training, killed until it ends by itself; how often it was."""
    shutil.rmtree(folder, ignore_errors=True)
    began = time.monotonic()
    straight = told(trained(number))
    longest = 2.0 * (time.monotonic() - began) + 0.2
    kills, before = 0, list[int]()
    while True:
        patience = longest if kills > 30 else 0.0  # so that it ends
        was_killed, epochs = killed(number, folder, patience + float(rng.uniform(0.0, longest)))
        check_nothing_is_lost(before, epochs)
        before = epochs or before
        if not was_killed:
            break
        kills += 1
    _, meta, arrays = load_folder(folder / "model")
    assert arrays["w"].tobytes() == straight["w"], f"other weights: {number}"
    assert meta["told"] == json.loads(json.dumps(straight["rows"])), f"another trace: {number}"
    check_files(folder)
    return kills


def main(folder: Path, seed: int, wanted: int) -> None:
    rng, kills, trainings = np.random.default_rng(seed), 0, 0
    while kills < wanted:
        kills += attack(len(SOLVERS) * seed + trainings, folder / "run", rng)
        trainings += 1
    print(json.dumps({"kills": kills, "trainings": trainings}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
