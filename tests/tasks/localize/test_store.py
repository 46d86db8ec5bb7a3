"""Candidates and features: computed once, kept on disk, the same from both."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from casimir._boxes import iou
from casimir.datasets.objects import make_objects
from casimir.scores import IntArray
from casimir.tasks.localize import store
from casimir.tasks.localize.candidates import CandidateSet
from casimir.tasks.localize.descriptors import Described
from casimir.tasks.localize.handmade import HandMade
from casimir.tasks.localize.pictures import Picture, Pixels, pictures_of
from casimir.tasks.localize.store import collect, entry_key


class Means:
    """The mean colour of a box, nine times; counts its calls and can be told to fail at one."""

    name = "means"
    cells, channels, dim = 9, 3, 27

    def __init__(self, key: str = "means-1", fail_at: int | None = None, factor: float = 1.0) -> None:
        self.key, self.fail_at, self.factor, self.calls = key, fail_at, factor, 0

    def describe(self, pixels: Pixels, boxes: IntArray) -> Described:
        if self.calls == self.fail_at:
            raise KeyboardInterrupt
        self.calls += 1
        means = [pixels[t : b + 1, l : r + 1].mean(axis=(0, 1)) for t, l, b, r in boxes.tolist()]
        return np.tile(np.array(means, dtype=np.float32) * self.factor, (1, 9)).reshape(-1, 27)


@pytest.fixture(scope="module")
def pictures() -> list[Picture]:
    return pictures_of(make_objects(4, seed=3))


def assert_equal(a: CandidateSet, b: CandidateSet) -> None:
    assert a.names == b.names
    for x, y in zip(a.boxes, b.boxes, strict=True):
        np.testing.assert_array_equal(x, y)
    for x, y in zip(a.features, b.features, strict=True):
        assert x.dtype == y.dtype == np.float16
        np.testing.assert_array_equal(x, y)
    np.testing.assert_array_equal(a.truth, b.truth)
    np.testing.assert_array_equal(a.shapes, b.shapes)


def test_in_memory_fresh_and_cached_are_the_same_bits(pictures: list[Picture], tmp_path: Path) -> None:
    sets = [
        collect(pictures, HandMade(), cache=cache)
        for cache in (None, tmp_path / "new" / "cache", tmp_path / "new" / "cache")
    ]
    assert_equal(sets[0], sets[1])
    assert_equal(sets[0], sets[2])
    assert isinstance(sets[2].features[0], np.memmap)


def test_an_interrupted_run_goes_on_where_it_was(pictures: list[Picture], tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        collect(pictures, Means(fail_at=2), cache=tmp_path)
    assert len(list(tmp_path.iterdir())) == 2
    second, third = Means(), Means()
    resumed = collect(pictures, second, cache=tmp_path)
    collect(pictures, third, cache=tmp_path)
    assert (second.calls, third.calls) == (2, 0)
    assert_equal(resumed, collect(pictures, Means()))


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-7])


def _empty(file: Path) -> None:
    file.write_bytes(b"")


def _flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[-5] ^= 1
    file.write_bytes(bytes(data))


def _rubbish(file: Path) -> None:
    file.write_bytes((500).to_bytes(8, "little") + b"[" * 600)


def _foreign(file: Path) -> None:
    other = next(f for f in file.parent.iterdir() if f != file)
    file.write_bytes(other.read_bytes())


def _nameless(file: Path) -> None:
    file.write_bytes(file.read_bytes().replace(b'"height"', b'"heighs"'))


@pytest.mark.parametrize("harm", [_cut, _empty, _flip, _rubbish, _foreign, _nameless])
def test_a_damaged_file_is_computed_again_with_a_warning(
    pictures: list[Picture], tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    whole = collect(pictures, Means())
    collect(pictures, Means(), cache=tmp_path)
    file = tmp_path / f"{entry_key(pictures[1], Means())}.safetensors"
    harm(file)
    again, after = Means(), Means()
    with pytest.warns(RuntimeWarning, match=f"{file.name}' is damaged .*computed again"):
        repaired = collect(pictures, again, cache=tmp_path)
    collect(pictures, after, cache=tmp_path)
    assert (again.calls, after.calls) == (1, 0)
    assert_equal(repaired, whole)


def test_the_key_follows_the_content(pictures: list[Picture]) -> None:
    picture = pictures[0]
    pixels = picture.read().copy()
    renamed = Picture("another name", pixels.copy(), None)
    pixels[3, 4, 1] ^= 1
    key = entry_key(picture, Means())
    assert entry_key(renamed, Means()) == key
    others = [
        entry_key(Picture(picture.name, pixels), Means()),
        entry_key(picture, Means(key="means-2")),
        entry_key(picture, Means(), top=10),
        entry_key(Picture("turned", picture.read().reshape(pixels.shape[1], pixels.shape[0], 3)), Means()),
    ]
    assert len({key, *others}) == 5


def test_a_failed_write_leaves_nothing_and_says_so(
    pictures: list[Picture], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: Path, data: bytes) -> int:
        with open(file, "wb") as stream:
            stream.write(data[:100])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match=r"No space left on device.*Free some space") as caught:
        collect(pictures, Means(), cache=tmp_path)
    assert str(tmp_path) in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_cache_that_is_a_file_is_refused(pictures: list[Picture], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"file' .*Give a folder"):
        collect(pictures, Means(), cache=tmp_path / "file")


def test_progress_is_told_from_none_to_all(pictures: list[Picture]) -> None:
    told: list[tuple[int, int]] = []
    collect(pictures[:2], Means(), progress=lambda done, total: told.append((done, total)))
    assert told == [(0, 2), (1, 2), (2, 2)]


def test_no_pictures_give_an_empty_set(tmp_path: Path) -> None:
    assert len(collect([], Means(), cache=tmp_path)) == 0


def test_truth_is_there_only_when_all_boxes_are_known(pictures: list[Picture]) -> None:
    unknown = Picture("unknown", pictures[1].read())
    assert collect([pictures[0], unknown], Means()).truth is None
    known = collect(pictures[:2], Means())
    np.testing.assert_array_equal(known.truth, [picture.box for picture in pictures[:2]])


def test_a_true_box_outside_its_picture_is_named(pictures: list[Picture]) -> None:
    height = pictures[0].read().shape[0]
    wrong = Picture("wrong", pictures[0].read(), np.array([0, 0, height, 5]))
    with pytest.raises(ValueError, match=f"'wrong' .*does not lie in the picture, which has {height} rows"):
        collect([wrong], Means())


def test_an_image_of_another_size_than_its_annotation_is_named(pictures: list[Picture]) -> None:
    pixels = pictures[0].read()
    height, width = pixels.shape[:2]
    right = Picture("right", pixels, pictures[0].box, (height, width))
    turned = Picture("turned", pixels, pictures[0].box, (width, height + 1))
    with pytest.raises(ValueError, match=f"'turned' has {width} x {height} pixels, but .* {height + 1} x {width}"):
        collect([right, turned], Means())


def test_an_empty_candidate_list_is_named(pictures: list[Picture], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "propose", lambda pixels, top: np.zeros((0, 4), dtype=np.int64))
    with pytest.raises(ValueError, match="'picture 0' has no candidate boxes"):
        collect(pictures, Means())


@pytest.mark.parametrize("factor", [1e6, np.nan])
def test_features_that_float16_cannot_hold_are_refused(pictures: list[Picture], factor: float) -> None:
    with pytest.raises(ValueError, match=r"'means' gave NaN, or numbers above 65504.*'picture 0'"):
        collect(pictures, Means(factor=factor))


def test_features_of_another_width_are_refused(pictures: list[Picture]) -> None:
    descriptor = Means()
    descriptor.dim = 28  # type: ignore[misc]
    with pytest.raises(ValueError, match=r"gave \[\d+, 27\] .* must give \[\d+, 28\]"):
        collect(pictures, descriptor)


def test_a_corrupt_image_is_named_and_those_before_are_kept(pictures: list[Picture], tmp_path: Path) -> None:
    bad = tmp_path / "bad.jpg"
    bad.write_bytes(b"\xff\xd8\xff\xe0 no image")
    with pytest.raises(ValueError, match=r"bad\.jpg' is not an image"):
        collect([pictures[0], Picture("bad", bad)], Means(), cache=tmp_path / "cache")
    assert len(list((tmp_path / "cache").iterdir())) == 1


def test_features_that_vanish_later_are_named(pictures: list[Picture], tmp_path: Path) -> None:
    found = collect(pictures[:1], Means(), cache=tmp_path)
    next(tmp_path.iterdir()).unlink()
    with pytest.raises(FileNotFoundError, match="Collect again"):
        found.features[0]


def test_leftovers_of_killed_runs_are_removed(pictures: list[Picture], tmp_path: Path) -> None:
    old, new = tmp_path / ".a.safetensors.writing-0", tmp_path / ".b.safetensors.writing-1"
    old.touch()
    new.touch()
    os.utime(old, (0, 0))
    collect(pictures[:1], Means(), cache=tmp_path)
    assert not old.exists()
    assert new.exists()


def test_select_keeps_features_lazy_and_in_order(pictures: list[Picture], tmp_path: Path) -> None:
    whole = collect(pictures, Means(), cache=tmp_path)
    part = whole.select([2, 0]).select(np.array([1]))
    assert part.names == ["picture 0"]
    assert_equal(part, collect(pictures[:1], Means()))
    assert len(whole.select([])) == 0
    assert all(iou(boxes, true).max() > 0.5 for boxes, true in zip(whole.boxes, whole.truth, strict=True))
