"""What a pack on disk holds, how it grows, and what a call that was cut short leaves behind."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import struct
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_up_packs import in_memory, packed, sentences, small_shards  # noqa: F401

import casimir as cs
from casimir.packs import merge, shard_file, writer
from casimir.packs.writer import PackWriter, Piece, new_manifest

pytestmark = pytest.mark.usefixtures("small_shards")


def held(pack: cs.Pack, vocabulary: Any = None) -> Counter[Any]:
    """Every sentence with its labels and weight, whatever the order."""
    X, y, weights = in_memory(pack)
    names = pack.vocabulary
    found = []
    for i in range(len(X)):
        tokens = []
        for t in range(X.offsets[i], X.offsets[i + 1]):
            own = slice(X.indptr[t], X.indptr[t + 1])
            numbers = X.indices[own].tolist()
            values = [1.0] * len(numbers) if X.values is None else X.values[own].tolist()
            keys = numbers if names is None else [names[number] for number in numbers]
            tokens.append(tuple(sorted(zip(keys, values, strict=True))))
        found.append((tuple(tokens), tuple(y[i]), None if weights is None else float(weights[i])))
    return Counter(found)


def expected(X: Any, y: Any, n_features: int | None, weights: Any = None) -> Counter[Any]:
    flat, found = cs.pack(X, n_features), []
    for i in range(len(flat)):
        tokens = []
        for t in range(flat.offsets[i], flat.offsets[i + 1]):
            own = slice(flat.indptr[t], flat.indptr[t + 1])
            numbers = flat.indices[own].tolist()
            values = [1.0] * len(numbers) if flat.values is None else flat.values[own].tolist()
            keys = numbers if flat.vocabulary is None else [flat.vocabulary[number] for number in numbers]
            tokens.append(tuple(sorted(zip(keys, values, strict=True))))
        found.append((tuple(tokens), tuple(y[i]), None if weights is None else float(weights[i])))
    return Counter(found)


@pytest.mark.parametrize("n_features", [512, None])
@pytest.mark.parametrize("valued", [False, True])
def test_a_pack_holds_what_pack_in_memory_holds(tmp_path: Path, n_features: int | None, valued: bool) -> None:
    X, y = sentences(valued=valued)
    weights = np.random.default_rng(1).random(len(X))
    made = packed(tmp_path / "p", X, y, n_features, sample_weight=weights)
    assert len(made.shards) > 2
    assert (len(made), made.n_tokens, made.is_complete) == (len(X), sum(map(len, X)), True)
    assert held(cs.open_pack(tmp_path / "p")) == expected(X, y, n_features, weights)


def test_a_shard_is_written_once_it_has_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = [[{"a": True}] * 2] * 10, [["N", "V"]] * 10
    monkeypatch.setattr("casimir.packs.build._AT_ONCE", 1)
    monkeypatch.setattr(writer, "SHARD_TOKENS", 4)
    assert [entry.tokens for entry in packed(tmp_path / "tokens", X, y).entries] == [4] * 5
    monkeypatch.setattr(writer, "SHARD_TOKENS", 100)
    size = 2 * cs.pack(X[:1], 512).nbytes
    recipe = new_manifest(512)
    with PackWriter(tmp_path / "bytes", recipe, shard_bytes=size) as made:
        for sentence, own in zip(X, y, strict=True):
            made.add(Piece(cs.pack([sentence], 512), made.label_numbers(own), None))
        made.finish()
    assert [entry.sequences for entry in made.manifest.shards] == [2] * 5


@pytest.mark.parametrize("X", [[[{"a": True}]], [[{}]]])
def test_one_name_or_none_is_a_vocabulary(tmp_path: Path, X: Any) -> None:
    made = packed(tmp_path / "p", X, [["N"]], None)
    assert (made.n_features, len(made.vocabulary or ())) == (1, len(X[0][0]))
    assert cs.SequenceTagger(tol=0.1).fit(made).predict(X) == [["N"]]


def test_sentences_that_are_packed_already_go_to_disk(tmp_path: Path) -> None:
    X, y = sentences()
    assert held(packed(tmp_path / "p", cs.pack(X, 512), y)) == expected(X, y, 512)


def test_packing_reads_a_generator_as_it_writes(tmp_path: Path) -> None:
    X, y = sentences()
    seen_before_the_end = []

    def tokens() -> Iterator[Any]:
        for i, sentence in enumerate(X):
            if i == len(X) - 1:
                seen_before_the_end.extend(tmp_path.glob("p/shard-*"))
            yield sentence

    assert len(packed(tmp_path / "p", tokens(), iter(y))) == len(X)
    assert len(seen_before_the_end) > 1


def test_sentences_of_a_shard_are_shuffled_by_the_seed(tmp_path: Path) -> None:
    X, y = sentences()
    same, again, other = (packed(tmp_path / name, X, y, seed=seed) for name, seed in (("a", 1), ("b", 1), ("c", 2)))
    assert [entry.sha256 for entry in same.entries] == [entry.sha256 for entry in again.entries]
    assert [entry.sha256 for entry in same.entries] != [entry.sha256 for entry in other.entries]
    assert held(same) == held(other)


@pytest.mark.parametrize("n_features", [512, None])
def test_append_and_merge_add_up(tmp_path: Path, n_features: int | None) -> None:
    (X, y), (more, tags) = sentences(), sentences(30, seed=5)
    tags = [["new", *own[1:]] for own in tags]
    first = packed(tmp_path / "first", X, y, n_features)
    second = packed(tmp_path / "second", more, tags, n_features)
    both = merge([tmp_path / "second", first], tmp_path / "both")
    assert held(both) == held(first) + held(second)
    assert cs.SequenceTagger(tol=0.1).fit(both).gap_ <= 0.1
    assert both.labels is not None
    assert both.labels[: len(second.labels or ())] == second.labels
    appended = packed(tmp_path / "first", more, tags, n_features, append=True)
    assert held(appended) == held(both)
    assert held(merge([second], tmp_path / "both", append=True)) == held(first) + held(second) + held(second)


def test_merge_refuses_packs_that_do_not_fit(tmp_path: Path) -> None:
    X, y = sentences(20)
    first, other = packed(tmp_path / "a", X, y), packed(tmp_path / "b", X, y, 256)
    with pytest.raises(ValueError, match="hash buckets"):
        merge([first, other], tmp_path / "c")
    with pytest.raises(ValueError, match="into itself"):
        merge([first], first.folder)
    with pytest.raises(ValueError, match="at least one"):
        merge([], tmp_path / "c")
    assert not (tmp_path / "c").exists()


def fail_at(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """The disk is full when shard number `count` is written."""
    written, fsync = [], os.fsync

    def full(descriptor: int) -> None:
        written.append(descriptor)
        if len(written) > count:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(descriptor)

    class Full:
        def __getattr__(self, name: str) -> Any:
            return full if name == "fsync" else getattr(os, name)

    monkeypatch.setattr(shard_file, "os", Full())


@pytest.mark.parametrize("append", [False, True])
@pytest.mark.parametrize("n_features", [512, None])
def test_a_full_disk_leaves_a_pack_that_is_usable_and_goes_on(
    tmp_path: Path, n_features: int | None, append: bool
) -> None:
    X, y = sentences()
    options: dict[str, Any] = {"append": True} if append else {}
    for name in ("whole", "cut") if append else ():
        packed(tmp_path / name, *sentences(25, seed=3), n_features)
    whole = packed(tmp_path / "whole", X, y, n_features, **options)
    with pytest.MonkeyPatch.context() as patch:
        fail_at(patch, 2)
        with pytest.raises(OSError, match=r"marked incomplete and holds .* goes on from there") as caught:
            packed(tmp_path / "cut", X, y, n_features, **options)
    assert caught.value.errno == errno.ENOSPC
    cut = cs.open_pack(tmp_path / "cut")
    assert not cut.is_complete
    assert 0 < len(cut) < len(whole)
    assert "incomplete" in repr(cut)
    assert held(cut) <= held(whole)
    with pytest.warns(UserWarning, match=f"incomplete: training takes the {len(cut)} sequences"):
        cs.SequenceTagger(tol=0.1).fit(cut)
    with pytest.raises(ValueError, match="cut short"):
        packed(tmp_path / "cut", X, y, n_features, append=not append)
    done = packed(tmp_path / "cut", X, y, n_features, **options)
    assert done.is_complete
    assert held(done) == held(whole)
    assert not list(tmp_path.glob("cut/.casimir-*"))


def test_an_interrupt_leaves_what_was_written(tmp_path: Path) -> None:
    X, y = sentences()

    def stopped() -> Iterator[Any]:
        yield from X[:45]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        packed(tmp_path / "p", stopped(), y)
    cut = cs.open_pack(tmp_path / "p")
    assert 0 < len(cut) <= 45
    assert held(packed(tmp_path / "p", X, y)) == expected(X, y, 512)


@pytest.mark.skipif(sys.platform == "win32", reason="folders cannot be locked there")
@pytest.mark.parametrize("append", [False, True])
def test_two_cannot_pack_into_one_folder_at_once(tmp_path: Path, append: bool) -> None:
    X, y = sentences()
    if append:
        packed(tmp_path / "p", X, y)
    refused = []

    def meanwhile() -> Iterator[Any]:
        for i, sentence in enumerate(X):
            if i == len(X) // 2:
                with pytest.raises(ValueError, match="Someone else is writing to") as caught:
                    packed(tmp_path / "p", X, y, append=append)
                refused.append(caught)
            yield sentence

    made = held(packed(tmp_path / "p", meanwhile(), iter(y), append=append))
    assert made == Counter({key: (1 + append) * n for key, n in expected(X, y, 512).items()})
    assert refused
    packed(tmp_path / "p", X, y, append=True)


def test_a_complete_pack_is_not_overwritten(tmp_path: Path) -> None:
    X, y = sentences(10)
    packed(tmp_path / "p", X, y)
    with pytest.raises(ValueError, match="complete pack already"):
        packed(tmp_path / "p", X, y)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("mine")
    with pytest.raises(ValueError, match="is no pack"):
        packed(tmp_path / "other", X, y)


@pytest.mark.parametrize(
    ("y", "error", "said"),
    [
        ([["N"]] * 9, ValueError, "fewer entries"),
        ([["N", "V"]] * 10, ValueError, "tokens and"),
        ([[{"N"}]] * 10, TypeError, "strings or numbers"),
        ([[None]] * 10, TypeError, "strings or numbers"),
    ],
)
def test_wrong_labels_are_told(tmp_path: Path, y: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        packed(tmp_path / "p", [[{"a": True}]] * 10, y)


def test_labels_keep_their_types(tmp_path: Path) -> None:
    made = packed(tmp_path / "p", [[{"a": 1}, {"b": 1}, {"c": 1}, {"d": 1}]], [[1, "1", True, np.int64(1)]])
    assert [(type(label), label) for label in made.labels or ()] == [(int, 1), (str, "1"), (bool, True)]


# --- the format


def test_the_format_reads_as_documented(tmp_path: Path) -> None:
    X, y = sentences(valued=True)
    made = packed(tmp_path / "p", X, y, 512, sample_weight=np.arange(1.0, 61.0))
    manifest = json.loads((tmp_path / "p" / "pack.json").read_text(encoding="utf-8"))
    assert (manifest["format"], manifest["format_version"], manifest["complete"]) == ("casimir-pack", 1, True)
    for entry, shard in zip(manifest["shards"], made.shards, strict=True):
        data = (tmp_path / "p" / entry["file"]).read_bytes()
        assert len(data) == entry["bytes"]
        assert data[:8] == b"CASSHARD"
        (size,) = struct.unpack("<Q", data[8:16])
        header, body = json.loads(data[16 : 16 + size]), data[16 + size :]
        assert (header["version"], header["bytes"], (16 + size) % 64) == (1, len(body), 0)
        assert hashlib.sha256(body).hexdigest() == header["sha256"] == entry["sha256"]
        found = {
            name: np.frombuffer(body, np.dtype(one["dtype"]).newbyteorder("<"), one["length"], one["offset"])
            for name, one in header["arrays"].items()
        }
        assert all(one["offset"] % 64 == 0 for one in header["arrays"].values())
        assert sorted(found) == ["indices", "indptr", "labels", "offsets", "values", "weights"]
        np.testing.assert_array_equal(found["indices"], shard.X.indices)
        np.testing.assert_array_equal(found["labels"], shard.labels)
        assert (len(found["weights"]), len(found["labels"])) == (entry["sequences"], entry["tokens"])


@pytest.mark.parametrize("how", ["gone", "touched", "replaced"])
def test_shards_that_change_after_they_were_opened_are_told(tmp_path: Path, how: str) -> None:
    made = packed(tmp_path / "p", *sentences())
    made.check_unchanged()  # nothing is opened yet
    files = [shard.file.path for shard in made.shards]
    made.check_unchanged()
    data = files[1].read_bytes()
    files[1].unlink()
    if how != "gone":
        files[1].write_bytes(data if how == "replaced" else data[:-1])
    said = "is gone" if how == "gone" else "has changed since it was opened"
    for number in (None, 1):
        with pytest.raises(ValueError, match=f"{files[1].name} {said}"):
            made.check_unchanged(number)
    made.check_unchanged(0)


def rewrite(folder: Path, change: dict[str, Any]) -> None:
    """pack.json with other words, and a digest that is right."""
    from casimir.persistence.seal import sealed

    given = json.loads((folder / "pack.json").read_text(encoding="utf-8"))
    del given["digest"]
    (folder / "pack.json").write_bytes(sealed(given | change))


def damage(folder: Path, how: str) -> None:
    first, second = sorted(folder.glob("shard-*"))[:2]
    data = bytearray(first.read_bytes())
    if how == "byte":
        data[-1] ^= 1
    elif how == "short":
        del data[-8:]
    elif how == "empty":
        data.clear()
    elif how == "header":
        data[20] ^= 255
    elif how == "version":
        data = bytearray(data.replace(b'"version": 1', b'"version": 2'))
    elif how == "magic":
        data[0] ^= 1
    elif how == "other":
        data = bytearray(second.read_bytes())
    first.write_bytes(data)
    if how == "gone":
        first.unlink()
    elif how == "folder":
        first.unlink()
        first.mkdir()


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("byte", "checksum"),
        ("short", "bytes instead of"),
        ("empty", "bytes instead of"),
        ("header", "is damaged"),
        ("version", "shard version 2"),
        ("magic", "no shard of casimir"),
        ("other", "another shard|bytes instead of"),
        ("gone", "cannot be read"),
        ("folder", "cannot be read|no regular file"),
    ],
)
def test_a_shard_that_is_not_as_it_was_is_refused_in_one_sentence(tmp_path: Path, how: str, said: str) -> None:
    made = packed(tmp_path / "p", *sentences())
    damage(tmp_path / "p", how)
    for use in (lambda: cs.SequenceTagger().fit(cs.open_pack(made.folder)), cs.open_pack(made.folder).check_content):
        with pytest.raises(ValueError, match=said) as caught:
            use()
        assert str(caught.value).startswith(f"The pack '{made.folder}' cannot be used")
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format_version": 2}, "pack format 2"),
        ({"format": "other"}, "something else"),
        ({"hash_version": 99}, "version 99 of the hash"),
        ({"shards": [{"file": "x"}]}, "damaged"),
        ({"surprise": 1}, "damaged"),
    ],
)
def test_a_manifest_of_something_else_is_refused(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    packed(tmp_path / "p", *sentences(10))
    rewrite(tmp_path / "p", change)
    with pytest.raises(ValueError, match=said):
        cs.open_pack(tmp_path / "p")


@pytest.mark.parametrize("arrays", [{"offsets": [0, 99]}, {"indptr": [3, 0]}, {"labels": [7] * 4}])
def test_arrays_that_do_not_fit_are_refused_whatever_their_checksum(tmp_path: Path, arrays: dict[str, Any]) -> None:
    X = [[{"a": True}, {"b": True}, {"c": True}, {"d": True}]]
    made = packed(tmp_path / "p", X, [list("NVDA")])
    whole = dict(made.shards[0].file.arrays)
    for name, numbers in arrays.items():
        whole[name] = np.array(numbers, dtype=whole[name].dtype)
    file, n_bytes, sha256 = shard_file.write_shard(made.folder, "shard-00000", whole)
    entry = {"file": file, "bytes": n_bytes, "sha256": sha256, "sequences": 1, "tokens": 4, "features": 4}
    rewrite(made.folder, {"shards": [entry]})
    with pytest.raises(ValueError, match="cannot be used"):
        _ = cs.open_pack(made.folder).shards


def test_a_changed_manifest_is_noticed(tmp_path: Path) -> None:
    packed(tmp_path / "p", *sentences(10))
    text = (tmp_path / "p" / "pack.json").read_text(encoding="utf-8")
    (tmp_path / "p" / "pack.json").write_text(text.replace('"weighted": false', '"weighted": true'), encoding="utf-8")
    with pytest.raises(ValueError, match="digest"):
        cs.open_pack(tmp_path / "p")
    with pytest.raises(ValueError, match="is no pack"):
        cs.open_pack(tmp_path / "nothing")


def test_what_a_pack_cannot_hold_is_told(tmp_path: Path) -> None:
    X = cs.pack([[{"a": True}, {"b": True}]], 512)
    with pytest.raises(ValueError, match="features of pairs of labels"):
        cs.pack(X.with_edges(cs.pack([[{"a": True}, {"b": True}]], 512)), y=[["N", "V"]], out=tmp_path / "p")
    with pytest.raises(ValueError, match="with a vocabulary already"):
        cs.pack(cs.pack([[{"a": True}]], None), y=[["N"]], out=tmp_path / "p")
    with pytest.raises(ValueError, match="matrices are not packed"):
        cs.pack([np.eye(2)], y=[["N", "V"]], out=tmp_path / "p2")


def test_options_of_packs_on_disk_need_a_folder() -> None:
    for options in ({"y": [["N"]]}, {"sample_weight": [1.0]}, {"append": True}):
        with pytest.raises(ValueError, match="give out"):
            cs.pack([[{"a": True}]], **options)  # type: ignore[arg-type]
