"""What a checkpoint's file may not do, whatever its digest: hang, take memory, or end in an error of another kind."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from problems import chain_parts

import casimir as cs
from casimir.persistence import checkpoint_file, state


def run(folder: Path) -> None:
    objective = chain_parts(n=4).objective(cs.Ridge(0.3), "hinge", n_threads=1)
    cs.minimize(objective, cs.SGD(), 2, 0.0, checkpoint=cs.Checkpoint(folder))


def sealed(folder: Path, key: str, tree: str) -> None:
    payload = safetensors.numpy.save({"a": np.zeros(1)}, {"key": key, "state": tree})
    first = b"casimir checkpoint 1 " + hashlib.sha256(payload).hexdigest().encode() + b"\n"
    (folder / checkpoint_file.FILE).write_bytes(first + payload)


def test_arrays_come_back_as_they_lay_in_memory() -> None:
    """Sums over them are formed in the same order, and are the same to the last bit."""
    table = np.random.default_rng(0).normal(size=(5, 7))
    given = [table, np.asfortranarray(table), table.T, table[1:3], table.ravel()]
    text, arrays = state.encode(given)
    again = state.decode(text, arrays)
    for old, new in zip(given, again, strict=True):
        np.testing.assert_array_equal(old, new)
        assert new.flags.f_contiguous == old.flags.f_contiguous


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_pipes_and_devices_are_no_checkpoints(tmp_path: Path) -> None:
    file = tmp_path / checkpoint_file.FILE
    os.mkfifo(file)
    with pytest.raises(ValueError, match="is no regular file"):
        run(tmp_path)
    file.unlink()
    file.symlink_to("/dev/zero")
    with pytest.raises(ValueError, match="is no regular file"):
        run(tmp_path)
    assert file.is_symlink()


@pytest.mark.parametrize(
    "key", ["[" * 100_000, "[]", "{", '{"data": 3}', '{"data": {"digest": 1, "shown": ""}}', "1e999"]
)
def test_a_key_that_no_run_writes_is_refused(key: str, tmp_path: Path) -> None:
    sealed(tmp_path, key, "{}")
    with pytest.raises(ValueError, match="is damaged: ") as caught:
        run(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "tree",
    [
        {"number": 10**12, "dtype": "void"},  # a terabyte
        {"number": 3, "dtype": "object"},
        {"number": "3", "dtype": "float64"},
        {"number": [1.0] * 3, "dtype": "float64"},
        {"number": 3, "dtype": "nothing"},
        {"number": 300, "dtype": "uint8"},
        {"class": "Path", "fields": {}},
        {"array": "b", "turned": False},
        {"same": 7},
        {"tuple": 3},
    ],
)
def test_a_state_that_nothing_wrote_is_refused(tree: Any) -> None:
    with pytest.raises(ValueError, match=r"it holds|too large|out of bounds"):
        state.decode(json.dumps(tree), {"a": np.zeros(1)})


def test_numbers_come_back_as_they_were() -> None:
    given = [np.float32(0.1), np.int64(-3), np.bool_(True), np.uint8(255), 7, 0.5, None]
    found = state.decode(*state.encode(given))
    assert [(type(one), one) for one in found] == [(type(one), one) for one in given]
