"""Pictures to evaluate or predict on, from whatever the user has; and the table of what was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from casimir.tasks.boxes.images import CLASS, SIDES, format_table, read_images, read_table
from casimir.tasks.localize.model import Found
from casimir.tasks.localize.pictures import Picture
from casimir.tasks.localize.voc import read_voc
from casimir.tasks.segment.pictures import image_files

_NEEDED = "a VOC folder (with Annotations/), or a CSV table with the columns image,top,left,bottom,right"


def read_pictures(
    path: str | Path, target: str, split: str | None = None, *, labelled: bool, encoding: str = "utf-8"
) -> list[Picture]:
    """A VOC folder, a folder of images, an image file, or a CSV table that names images (and their boxes).

    target    the class whose images are taken from a VOC folder, or a table with a column class; split is a list of VOC
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
            for image in read_images(place, labelled=labelled, encoding=encoding, only=target if labelled else None)
        ]
    if labelled:
        raise ValueError(f"'{place}' does not say where the objects are. Give {_NEEDED}.")
    files = image_files(place) if place.is_dir() else [place]
    return [Picture(file.name, file) for file in files]


def read_classes(
    path: str | Path, targets: Sequence[str], split: str | None = None, *, labelled: bool, encoding: str = "utf-8"
) -> dict[str, list[Picture]]:
    """`read_pictures` by class. New pictures that are in no class are those of every class."""
    place = Path(path)
    if len(targets) == 1 or labelled or (place / "Annotations").is_dir():
        if len(targets) > 1 and place.suffix.lower() == ".csv" and CLASS not in read_table(place, True, encoding)[0]:
            raise ValueError(
                f"{place}, line 1: there is no column 'class', which says of which of the {len(targets)} classes an "
                "object is. Add it."
            )
        return {name: read_pictures(place, name, split, labelled=labelled, encoding=encoding) for name in targets}
    found = read_pictures(place, targets[0], split, labelled=False, encoding=encoding)
    distinct = {picture.name: replace(picture, box=None) for picture in found}
    return {name: list(distinct.values()) for name in targets}


def format_found(names: Sequence[str], found: Found | Mapping[str, Found]) -> str:
    """A CSV table: image,top,left,bottom,right,score; pixels from 0, both ends inclusive.

    What was found by class has the column class after the image, and a line per class.
    """
    by_class = found if isinstance(found, Mapping) else {None: found}
    rows = [["image", *([CLASS] if isinstance(found, Mapping) else []), *SIDES, "score"]]
    for i, name in enumerate(names):
        for kind, own in by_class.items():
            what = [] if kind is None else [kind]
            rows.append([name, *what, *own.boxes[i].tolist(), f"{own.confidence[i]:.6g}"])
    return format_table(rows)
