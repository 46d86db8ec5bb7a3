"""Pictures of results: the box that was found and the true one, drawn on the image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from casimir._boxes import iou
from casimir.scores import IntArray
from casimir.tasks.boxes.images import Image
from casimir.tasks.panels import PREDICTED, TRUTH, captioned, enlarged, outline, write_pictures
from casimir.tasks.panels import Image as Panel

_LEGEND = "orange: what was found;  blue: the truth;  from the worst to the best"


@dataclass(frozen=True, eq=False)
class Overlay:
    """An image with its box and the one that was found."""

    image: Image
    found: IntArray

    @property
    def name(self) -> str:
        return self.image.name

    @property
    def rank(self) -> float:
        return float(iou(self.image.box, self.found))

    def draw(self) -> Panel:
        assert self.image.box is not None
        panel = enlarged(self.image.pixels)
        outline(panel, self.image.box, self.image.pixels.shape, TRUTH, 4)
        outline(panel, self.found, self.image.pixels.shape, PREDICTED, 2)
        return captioned(panel, f"{self.name}: IoU {self.rank:.2f}")


def write_overlays(folder: Path, images: Sequence[Image], found: IntArray) -> list[Path]:
    overlays = [Overlay(image, box) for image, box in zip(images, found, strict=True)]
    return write_pictures(folder, overlays, columns=4, legend=_LEGEND)
