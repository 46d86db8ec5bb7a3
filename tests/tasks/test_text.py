"""Writing text files: all or nothing, and never in the place of a device."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from casimir.tasks.text import write_text


def test_a_file_is_replaced_and_keeps_its_mode(tmp_path: Path) -> None:
    file = tmp_path / "x.txt"
    file.write_text("old")
    file.chmod(0o640)
    write_text(file, "\u00e9\n", "latin-1")
    assert file.read_bytes() == b"\xe9\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["x.txt"]


def test_a_new_file_may_be_read_as_any_other(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("x")
    write_text(tmp_path / "x.txt", "x")
    assert (tmp_path / "x.txt").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "x.txt")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "x.txt").read_text() == "new"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_text(pipe, "through")
        assert os.read(reader, 100) == b"through"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize(
    ("name", "encoding", "message"),
    [
        (".", "utf-8", "cannot write .*: Is a directory"),
        ("no/such/x", "utf-8", "cannot write .*x: No such file or directory; choose a file in a folder that exists"),
        ("x", "klingon", "unknown encoding 'klingon'"),
        ("x", "ascii", "as ascii: .*; try --encoding utf-8"),
    ],
)
def test_what_cannot_be_written_leaves_nothing(tmp_path: Path, name: str, encoding: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        write_text(tmp_path / name, "\u00e9", encoding)
    assert not os.listdir(tmp_path)
