"""Pictures of results: the image, what was predicted and the truth side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from casimir.tasks.opencv import opencv
from casimir.tasks.segment.metrics import segment_scores
from casimir.tasks.segment.pictures import Image, Mask, Picture, write_image

PREDICTED, TRUTH = (255, 122, 30), (40, 170, 255)  # orange and blue, told apart by nearly everybody
_HEIGHT = 300  # of a panel, in pixels
_MARGIN = 8
_CAPTION = 30


@dataclass(frozen=True, eq=False)
class Overlay:
    """A picture with its mask and a predicted one."""

    picture: Picture
    predicted: Mask

    @property
    def iou(self) -> float:
        assert self.picture.mask is not None
        return segment_scores([self.picture.mask], [self.predicted]).iou

    def draw(self) -> Image:
        """Three panels: the image, the prediction and the truth."""
        assert self.picture.mask is not None
        panels = [
            _captioned(_enlarged(self.picture.image), self.picture.name),
            _captioned(tinted(self.picture.image, self.predicted, PREDICTED), f"predicted, IoU {self.iou:.2f}"),
            _captioned(tinted(self.picture.image, self.picture.mask, TRUTH), "truth"),
        ]
        return _beside(panels)


def write_overlays(folder: Path, pictures: Sequence[Picture], predicted: Sequence[Mask], count: int = 12) -> list[Path]:
    """PNG files of some pictures, from the worst to the best, and overview.png with all of these."""
    ranked = sorted((Overlay(*pair) for pair in zip(pictures, predicted, strict=True)), key=lambda one: one.iou)
    places = np.unique(np.linspace(0, len(ranked) - 1, min(count, len(ranked))).round().astype(int))
    chosen = [ranked[place] for place in places]
    drawn = [overlay.draw() for overlay in chosen]
    files = [folder / f"{overlay.picture.name}.png" for overlay in chosen]
    for file, image in zip(files, drawn, strict=True):
        write_image(file, image)
    write_image(folder / "overview.png", _sheet(drawn))
    return [*files, folder / "overview.png"]


def tinted(image: Image, mask: Mask, colour: tuple[int, int, int]) -> Image:
    """The enlarged image with the mask's outline and a light tint in this colour; the rest is greyer and darker."""
    cv2 = opencv()
    large = _enlarged(image).astype(np.float32)
    size = (large.shape[1], large.shape[0])
    soft = cv2.GaussianBlur(cv2.resize(mask.astype(np.float32), size, interpolation=cv2.INTER_LINEAR), (0, 0), 1.2)
    inside = np.clip((soft - 0.5) * 4 + 0.5, 0, 1)[..., None]
    grey = 0.62 * (0.45 * large + 0.55 * large.mean(axis=2, keepdims=True))
    light = 0.88 * large + 0.12 * np.array(colour, dtype=np.float32)
    out = np.clip(inside * light + (1 - inside) * grey, 0, 255).astype(np.uint8)
    outlines = cv2.findContours((soft > 0.5).astype(np.uint8), cv2.RETR_LIST, cv2.CHAIN_APPROX_NONE)[0]
    return np.asarray(cv2.drawContours(out, outlines, -1, colour, 2, cv2.LINE_AA), dtype=np.uint8)


def _enlarged(image: Image) -> Image:
    cv2 = opencv()
    factor = _HEIGHT / image.shape[0]
    how = cv2.INTER_CUBIC if factor > 1 else cv2.INTER_AREA
    return np.asarray(cv2.resize(image, (max(1, round(image.shape[1] * factor)), _HEIGHT), interpolation=how))


def _captioned(panel: Image, text: str) -> Image:
    cv2 = opencv()
    strip = np.full((_CAPTION, panel.shape[1], 3), 255, dtype=np.uint8)
    cv2.putText(strip, text, (2, 21), cv2.FONT_HERSHEY_SIMPLEX, 0.6, (40, 40, 40), 1, cv2.LINE_AA)
    return np.concatenate([strip, panel])


def _beside(panels: Sequence[Image]) -> Image:
    height = max(len(panel) for panel in panels)
    return np.concatenate([_padded(panel, height, panel.shape[1] + _MARGIN) for panel in panels], axis=1)


def _sheet(images: Sequence[Image], columns: int = 2) -> Image:
    """Images of the same height in rows, as wide as the widest."""
    width = max(image.shape[1] for image in images) + 2 * _MARGIN
    height = max(len(image) for image in images) + _MARGIN
    cells = [_padded(image, height, width) for image in images]
    cells += [np.full_like(cells[0], 255)] * (-len(cells) % columns)
    rows = [np.concatenate(cells[k : k + columns], axis=1) for k in range(0, len(cells), columns)]
    margins = ((_MARGIN, _MARGIN), (2 * _MARGIN, _MARGIN), (0, 0))
    return np.pad(np.concatenate(rows), margins, constant_values=255)


def _padded(image: Image, height: int, width: int) -> Image:
    out = np.full((height, width, 3), 255, dtype=np.uint8)
    out[: len(image), : image.shape[1]] = image
    return out
