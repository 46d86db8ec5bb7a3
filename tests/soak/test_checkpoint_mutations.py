"""Damaged checkpoints are refused in a sentence; one whose digest is right and whose state is wrong is refused, or ends
in an error of Python, or goes on: never in an accident."""

from __future__ import annotations

import hashlib
import json
import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoints import InterruptAt
from problems import chain_parts
from soak.budget import tries
from soak.mutations import changed_arrays, changed_json, mutated

import casimir as cs
from casimir.persistence import checkpoint_file, state

SOLVERS: list[tuple[Any, str]] = [
    (cs.DualProximal(), "hinge"),
    (cs.DualProximal(), "crf"),
    (cs.SGD(), "hinge"),
    (cs.BCFW(pairwise=True, cached_passes=3), "hinge"),
    (cs.Casimir(), "hinge"),
    (cs.SAGA(), "crf"),
    (cs.LBFGS(), "crf"),
    (cs.ExponentiatedGradient(), "hinge"),
]


def run(number: int, folder: Path, **options: Any) -> cs.Result:
    solver, loss = SOLVERS[number % len(SOLVERS)]
    objective = chain_parts(valued=True, n=8).objective(cs.Ridge(0.3), loss, n_threads=1)
    return cs.minimize(objective, solver, 5, 0.0, checkpoint=cs.Checkpoint(folder, 1e6), **options)


def interrupted(tmp_path: Path) -> list[Path]:
    """A checkpoint of every solver."""
    folders = [tmp_path / str(number) for number in range(len(SOLVERS))]
    for number, folder in enumerate(folders):
        run(number, folder, callbacks=[InterruptAt(2)])
    return folders


def copied(source: Path, tmp_path: Path) -> Path:
    shutil.rmtree(tmp_path / "copy", ignore_errors=True)
    shutil.copytree(source, tmp_path / "copy")
    return tmp_path / "copy"


def test_damaged_checkpoints_are_refused(tmp_path: Path) -> None:
    folders = interrupted(tmp_path)
    for seed in tries(80, share=0.03):
        number = seed % len(SOLVERS)
        folder = copied(folders[number], tmp_path)
        file = folder / checkpoint_file.FILE
        before = file.read_bytes()
        file.write_bytes(after := mutated(before, np.random.default_rng(seed)))
        if after == before:
            continue
        with pytest.raises((ValueError, FileExistsError)) as refused:
            run(number, folder)
        assert "\n" not in str(refused.value), seed
        assert file.read_bytes() == after, f"seed {seed}: what is refused is left alone"


def test_checkpoints_that_mislead_do_no_harm(tmp_path: Path) -> None:
    folders = interrupted(tmp_path)
    refused = went_on = 0
    for seed in tries(160, share=0.07):
        rng = np.random.default_rng(seed)
        number = seed % len(SOLVERS)
        folder = copied(folders[number], tmp_path)
        found = checkpoint_file.read(folder)
        assert found is not None
        write_changed(folder, found[0], found[1](), rng)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                run(number, folder)
            went_on += 1
        except MemoryError as error:
            raise AssertionError(f"seed {seed}, {SOLVERS[number]}") from error
        except Exception:
            refused += 1
    assert min(refused, went_on) > 0


def write_changed(folder: Path, key: Any, whole: Any, rng: np.random.Generator) -> None:
    """A checkpoint as `write` makes them, of a state that is another one in one place."""
    text, arrays = state.encode(whole)
    tree = json.loads(text)
    if rng.random() < 0.5:
        tree = changed_json(tree, rng)
    else:
        arrays = changed_arrays(arrays, rng)
    import safetensors.numpy

    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    payload = safetensors.numpy.save(contiguous, {"key": json.dumps(key), "state": json.dumps(tree)})
    first = b"casimir checkpoint 1 " + hashlib.sha256(payload).hexdigest().encode() + b"\n"
    (folder / checkpoint_file.FILE).write_bytes(first + payload)
