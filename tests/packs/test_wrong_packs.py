"""Packs whose digests are right and whose words are not: refused in one sentence that names the pack."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from soak.pack_folders import arrays_of, laid_out, manifest_of, replace_arrays, rewrite, used

import casimir as cs
from casimir.metrics.schemes import Scheme
from casimir.packs import merge
from casimir.tasks.tag.packed_text import PackedText, with_alone


def refused(folder: Path, said: str) -> None:
    with pytest.raises(ValueError, match=said) as caught:
        used(folder)
    assert str(folder) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        {"n_features": "16"},
        {"n_features": 0},
        {"n_features": 2**32},
        {"n_features": True},
        {"separator": None},
        {"weighted": 1},
        {"complete": "yes"},
        {"about": []},
        {"before": -1},
        {"before": 99},
        {"hash_version": [1]},
        {"hash_version": None},
        {"labels": "POL"},
        {"labels": ["PER", "O", "O"]},
        {"labels": ["PER", "O", {"a": 1}]},
        {"labels": ["PER", "O", None]},
        {"shards": []},
        {"shards": {}},
        {"shards": ["shard-00000-0123456789abcdef.bin"]},
        {"vocabulary": 3},
        {"library_version": None},
    ],
)
def test_entries_of_another_type_are_refused(change: dict[str, Any], tmp_path: Path) -> None:
    folder = laid_out("hashed", tmp_path / "p")
    rewrite(folder, manifest_of(folder) | change)
    refused(folder, "has no proper|damaged")


@pytest.mark.parametrize(
    "change",
    [
        {"file": "../p/shard-00000-0123456789abcdef.bin"},
        {"file": "/etc/passwd"},
        {"file": 7},
        {"sha256": "0" * 64},
        {"sha256": None},
        {"bytes": 0},
        {"bytes": 1e3},
        {"sequences": -3},
        {"sequences": 2**63},
        {"tokens": 2**63},
        {"bytes": 2**63},
        {"tokens": True},
        {"features": None},
        {"surprise": 1},
    ],
)
def test_entries_of_shards_name_files_of_the_pack_alone(change: dict[str, Any], tmp_path: Path) -> None:
    folder = laid_out("hashed", tmp_path / "p")
    given = manifest_of(folder)
    rewrite(folder, given | {"shards": [given["shards"][0] | change]})
    refused(folder, "damaged")


def test_a_shard_counts_once(tmp_path: Path) -> None:
    folder = laid_out("hashed", tmp_path / "p")
    given = manifest_of(folder)
    rewrite(folder, given | {"shards": given["shards"] * 1000})
    refused(folder, "damaged")


def test_growing_a_pack_never_removes_a_file_elsewhere(tmp_path: Path) -> None:
    """The file of an older vocabulary is removed once there is a newer one."""
    folder = laid_out("exact", tmp_path / "p")
    given = manifest_of(folder)
    mine = tmp_path / given["vocabulary"]["file"]
    (folder / given["vocabulary"]["file"]).rename(mine)
    rewrite(folder, given | {"vocabulary": given["vocabulary"] | {"file": f"../{mine.name}"}})
    with pytest.raises(ValueError, match="damaged"):
        cs.pack([[{"word": "new"}]], None, y=[["O"]], sample_weight=[1.0], out=folder, append=True)
    assert mine.exists()


@pytest.mark.parametrize(
    "change",
    [
        {"indices": np.array([3, 1, 0, 1, 2], np.uint32)},
        {"values": np.array([1.0, np.nan, 1.0, 1.0, 1.0])},
        {"values": np.array([1, 2, 1, 1, 1], np.int64)},
        {"weights": np.array([1.0, -2.0, 0.5])},
        {"weights": np.array([1.0, np.inf, 0.5])},
        {"labels": np.array([0, 1, 0, 1, -1], np.int32)},
        {"labels": np.array([0, 1, 0, 1, 2], np.int64)},
        {"offsets": np.array([0, 2, 3, 6], np.int64)},
        {"indptr": None},
    ],
)
def test_arrays_that_no_packing_writes_are_refused(change: dict[str, Any], tmp_path: Path) -> None:
    folder = laid_out("hashed", tmp_path / "p")
    given = manifest_of(folder)
    arrays = {k: a for k, a in (arrays_of(folder, given["shards"][0]) | change).items() if a is not None}
    for name, array in change.items():
        if array is not None and name in ("indices", "values"):
            arrays[name] = np.resize(array, len(arrays["indices"]))
    replace_arrays(folder, given["shards"][0], arrays)
    rewrite(folder, given)
    refused(folder, "cannot be used")


@pytest.mark.parametrize(
    "change",
    [
        {"offsets": 3},
        {"offsets": {}},
        {"offsets": {"dtype": "int64", "length": 4}},
        {"offsets": {"dtype": "float16", "length": 4, "offset": 0}},
        {"offsets": {"dtype": "int64", "length": 4.0, "offset": 0}},
        {"offsets": {"dtype": "int64", "length": -1, "offset": 0}},
        {"offsets": {"dtype": "int64", "length": 4, "offset": 0.0}},
        {"offsets": {"dtype": "int64", "length": 4, "offset": -64}},
        {"offsets": {"dtype": "int64", "length": 4, "offset": 8}},
        {"offsets": {"dtype": "int64", "length": 2**40, "offset": 0}},
        {"offsets": {"dtype": "int64", "length": 4, "offset": 2**40}},
        None,
    ],
)
def test_headers_that_no_packing_writes_are_refused(change: Any, tmp_path: Path) -> None:
    folder = laid_out("hashed", tmp_path / "p")
    given = manifest_of(folder)
    entry = given["shards"][0]
    data = (folder / entry["file"]).read_bytes()
    size = int.from_bytes(data[8:16], "little")
    header = json.loads(data[16 : 16 + size])
    header["arrays"] = None if change is None else header["arrays"] | change
    text = json.dumps(header).encode()
    text += b" " * (-(len(text) + 16) % 64)
    (folder / entry["file"]).write_bytes(data[:8] + len(text).to_bytes(8, "little") + text + data[16 + size :])
    entry["bytes"] = 16 + len(text) + len(data) - 16 - size
    rewrite(folder, given)
    refused(folder, f"the header of {entry['file']} is damaged")


@pytest.mark.parametrize("change", [{"n_features": 3}, {"text": None}, {"offsets": np.array([0, 2], np.int64)}])
def test_names_of_features_fit_their_number(change: dict[str, Any], tmp_path: Path) -> None:
    folder = laid_out("exact", tmp_path / "p")
    given = manifest_of(folder)
    if "n_features" in change:
        given |= {"n_features": given["n_features"] + change["n_features"]}
    else:
        arrays = {k: a for k, a in (arrays_of(folder, given["vocabulary"]) | change).items() if a is not None}
        replace_arrays(folder, given["vocabulary"], arrays)
    rewrite(folder, given)
    refused(folder, "has no proper names")


def test_a_small_pack_cannot_ask_for_large_weights(tmp_path: Path) -> None:
    """Unless training is told how much it may take."""
    folder = laid_out("hashed", tmp_path / "p")
    rewrite(folder, manifest_of(folder) | {"n_features": 2**24})
    pack = cs.open_pack(folder)
    with pytest.raises(ValueError, match=r"asks for 512 MB of weights by .* memory='8GB'"):
        cs.SequenceTagger().fit(pack)
    with pytest.raises(ValueError, match="memory=1,000 MB"):
        cs.SequenceTagger().fit(pack, memory="1GB")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_pipes_and_devices_are_no_shards(tmp_path: Path) -> None:
    folder = laid_out("hashed", tmp_path / "p")
    shard = folder / manifest_of(folder)["shards"][0]["file"]
    shard.unlink()
    os.mkfifo(shard)
    refused(folder, "no regular file")
    shard.unlink()
    shard.symlink_to("/dev/zero")
    refused(folder, "no regular file")
    (folder / "pack.json").unlink()
    (folder / "pack.json").symlink_to("/dev/zero")
    refused(folder, "no regular file")


@pytest.mark.parametrize(
    "change",
    [
        {"columns": "word"},
        {"columns": [7]},
        {"scheme": "IOB9"},
        {"scheme": []},
        {"layout": [1, 2]},
        {"layout": {"word": 1.5}},
        {"layout": {"word": 0}},
        {"layout": {"line": 1}},
        {"width": "3"},
        {"has_documents": 1},
        {"lexicons": {"lexicons.clusters": 3}},
        {"lexicons": {"lexicons.clusters": "no clusters"}},
        {"lexicons": None},
        {"feature_set": "later"},
        {"features_version": 99},
        {"features_version": None},
        {"feature_set": "templates"},
        {"feature_set": "templates", "templates": {"text": "w={word", "name": "own"}},
    ],
)
def test_what_a_pack_says_of_its_text_is_checked(change: dict[str, Any], tmp_path: Path) -> None:
    folder = laid_out("text", tmp_path / "p")
    given = manifest_of(folder)
    PackedText.of(cs.open_pack(folder))
    rewrite(folder, given | {"about": given["about"] | change})
    refused(folder, "what it says of its text is damaged")


def test_a_pack_tells_how_its_text_was_read(tmp_path: Path) -> None:
    pack = cs.open_pack(laid_out("text", tmp_path / "p"))
    about, text = pack.manifest.about, PackedText.of(pack)
    assert {name: about[name] for name in about if name not in ("lexicons", "features_version")} == {
        "task": "tag",
        "feature_set": "default",
        "columns": [],
        "scheme": "IOBES",
        "file_scheme": "IOB2",
        "layout": {"word": 1, "label": -1},
        "width": 2,
        "has_documents": True,
    }
    assert text.to_meta() == about
    assert (text.scheme, text.file_scheme) == (Scheme.IOBES, Scheme.IOB2)
    assert text.lexicons.names == ("known",)
    assert [one.folder.name for one in with_alone(pack, text)] == ["p", "alone"]


def test_the_pack_inside_is_of_the_same_sentences(tmp_path: Path) -> None:
    folder = laid_out("text", tmp_path / "p")
    inner = manifest_of(folder / "alone")
    assert len(cs.open_pack(folder / "alone")) == 3
    rewrite(folder / "alone", inner | {"labels": inner["labels"][::-1]})
    refused(folder, "is of other sentences")


def test_labels_that_python_takes_for_the_same_are_one(tmp_path: Path) -> None:
    """As in memory; a model that tells them apart could not be loaded."""
    pack = cs.pack([[{"a": 1}, {"b": 1}, {"c": 1}]] * 5, 64, y=[[1, True, 2.0]] * 5, out=tmp_path / "p")
    tagger = cs.SequenceTagger(tol=0.1).fit(pack)
    assert tagger.classes_.tolist() == [1, 2.0]
    tagger.save(tmp_path / "model")
    assert cs.load(tmp_path / "model").predict([[{"b": 1}]]) == [[1]]


def test_packs_of_python_are_merged_like_others(tmp_path: Path) -> None:
    from casimir.tasks.tag.packing import merge_packs

    folders = [laid_out("hashed", tmp_path / name) for name in "ab"]
    assert len(merge_packs(folders, tmp_path / "c")) == len(merge(folders, tmp_path / "d")) == 6
