"""Packs that were cut short, on the command line: what is said is of the pack that was asked for, and helps."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import casimir as cs
from casimir.cli import app
from casimir.packs import writer
from casimir.tasks.tag import blocks


def invoke(*arguments: object) -> tuple[int, str]:
    """The exit code, and what was said."""
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    return result.exit_code, " ".join(f"{result.stdout} {result.stderr}".split())


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sentences in documents; a block holds some of them, a shard some blocks."""
    monkeypatch.setattr(blocks, "BLOCK", 2000)
    monkeypatch.setattr("casimir.tasks.tag.packing.BLOCK", 2000)
    monkeypatch.setattr(writer, "SHARD_TOKENS", 600)
    sentences = [f"word{k % 31} O\nName{k % 17} B-PER\n. O\n" for k in range(900)]
    documents = ["\n".join(sentences[k : k + 5]) for k in range(0, len(sentences), 5)]
    found = tmp_path / "train.conll"
    found.write_text("\n".join(f"-DOCSTART- O\n\n{one}" for one in documents), encoding="utf-8")
    return found


def fails_at(monkeypatch: pytest.MonkeyPatch, number: int, inner: bool, code: int) -> None:
    """Writing the shard of that number fails, in the pack itself or in the one inside it."""
    write = writer.write_shard

    def failing(folder: Path, stem: str, arrays: Any) -> Any:
        if stem == f"shard-{number:05d}" and (folder.name == "alone") == inner:
            raise OSError(code, os.strerror(code))
        return write(folder, stem, arrays)

    monkeypatch.setattr(writer, "write_shard", failing)


@pytest.mark.parametrize("inner", [False, True])
@pytest.mark.parametrize(("code", "advice"), [(errno.ENOSPC, "Free some space"), (errno.EFBIG, "ulimit -f")])
def test_a_disk_that_takes_no_more_is_told_of_the_pack_that_was_asked_for(
    tmp_path: Path, file: Path, inner: bool, code: int, advice: str
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        fails_at(patch, 1, inner, code)
        status, said = invoke("pack", file, "--out", tmp_path / "p", "--jobs", 1, "-q")
    cut = cs.open_pack(tmp_path / "p")
    assert status == 2
    assert not cut.is_complete
    assert len(cut) > 0
    assert f"The pack in '{tmp_path / 'p'}' is marked incomplete and holds {len(cut)} sequences" in said
    assert f"({os.strerror(code)})" in said
    assert advice in said
    assert "Errno" not in said
    status, said = invoke("pack", "--merge", tmp_path / "p", "--out", tmp_path / "q")
    assert (status, f"The pack '{tmp_path / 'p'}' is incomplete" in said) == (2, True)
    assert not (tmp_path / "q").exists()
    assert invoke("pack", file, "--out", tmp_path / "p", "-q")[0] == 0
    assert invoke("pack", file, "--out", tmp_path / "whole", "-q")[0] == 0
    for name in (".", "alone"):
        done, whole = (cs.open_pack(tmp_path / one / name) for one in ("p", "whole"))
        assert done.is_complete
        assert [entry.sha256 for entry in done.entries] == [entry.sha256 for entry in whole.entries]


@pytest.mark.parametrize("inner", [False, True])
def test_training_on_a_pack_without_a_shard_is_refused_before_it_begins(
    tmp_path: Path, file: Path, inner: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails_at(monkeypatch, 0, inner, errno.ENOSPC)
    assert invoke("pack", file, "--out", tmp_path / "p", "--jobs", 1, "-q")[0] == 2
    status, said = invoke("train", "tag", "--pack", tmp_path / "p", "--model", tmp_path / "m")
    assert (status, f"The pack '{tmp_path / 'p'}' was cut short before its first shard" in said) == (2, True), said
    assert not (tmp_path / "m").exists()


def test_packs_that_cannot_be_merged_are_named_and_nothing_is_begun(tmp_path: Path, file: Path) -> None:
    for name, buckets in (("p", 1024), ("q", 2048)):
        assert invoke("pack", file, "--out", tmp_path / name, "--n-features", buckets, "-q")[0] == 0
    status, said = invoke("pack", "--merge", tmp_path / "p", tmp_path / "q", "--out", tmp_path / "both")
    assert status == 2
    assert f"'{tmp_path / 'p'}' and '{tmp_path / 'q'}' cannot be merged" in said
    assert "hash buckets (1024 and 2048)" in said
    assert not (tmp_path / "both").exists()


def test_appending_tells_what_was_added_and_what_there_is_now(tmp_path: Path, file: Path) -> None:
    more = tmp_path / "more.conll"
    more.write_text("-DOCSTART- O\n\nword1 O\nName3 B-PER\n\nword2 O\n\n", encoding="utf-8")
    _, said = invoke("pack", file, "--out", tmp_path / "p", "--columns", "word")
    assert "Packed 900 sentences of 2,700 tokens" in said
    status, said = invoke("pack", more, "--out", tmp_path / "p", "--columns", "word", "--append")
    assert status == 0, said
    assert "Packed 2 sentences of 3 tokens" in said
    n = len(cs.open_pack(tmp_path / "p").entries)
    assert f"The pack {tmp_path / 'p'} has {n} shards of 902 sentences" in said
