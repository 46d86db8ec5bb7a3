"""Disks that are full, folders that are read-only, quotas: one sentence, nothing lost, and training goes on."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoints import InterruptAt, told
from problems import chain_parts
from typer.testing import CliRunner

import casimir as cs
from casimir.cli import app
from casimir.persistence import checkpoint_file, load_folder, save_folder

TRAIN = "Ada B-PER\nslept O\nin O\nLeeds B-LOC\n\nBob B-PER\nleft O\n\n" * 5
KB = 1024


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own of 256 KB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    _mount("-o", "size=256k", disk)
    yield disk
    subprocess.run(["umount", disk], check=True)


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """A folder into which nobody can write, root or not; it holds a model and a checkpoint."""
    folder = tmp_path / "fixed"
    folder.mkdir()
    is_root = os.name == "posix" and os.geteuid() == 0
    if is_root:
        _mount("-o", "size=16m", folder)
    save_folder(folder / "model", "x", {}, {"w": np.ones(3)})
    interrupted(folder / "run")
    if is_root:
        subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
    else:
        for path in (folder / "model", folder / "run", folder):
            path.chmod(0o500)
    yield folder
    if is_root:
        subprocess.run(["umount", folder], check=True)
    else:
        for path in (folder, folder / "model", folder / "run"):
            path.chmod(0o700)


def _mount(*arguments: object) -> None:
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        pytest.skip("only root can make a disk")
    done = subprocess.run(["mount", "-t", "tmpfs", *map(str, arguments[:-1]), "tmpfs", str(arguments[-1])], check=False)
    if done.returncode != 0:
        pytest.skip("this system lets nobody make a disk")


def fill(disk: Path) -> Path:
    """Takes what room is left."""
    with open(disk / "filler", "wb", buffering=0) as stream:
        while _takes(stream, KB):
            pass
        while _takes(stream, 1):
            pass
    return disk / "filler"


def _takes(stream: Any, size: int) -> bool:
    try:
        return bool(stream.write(bytes(size)))
    except OSError:
        return False


def run(folder: Path, **options: Any) -> cs.Result:
    objective = chain_parts(valued=True, n=8).objective(cs.Ridge(0.3), n_threads=1)
    return cs.minimize(objective, cs.DualProximal(), 6, 0.0, checkpoint=cs.Checkpoint(folder, 0), **options)


def interrupted(folder: Path) -> bytes:
    run(folder, callbacks=[InterruptAt(2)])
    return (folder / checkpoint_file.FILE).read_bytes()


def invoke(*arguments: object) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        return CliRunner().invoke(app, [str(one) for one in arguments])


@pytest.fixture
def train(tmp_path: Path) -> Path:
    (tmp_path / "train.txt").write_text(TRAIN)
    return tmp_path / "train.txt"


# --- full


def test_a_full_disk_keeps_the_old_model_and_takes_the_new_one_later(small_disk: Path) -> None:
    out = small_disk / "model"
    save_folder(out, "x", {"n": 1}, {"w": np.ones(2000)})
    filler = fill(small_disk)
    names = sorted(os.listdir(out))
    with pytest.raises(
        OSError, match=r"could not be saved to .*\(No space left on device\); nothing was changed"
    ) as told_:
        save_folder(out, "x", {"n": 2}, {"w": np.zeros(2000)})
    assert told_.value.errno == errno.ENOSPC
    assert "\n" not in str(told_.value)
    assert sorted(os.listdir(out)) == names
    assert load_folder(out)[1] == {"n": 1}
    filler.unlink()
    save_folder(out, "x", {"n": 2}, {"w": np.zeros(2000)})
    assert load_folder(out)[1] == {"n": 2}


def test_a_disk_that_fills_up_while_training_keeps_the_last_checkpoint(small_disk: Path) -> None:
    folder = small_disk / "run"
    before = interrupted(folder)
    filler = fill(small_disk)
    straight = told(run(small_disk.parent / "elsewhere"))
    with pytest.warns(RuntimeWarning, match=r"No checkpoint could be written .*No space left.*goes on") as warned:
        assert told(run(folder)) == straight
    assert len(warned) == 1
    assert os.listdir(folder) == [checkpoint_file.FILE]
    assert (folder / checkpoint_file.FILE).read_bytes() == before
    filler.unlink()
    assert told(run(folder)) == straight


def test_a_disk_that_has_room_again_takes_the_next_checkpoint(small_disk: Path) -> None:
    folder = small_disk / "run"
    folder.mkdir()
    filler = fill(small_disk)

    def clear(row: Any, w: Any) -> None:
        if row.epoch == 3:
            filler.unlink()

    with pytest.warns(RuntimeWarning, match="No checkpoint could be written"):
        run(folder, callbacks=[clear])
    assert (folder / checkpoint_file.FILE).stat().st_size > 0


def test_commands_on_a_full_disk_end_in_a_sentence(small_disk: Path, train: Path) -> None:
    model, out = small_disk / "model", small_disk / "out.txt"
    assert invoke("train", "tag", "--train", train, "--model", train.parent / "m", "-q").exit_code == 0
    out.write_text("mine")
    filler = fill(small_disk)
    saved = invoke("train", "tag", "--train", train, "--model", model, "-q")
    predicted = invoke("predict", train.parent / "m", train, "--output", out)
    for result in (saved, predicted):
        assert result.exit_code == 2
        assert "No space left on device" in result.stderr
        assert result.stderr.rstrip("\n").splitlines()[-1].startswith("error: ")
    assert not model.exists()
    assert out.read_text() == "mine"
    assert sorted(os.listdir(small_disk)) == sorted([filler.name, out.name])


def test_a_command_without_room_for_its_checkpoint_trains(small_disk: Path, train: Path, tmp_path: Path) -> None:
    fill(small_disk)
    options = ("--epochs", "3", "--tol", "0", "-q")
    kept = invoke("train", "tag", "--train", train, "--model", tmp_path / "m", "--checkpoint", small_disk, *options)
    assert kept.exit_code == 0
    assert "No checkpoint could be written" in kept.stderr
    assert cs.load(tmp_path / "m") is not None


# --- a quota: no file may be larger than so much

QUOTA = """
import resource, sys, warnings
sys.path.insert(0, {tests!r})
from test_disks import *
before = interrupted(Path({folder!r}) / "run")
save_folder(Path({folder!r}) / "model", "x", {{"n": 1}}, {{"w": np.ones(10)}})
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    save_folder(Path({folder!r}) / "model", "x", {{"n": 2}}, {{"w": np.ones(5000)}})
except OSError as error:
    print(error)
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    run(Path({folder!r}) / "run")
print(said[0].message)
assert load_folder(Path({folder!r}) / "model")[1] == {{"n": 1}}
assert (Path({folder!r}) / "run" / checkpoint_file.FILE).read_bytes() == before
assert sorted(os.listdir(Path({folder!r}) / "run")) == [checkpoint_file.FILE]
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no such limit")
def test_a_quota_keeps_the_old_model_and_the_last_checkpoint(tmp_path: Path) -> None:
    text = QUOTA.format(tests=str(Path(__file__).parent), folder=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    saved, kept = done.stdout.splitlines()
    assert "could not be saved" in saved
    assert "File too large" in saved
    assert "No checkpoint could be written" in kept
    assert "File too large" in kept


# --- read-only


def test_read_only_folders_are_refused_before_training(read_only: Path, train: Path) -> None:
    before = {path: path.read_bytes() for path in read_only.rglob("*") if path.is_file()}
    with pytest.raises(OSError, match=r"could not be saved to .*; nothing was changed"):
        save_folder(read_only / "model", "x", {}, {"w": np.zeros(3)})
    with pytest.raises(OSError, match=r"No checkpoint can be written to .* Give a folder you may write to"):
        run(read_only / "run")
    with pytest.raises(OSError, match="No checkpoint can be written to"):
        run(read_only / "new")
    for options in (("--model", read_only / "m"), ("--model", train.parent / "m", "--checkpoint", read_only / "c")):
        result = invoke("train", "tag", "--train", train, *options, "-q")
        assert result.exit_code == 2
        assert result.stderr.startswith("error: ")
        assert result.stderr.count("\n") == 1
    assert {path: path.read_bytes() for path in read_only.rglob("*") if path.is_file()} == before
    assert load_folder(read_only / "model")[2]["w"].tolist() == [1.0, 1.0, 1.0]


# --- one file for two things


def test_what_is_read_may_be_what_is_written(train: Path) -> None:
    model = train.parent / "m"
    assert invoke("train", "tag", "--train", train, "--model", model, "-q").exit_code == 0
    assert invoke("predict", model, train, "--output", train.parent / "out.txt").exit_code == 0
    assert invoke("predict", model, train, "--output", train).exit_code == 0
    assert train.read_text() == (train.parent / "out.txt").read_text()


@pytest.mark.parametrize("inside", ["", "kept"])
def test_a_checkpoint_in_the_place_of_the_model_is_refused_before_training(inside: str, train: Path) -> None:
    """It would be found there at the end, and the model would not be saved over it."""
    model = train.parent / "m"
    result = invoke("train", "tag", "--train", train, "--model", model, "--checkpoint", model / inside, "-q")
    assert result.exit_code == 2
    assert "need folders of their own" in result.stderr
    assert result.stderr.count("\n") == 1
    assert not model.exists()


def test_data_is_never_taken_for_a_model(train: Path) -> None:
    result = invoke("train", "tag", "--train", train, "--model", train, "-q")
    assert (result.exit_code, train.read_text()) == (2, TRAIN)
    assert "is a file; a model is saved as a folder" in result.stderr
