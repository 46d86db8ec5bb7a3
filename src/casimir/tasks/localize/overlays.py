"""Pictures of results: the box that was found and the true one, drawn on the image."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from casimir._boxes import iou
from casimir.scores import IntArray
from casimir.tasks.localize.model import Found
from casimir.tasks.localize.pictures import Picture
from casimir.tasks.localize.pool import Images
from casimir.tasks.panels import (
    CLASS_COLOURS,
    PREDICTED,
    TRUTH,
    Colour,
    Drawing,
    Image,
    captioned,
    enlarged,
    outline,
    write_pictures,
)

_COLUMNS = 4


@dataclass(frozen=True)
class Guess:
    """What was found of a class, int64[4], with its score; truth is where the object is, None when it is not known."""

    box: IntArray
    confidence: float
    truth: IntArray | None = None

    @property
    def rank(self) -> float:
        """How good the box is: its overlap with the true one, or else its score."""
        return self.confidence if self.truth is None else float(iou(self.truth, self.box))

    def told(self) -> str:
        score = f"score {self.confidence:.2f}"
        return score if self.truth is None else f"IoU {self.rank:.2f}, {score}"


@dataclass(frozen=True, eq=False)
class Overlay:
    """A picture with what was found in it, by class. `colours` are those of classes; without, there is one class."""

    picture: Picture
    guesses: Mapping[str, Guess]
    colours: Mapping[str, Colour] = field(default_factory=dict)

    @property
    def rank(self) -> float:
        return float(np.mean([guess.rank for guess in self.guesses.values()]))

    @property
    def has_truth(self) -> bool:
        return any(guess.truth is not None for guess in self.guesses.values())

    def draw(self) -> Image:
        """The image with the true boxes, where they are known, in blue and the found ones in orange, or in the colours
        of their classes."""
        pixels = self.picture.read()
        panel = enlarged(pixels)
        for guess in self.guesses.values():
            if guess.truth is not None:
                outline(panel, guess.truth, pixels.shape, TRUTH, 4)
        for name, guess in self.guesses.items():
            outline(panel, guess.box, pixels.shape, self.colours.get(name, PREDICTED), 2)
        for name, guess in reversed(list(self.guesses.items())):
            told = f"{name}: {guess.told()}" if self.colours else guess.told()
            panel = captioned(panel, told, self.colours.get(name))
        return captioned(panel, self.picture.name)


def overlays_of(images: Images, found: Mapping[str, Found], every_class: bool = False) -> list[Overlay]:
    """Pictures with what was found in them: the classes that they have an object of, or `every_class`.

    A picture of which nothing is known has all classes.
    """
    colours = dict(zip(found, itertools.cycle(CLASS_COLOURS), strict=False)) if len(found) > 1 else {}
    truth = {name: images.boxes(name) for name in found}
    drawn = []
    for i, picture in enumerate(images.pictures):
        known = [name for name in found if truth[name][i] is not None]
        shown = list(found) if every_class or not known else known
        guesses = {
            name: Guess(found[name].boxes[i], float(found[name].confidence[i]), truth[name][i]) for name in shown
        }
        drawn.append(Overlay(picture, guesses, colours))
    return drawn


def write_overlays(folder: Path, overlays: Sequence[Overlay]) -> list[Path]:
    has_truth = any(overlay.has_truth for overlay in overlays)
    blue = "blue: the truth;  from the worst to the best" if has_truth else "from the least score to the largest"
    legend = f"{'other colours' if overlays[0].colours else 'orange'}: what was found;  {blue}"
    results = [Drawing(one.picture.name, one.rank, one.draw) for one in overlays]
    return write_pictures(folder, results, _COLUMNS, legend)
