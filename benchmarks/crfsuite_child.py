"""Trains a CRF with CRFsuite's L-BFGS in a process of its own: CPU seconds and objective after every iteration.

Reads a pickled (X, y, c2) from the file that is named; prints a line "seconds objective" per iteration.
"""

from __future__ import annotations

import pickle
import sys
import tempfile
import time
from pathlib import Path

import pycrfsuite


class Printing(pycrfsuite.BaseTrainer):
    """The clock starts when L-BFGS does, and stops at every iteration; CRFsuite logs the objective after its number."""

    started: float | None = None

    def message(self, message: str) -> None:
        if message.startswith("L-BFGS optimization"):
            self.started = time.process_time()
        if message.startswith("Loss:") and self.started is not None:
            print(time.process_time() - self.started, float(message.split()[1]), flush=True)


def main(path: str) -> None:
    X, y, c2 = pickle.loads(Path(path).read_bytes())  # written by crf.py a moment ago
    trainer = Printing("lbfgs")
    for sentence, labels in zip(X, y, strict=True):
        trainer.append(sentence, labels)
    trainer.set_params(
        {
            "c1": 0.0,
            "c2": c2,
            "max_iterations": 10000,
            "epsilon": 0.0,
            "delta": 0.0,
            "feature.possible_states": True,
            "feature.possible_transitions": True,
        }
    )
    with tempfile.TemporaryDirectory(prefix="casimir-bench-") as folder:
        trainer.train(str(Path(folder) / "model"))


if __name__ == "__main__":
    main(sys.argv[1])
