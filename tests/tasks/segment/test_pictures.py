"""Reading folders of images and masks: what is foreground, and errors that name the file."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import cv2
import numpy as np
import pytest

from casimir.tasks.opencv import write_image
from casimir.tasks.segment.pictures import Picture, read_folder, read_image, read_mask


def test_a_written_folder_reads_back(blob_folder: Path, few_blobs: list[Picture]) -> None:
    read = read_folder(blob_folder)
    assert [picture.name for picture in read] == ["blob00", "blob01", "blob02", "blob03"]
    for picture, original in zip(read, few_blobs, strict=False):
        np.testing.assert_array_equal(picture.image, original.image)
        np.testing.assert_array_equal(picture.mask, original.mask)


def test_images_are_rgb(tmp_path: Path) -> None:
    red = np.zeros((20, 20, 3), dtype=np.uint8)
    red[..., 0] = 255
    write_image(tmp_path / "red.png", red)
    assert read_image(tmp_path / "red.png")[5, 5].tolist() == [255, 0, 0]


def test_grey_images_become_colour(tmp_path: Path) -> None:
    cv2.imwrite(str(tmp_path / "grey.png"), np.full((20, 24), 7, dtype=np.uint8))
    assert read_image(tmp_path / "grey.png").shape == (20, 24, 3)


@pytest.mark.parametrize(("suffix", "value", "foreground"), [("png", 1, True), ("png", 0, False), ("jpg", 100, False)])
def test_foreground_is_not_zero_or_above_127_in_lossy_formats(
    tmp_path: Path, suffix: str, value: int, foreground: bool
) -> None:
    file = tmp_path / f"mask.{suffix}"
    cv2.imwrite(str(file), np.full((16, 16), value, dtype=np.uint8))
    assert (read_mask(file) == foreground).all()


def test_any_channel_of_a_coloured_mask_counts(tmp_path: Path) -> None:
    mask = np.zeros((16, 16, 3), dtype=np.uint8)
    mask[:4, :, 2] = 128
    cv2.imwrite(str(tmp_path / "mask.png"), mask)
    assert read_mask(tmp_path / "mask.png").sum() == 64


def test_images_and_masks_may_have_different_formats(blob_folder: Path) -> None:
    mask = read_mask(blob_folder / "masks" / "blob00.png")
    (blob_folder / "masks" / "blob00.png").unlink()
    write_image(blob_folder / "masks" / "blob00.bmp", mask)
    np.testing.assert_array_equal(read_folder(blob_folder)[0].mask, mask)


def test_a_missing_mask_is_named(blob_folder: Path) -> None:
    (blob_folder / "masks" / "blob02.png").unlink()
    with pytest.raises(ValueError, match=r"blob02\.png' has no mask"):
        read_folder(blob_folder)


@pytest.mark.parametrize("content", [b"", b"not an image", b"\x89PNG\r\n\x1a\n"])
def test_a_damaged_image_is_named(blob_folder: Path, content: bytes) -> None:
    (blob_folder / "images" / "blob01.png").write_bytes(content)
    with pytest.raises(ValueError, match=r"images.blob01\.png' is not an image"):
        read_folder(blob_folder)


def test_different_sizes_are_named(blob_folder: Path) -> None:
    write_image(blob_folder / "masks" / "blob03.png", np.ones((20, 30), dtype=bool))
    with pytest.raises(ValueError, match=r"blob03\.png' has 30 x 20 pixels and its image blob03\.png has 64 x 48"):
        read_folder(blob_folder)


def test_two_images_of_one_name_are_refused(blob_folder: Path) -> None:
    write_image(blob_folder / "images" / "blob01.bmp", np.zeros((48, 64, 3), dtype=np.uint8))
    with pytest.raises(ValueError, match=r"both blob01\.bmp and blob01\.png"):
        read_folder(blob_folder)


def test_an_empty_folder_and_a_missing_one(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no folder"):
        read_folder(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match="images"):
        read_folder(tmp_path)
    (tmp_path / "images").mkdir()
    (tmp_path / "masks").mkdir()
    with pytest.raises(ValueError, match="no images"):
        read_folder(tmp_path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"x\.png' cannot be read"):
        read_image(tmp_path / "x.png")


@pytest.mark.parametrize(
    "image", [np.zeros((20, 20), np.uint8), np.zeros((20, 20, 3)), np.zeros((20, 20, 4), np.uint8), [[1]]]
)
def test_other_arrays_are_refused(image: object) -> None:
    with pytest.raises(ValueError, match=r"uint8\[height, width, 3\]"):
        Picture("it", image)  # type: ignore[arg-type]


def test_tiny_images_and_foreign_masks_are_refused() -> None:
    with pytest.raises(ValueError, match="needs 16 x 16"):
        Picture("it", np.zeros((15, 40, 3), dtype=np.uint8))
    with pytest.raises(ValueError, match="as the image"):
        Picture("it", np.zeros((20, 40, 3), dtype=np.uint8), np.zeros((40, 20), dtype=bool))


def test_without_opencv_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(ImportError, match=r"casimir\[vision\]"):
        read_image(tmp_path / "x.png")


def test_an_opencv_without_superpixels_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "cv2", ModuleType("cv2"))
    with pytest.raises(ImportError, match="ximgproc"):
        read_image(tmp_path / "x.png")
