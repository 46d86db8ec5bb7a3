"""Which data a model is trained on, and which it is reported on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from casimir.tasks.task import Given, Task, opt, random_split, selected


@dataclass(frozen=True)
class Wanted:
    """What a user said: the options --train, --dev, --test, --held-out and --folds."""

    train: Path | None = opt("What to learn from.", metavar="PATH")
    dev: Path | None = opt("Labelled data to watch, to choose settings on and to report on.", metavar="PATH")
    test: Path | None = opt("Labelled data to report on in the end.", metavar="PATH")
    held_out: float | None = opt(
        "Share of the data to report on, drawn by the seed; 0 trains on all of it.", metavar="X"
    )
    folds: int | None = opt("Train on all data, and report by cross-validation.", metavar="N", low=2)

    def check(self) -> None:
        if self.train is None and (self.dev is not None or self.test is not None):
            raise ValueError("--dev and --test come with --train; without it, made-up data are used.")
        if self.folds is not None and self.held_out is not None:
            raise ValueError("--folds and --held-out exclude each other: with folds, every example is held out once.")
        if self.held_out is not None and not 0.0 <= self.held_out < 1.0:  # also refuses NaN
            raise ValueError(f"--held-out {self.held_out:g} is not a share of the data; it must be in 0 <= X < 1.")


@dataclass(frozen=True, eq=False)
class Parts:
    """train    what the model learns from
    reported {"dev": ..., "test": ..., "heldout": ...}: those that there are
    """

    train: Any
    reported: dict[str, Any]

    @property
    def dev(self) -> Any:
        return self.reported.get("dev")


def read_parts(task: Task, wanted: Wanted, given: Given) -> Parts:
    """Reads the data, or makes them up, and holds out what is to be held out."""
    reported: dict[str, Any] = {}
    if wanted.train is None:
        data, dev = task.made_up()
        if dev is not None and wanted.folds is None and wanted.held_out is None:
            reported["dev"] = dev
    else:
        data = task.read(wanted.train, True, given)
        named = {"dev": wanted.dev, "test": wanted.test}
        reported = {
            name: task.read(path, True, replace(given, role=name)) for name, path in named.items() if path is not None
        }
    if wanted.folds is not None and wanted.folds > len(data):
        raise ValueError(
            f"--folds {wanted.folds} of {len(data)} examples; there must be at least one example per fold."
        )
    if _holds_out(task, wanted, bool(reported)):
        data, reported["heldout"] = _split(task, data, wanted.held_out, given)
    return Parts(data, reported)


def _holds_out(task: Task, wanted: Wanted, has_others: bool) -> bool:
    if wanted.held_out is not None:
        return wanted.held_out > 0.0
    return task.held_out is not None and wanted.folds is None and not has_others


def _split(task: Task, data: Any, share: float | None, given: Given) -> tuple[Any, Any]:
    if task.split is not None:
        return task.split(data, share, given)
    chosen = task.held_out if share is None else share
    assert chosen is not None
    return random_split(data, chosen, given)


def fold_parts(data: Any, folds: int, seed: int) -> Iterator[tuple[Any, Any]]:
    """(training data, held-out data) of every fold."""
    n = len(data)
    for held_out in np.array_split(np.random.default_rng(seed).permutation(n), folds):
        rest = np.setdiff1d(np.arange(n), held_out)
        yield selected(data, rest), selected(data, np.sort(held_out))
