"""Pictures of results: the box that was found and the true one, drawn on the image."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from casimir._boxes import iou
from casimir.scores import FloatArray, IntArray
from casimir.tasks.localize.model import Found
from casimir.tasks.localize.pictures import Picture
from casimir.tasks.opencv import opencv
from casimir.tasks.panels import PREDICTED, TRUTH, Image, captioned, enlarged, sheet, spread
from casimir.tasks.segment.pictures import write_image

_COLUMNS = 4


@dataclass(frozen=True, eq=False)
class Overlay:
    """A picture with the box that was found in it."""

    picture: Picture
    found: IntArray
    confidence: float

    @property
    def rank(self) -> float:
        """How good the box is: its overlap with the true one, or else its score."""
        return self.confidence if self.picture.box is None else float(iou(self.picture.box, self.found))

    def draw(self) -> Image:
        """The image with the true box, where it is known, in blue and the found one in orange."""
        pixels = self.picture.read()
        panel = enlarged(pixels)
        scale = np.array(panel.shape[:2]) / pixels.shape[:2]
        told = f"score {self.confidence:.2f}"
        if self.picture.box is not None:
            _outline(panel, self.picture.box, scale, TRUTH, 4)
            told = f"IoU {self.rank:.2f}, {told}"
        _outline(panel, self.found, scale, PREDICTED, 2)
        return captioned(captioned(panel, told), self.picture.name)


def write_overlays(folder: Path, pictures: Sequence[Picture], found: Found, count: int = 12) -> list[Path]:
    """PNG files of some pictures, from the worst to the best, and overview.png with all of these."""
    pairs = zip(pictures, found.boxes, found.confidence.tolist(), strict=True)
    ranked = sorted((Overlay(*pair) for pair in pairs), key=lambda one: one.rank)
    chosen = [ranked[place] for place in spread(len(ranked), count)]
    drawn = [overlay.draw() for overlay in chosen]
    files = [folder / f"{name}.png" for name in _file_names([overlay.picture.name for overlay in chosen])]
    for file, image in zip(files, drawn, strict=True):
        write_image(file, image)
    has_truth = any(overlay.picture.box is not None for overlay in chosen)
    blue = "blue: the truth;  from the worst to the best" if has_truth else "from the least score to the largest"
    legend = f"orange: what was found;  {blue}"
    write_image(folder / "overview.png", captioned(sheet(drawn, _COLUMNS), f" {legend}"))
    return [*files, folder / "overview.png"]


def _outline(panel: Image, box: IntArray, scale: FloatArray, colour: tuple[int, int, int], width: int) -> None:
    """Draw the border of a box of the original image on its panel, which is scale[2] times as high and wide."""
    ends = np.concatenate([box[:2] * scale, (box[2:] + 1) * scale - 1]).round().astype(int).tolist()
    top, left, bottom, right = ends
    opencv().rectangle(panel, (left, top), (right, bottom), colour, width, opencv().LINE_AA)


def _file_names(names: Sequence[str]) -> list[str]:
    """Pictures' names without what a file name cannot hold, all different, and none that of the overview."""
    given: list[str] = []
    for name in names:
        plain = "".join(c if c.isalnum() or c in "-_." else "_" for c in name) or "picture"
        wanted = (plain if k == 1 else f"{plain}-{k}" for k in itertools.count(1))
        given.append(next(free for free in wanted if free.lower() not in {"overview", *map(str.lower, given)}))
    return given
