"""The task of boxes: one object per image."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from casimir.tasks.task import Given, Task, opt

if TYPE_CHECKING:  # --help need not wait for these
    from casimir.tasks.boxes import BoxesModel, BoxScores, Image


@dataclass(frozen=True)
class Options:
    cell: int = opt("Pixels on a side of a cell of the map.", 8, metavar="N", low=1)
    words: int = opt("Size of the vocabulary of cells.", 64, metavar="N", low=1)


def read(path: Path, labelled: bool, given: Given) -> list[Image]:
    from casimir.tasks.boxes import read_images

    return read_images(path, labelled=labelled, encoding=given.encoding)


def made_up() -> tuple[list[Image], list[Image]]:
    from casimir.datasets.objects import load_objects
    from casimir.tasks.boxes import images_of

    objects = load_objects()
    return images_of(objects.train), images_of(objects.heldout)


def train(images: Sequence[Image], given: Given, callbacks: tuple[Any, ...]) -> BoxesModel:
    from casimir.tasks import boxes

    o, how = given.options, given.fit.training(len(images), callbacks)
    return boxes.train(images, how, cell=o.cell, n_words=o.words, track=given.track)


def score(model: BoxesModel, images: Sequence[Image], given: Given) -> BoxScores:
    return model.evaluate(images)["casimir"]


def compare(model: BoxesModel, images: Sequence[Image], given: Given) -> Mapping[str, BoxScores]:
    return {name: scores for name, scores in model.evaluate(images).items() if name != "casimir"}


def draw(folder: Path, results: Sequence[tuple[BoxesModel, Sequence[Image]]], given: Given) -> list[Path]:
    from casimir.tasks.boxes.overlays import write_overlays

    found = [box for model, images in results for box in model.find(images)]
    return write_overlays(folder, [image for _, images in results for image in images], found)


def write(model: BoxesModel, images: Sequence[Image], given: Given, output: Path | None) -> str:
    from casimir.tasks.boxes import format_boxes

    return format_boxes(images, model.find(images))


TASK = Task.of(
    globals(),
    name="boxes",
    title="Boxes",
    about="""Learn to find one object per image.

    The table is a CSV file with the line image,top,left,bottom,right first (pixels, both ends inclusive) and one image
    per line; names are relative to it.""",
    data="Labelled table of images.",
    scores="mean intersection over union, and the share of boxes that overlap the truth by more than half.",
    writes="the table of images with the box that was found in each.",
    units="images",
    examples=(
        "casimir train boxes --model out/ --pictures seen/",
        "casimir train boxes --train boxes.csv --dev dev.csv --model out/ --cell 16 --lam 0.1/n",
    ),
    columns={"mean IoU": "mean_iou", "CorLoc": "corloc", "images": "n"},
    train_options=Options,
    pictures=draw,
    figures=lambda model: {"cell": model.cell, "words": len(model.words)},
)
