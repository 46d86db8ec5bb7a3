"""A tiny experiment on random classes, for tests that run, kill and share grids, also from processes of their own.

    python -c "import experiment_cases; experiment_cases.main()" OUT JOBS

Where EXPERIMENT_LOG names a file, every run that begins adds the number of its process to it.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import casimir as cs
from casimir import experiments as ex
from casimir.experiments.records import Record, read_record


def random_classes(places: ex.Places) -> ex.Data:
    rng = np.random.default_rng(0)
    inputs, weights = rng.normal(size=(30, 5)), rng.normal(size=(3, 5))
    y = (inputs @ weights.T + rng.normal(size=(30, 3))).argmax(axis=1)
    model = cs.LinearCandidateModel([np.kron(np.eye(3), x[None]) for x in inputs])
    objective = cs.Objective(model, cs.Candidates(), cs.Hamming(), [np.array([c]) for c in y], 1.0, n_threads=1)
    return ex.Data(objective, {"length": slow_length}, begin)


def slow_length(w: np.ndarray) -> float:
    time.sleep(0.01)
    return float(np.linalg.norm(w))


def begin(seed: int) -> np.ndarray:
    if "EXPERIMENT_LOG" in os.environ:
        with open(os.environ["EXPERIMENT_LOG"], "a", encoding="utf-8") as log:
            log.write(f"{os.getpid()}\n")
    return np.zeros(15)


def sgd(size: ex.Size, gamma0: float) -> cs.SGD:
    return cs.SGD(cs.StepDecay(gamma0, size.n))


def bcfw(size: ex.Size) -> cs.BCFW:
    return cs.BCFW()


def casimir(size: ex.Size) -> cs.Casimir:
    return cs.Casimir()


CLASSES = ex.Source("classes", random_classes)
EXPERIMENT = ex.Experiment(
    "tiny",
    "Random classes",
    (ex.Case(CLASSES, 1.0), ex.Case(CLASSES, 10.0)),
    (
        ex.Method("sgd", sgd, "SGD", fixed={"gamma0": 0.5}),
        ex.Method("bcfw", bcfw, "BCFW"),
        ex.Method("casimir", casimir),
    ),
    passes=6,
    seeds=3,
    metrics=("length",),
)
RUNS = 2 * 3 * 3 + 2  # cases x methods x seeds, and F* of both cases


@dataclass(frozen=True)
class Fake:
    """A solver whose objective is (log2(x / best))^2 + 1; beyond `limit` it diverges."""

    x: float
    y: float
    best: tuple[float, float] = (8.0, 1.0)
    limit: float = 1e9

    def run(self, objective: cs.Objective, w0: np.ndarray, monitor: Any, rng: np.random.Generator) -> None:
        if self.x > self.limit:
            raise FloatingPointError("too long a step")
        value = 1.0 + sum(np.log2(a / b) ** 2 for a, b in zip((self.x, self.y), self.best, strict=True))
        done = False
        while not done:
            objective.count("steps", objective.n_active)
            done = monitor.epoch(w0, objective=value)


def fake(size: ex.Size, x: float, y: float) -> Fake:
    return Fake(x, y)


def fake_far_off(size: ex.Size, x: float, y: float) -> Fake:
    return Fake(x, y, best=(8.0, 8.0))


def fake_that_diverges(size: ex.Size, x: float, y: float) -> Fake:
    return Fake(x, y, limit=4.0)


def fakes(make: Any, **options: Any) -> ex.Experiment:
    """An experiment with one fake method and two knobs, whose guess is 1."""
    method = ex.Method("fake", make, knobs={"x": ex.Knob(1.0), "y": ex.Knob(1.0)})
    return replace(EXPERIMENT, name="fakes", cases=EXPERIMENT.cases[:1], methods=(method,), seeds=1, **options)


def records(folder: Path) -> dict[str, Record]:
    return {path.stem: read_record(path) for path in sorted((folder / "runs").glob("*.jsonl"))}


def without_clocks(folder: Path) -> dict[str, dict[str, Any]]:
    return {key: {n: v for n, v in one.fields.items() if n != "clocks"} for key, one in records(folder).items()}


def wait_for_others() -> None:
    """Until as many processes as EXPERIMENT_TOGETHER says, in the form FOLDER:COUNT, have come this far."""
    folder, _, count = os.environ["EXPERIMENT_TOGETHER"].rpartition(":")
    Path(folder, f"ready-{os.getpid()}").touch()
    while len(list(Path(folder).glob("ready-*"))) < int(count):
        time.sleep(0.001)


def main() -> None:
    if "EXPERIMENT_TOGETHER" in os.environ:
        wait_for_others()
    ex.run(EXPERIMENT, out=sys.argv[1], jobs=int(sys.argv[2]))
