"""Pictures, candidate boxes and the hand-made descriptor: shapes, determinism, errors that name the file."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from casimir.datasets.objects import make_objects
from casimir.tasks.localize.handmade import HandMade
from casimir.tasks.localize.pictures import Picture, Pixels, pictures_of
from casimir.tasks.localize.proposals import propose
from casimir.tasks.localize.store import collect


@pytest.fixture(scope="module")
def pixels() -> Pixels:
    return make_objects(1, seed=5)[0].pixels


# --- pictures


def test_a_picture_reads_from_a_file_in_rgb(tmp_path: Path) -> None:
    red = np.zeros((5, 7, 3), dtype=np.uint8)
    red[..., 2] = 255  # OpenCV writes blue, green, red
    cv2.imwrite(str(tmp_path / "red.png"), red)
    picture = Picture("red", tmp_path / "red.png")
    assert picture.read().shape == (5, 7, 3)
    assert picture.read()[0, 0].tolist() == [255, 0, 0]


def test_a_missing_and_a_cut_image_are_named(tmp_path: Path, pixels: Pixels) -> None:
    with pytest.raises(ValueError, match=r"image '.*nowhere\.jpg' cannot be read \(No such file"):
        Picture("it", tmp_path / "nowhere.jpg").read()
    whole = cv2.imencode(".jpg", pixels)[1].tobytes()
    for name, data in (("cut.jpg", whole[: len(whole) * 3 // 4]), ("empty.jpg", b""), ("text.jpg", b"text")):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(ValueError, match=f"{name}' is not an image"):
            Picture("it", tmp_path / name).read()


@pytest.mark.parametrize("wrong", [np.zeros((4, 4), np.uint8), np.zeros((4, 4, 3)), np.zeros((0, 4, 3), np.uint8)])
def test_other_pixels_are_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"'it' are .*uint8\[height, width, 3\]"):
        Picture("it", wrong)


def test_other_boxes_are_refused(pixels: Pixels) -> None:
    with pytest.raises(ValueError, match="the box of 'it'"):
        Picture("it", pixels, np.array([5, 5, 4, 9]))
    with pytest.raises(TypeError, match="whole numbers"):
        Picture("it", pixels, np.array([0.0, 1.0, 2.0, 3.0]))  # type: ignore[arg-type]


# --- proposals


def test_boxes_are_sorted_distinct_and_inside(pixels: Pixels) -> None:
    boxes = propose(pixels)
    assert boxes.dtype == np.int64
    assert np.array_equal(boxes, np.unique(boxes, axis=0))
    assert (boxes >= 0).all()
    assert (boxes[:, 2:] < pixels.shape[:2]).all()
    assert (boxes[:, :2] <= boxes[:, 2:]).all()
    assert [0, 0, pixels.shape[0] - 1, pixels.shape[1] - 1] in boxes.tolist()
    for _ in range(3):
        np.testing.assert_array_equal(propose(pixels), boxes)


def test_of_too_many_boxes_the_largest_are_kept(pixels: Pixels) -> None:
    boxes, few = propose(pixels), propose(pixels, top=20)
    area = {tuple(box): np.prod(box[2:] - box[:2] + 1) for box in boxes}
    assert len(few) == 20
    assert np.array_equal(few, np.unique(few, axis=0))
    kept = [area[tuple(box)] for box in few]
    assert min(kept) >= max(area[tuple(box)] for box in boxes if box.tolist() not in few.tolist())
    with pytest.raises(ValueError, match="top=0"):
        propose(pixels, top=0)


def test_large_pictures_are_searched_small_and_boxes_scaled_back(pixels: Pixels) -> None:
    height, width = pixels.shape[:2]
    small = cv2.resize(
        pixels, (256, round(256 * height / width)) if width >= height else (round(256 * width / height), 256)
    )
    large = np.repeat(np.repeat(small, 3, axis=0), 3, axis=1)
    boxes = propose(small)
    expected = np.concatenate([boxes[:, :2] * 3, boxes[:, 2:] * 3 + 2], axis=1)
    np.testing.assert_array_equal(propose(large), expected)


@pytest.mark.parametrize("shape", [(1, 1), (2, 300), (300, 1), (16, 16), (1, 2000)])
def test_a_picture_without_anything_has_the_whole_as_its_candidate(shape: tuple[int, int]) -> None:
    flat = np.full((*shape, 3), 7, dtype=np.uint8)
    assert [0, 0, shape[0] - 1, shape[1] - 1] in propose(flat).tolist()
    features = HandMade().describe(flat, propose(flat))
    assert np.isfinite(features).all()


# --- the hand-made descriptor


def test_hand_made_features_have_cells_and_channels(pixels: Pixels) -> None:
    descriptor, boxes = HandMade(), propose(pixels)
    features = descriptor.describe(pixels, boxes)
    assert features.shape == (len(boxes), descriptor.dim)
    assert features.dtype == np.float32
    assert descriptor.dim == descriptor.cells * descriptor.channels
    assert np.isfinite(features).all()
    assert np.abs(features).max() < 10.0
    assert descriptor.describe(pixels, boxes[:0]).shape == (0, descriptor.dim)


def test_hand_made_features_of_a_box_do_not_depend_on_the_others(pixels: Pixels) -> None:
    boxes = propose(pixels)
    np.testing.assert_array_equal(HandMade().describe(pixels, boxes)[7:9], HandMade().describe(pixels, boxes[7:9]))


def test_hand_made_cells_come_row_by_row() -> None:
    pixels = np.zeros((30, 30, 3), dtype=np.uint8)
    pixels[:10, 20:] = 255  # the upper right cell is white
    features = HandMade().describe(pixels, np.array([[0, 0, 29, 29]])).reshape(9, HandMade.channels)
    white = np.abs(features - features[0]).sum(axis=1)
    assert int(np.argmax(white)) == 2


# --- all together

_HASH = """
import hashlib, sys
from casimir.datasets.objects import make_objects
from casimir.tasks.localize.handmade import HandMade
from casimir.tasks.localize.pictures import pictures_of
from casimir.tasks.localize.store import collect
found = collect(pictures_of(make_objects(2, seed=5)), HandMade())
assert "torch" not in sys.modules
print(hashlib.sha256(b"".join(a.tobytes() for a in [*found.boxes, *found.features])).hexdigest())
"""


def test_another_process_finds_the_same_bits() -> None:
    found = collect(pictures_of(make_objects(2, seed=5)), HandMade())
    here = hashlib.sha256(b"".join(a.tobytes() for a in [*found.boxes, *found.features])).hexdigest()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    there = subprocess.run([sys.executable, "-c", _HASH], capture_output=True, text=True, env=environment, check=True)
    assert there.stdout.strip() == here
