"""Images with one box each, from a table of file names and boxes."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from casimir.scores import IntArray
from casimir.tasks.opencv import decoded, read_bytes
from casimir.tasks.text import read_text

CLASS = "class"  # the column that says what the object is, where there are several kinds
SIDES = ("top", "left", "bottom", "right")


@dataclass(frozen=True, eq=False)
class Image:
    """name    the file's, as it stands in the table
    pixels  uint8[H, W, 3]: red, green, blue
    box     int64[4]: top, left, bottom, right of the object in pixels, both ends inclusive; None when it is not known
    """

    name: str
    pixels: npt.NDArray[np.uint8]
    box: IntArray | None = None


def images_of(objects: Iterable[Any]) -> list[Image]:
    """Images from objects with pixels and a box, such as `casimir.datasets.objects.make_objects` gives."""
    return [Image(f"image {i}", o.pixels, o.box) for i, o in enumerate(objects)]


def read_images(
    path: str | os.PathLike[str], *, labelled: bool = True, encoding: str = "utf-8", only: str | None = None
) -> list[Image]:
    """The images that a CSV table names, with their boxes.

    The first line is image,top,left,bottom,right (other columns are ignored; without boxes image is enough); file names
    are relative to the table. Reading image files needs OpenCV: pip install "casimir[vision]".

    only   a class: where there is a column `class`, lines of other classes are left out
    """
    table = Path(path)
    names, rows = read_table(table, labelled, encoding)
    if only is not None and CLASS in names:
        rows = _of_class(table, rows, only)
    has_boxes = all(side in names for side in SIDES)
    return [_read_row(table, line, row, labelled, has_boxes) for line, row in rows]


def read_table(table: Path, labelled: bool, encoding: str) -> tuple[Sequence[str], list[tuple[int, dict[str, str]]]]:
    """The names of a table's columns, and its lines with their numbers."""
    text = read_text(table, encoding, "a CSV table of images").removeprefix("\ufeff")
    reader = csv.DictReader(io.StringIO(text, newline=""))
    names = reader.fieldnames or []
    missing = [name for name in ("image", *(SIDES if labelled else ())) if name not in names]
    if missing:
        raise ValueError(
            f"{table}, line 1: there is no column {missing[0]!r}; a table of images starts with the line "
            f"{','.join(('image', *SIDES))} (pixels, both ends inclusive)."
        )
    try:
        rows = [(reader.line_num, row) for row in reader]
    except csv.Error as error:
        raise ValueError(f"{table}, line {reader.line_num}: {error}; is a quotation mark missing?") from None
    if not rows:
        raise ValueError(f"{table} names no image; give one line per image below the first.")
    return names, rows


def _of_class(table: Path, rows: list[tuple[int, dict[str, str]]], name: str) -> list[tuple[int, dict[str, str]]]:
    chosen = [(line, row) for line, row in rows if row[CLASS] == name]
    if not chosen:
        known = ", ".join(sorted({str(row[CLASS]) for _, row in rows}))
        raise ValueError(f"{table} has no line of the class {name!r}; there is {known}.")
    return chosen


def boxes_of(images: Sequence[Image]) -> IntArray:
    """int64[n, 4]; all images must have a box."""
    unlabelled = [image.name for image in images if image.box is None]
    if unlabelled:
        raise ValueError(f"{unlabelled[0]!r} has no box; training and evaluation need the box of every image.")
    return np.array([image.box for image in images], dtype=np.int64).reshape(-1, 4)


def format_boxes(images: Sequence[Image], boxes: IntArray) -> str:
    """A table as `read_images` reads it."""
    rows = zip(images, boxes.tolist(), strict=True)
    return format_table([["image", *SIDES], *([image.name, *box] for image, box in rows)])


def format_table(rows: Iterable[Sequence[object]]) -> str:
    """CSV, the names of the columns first."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _read_row(table: Path, line: int, row: dict[str, str], labelled: bool, has_boxes: bool) -> Image:
    where = f"{table}, line {line}"
    if not row["image"]:
        raise ValueError(f"{where}: the image has no name.")
    pixels = _read_pixels(table.parent / row["image"], where)
    if not has_boxes or (not labelled and not all(row.get(side) for side in SIDES)):
        return Image(row["image"], pixels)
    try:
        box = np.array([int(row[side]) for side in SIDES], dtype=np.int64)
    except (TypeError, ValueError, OverflowError):
        given = [row[side] for side in SIDES]
        raise ValueError(f"{where}: the box is {given}; it must be four whole numbers of pixels.") from None
    height, width = pixels.shape[:2]
    if not (0 <= box[0] <= box[2] < height and 0 <= box[1] <= box[3] < width):
        raise ValueError(
            f"{where}: the box {box.tolist()} (top, left, bottom, right, both ends inclusive) does not lie in the "
            f"image, which has {height} rows and {width} columns."
        )
    return Image(row["image"], pixels, box)


def _read_pixels(file: Path, where: str) -> npt.NDArray[np.uint8]:
    try:
        import cv2
    except ImportError:
        raise ImportError('Reading image files needs OpenCV; install it with pip install "casimir[vision]".') from None
    if not file.is_file():
        raise FileNotFoundError(f"{where}: there is no file '{file}'. Names are relative to the table's folder.")
    pixels = decoded(cv2, read_bytes(file), cv2.IMREAD_COLOR, file)
    if pixels is None:
        raise ValueError(f"{where}: '{file}' is not an image that OpenCV can read, or it is damaged. Use PNG or JPEG.")
    return np.ascontiguousarray(pixels[:, :, ::-1])
