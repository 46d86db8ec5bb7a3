"""Mutated Arrow and Parquet files are read, or refused in one sentence: places in memory that they name are checked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from soak.budget import tries
from soak.mutations import mutated

from casimir.tasks.tag.arrow_files import read_arrow

pyarrow = pytest.importorskip("pyarrow")


def write(path: Path, table: Any) -> None:
    from pyarrow import parquet

    if path.suffix == ".parquet":
        parquet.write_table(table, path)
        return
    made = pyarrow.ipc.new_stream if path.suffix == ".ipc" else pyarrow.ipc.new_file
    with pyarrow.OSFile(str(path), "wb") as sink, made(sink, table.schema) as writer:
        writer.write_table(table)


def said_of(path: Path) -> str:
    """What is said against the file, or "" where it is read."""
    try:
        for _ in read_arrow(path, ("tokens", "tags"), 7, lambda done, total: None):
            pass
    except ValueError as error:
        return str(error) or "(nothing)"
    return ""


def test_mutated_files_are_read_or_refused(tmp_path: Path) -> None:
    table = pyarrow.table({"tokens": [["Ada", "slept"], ["Leeds"]] * 20, "tags": [["B-PER", "O"], ["B-LOC"]] * 20})
    whole = {}
    for name in ("a.parquet", "a.arrow", "a.ipc"):
        write(tmp_path / name, table)
        assert said_of(tmp_path / name) == ""
        whole[name] = (tmp_path / name).read_bytes()
    said = []
    for seed in tries(300, share=0.02):
        name = list(whole)[seed % len(whole)]
        (tmp_path / name).write_bytes(mutated(whole[name], np.random.default_rng(seed)))
        said.append(said_of(tmp_path / name))
        assert "\n" not in said[-1], seed
    assert any(said)


@pytest.mark.parametrize("offsets", [[0, 2**30, 6], [0, 9, 3]])
@pytest.mark.parametrize("name", ["b.arrow", "b.ipc"])
def test_offsets_beyond_the_text_are_refused(offsets: list[int], name: str, tmp_path: Path) -> None:
    ends = pyarrow.py_buffer(np.array(offsets, np.int32).tobytes())
    words = pyarrow.StringArray.from_buffers(2, ends, pyarrow.py_buffer(b"Ada in"))
    lists = pyarrow.ListArray.from_arrays(pyarrow.array([0, 2], pyarrow.int32()), words)
    table = pyarrow.table({"tokens": lists, "tags": [["B-PER", "O"]]})
    write(tmp_path / name, table)
    assert said_of(tmp_path / name).startswith("cannot read")


def test_a_small_file_cannot_become_much_text(tmp_path: Path) -> None:
    """A column of one word that comes again and again is a few bytes in a Parquet file."""
    words = pyarrow.DictionaryArray.from_arrays(np.zeros(5_000_000, np.int32), ["Llanfairpwllgwyngyll"])
    lists = pyarrow.ListArray.from_arrays(pyarrow.array([0, len(words)], pyarrow.int32()), words.cast("string"))
    write(tmp_path / "c.parquet", pyarrow.table({"tokens": lists, "tags": lists}))
    assert (tmp_path / "c.parquet").stat().st_size < 100_000
    assert "unpacks to more than 64 times" in said_of(tmp_path / "c.parquet")


@pytest.mark.parametrize("name", ["d.parquet", "d.arrow", "d.ipc"])
@pytest.mark.parametrize("is_told", [True, False])
def test_numbers_are_the_names_that_the_file_tells(name: str, is_told: bool, tmp_path: Path) -> None:
    """Those that have no name stay numbers, which the reader of records refuses."""
    names = ["O", "B-PER"]
    about = {"info": {"features": {"tags": {"feature": {"names": names, "_type": "ClassLabel"}}}}}
    table = pyarrow.table({"tokens": [["Ada", "in"], ["x", "y", "z"]], "tags": [[1, 0], [0, 2, -1]]})
    write(tmp_path / name, table.replace_schema_metadata({"huggingface": json.dumps(about)} if is_told else {}))
    seen: list[tuple[int, int]] = []
    read = read_arrow(tmp_path / name, ("tokens", "tags"), 1, lambda done, total: seen.append((done, total)))
    assert list(read) == [
        (0, [{"tokens": ["Ada", "in"], "tags": ["B-PER", "O"] if is_told else [1, 0]}]),
        (1, [{"tokens": ["x", "y", "z"], "tags": ["O", 2, -1] if is_told else [0, 2, -1]}]),
    ]
    assert [done for done, _ in seen] == [1, 2]
