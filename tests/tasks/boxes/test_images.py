"""Tables of images and boxes; boxes of pixels and of cells."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from casimir.tasks.boxes.grid import grid_shape, to_cells, to_pixels
from casimir.tasks.boxes.images import Image, boxes_of, format_boxes, read_images

cv2 = pytest.importorskip("cv2")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pixels = np.zeros((10, 20, 3), dtype=np.uint8)
    pixels[:, :5] = (255, 0, 10)  # red first
    (tmp_path / "a, b.png").write_bytes(cv2.imencode(".png", pixels[:, :, ::-1])[1].tobytes())
    (tmp_path / "not.png").write_bytes(b"text")
    return tmp_path


def table(folder: Path, text: str) -> Path:
    (folder / "boxes.csv").write_text(text, encoding="utf-8")
    return folder / "boxes.csv"


def test_a_table_gives_pixels_and_boxes(folder: Path) -> None:
    (image,) = read_images(table(folder, 'image,top,left,bottom,right,other\n"a, b.png",1,2,9,19,x\n'))
    assert image.name == "a, b.png"
    assert image.pixels.shape == (10, 20, 3)
    assert image.pixels[0, 0].tolist() == [255, 0, 10]
    assert image.box is not None
    assert image.box.tolist() == [1, 2, 9, 19]
    again = read_images(table(folder, format_boxes([image], boxes_of([image]))))
    assert boxes_of(again).tolist() == [[1, 2, 9, 19]]


def test_boxes_may_be_missing_where_they_are_not_needed(folder: Path) -> None:
    (image,) = read_images(table(folder, 'image\n"a, b.png"\n'), labelled=False)
    assert image.box is None
    with pytest.raises(ValueError, match="has no box; training and evaluation need"):
        boxes_of([image])
    (image,) = read_images(table(folder, 'image,top,left,bottom,right\n"a, b.png",,,,\n'), labelled=False)
    assert image.box is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: there is no column 'image'"),
        ("image,top\n", "line 1: there is no column 'left'"),
        ("image,top,left,bottom,right\n", "names no image"),
        ("image,top,left,bottom,right\n,0,0,1,1\n", "line 2: the image has no name"),
        ('image,top,left,bottom,right\n"a, b.png",0,0,1,x\n', r"line 2: the box is \['0', '0', '1', 'x'\]"),
        ('image,top,left,bottom,right\n"a, b.png",0,0,1\n', "line 2: the box is .* four whole numbers"),
        ('image,top,left,bottom,right\n"a, b.png",0,0,10,1\n', r"line 2: the box \[0, 0, 10, 1\] .* 10 rows"),
        ("image,top,left,bottom,right\nnot.png,0,0,1,1\n", "line 2: .* is not an image"),
    ],
)
def test_bad_tables_name_the_line(folder: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_images(table(folder, text))


def test_a_missing_image_is_named(folder: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"line 2: there is no file .*c.png.* relative to the table"):
        read_images(table(folder, "image,top,left,bottom,right\nc.png,0,0,1,1\n"))


def test_without_opencv_the_extra_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(ImportError, match=r"casimir\[vision\]"):
        read_images(table(folder, 'image,top,left,bottom,right\n"a, b.png",0,0,1,1\n'))


def test_boxes_of_cells_and_pixels() -> None:
    image = np.zeros((17, 16, 3))
    assert grid_shape(image, 8) == (3, 2)
    assert to_cells(np.array([0, 0, 16, 15]), image, 8).tolist() == [0, 0, 1, 1]  # the last pixel row is cut off
    assert to_pixels(np.array([0, 1, 2, 1]), image, 8).tolist() == [0, 8, 16, 15]
    assert to_cells(np.array([5, 5, 6, 6]), image, 8).tolist() == [1, 1, 1, 1]
    image = np.zeros((24, 16, 3))
    for box in ([0, 0, 0, 0], [2, 1, 2, 1], [0, 0, 2, 1]):
        assert to_cells(to_pixels(np.array(box), image, 8), image, 8).tolist() == box


def test_names_with_quotes_survive() -> None:
    image = Image('a"b,c.png', np.zeros((1, 1, 3), dtype=np.uint8))
    assert format_boxes([image], np.zeros((1, 4), dtype=np.int64)).splitlines()[1] == '"a""b,c.png",0,0,0,0'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"image,top,left,bottom,right\nempty.png,0,0,1,1\n", r"line 2: '.*empty.png' is not an image"),
        (b"image,top,left,bottom,right\n\xe9.png,0,0,1,1\n", r"line 2: byte 0xe9 .* try --encoding latin-1"),
        (b"image,top,left,bottom,right\na\0.png,0,0,1,1\n", r"line 2: NUL character"),
    ],
)
def test_damaged_tables_and_images_are_named(tmp_path: Path, text: bytes, message: str) -> None:
    pytest.importorskip("cv2")
    (tmp_path / "empty.png").write_bytes(b"")
    (tmp_path / "x.csv").write_bytes(text)
    with pytest.raises(ValueError, match=message):
        read_images(tmp_path / "x.csv")


def test_a_table_that_is_not_there_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "none.csv", tmp_path):
        with pytest.raises(ValueError, match=r"cannot read .*; give the path of a CSV table of images"):
            read_images(path)


def test_byte_order_mark_and_huge_numbers(tmp_path: Path) -> None:
    cv2 = pytest.importorskip("cv2")
    cv2.imwrite(str(tmp_path / "a.png"), np.zeros((4, 4, 3), dtype=np.uint8))
    (tmp_path / "x.csv").write_text("image,top,left,bottom,right\na.png,0,0,1,1\n", encoding="utf-8-sig")
    assert len(read_images(tmp_path / "x.csv")) == 1
    (tmp_path / "x.csv").write_text(f"image,top,left,bottom,right\na.png,0,0,1,{10**30}\n")
    with pytest.raises(ValueError, match=r"line 2: the box is .* four whole numbers"):
        read_images(tmp_path / "x.csv")


def test_a_cut_jpeg_is_named(tmp_path: Path) -> None:
    cv2 = pytest.importorskip("cv2")
    data = cv2.imencode(".jpg", np.random.default_rng(0).integers(0, 255, (64, 64, 3), dtype=np.uint8))[1].tobytes()
    (tmp_path / "cut.jpg").write_bytes(data[: len(data) // 2])
    (tmp_path / "x.csv").write_text("image\ncut.jpg\n")
    with pytest.raises(ValueError, match=r"line 2: '.*cut.jpg' is not an image that OpenCV can read, or it is damaged"):
        read_images(tmp_path / "x.csv", labelled=False)
