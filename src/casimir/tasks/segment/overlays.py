"""Pictures of results: the image, what was predicted and the truth side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from casimir.tasks.opencv import opencv
from casimir.tasks.panels import PREDICTED, TRUTH, Drawing, beside, captioned, enlarged, write_pictures
from casimir.tasks.segment.metrics import segment_scores
from casimir.tasks.segment.pictures import Image, Mask, Picture


def overlay(picture: Picture, predicted: Mask) -> Drawing:
    """Three panels: the image, the prediction and the truth."""
    image, truth = picture.image, picture.mask
    assert truth is not None
    overlap = segment_scores([truth], [predicted]).iou

    def draw() -> Image:
        panels = [
            captioned(enlarged(image), picture.name),
            captioned(tinted(image, predicted, PREDICTED), f"predicted, IoU {overlap:.2f}"),
            captioned(tinted(image, truth, TRUTH), "truth"),
        ]
        return beside(panels)

    return Drawing(picture.name, overlap, draw)


def write_overlays(folder: Path, pictures: Sequence[Picture], predicted: Sequence[Mask]) -> list[Path]:
    return write_pictures(folder, [overlay(*pair) for pair in zip(pictures, predicted, strict=True)])


def tinted(image: Image, mask: Mask, colour: tuple[int, int, int]) -> Image:
    """The enlarged image with the mask's outline and a light tint in this colour; the rest is greyer and darker."""
    cv2 = opencv()
    large = enlarged(image).astype(np.float32)
    size = (large.shape[1], large.shape[0])
    soft = cv2.GaussianBlur(cv2.resize(mask.astype(np.float32), size, interpolation=cv2.INTER_LINEAR), (0, 0), 1.2)
    inside = np.clip((soft - 0.5) * 4 + 0.5, 0, 1)[..., None]
    grey = 0.62 * (0.45 * large + 0.55 * large.mean(axis=2, keepdims=True))
    light = 0.88 * large + 0.12 * np.array(colour, dtype=np.float32)
    out = np.clip(inside * light + (1 - inside) * grey, 0, 255).astype(np.uint8)
    outlines = cv2.findContours((soft > 0.5).astype(np.uint8), cv2.RETR_LIST, cv2.CHAIN_APPROX_NONE)[0]
    return np.asarray(cv2.drawContours(out, outlines, -1, colour, 2, cv2.LINE_AA), dtype=np.uint8)
