"""Pictures to evaluate or predict on, from whatever the user has; and the table of what was found."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from casimir.tasks.boxes.images import read_images
from casimir.tasks.localize.model import Found
from casimir.tasks.localize.pictures import Picture
from casimir.tasks.localize.voc import read_voc
from casimir.tasks.segment.pictures import image_files

COLUMNS = ("image", "top", "left", "bottom", "right", "score")
_NEEDED = "a VOC folder (with Annotations/), or a CSV table with the columns image,top,left,bottom,right"


def read_pictures(
    path: str | Path, target: str, split: str | None = None, *, labelled: bool, encoding: str = "utf-8"
) -> list[Picture]:
    """A VOC folder, a folder of images, an image file, or a CSV table that names images (and their boxes).

    target    the class whose images are taken from a VOC folder; split is one of its lists
    labelled  whether the boxes must be known
    """
    place = Path(path)
    if (place / "Annotations").is_dir():
        return read_voc(place, target, split)
    if split is not None:
        raise ValueError(f"--split is for VOC folders; '{place}' is none: it has no Annotations/. Leave it out.")
    if not place.exists():
        raise FileNotFoundError(
            f"There is no '{place}'. Give {_NEEDED if labelled else 'a folder, an image or a table'}."
        )
    if place.suffix.lower() == ".csv":
        return [
            Picture(image.name, image.pixels, image.box)
            for image in read_images(place, labelled=labelled, encoding=encoding)
        ]
    if labelled:
        raise ValueError(f"'{place}' does not say where the objects are. Give {_NEEDED}.")
    files = image_files(place) if place.is_dir() else [place]
    return [Picture(file.name, file) for file in files]


def format_found(names: Sequence[str], found: Found) -> str:
    """A CSV table: image,top,left,bottom,right,score; pixels from 0, both ends inclusive."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for name, box, confidence in zip(names, found.boxes.tolist(), found.confidence.tolist(), strict=True):
        writer.writerow([name, *box, f"{confidence:.6g}"])
    return text.getvalue()
