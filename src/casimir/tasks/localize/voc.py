"""PASCAL VOC: pictures of one class with one object each.

VOC2012/ImageSets/Main/train.txt        names of the pictures of a split, one per line
VOC2012/ImageSets/Main/dog_train.txt    the same with 1 (has dogs), -1 (has none) or 0 (has only difficult ones)
VOC2012/Annotations/NAME.xml            size and objects of a picture; boxes count from 1, both ends inclusive
VOC2012/JPEGImages/NAME.jpg
"""

from __future__ import annotations

import math
import os
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from casimir.scores import IntArray
from casimir.tasks.localize.pictures import Picture
from casimir.tasks.text import read_text

_SUFFIXES = (".jpg", ".jpeg", ".png")
_SIDES = ("ymin", "xmin", "ymax", "xmax")


def read_voc(
    root: str | os.PathLike[str],
    name: str,
    split: str | None = None,
    *,
    year: int | str | None = None,
    difficult: bool = False,
) -> list[Picture]:
    """The pictures with exactly one object of a class, in the order of the split's list, with the object's box.

    root        the folder of a year, such as VOCdevkit/VOC2012, or VOCdevkit itself
    name        the class, such as "dog"
    split       "train", "val", "trainval", "test" or any other list there is; None is trainval, or train without it
    year        which folder of VOCdevkit; not needed when there is one
    difficult   whether to keep pictures whose object is marked as difficult. A difficult object counts as an object in
                any case: a picture with two dogs of which one is difficult is left out.

    Objects are counted in the XML files. Images are opened later, by `Picture.read`.
    """
    folder = find_year(Path(root), year)
    listed = list(dict.fromkeys(_listed(folder, name, _split(folder, split))))  # held out means never trained on
    pictures = [_picture(folder, stem, name, difficult) for stem in listed]
    chosen = [picture for picture in pictures if picture is not None]
    if not chosen:
        raise ValueError(
            f"None of the {len(listed)} pictures that may have a {name} in '{folder}' has exactly one"
            f"{'' if difficult else ' that is not difficult'}. Choose another class or split."
        )
    return chosen


def find_year(root: Path, year: int | str | None = None) -> Path:
    """The folder with Annotations/, ImageSets/ and JPEGImages/: `root`, or the one of a year in it."""
    if not root.is_dir():
        raise FileNotFoundError(f"There is no folder '{root}'. Give VOCdevkit/VOC2012 as VOC's archive unpacks it.")
    if (root / "Annotations").is_dir():
        folder = root
        if year is not None and str(year) not in root.resolve().name:
            raise ValueError(f"'{root}' is not the folder of {year}. Give the folder above it, or leave out the year.")
    else:
        folder = _year_in(root, year)
    for part in ("Annotations", "ImageSets/Main", "JPEGImages"):
        if not (folder / part).is_dir():
            raise FileNotFoundError(f"There is no folder '{folder / part}'. Give VOCdevkit/VOC2012, with this in it.")
    return folder


def _year_in(devkit: Path, year: int | str | None) -> Path:
    years = sorted(folder.name.removeprefix("VOC") for folder in devkit.glob("VOC[0-9]*") if folder.is_dir())
    if not years:
        raise FileNotFoundError(
            f"'{devkit}' has no Annotations/ and no folder such as VOC2012/. Give VOCdevkit/VOC2012 as VOC's archive "
            "unpacks it."
        )
    if year is None and len(years) > 1:
        raise ValueError(f"'{devkit}' has the years {', '.join(years)}. Say which, or give its folder.")
    if year is not None and str(year) not in years:
        raise FileNotFoundError(f"'{devkit}' has no folder VOC{year}; there is {', '.join(years)}.")
    return devkit / f"VOC{years[0] if year is None else year}"


# --- lists of pictures


def _split(folder: Path, split: str | None) -> str:
    """The split's name; one that is not there is refused with those that are."""
    lists = folder / "ImageSets" / "Main"
    there = {file.stem for file in lists.glob("*.txt")}
    splits = sorted({stem.rpartition("_")[2] for stem in there})
    if split is not None and split not in there and split not in splits:
        raise ValueError(f"There is no split {split!r} in '{lists}'. {_have(splits)}")
    usual = [name for name in ("trainval", "train") if name in splits]
    if split is None and not usual:
        raise ValueError(f"There is no split trainval and no split train in '{lists}'. {_have(splits)}")
    return split if split is not None else usual[0]


def _have(splits: list[str]) -> str:
    return f"It has {', '.join(splits)}." if splits else "It has no lists of pictures."


def _listed(folder: Path, name: str, split: str) -> list[str]:
    """The pictures of a split that may have an object of the class."""
    lists = folder / "ImageSets" / "Main"
    known = sorted(file.stem.removesuffix(f"_{split}") for file in lists.glob(f"*_{split}.txt"))
    if name in known:
        rows = _rows(lists / f"{name}_{split}.txt", flags=True)
        return [stem for stem, flag in rows if flag >= 0]
    if known:
        raise ValueError(f"There is no class {name!r} in '{lists}'; there is {', '.join(known)}.")
    return _without_lists(folder, name, [stem for stem, _ in _rows(lists / f"{split}.txt", flags=False)])


def _without_lists(folder: Path, name: str, stems: list[str]) -> list[str]:
    """Of a folder without lists of classes, such as one that another program wrote: what the XML files say."""
    notes = folder / "Annotations"
    classes = {stem: {found.name for found in read_annotation(notes / f"{stem}.xml").objects} for stem in stems}
    known = sorted(set().union(*classes.values()))
    if name not in known:
        raise ValueError(f"There is no {name!r} in '{notes}'; there is {', '.join(known) or 'nothing'}.")
    return [stem for stem in stems if name in classes[stem]]


def _rows(file: Path, flags: bool) -> list[tuple[str, int]]:
    """(name of a picture, flag) per line; flag 0 where there are none."""
    rows = []
    for number, line in enumerate(read_text(file, "utf-8", "a list of pictures").splitlines(), start=1):
        words = line.split()
        if not words:
            continue
        if len(words) != (2 if flags else 1) or (flags and words[1] not in ("1", "-1", "0")):
            form = "a picture's name and 1, -1 or 0" if flags else "one picture's name"
            raise ValueError(f"{file}, line {number}: {line.strip()!r} is not {form}.")
        if words[0] in (".", "..") or any(sign in words[0] for sign in "/\\:"):
            raise ValueError(f"{file}, line {number}: {words[0]!r} is not the name of a picture.")
        rows.append((words[0], int(words[1]) if flags else 0))
    return rows


# --- one picture


@dataclass(frozen=True, eq=False)
class Object:
    """name of the class; whether it is difficult; the XML element, whose box is read when it is wanted"""

    name: str
    difficult: bool
    element: Any


@dataclass(frozen=True, eq=False)
class Annotation:
    """height and width of the picture; its objects"""

    shape: tuple[int, int]
    objects: list[Object]


def read_annotation(file: Path) -> Annotation:
    """What an XML file says about its picture."""
    root = _parse(file)
    shape = (_number(root, "size/height", file), _number(root, "size/width", file))
    if min(shape) < 1:
        raise ValueError(f"'{file}' says that its picture has {shape[1]:g} x {shape[0]:g} pixels.")
    objects = [
        Object((element.findtext("name") or "").strip(), (element.findtext("difficult") or "").strip() == "1", element)
        for element in root.findall("object")
    ]
    return Annotation((int(shape[0]), int(shape[1])), objects)


def _picture(folder: Path, stem: str, name: str, difficult: bool) -> Picture | None:
    """The picture, if it has exactly one object of the class and that may be used."""
    file = folder / "Annotations" / f"{stem}.xml"
    annotation = read_annotation(file)
    objects = [found for found in annotation.objects if found.name == name]
    if len(objects) != 1 or (objects[0].difficult and not difficult):
        return None
    return Picture(stem, _image_file(folder, stem), _box(objects[0], annotation.shape, file), annotation.shape)


def _image_file(folder: Path, stem: str) -> Path:
    for suffix in _SUFFIXES:
        file = folder / "JPEGImages" / f"{stem}{suffix}"
        if file.is_file():
            return file
    missing = folder / "JPEGImages" / f"{stem}.jpg"
    raise FileNotFoundError(f"There is no image '{missing}', but ImageSets/Main lists it and it has an annotation.")


def _box(found: Object, shape: tuple[int, int], file: Path) -> IntArray:
    """From 1 to from 0. Some files have broken pixels (45.70): these are rounded."""
    given = [_number(found.element, f"bndbox/{side}", file) for side in _SIDES]
    top, left, bottom, right = (math.floor(value + 0.5) - 1 for value in given)
    if not (0 <= top <= bottom < shape[0] and 0 <= left <= right < shape[1]):
        sides = ", ".join(f"{side} {value:g}" for side, value in zip(_SIDES, given, strict=True))
        raise ValueError(
            f"'{file}': the box of its {found.name} ({sides}) does not lie in the picture of {shape[1]} x {shape[0]} "
            "pixels; boxes are counted from 1, both ends inclusive."
        )
    return np.array([top, left, bottom, right], dtype=np.int64)


# --- XML


class _NoDoctype(ElementTree.TreeBuilder):
    """Annotations need no document type, and entities defined in one can fill the memory."""

    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:
        raise ValueError("it has a DOCTYPE, which no annotation needs")


def _parse(file: Path) -> Any:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise type(error)(f"The annotation '{file}' cannot be read ({error.strerror}). Check the folder.") from None
    try:
        root = ElementTree.XML(data, ElementTree.XMLParser(target=_NoDoctype()))
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise ValueError(f"'{file}' cannot be read as an annotation: {error}.") from None
    if root.tag != "annotation":
        raise ValueError(f"'{file}' is not an annotation of VOC: it begins with <{root.tag}>, not with <annotation>.")
    return root


def _number(element: Any, path: str, file: Path) -> float:
    text = element.findtext(path)
    if text is None:
        what = f"no <{path.replace('/', '>, <')}>"
        raise ValueError(f"'{file}' has {what}; an annotation of VOC gives the picture's size and the objects' boxes.")
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not abs(value) < 1e9:
        raise ValueError(f"'{file}': <{path.split('/')[-1]}> is {text.strip()!r}; it must be a number of pixels.")
    return value
