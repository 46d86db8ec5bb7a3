"""CRFsuite on the same features: training whose passes are timed one by one, and tagging."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pycrfsuite

Strings = Sequence[Sequence[Sequence[str]]]
Labels = Sequence[Sequence[str]]
Between = Callable[[int], object]


class TimedTrainer(pycrfsuite.BaseTrainer):
    """Takes the CPU time of every pass by CRFsuite's own log, so that set-up and the model's writing are left out.

    `between(i)` is called after pass i with the clock stopped: other code takes turns with CRFsuite there.
    """

    def begin(self, between: Between | None) -> None:
        self.seconds: list[float] = []
        self.error: Exception | None = None
        self._between = between
        self._resumed = time.process_time()

    def message(self, message: str) -> None:
        if message.startswith("***** Iteration"):
            self.seconds.append(time.process_time() - self._resumed)
            self._take_turns()
        self._resumed = time.process_time()

    def _take_turns(self) -> None:
        if self._between is None or self.error is not None:
            return
        try:
            self._between(len(self.seconds))
        except Exception as error:  # CRFsuite cannot carry it through its C code; train() raises it
            self.error = error


class Peer:
    """CRFsuite with training data that is handed over once."""

    def __init__(self, X: Strings, y: Labels) -> None:
        self._trainer = TimedTrainer()
        for sentence, labels in zip(X, y, strict=True):
            self._trainer.append(sentence, list(labels))
        self._folder = tempfile.TemporaryDirectory(prefix="casimir-bench-")

    def train(
        self, algorithm: str, iterations: int, between: Between | None = None, **params: Any
    ) -> tuple[list[float], Path]:
        """(CPU seconds of every pass, file of the model)."""
        model = Path(self._folder.name) / f"{algorithm}.model"
        self._trainer.select(algorithm)
        self._trainer.set_params({"max_iterations": iterations, **params})
        self._trainer.begin(between)
        self._trainer.train(str(model))
        if self._trainer.error is not None:
            raise self._trainer.error
        return self._trainer.seconds, model


def tagger(model: Path) -> pycrfsuite.Tagger:
    opened = pycrfsuite.Tagger()
    opened.open(str(model))
    return opened


def items(X: Strings) -> list[Any]:
    """Sentences in CRFsuite's own form, so that its tagger does not start from Python strings."""
    return [pycrfsuite.ItemSequence(sentence) for sentence in X]


def tag(model: Path, X: Sequence[Any]) -> list[list[str]]:
    opened = tagger(model)
    return [opened.tag(sentence) for sentence in X]
