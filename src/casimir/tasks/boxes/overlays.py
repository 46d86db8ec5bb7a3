"""Pictures of results: the box that was found and the true one, drawn on the image."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from casimir._boxes import iou
from casimir.scores import IntArray
from casimir.tasks.boxes.images import Image
from casimir.tasks.panels import PREDICTED, TRUTH, Drawing, captioned, enlarged, outline, write_pictures
from casimir.tasks.panels import Image as Panel

_LEGEND = "orange: what was found;  blue: the truth;  from the worst to the best"


def overlay(image: Image, found: IntArray) -> Drawing:
    """An image with its box and the one that was found."""
    overlap = float(iou(image.box, found))

    def draw() -> Panel:
        assert image.box is not None
        panel = enlarged(image.pixels)
        outline(panel, image.box, image.pixels.shape, TRUTH, 4)
        outline(panel, found, image.pixels.shape, PREDICTED, 2)
        return captioned(panel, f"{image.name}: IoU {overlap:.2f}")

    return Drawing(image.name, overlap, draw)


def write_overlays(folder: Path, images: Sequence[Image], found: Sequence[IntArray]) -> list[Path]:
    drawings = [overlay(*pair) for pair in zip(images, found, strict=True)]
    return write_pictures(folder, drawings, columns=4, legend=_LEGEND)
