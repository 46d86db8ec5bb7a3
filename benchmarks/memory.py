"""Peak memory of training, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.table import Row, times

if TYPE_CHECKING:
    from benchmarks.context import Context
    from benchmarks.workload import Workload

GB = 1e9


def memory_row(context: Context, target: float) -> Row:
    context.say("peak memory in processes of their own")
    with tempfile.TemporaryDirectory(prefix="casimir-bench-") as folder:
        packed = Path(folder) / "packed.npz"
        _save(context.paper(), packed)
        ours = {what: _grown(what, packed) for what in ("auto", "sgd")}
    peer = _grown("crfsuite", context.corpora.train_path)
    most = max(ours.values())
    return Row(
        "peak memory of training above the interpreter",
        f"{peer / GB:.2f} GB",
        f"{most / GB:.2f} GB",
        times(most / peer),
        f"<= {target:.2f} GB",
        most / GB <= target,
        f"packed features included; auto to a gap of 1e-2 {ours['auto'] / GB:.2f} GB, "
        f"SGD {ours['sgd'] / GB:.2f} GB; CRFsuite is AP, given one sentence at a time",
        {"bytes": ours, "crfsuite bytes": peer},
    )


def _save(workload: Workload, path: Path) -> None:
    X = workload.X
    assert X.values is None, "one-hot features"
    y, labels = np.concatenate(workload.y), len(workload.classes)
    np.savez(path, offsets=X.offsets, indptr=X.indptr, indices=X.indices, n_features=X.n_features, y=y, labels=labels)


def _grown(what: str, path: Path) -> int:
    command = [sys.executable, "-m", "benchmarks.memory_child", what, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[1], check=False)
    if done.returncode:
        raise RuntimeError(f"{what} ended with: {done.stderr.strip().splitlines()[-1]}")
    return int(done.stdout)
