"""Model folders whose parts do not fit together are refused, for every task, however right their checksums are."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import casimir as cs
from casimir.persistence import load_folder, save_folder

GOLDEN = Path(__file__).parent / "golden"
TAGGERS = ["tagger-1", "tagger-2", "tasks-1/ner", "tasks-1/ocr", "tasks-3/tag", "tasks-3/pos", "tasks-3/chunk"]
OTHERS = [
    *("tasks-1/align", "tasks-2/align", "tasks-1/deprel", "tasks-1/boxes", "tasks-1/localize", "tasks-1/localize-elu"),
    *("tasks-3/localize-classes", "tasks-3/segment"),
]
Meta, Arrays = dict[str, Any], dict[str, np.ndarray]


def assert_refused(tmp_path: Path, name: str, change: Callable[[Meta, Arrays], None], message: str = "") -> None:
    kind, meta, arrays = load_folder(GOLDEN / name)
    meta = copy.deepcopy(meta)
    change(meta, arrays)
    save_folder(tmp_path / "out", kind, meta, arrays)
    with pytest.raises(ValueError, match=f"cannot be loaded: .*{message}"):
        cs.load(tmp_path / "out")


def of_tagger(meta: Meta) -> Meta:
    found: Meta = meta.get("tagger", meta)
    return found


def dense(arrays: Arrays) -> np.ndarray:
    from casimir.persistence.arrays import decode_rows

    rows = decode_rows("weights", arrays)
    for key in [key for key in arrays if key.startswith("weights")]:
        del arrays[key]
    arrays["weights"] = rows
    return rows


@pytest.mark.parametrize("more", [1, 5, -1])
@pytest.mark.parametrize("name", TAGGERS)
def test_weights_fit_the_vocabulary(name: str, more: int, tmp_path: Path) -> None:
    if "vocabulary.offsets" not in load_folder(GOLDEN / name)[2] and name != "tasks-1/ocr":
        pytest.skip("hashed features have no vocabulary")

    def change(_: Meta, arrays: Arrays) -> None:
        rows = dense(arrays)
        arrays["weights"] = rows[:more] if more < 0 else np.concatenate([rows, rows[:1].repeat(more, 0)])

    assert_refused(tmp_path, name, change, r"(its vocabulary has|do not fit|features)")


@pytest.mark.parametrize("form", ["weights", "weights.rows", "weights.entries"])
@pytest.mark.parametrize("dtype", ["bool", "float32", "int64", "uint8"])
def test_weights_are_of_float64(dtype: str, form: str, tmp_path: Path) -> None:
    def change(_: Meta, arrays: Arrays) -> None:
        rows = dense(arrays)
        if form != "weights":
            used = np.flatnonzero(rows.any(axis=1))
            del arrays["weights"]
            arrays["weights.shape"] = np.array(rows.shape)
            if form == "weights.rows":
                arrays |= {"weights.used": used, "weights.rows": rows[used]}
            else:
                places = np.flatnonzero(rows)
                arrays |= {"weights.places": places.astype(np.uint32), "weights.entries": rows.ravel()[places]}
        arrays[form] = (10 * arrays[form]).astype(dtype)

    assert_refused(tmp_path, "tagger-2", change, f"'{form}' as {dtype}; it needs float64")


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("name", TAGGERS)
def test_weights_are_finite(name: str, value: float, tmp_path: Path) -> None:
    def change(_: Meta, arrays: Arrays) -> None:
        dense(arrays)[3, 0] = value

    assert_refused(tmp_path, name, change, "NaN or infinite")


WRONG_CLASSES: list[Callable[[list[Any]], Any]] = [
    lambda classes: [classes[0], *classes[:-1]],
    lambda classes: [*classes[:-1], 1, True][-len(classes) :],
    lambda classes: [[one] for one in classes],
    lambda classes: [*classes[:-1], None],
    lambda classes: [*classes[:-1], {"a": 1}],
    lambda classes: "".join(map(str, classes))[: len(classes)].ljust(len(classes), "x"),
    lambda classes: {str(one): 1 for one in classes},
    lambda classes: [],
    lambda classes: classes[:-1],
    lambda classes: None,
]


@pytest.mark.parametrize("wrong", range(len(WRONG_CLASSES)))
@pytest.mark.parametrize("name", [*TAGGERS, "tasks-1/deprel"])
def test_classes_are_distinct_labels(name: str, wrong: int, tmp_path: Path) -> None:
    def change(meta: Meta, _: Arrays) -> None:
        own = of_tagger(meta)
        own["classes"] = WRONG_CLASSES[wrong](own["classes"])

    assert_refused(tmp_path, name, change)


def cases() -> Iterator[tuple[str, str]]:
    for name in OTHERS:
        for array in sorted(load_folder(GOLDEN / name)[2]):
            yield name, array


@pytest.mark.parametrize(("name", "array"), list(cases()))
def test_arrays_of_tasks_are_checked(name: str, array: str, tmp_path: Path) -> None:
    """Shorter, longer, of another type, with one entry that is not finite: nothing of it is loaded."""
    if name.endswith("segment"):
        pytest.importorskip("cv2.ximgproc")

    def shorter(_: Meta, arrays: Arrays) -> None:
        arrays[array] = arrays[array][:-1]

    def longer(_: Meta, arrays: Arrays) -> None:
        arrays[array] = np.concatenate([arrays[array], arrays[array][-1:]])

    def other_type(_: Meta, arrays: Arrays) -> None:
        arrays[array] = arrays[array].astype(np.int32 if arrays[array].dtype.kind == "f" else np.float32)

    def missing(_: Meta, arrays: Arrays) -> None:
        del arrays[array]

    def not_finite(_: Meta, arrays: Arrays) -> None:
        arrays[array].ravel()[0] = np.nan

    for number, change in enumerate((shorter, longer, other_type, missing, not_finite)):
        if change is not_finite and load_folder(GOLDEN / name)[2][array].dtype.kind != "f":
            continue
        assert_refused(tmp_path / str(number), name, change)


def test_figures_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    """JSON as Python reads it may say NaN."""
    kind, meta, arrays = load_folder(GOLDEN / "tagger-1")
    save_folder(tmp_path / "out", kind, meta, arrays)
    file = tmp_path / "out" / "model.json"
    assert b'"lam": 0.1' in file.read_bytes() or b'"lam":' in file.read_bytes()
    file.write_bytes(file.read_bytes().replace(b'"lam": ', b'"lam": NaN, "x": ', 1))
    with pytest.raises(ValueError, match=r"model\.json is not valid JSON: it has NaN, which is no number"):
        cs.load(tmp_path / "out")


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        ("tasks-1/boxes", ("cell",), 10**9),
        ("tasks-2/align", ("fertility",), 10**9),
        ("tasks-1/align", ("words", "source", 0), "la"),
        ("tasks-1/align", ("words", "source", 0), 3),
        ("tasks-1/localize", ("recipe", "features", "channels"), 10**12),
        ("tasks-1/deprel", ("n_features",), 10**12),
        ("tasks-3/tag", ("layout",), []),
        ("tasks-3/tag/baselines/most frequent label", ("other",), 3),
        ("tasks-3/tag/baselines/most frequent label", ("labels", "the"), ["DT"]),
        ("tagger-1", ("lam",), "x"),
        ("tagger-1", ("trace",), 7),
        ("tagger-1", ("parameters",), None),
        ("tagger-2", ("temperature",), 0),
    ],
)
def test_descriptions_are_checked(name: str, path: tuple[Any, ...], value: Any, tmp_path: Path) -> None:
    def change(meta: Meta, _: Arrays) -> None:
        inner: Any = meta
        for step in path[:-1]:
            inner = inner[step]
        if name == "tasks-1/align":
            value_or_double = inner[1] if value == "la" else value
            inner[path[-1]] = value_or_double
        else:
            inner[path[-1]] = value

    assert_refused(tmp_path, name, change)
