"""Model folders: what goes in comes out; damage is named; nothing is ever half-written."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from casimir.persistence import check_target, files, load_folder, save_folder
from casimir.persistence.arrays import decode_rows, decode_vocabulary, encode_rows, encode_vocabulary
from casimir.vocabulary import Vocabulary

META = {"classes": ["O", "B-PER", "B-Zürich"], "lam": 0.1, "n": 3, "hash_version": 1, "nested": {"none": None}}


def arrays_of(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "weights": rng.normal(size=(20, 4)),
        "ids": rng.integers(0, 9, 5).astype(np.uint32),
        "offsets": np.arange(4),
        "empty": np.zeros((0, 3)),
        "text": np.frombuffer(b"abc", np.uint8),
        "flags": np.array([True, False]),
    }


def save(path: Path, seed: int = 0) -> None:
    save_folder(path, "tagger", {**META, "seed": seed}, arrays_of(seed))


def assert_holds(path: Path, seed: int) -> None:
    kind, meta, arrays = load_folder(path)
    assert (kind, meta) == ("tagger", {**META, "seed": seed})
    expected = arrays_of(seed)
    assert set(arrays) == set(expected)
    for name, array in expected.items():
        assert arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(arrays[name], array)


def arrays_file(folder: Path) -> Path:
    [file] = folder.glob("model-*.safetensors")
    return file


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


# --- round trips


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    save(tmp_path / "out")
    assert_holds(tmp_path / "out", 0)
    assert names(tmp_path) == ["out"]
    assert names(tmp_path / "out") == [arrays_file(tmp_path / "out").name, "model.json"]


def test_loaded_arrays_are_ones_own(tmp_path: Path) -> None:
    save(tmp_path / "out")
    _, _, arrays = load_folder(tmp_path / "out")
    arrays["weights"][0, 0] = 5.0
    assert_holds(tmp_path / "out", 0)


def test_every_bit_of_a_double_survives(tmp_path: Path) -> None:
    x = np.array([5e-324, -0.0, np.nan, np.inf, 0.1, 1.7976931348623157e308])
    save_folder(tmp_path / "out", "x", {}, {"x": x})
    assert load_folder(tmp_path / "out")[2]["x"].tobytes() == x.tobytes()


def test_strided_arrays_are_saved_by_value(tmp_path: Path) -> None:
    x = np.arange(24.0).reshape(6, 4)
    save_folder(tmp_path / "out", "x", {}, {"a": x[:, :3], "b": x.T, "c": x[::-2]})
    arrays = load_folder(tmp_path / "out")[2]
    for name, expected in (("a", x[:, :3]), ("b", x.T), ("c", x[::-2])):
        np.testing.assert_array_equal(arrays[name], expected)


def test_numpy_scalars_in_meta_become_plain_numbers(tmp_path: Path) -> None:
    save_folder(tmp_path / "out", "x", {"a": np.float64(0.5), "b": [np.int64(3)], "c": np.bool_(True)}, {})
    assert load_folder(tmp_path / "out")[1] == {"a": 0.5, "b": [3], "c": True}


def test_saving_again_replaces_the_model_and_keeps_other_files(tmp_path: Path) -> None:
    save(tmp_path / "out", 0)
    (tmp_path / "out" / "convergence.png").write_bytes(b"plot")
    save(tmp_path / "out", 1)
    assert_holds(tmp_path / "out", 1)
    assert names(tmp_path / "out") == ["convergence.png", arrays_file(tmp_path / "out").name, "model.json"]
    assert names(tmp_path) == ["out"]


def test_parent_folders_are_made_and_an_empty_folder_is_used(tmp_path: Path) -> None:
    save(tmp_path / "a" / "b" / "out")
    assert_holds(tmp_path / "a" / "b" / "out", 0)
    (tmp_path / "empty").mkdir()
    save(tmp_path / "empty")
    assert_holds(tmp_path / "empty", 0)


def test_a_link_to_a_model_stays_a_link(tmp_path: Path) -> None:
    save(tmp_path / "real", 0)
    (tmp_path / "link").symlink_to(tmp_path / "real", target_is_directory=True)
    save(tmp_path / "link", 1)
    assert (tmp_path / "link").is_symlink()
    assert_holds(tmp_path / "real", 1)


def test_relative_paths_and_strings_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save_folder("out/", "x", {}, {})
    assert load_folder("out") == ("x", {}, {})


def test_no_pickle_is_read_or_written(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="array 'x' is object"):
        save_folder(tmp_path / "out", "x", {}, {"x": np.array([{}])})
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("meta", "error"),
    [({"x": float("nan")}, ValueError), ({"x": {1, 2}}, TypeError), ({"x": "\ud800"}, ValueError)],
)
def test_meta_that_json_cannot_hold_is_refused(tmp_path: Path, meta: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match="meta cannot be written as JSON"):
        save_folder(tmp_path / "out", "x", meta, {})
    assert names(tmp_path) == []


def test_format_1_is_read_for_ever() -> None:
    """The folder was written by casimir 0.1; a later format keeps it and adds its own."""
    kind, meta, arrays = load_folder(Path(__file__).parent / "golden" / "model-format-1")
    assert (kind, meta) == ("example", {"classes": ["O", "B-Zürich"], "lam": 0.1})
    expected = np.zeros((50, 3))
    expected[[3, 40]] = [[0.1, -2.5, 0.0], [1e-300, 4.0, 5.0]]
    np.testing.assert_array_equal(decode_rows("weights", arrays), expected)
    assert decode_vocabulary("features", arrays) == Vocabulary(["word=東京", "title"])


# --- damaged, foreign and newer folders


@pytest.mark.parametrize("part", [0.0, 0.001, 0.1, 0.5, 0.9, 0.999])
def test_truncated_arrays_are_named(tmp_path: Path, part: float) -> None:
    save(tmp_path / "out")
    file = arrays_file(tmp_path / "out")
    file.write_bytes(file.read_bytes()[: int(part * file.stat().st_size)])
    with pytest.raises(
        ValueError, match=r"'.*out' is damaged: model-[0-9a-f]+.safetensors has \d+ bytes instead of \d+\. Copy"
    ):
        load_folder(tmp_path / "out")


@pytest.mark.parametrize("position", [0, 7, 8, 20, -200, -1])
def test_one_flipped_bit_is_noticed(tmp_path: Path, position: int) -> None:
    save(tmp_path / "out")
    file = arrays_file(tmp_path / "out")
    data = bytearray(file.read_bytes())
    data[position] ^= 1
    file.write_bytes(data)
    with pytest.raises(ValueError, match="damaged: the checksum"):
        load_folder(tmp_path / "out")


def test_truncated_json_is_named_wherever_it_ends(tmp_path: Path) -> None:
    save(tmp_path / "out")
    file = tmp_path / "out" / "model.json"
    data = file.read_bytes().rstrip()
    for end in range(0, len(data), 7):
        file.write_bytes(data[:end])
        with pytest.raises(ValueError, match=r"damaged: model\.json is not valid JSON"):
            load_folder(tmp_path / "out")


def edit_json(folder: Path, **changes: Any) -> None:
    """With the right digest, as someone would who means it."""
    description = json.loads((folder / "model.json").read_bytes())
    text = json.dumps({**description, **changes, "digest": "0" * 64}, indent=2)
    digest = hashlib.sha256(text.encode()).hexdigest()
    (folder / "model.json").write_text(text.replace("0" * 64, digest, 1))


@pytest.mark.parametrize("text", ["{}", "[]", "3", '{"format": "other"}', '{"architectures": ["Bert"]}'])
def test_foreign_json_is_named(tmp_path: Path, text: str) -> None:
    save(tmp_path / "out")
    (tmp_path / "out" / "model.json").write_text(text)
    with pytest.raises(ValueError, match=r"not a casimir model: its model\.json was written by something else"):
        load_folder(tmp_path / "out")


def test_newer_format_asks_for_an_upgrade(tmp_path: Path) -> None:
    save(tmp_path / "out")
    edit_json(tmp_path / "out", format_version=3, library_version="9.9")
    with pytest.raises(ValueError, match=r"format 3, written by casimir 9\.9; .* Upgrade casimir"):
        load_folder(tmp_path / "out")


@pytest.mark.parametrize(
    "changes",
    [
        {"format_version": "1"},
        {"format_version": None},
        {"format_version": True},
        {"format_version": 0},
        {"kind": 3},
        {"meta": []},
        {"arrays": None},
        {"arrays": {}},
    ],
)
def test_json_with_wrong_fields_is_damaged(tmp_path: Path, changes: dict[str, Any]) -> None:
    save(tmp_path / "out")
    edit_json(tmp_path / "out", **changes)
    with pytest.raises(ValueError, match="is damaged: "):
        load_folder(tmp_path / "out")


def test_arrays_of_another_format_are_named_even_with_a_right_checksum(tmp_path: Path) -> None:
    save(tmp_path / "out")
    put_arrays(tmp_path / "out", b"PK\x03\x04 a zip file, say" * 9)
    with pytest.raises(ValueError, match=r"damaged: model-[0-9a-f]+\.safetensors cannot be read"):
        load_folder(tmp_path / "out")


def put_arrays(folder: Path, payload: bytes) -> None:
    """Other arrays in a model folder, with the right checksums."""
    file, digest = arrays_file(folder), hashlib.sha256(payload).hexdigest()
    file.write_bytes(payload)
    edit_json(folder, arrays={"file": file.name, "bytes": len(payload), "sha256": digest})


@pytest.mark.parametrize("dtype", ["F8_E4M3", "BF16", "F8_E8M0", "I16", "C64", "X"])
def test_arrays_of_a_type_that_no_model_has_are_named(tmp_path: Path, dtype: str) -> None:
    save(tmp_path / "out")
    size = {"BF16": 2, "I16": 2, "C64": 8}.get(dtype, 1)
    header = json.dumps({"weights": {"dtype": dtype, "shape": [1], "data_offsets": [0, size]}}).encode()
    put_arrays(tmp_path / "out", len(header).to_bytes(8, "little") + header + bytes(size))
    with pytest.raises(ValueError, match=r"is damaged: model-[0-9a-f]+\.safetensors .*(type|int16|complex64|variant)"):
        load_folder(tmp_path / "out")


def test_missing_pieces_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no model folder '.*out'"):
        load_folder(tmp_path / "out")
    (tmp_path / "file").write_text("x")
    with pytest.raises(NotADirectoryError, match="is a file"):
        load_folder(tmp_path / "file")
    for pattern in ("model.json", "model-*.safetensors"):
        save(tmp_path / "out")
        [file] = (tmp_path / "out").glob(pattern)
        file.unlink()
        with pytest.raises(ValueError, match=f"it has no {file.name}"):
            load_folder(tmp_path / "out")
        shutil.rmtree(tmp_path / "out")


def test_unreadable_file_is_named(tmp_path: Path) -> None:
    save(tmp_path / "out")
    (tmp_path / "out" / "model.json").unlink()
    (tmp_path / "out" / "model.json").mkdir()
    with pytest.raises(ValueError, match=r"model\.json' is no regular file"):
        load_folder(tmp_path / "out")


# --- targets


def test_foreign_targets_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.png").write_text("mine")
    (tmp_path / "bert").mkdir()
    (tmp_path / "bert" / "model.json").write_text('{"format": "other"}')
    for name, message in (("file", "is a file"), ("photos", "not a casimir model"), ("bert", "not a casimir model")):
        for attempt in (save, check_target):
            with pytest.raises(FileExistsError, match=message):
                attempt(tmp_path / name)
    assert (tmp_path / "photos" / "cat.png").read_text() == "mine"
    assert names(tmp_path) == ["bert", "file", "photos"]


def test_target_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(OSError, match="could not be saved to"):
        save(tmp_path / "file" / "out")
    with pytest.raises(OSError, match="cannot be saved to"):
        check_target(tmp_path / "file" / "out")


def test_unwritable_target_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(self: Path, *args: Any, **kwargs: Any) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", denied)  # a real unwritable folder would not stop a test run by root
    for attempt in (save, check_target):
        with pytest.raises(PermissionError, match=r"'.*out' \(Permission denied\).* a folder you may write to"):
            attempt(tmp_path / "out")
    assert names(tmp_path) == []


def test_check_target_leaves_no_trace(tmp_path: Path) -> None:
    check_target(tmp_path / "out")
    save(tmp_path / "model")
    check_target(tmp_path / "model")
    assert names(tmp_path) == ["model"]
    assert_holds(tmp_path / "model", 0)


# --- failures on the way

STEPS: list[tuple[Any, str]] = [
    (Path, "mkdir"),
    (files, "write"),
    (os, "fsync"),
    (files, "sync_folder"),
    (os, "replace"),
]
FAILURES = [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt(), MemoryError()]


def failing_at(monkeypatch: pytest.MonkeyPatch, call: int, failure: BaseException, after: bool) -> Callable[[], int]:
    """Let the call-th step of a save raise, before or after it did its work; returns a counter of steps taken."""
    taken = 0

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def step(*args: Any, **kwargs: Any) -> Any:
            nonlocal taken
            mine, taken = taken, taken + 1
            if mine == call and not after:
                raise failure
            result = original(*args, **kwargs)
            if mine == call:
                raise failure
            return result

        return step

    for owner, name in STEPS:
        monkeypatch.setattr(owner, name, wrap(getattr(owner, name)))
    return lambda: taken


@pytest.mark.parametrize("failure", FAILURES, ids=lambda f: type(f).__name__)
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("existing", [True, False], ids=["replacing", "new"])
def test_a_failure_at_any_step_leaves_a_whole_model(
    tmp_path: Path, failure: BaseException, after: bool, existing: bool
) -> None:
    for call in range(100):
        out = tmp_path / str(call) / "out"
        out.parent.mkdir()
        if existing:
            save(out, 0)
        with pytest.MonkeyPatch.context() as monkeypatch:
            taken = failing_at(monkeypatch, call, failure, after)
            try:
                save(out, 1)
                failed = False
            except type(failure):
                failed = True
            steps = taken()
        if steps <= call:  # the save has fewer steps than this: every one has failed in turn
            assert not failed
            break
        if out.exists():
            seed = load_folder(out)[1]["seed"]
            assert_holds(out, seed)
            assert seed == 1 or failed
            assert names(out) == [arrays_file(out).name, "model.json"]
        else:
            assert failed
            assert not existing
        assert names(out.parent) == (["out"] if out.exists() else [])
    assert call > 5


def test_full_disk_says_so_and_keeps_the_old_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tmp_path / "out", 0)

    def full(file: Path, fill: Any) -> None:
        file.write_bytes(b"some bytes")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files, "write_by", full)
    with pytest.raises(OSError, match=r"'.*out' \(No space left on device\); nothing was changed there") as caught:
        save(tmp_path / "out", 1)
    assert caught.value.errno == errno.ENOSPC
    assert_holds(tmp_path / "out", 0)
    assert names(tmp_path) == ["out"]


def test_a_process_killed_while_writing_leaves_the_old_model(tmp_path: Path) -> None:
    save(tmp_path / "out", 0)
    script = (
        "import os, sys\n"
        "from casimir.persistence import files, save_folder\n"
        "def dies(file, fill):\n"
        "    file.write_bytes(b'some bytes')\n"
        "    os._exit(9)\n"
        "files.write_by = dies\n"
        "save_folder(sys.argv[1], 'tagger', {}, {})\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path / "out")], check=False)
    assert done.returncode == 9
    assert_holds(tmp_path / "out", 0)
    save(tmp_path / "out", 1)
    assert_holds(tmp_path / "out", 1)


def test_a_model_left_between_two_renames_is_pointed_at(tmp_path: Path) -> None:
    save(tmp_path / "out[1]", 0)
    (tmp_path / "out[1]").rename(tmp_path / ".out[1].previous-0123abcd")
    with pytest.raises(FileNotFoundError, match=r"interrupted there; the model before it is in '.*previous-0123abcd'"):
        load_folder(tmp_path / "out[1]")


# --- rows and vocabularies as arrays


@given(st.integers(0, 40), st.integers(0, 5), st.floats(0, 1), st.integers(0, 10**6))
def test_rows_come_back_and_take_no_more_room_than_needed(rows: int, columns: int, part: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(rows, columns)) * (rng.random((rows, 1 if seed % 2 else columns)) < part)
    arrays = encode_rows("w", matrix)
    np.testing.assert_array_equal(decode_rows("w", arrays), matrix)
    assert sum(a.nbytes for name, a in arrays.items() if name != "w.shape") <= matrix.nbytes


def test_rows_of_padded_weights_are_stored_without_padding() -> None:
    padded = np.zeros((1000, 4))
    padded[5, :3] = 1.0
    arrays = encode_rows("w", padded[:, :3])
    assert sum(a.nbytes for a in arrays.values()) == 16 + 8 + 24
    np.testing.assert_array_equal(decode_rows("w", arrays), padded[:, :3])


@pytest.mark.parametrize(
    "changes",
    [
        {"w.used": np.array([1000])},
        {"w.used": np.array([2000])},
        {"w.used": np.array([-1])},
        {"w.used": np.array([1, 2])},
        {"w.rows": np.zeros((1, 4))},
        {"w.rows": np.zeros(3)},
        {"w.shape": np.array([3])},
        {"w.shape": None},
    ],
)
def test_inconsistent_rows_are_refused(changes: dict[str, Any]) -> None:
    matrix = np.zeros((1000, 3))
    matrix[5] = 1.0
    arrays = {name: array for name, array in {**encode_rows("w", matrix), **changes}.items() if array is not None}
    with pytest.raises(ValueError, match="the model file has"):
        decode_rows("w", arrays)


@pytest.mark.parametrize(
    "changes",
    [
        {"w.places": np.array([3000], dtype=np.uint32)},
        {"w.places": np.array([3001], dtype=np.uint32)},
        {"w.places": np.array([2**32 - 1], dtype=np.uint32)},
        {"w.places": np.array([1, 2], dtype=np.uint32)},
        {"w.places": np.array([-1])},
        {"w.entries": np.zeros((1, 1))},
        {"w.shape": np.array([-1, 3])},
        {"w.entries": None},
    ],
)
def test_inconsistent_entries_are_refused(changes: dict[str, Any]) -> None:
    matrix = np.zeros((1000, 3))
    matrix[5, 1] = 1.0
    encoded = encode_rows("w", matrix)
    assert sum(a.nbytes for a in encoded.values()) == 16 + 4 + 8
    np.testing.assert_array_equal(decode_rows("w", encoded), matrix)
    arrays = {name: array for name, array in {**encoded, **changes}.items() if array is not None}
    with pytest.raises(ValueError, match="the model file has"):
        decode_rows("w", arrays)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), unique=True))
@settings(deadline=None)
def test_vocabulary_comes_back(words: list[str]) -> None:
    arrays = encode_vocabulary("features", Vocabulary(words))
    assert decode_vocabulary("features", arrays) == Vocabulary(words)
    assert decode_vocabulary("other", arrays) is None


def test_a_large_sparse_model_is_a_small_file(tmp_path: Path) -> None:
    matrix = np.zeros((2**18, 8))
    matrix[:: 2**8] = 1.0
    save_folder(tmp_path / "out", "x", {}, encode_rows("weights", matrix))
    assert arrays_file(tmp_path / "out").stat().st_size < 100_000
    np.testing.assert_array_equal(decode_rows("weights", load_folder(tmp_path / "out")[2]), matrix)


@pytest.mark.parametrize("name", ["weights.shape", "weights.used"])
def test_row_numbers_that_are_no_integers_are_refused(name: str) -> None:
    matrix = np.zeros((50, 2))
    matrix[3] = 1.0
    arrays = encode_rows("weights", matrix)
    with pytest.raises(ValueError, match="it is damaged"):
        decode_rows("weights", {**arrays, name: arrays[name].astype(np.float64)})
