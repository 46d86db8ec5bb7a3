"""Candidates and their features, computed once per picture and kept on disk."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from casimir.tasks.localize.candidates import CandidateSet
from casimir.tasks.localize.descriptors import Descriptor
from casimir.tasks.localize.entries import (
    FORMAT,
    Damaged,
    Entry,
    MappedFeatures,
    map_entry,
    remove_leftovers,
    write_entry,
)
from casimir.tasks.localize.pictures import Picture, truth_of
from casimir.tasks.localize.proposals import TOP, propose, settings

Progress = Callable[[int, int], None]  # (pictures done, pictures in all)


def collect(
    pictures: Sequence[Picture],
    descriptor: Descriptor,
    *,
    top: int = TOP,
    cache: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> CandidateSet:
    """The candidates of selective search in every picture, at most `top`, with their features in float16.

    cache      a folder with one file per picture, named by the content of the picture, the settings and the
               descriptor's key. What is there is not computed again, so a run that was stopped goes on where it was;
               features are then mapped from the files. None keeps everything in memory.
    progress   called with (pictures done, pictures in all) at the start and after each picture
    """
    folder = None if cache is None else _open_folder(Path(cache))
    report = progress if progress is not None else _silent
    report(0, len(pictures))
    entries = []
    for done, picture in enumerate(pictures, start=1):
        entry = _compute(picture, descriptor, top) if folder is None else _fetch(picture, descriptor, top, folder)
        _check_truth(picture, entry.shape)
        entries.append(entry)
        report(done, len(pictures))
    return CandidateSet(
        [picture.name for picture in pictures],
        [entry.boxes for entry in entries],
        MappedFeatures([entry.features for entry in entries]),
        truth_of(pictures),
        np.array([entry.shape for entry in entries], dtype=np.int64).reshape(-1, 2),
    )


def entry_key(picture: Picture, descriptor: Descriptor, top: int = TOP) -> str:
    """A hash of everything that determines a picture's candidates and features."""
    parts = {"format": FORMAT, "image": picture.digest(), "top": int(top), "descriptor": descriptor.key, **settings()}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:40]


def _silent(done: int, total: int) -> None:
    pass


def _open_folder(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise type(error)(
            f"Features cannot be kept in '{folder}' ({error.strerror}). Give a folder you may write to, or keep none."
        ) from None
    remove_leftovers(folder)
    return folder


def _fetch(picture: Picture, descriptor: Descriptor, top: int, folder: Path) -> Entry:
    """From its file, which is made first when it is missing or damaged."""
    key = entry_key(picture, descriptor, top)
    file = folder / f"{key}.safetensors"
    if file.exists():
        try:
            return map_entry(file, key, descriptor.dim)
        except Damaged as error:
            warnings.warn(f"'{file}' is damaged ({error}); it is computed again.", RuntimeWarning, stacklevel=3)
    write_entry(file, key, _compute(picture, descriptor, top))
    return map_entry(file, key, descriptor.dim)


def _compute(picture: Picture, descriptor: Descriptor, top: int) -> Entry:
    pixels = picture.read()
    boxes = propose(pixels, top)
    described = np.asarray(descriptor.describe(pixels, boxes))
    if described.shape != (len(boxes), descriptor.dim):
        raise ValueError(
            f"The descriptor {descriptor.name!r} gave {list(described.shape)} for {len(boxes)} boxes of "
            f"{picture.name!r}; it must give [{len(boxes)}, {descriptor.dim}]."
        )
    with np.errstate(over="ignore"):
        features = described.astype(np.float16)
    if not np.isfinite(features).all():
        raise ValueError(
            f"The descriptor {descriptor.name!r} gave NaN, or numbers above 65504 that float16 cannot hold, for "
            f"{picture.name!r}. Check its weights."
        )
    return Entry(boxes, features, (pixels.shape[0], pixels.shape[1]))


def _check_truth(picture: Picture, shape: tuple[int, int]) -> None:
    """Whether the box was drawn in the image that was read."""
    box, height, width = picture.box, *shape
    if picture.shape is not None and picture.shape != shape:
        raise ValueError(
            f"The image of {picture.name!r} has {width} x {height} pixels, but its annotation is for "
            f"{picture.shape[1]} x {picture.shape[0]}, so its boxes would be wrong. Was one of them resized or turned?"
        )
    if box is not None and (box[2] >= height or box[3] >= width):
        raise ValueError(
            f"The box {box.tolist()} of {picture.name!r} (top, left, bottom, right from 0, both ends inclusive) does "
            f"not lie in the picture, which has {height} rows and {width} columns."
        )
