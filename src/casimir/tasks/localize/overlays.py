"""Pictures of results: the box that was found and the true one, drawn on the image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from casimir._boxes import iou
from casimir.scores import IntArray
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
    def iou(self) -> float:
        assert self.picture.box is not None
        return float(iou(self.picture.box, self.found))

    def draw(self) -> Image:
        """The image with the true box in blue and the found one in orange."""
        assert self.picture.box is not None
        pixels = self.picture.read()
        panel = enlarged(pixels)
        factor = panel.shape[0] / pixels.shape[0]
        _outline(panel, self.picture.box, factor, TRUTH, 4)
        _outline(panel, self.found, factor, PREDICTED, 2)
        return captioned(captioned(panel, f"IoU {self.iou:.2f}, score {self.confidence:.2f}"), self.picture.name)


def write_overlays(folder: Path, pictures: Sequence[Picture], found: Found, count: int = 12) -> list[Path]:
    """PNG files of some pictures, from the worst to the best, and overview.png with all of these."""
    pairs = zip(pictures, found.boxes, found.confidence.tolist(), strict=True)
    ranked = sorted((Overlay(*pair) for pair in pairs), key=lambda one: one.iou)
    chosen = [ranked[place] for place in spread(len(ranked), count)]
    drawn = [overlay.draw() for overlay in chosen]
    files = [folder / f"{_file_name(overlay.picture.name)}.png" for overlay in chosen]
    for file, image in zip(files, drawn, strict=True):
        write_image(file, image)
    legend = "orange: what was found;  blue: the truth;  from the worst to the best"
    write_image(folder / "overview.png", captioned(sheet(drawn, _COLUMNS), f" {legend}"))
    return [*files, folder / "overview.png"]


def _outline(panel: Image, box: IntArray, factor: float, colour: tuple[int, int, int], width: int) -> None:
    """Draw the border of a box of the original image on its enlarged panel."""
    ends = np.concatenate([box[:2] * factor, (box[2:] + 1) * factor - 1]).round().astype(int).tolist()
    top, left, bottom, right = ends
    opencv().rectangle(panel, (left, top), (right, bottom), colour, width, opencv().LINE_AA)


def _file_name(name: str) -> str:
    """A picture's name without what a file name cannot hold."""
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in Path(name).stem) or "picture"
