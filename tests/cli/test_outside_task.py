"""A task of another package: one file and an entry point, and the command line has it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TASK = '''
"""Which of two words comes first in the alphabet, learned from lines such as "apple pear 0"."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

import casimir as cs
from casimir.persistence import save_folder
from casimir.tasks.task import Opt, Task
from casimir.tasks.training import Run, fit


@dataclass(frozen=True)
class Options:
    letters: Annotated[int, Opt("First letters to look at.", metavar="N", low=1)] = 3


@dataclass(frozen=True)
class Accuracy:
    right: float
    n: int

    def to_dict(self):
        return {"right": self.right, "n": self.n}


@dataclass(frozen=True, eq=False)
class Model:
    w: np.ndarray
    letters: int
    run: Run

    def first(self, pairs):
        return [int(np.argmax(features(pair, self.letters) @ self.w)) for pair in pairs]

    def save(self, path):
        save_folder(path, "order", {"letters": self.letters, "run": self.run.to_dict()}, {"w": self.w})


def features(pair, letters):
    rows = np.zeros((2, letters))
    for row, word in zip(rows, pair[:2]):
        row[: len(word)] = [ord(letter) - 97 for letter in word[:letters]]
    return rows


def read(path, labelled, given):
    lines = [line.split() for line in path.read_text(encoding=given.encoding).splitlines()]
    return [(a, b, int(rest[0]) if labelled else -1) for a, b, *rest in lines]


def made_up():
    words = ["ape", "bee", "cat", "dog", "elk", "fox"]
    pairs = [(a, b, int(b < a)) for a in words for b in words if a != b]
    return pairs[::2], pairs[1::2]


def train(pairs, given, callbacks):
    letters = given.options.letters
    model = cs.LinearCandidateModel([features(pair, letters) for pair in pairs])
    how = given.fit.training(len(pairs), callbacks)
    lam = how.lam_or(1.0 / len(pairs))
    y = [np.array([pair[2]]) for pair in pairs]
    result = fit(cs.Objective(model, cs.Candidates(), cs.Hamming(), y, lam), how)
    return Model(result.w, letters, Run.of(result, lam))


def accuracy(pairs, found):
    return Accuracy(float(np.mean([pair[2] == first for pair, first in zip(pairs, found)])), len(pairs))


TASK = Task(
    name="order",
    title="Order",
    about="Learn which word comes first.",
    data="Lines of two words and 0 or 1.",
    scores="accuracy.",
    writes="the first word of each pair.",
    units="pairs",
    columns={"accuracy": "right"},
    train_options=Options,
    read=read,
    made_up=made_up,
    train=train,
    score=lambda model, pairs, given: accuracy(pairs, model.first(pairs)),
    compare=lambda model, pairs, given: {"the left one": accuracy(pairs, [0] * len(pairs))},
    write=lambda model, pairs, given, output: "".join(
        f"{pair[first]}\\n" for pair, first in zip(pairs, model.first(pairs))
    ),
    decode=lambda meta, arrays: Model(arrays["w"], int(meta["letters"]), Run.from_dict(meta["run"])),
)
'''


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with an installed package that brings a task."""
    folder = tmp_path / "site"
    meta = folder / "wordorder-1.0.dist-info"
    meta.mkdir(parents=True)
    (folder / "wordorder.py").write_text(TASK)
    (meta / "METADATA").write_text("Metadata-Version: 2.1\nName: wordorder\nVersion: 1.0\n")
    (meta / "entry_points.txt").write_text("[casimir.tasks]\norder = wordorder:TASK\n")
    return folder


def run(site: Path, *arguments: object) -> Any:
    path = os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH", "")]))
    command = [sys.executable, "-c", "from casimir.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path})


def test_a_task_of_another_package_trains_evaluates_and_predicts(site: Path, tmp_path: Path) -> None:
    trained = run(site, "train", "order", "--model", tmp_path / "m", "--letters", 1, "--json", "--tol", 0.1, "-q")
    assert trained.returncode == 0, trained.stderr
    figures = json.loads(trained.stdout)
    assert figures["gap"] <= 0.1
    assert figures["dev"]["right"] == 1.0 > figures["dev"]["baselines"]["the left one"]["right"]
    (tmp_path / "pairs").write_text("yak bear 1\nant yak 0\n")
    shown = run(site, "evaluate", tmp_path / "m", tmp_path / "pairs")
    assert "1.0000" in shown.stdout
    assert "the left one" in shown.stdout
    assert run(site, "predict", tmp_path / "m", tmp_path / "pairs").stdout == "bear\nant\n"
    assert "order" in run(site, "train", "--help").stdout


def test_a_second_task_of_one_name_is_refused(site: Path) -> None:
    file = site / "wordorder.py"
    file.write_text(TASK.replace('name="order"', 'name="ner"'))
    done = run(site, "train", "--help")
    assert done.returncode != 0
    assert "two tasks called 'ner'" in done.stderr
