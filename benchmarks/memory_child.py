"""Trains in a process of its own and prints by how many bytes its peak memory rose above what it began with.

python -m benchmarks.memory_child auto|sgd PACKED.npz     casimir from packed arrays, which count too
python -m benchmarks.memory_child crfsuite CORPUS         CRFsuite, sentence by sentence
"""

from __future__ import annotations

import resource
import sys
import tempfile
from pathlib import Path

import numpy as np
import pycrfsuite

import casimir as cs
from casimir.tasks.ner import iter_features, read_conll

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def resident(peak: bool) -> int:
    """Bytes in memory now, or at most so far. Linux tells for this process alone; elsewhere both are the peak."""
    if not _STATUS.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    field = "VmHWM:" if peak else "VmRSS:"
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(field))
    return 1024 * int(line.split()[1])


def reset_peak() -> None:
    if _RESET.exists():
        _RESET.write_text("5")


def train_casimir(path: str, solver: cs.SGD | cs.DualProximal) -> None:
    with np.load(path) as saved:
        X = cs.PackedSequences(saved["offsets"], saved["indptr"], saved["indices"], None, int(saved["n_features"]))
        y = np.split(saved["y"], X.offsets[1:-1])
        labels = int(saved["labels"])
    model = cs.LinearChainModel(X, labels)
    objective = cs.Objective(model, cs.Chain(labels), cs.Hamming(), y, 1.0 / len(X), n_threads=1)
    cs.minimize(objective, solver, 20 if isinstance(solver, cs.SGD) else 500, tol=1e-2)


def train_crfsuite(path: str) -> None:
    corpus = read_conll(path)
    trainer = pycrfsuite.Trainer("ap", {"max_iterations": 5}, verbose=False)
    reset_peak()
    before = resident(peak=False)
    for features, sentence in zip(iter_features(corpus.sentences, "paper"), corpus.sentences, strict=True):
        trainer.append(features, list(sentence.labels or ()))
    with tempfile.TemporaryDirectory(prefix="casimir-bench-") as folder:
        trainer.train(str(Path(folder) / "model"))
    print(resident(peak=True) - before)


def main(what: str, path: str) -> None:
    if what == "crfsuite":
        train_crfsuite(path)
        return
    reset_peak()
    before = resident(peak=False)
    train_casimir(path, cs.SGD() if what == "sgd" else cs.DualProximal())
    print(resident(peak=True) - before)


if __name__ == "__main__":
    main(*sys.argv[1:])
