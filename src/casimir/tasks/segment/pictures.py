"""Pictures and their masks: a folder with images/ and masks/, files of the same base name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from casimir.tasks.opencv import decode_image, decode_rgb, opencv, read_bytes

Image = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]

SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".webp", ".ppm", ".pgm")
_LOSSY = (".jpg", ".jpeg", ".webp")  # their black is not quite 0
SMALLEST = 16  # pixels per side


@dataclass(frozen=True, eq=False)
class Picture:
    """name   base name of its files
    image  uint8[H, W, 3], RGB
    mask   bool[H, W], True on the foreground; None where nobody has drawn it
    """

    name: str
    image: Image
    mask: Mask | None = None

    def __post_init__(self) -> None:
        check_image(self.image, self.name)
        if self.mask is not None and (self.mask.dtype != np.bool_ or self.mask.shape != self.image.shape[:2]):
            raise ValueError(
                f"The mask of {self.name!r} is {self.mask.dtype}{list(self.mask.shape)}; it must be "
                f"bool{list(self.image.shape[:2])}, as the image."
            )


def check_image(image: Any, name: str = "image") -> None:
    if not isinstance(image, np.ndarray) or image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3:
        given = f"{image.dtype}{list(image.shape)}" if isinstance(image, np.ndarray) else type(image).__name__
        raise ValueError(f"{name!r} is {given}; an image is an array uint8[height, width, 3], in RGB.")
    if min(image.shape[:2]) < SMALLEST:
        raise ValueError(
            f"{name!r} has {image.shape[1]} x {image.shape[0]} pixels; segmentation needs {SMALLEST} x {SMALLEST}."
        )


def read_folder(folder: str | os.PathLike[str]) -> list[Picture]:
    """The pictures of a folder with images/ and masks/, sorted by name.

    Foreground is where a mask is not 0; in lossy formats, where it is above 127.
    """
    place = Path(folder)
    for part in (place, place / "images", place / "masks"):
        if not part.is_dir():
            raise FileNotFoundError(f"There is no folder '{part}'. Give a folder that has images/ and masks/.")
    masks = {file.stem: file for file in image_files(place / "masks")}
    return [_read_pair(file, masks) for file in image_files(place / "images")]


def read_image(file: str | os.PathLike[str]) -> Image:
    """uint8[H, W, 3], RGB."""
    opencv()  # what is missing is said before a missing file
    return decode_rgb(read_bytes(file), file)


def read_mask(file: str | os.PathLike[str]) -> Mask:
    """bool[H, W]; of a coloured mask any channel counts."""
    values = decode_image(read_bytes(file), opencv().IMREAD_UNCHANGED, file)
    if values.ndim == 3:
        values = values[..., :3].max(axis=2)
    return np.asarray(values > (127 if Path(file).suffix.lower() in _LOSSY else 0), dtype=np.bool_)


def image_files(folder: Path) -> list[Path]:
    """The image files of a folder, sorted; two of the same base name are refused."""
    files = sorted(_images_in(folder))
    if not files:
        raise ValueError(f"'{folder}' has no images; files that end in {', '.join(SUFFIXES)} are read.")
    for file, following in pairwise(files):
        if file.stem == following.stem:
            raise ValueError(f"'{folder}' has both {file.name} and {following.name}; base names must be different.")
    return files


def _images_in(folder: Path) -> Iterator[Path]:
    return (file for file in folder.iterdir() if file.suffix.lower() in SUFFIXES and not file.name.startswith("."))


def _read_pair(file: Path, masks: dict[str, Path]) -> Picture:
    if file.stem not in masks:
        raise ValueError(f"'{file}' has no mask: there is no {file.stem}.png (or other format) in masks/.")
    image, mask = read_image(file), read_mask(masks[file.stem])
    if mask.shape != image.shape[:2]:
        raise ValueError(
            f"'{masks[file.stem]}' has {mask.shape[1]} x {mask.shape[0]} pixels and its image {file.name} has "
            f"{image.shape[1]} x {image.shape[0]}; they must be the same."
        )
    return Picture(file.stem, image, mask)
