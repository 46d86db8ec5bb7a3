"""What is seen at a pixel: its colour, and the strength and orientation of the edge there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from casimir.tasks.opencv import opencv
from casimir.tasks.segment.pictures import Image
from casimir.tasks.segment.superpixels import Float32

ORIENTATIONS = 8
_LARGEST = 40_000  # pixels; a larger image is looked at in this size
_SMOOTHING = 0.8


@dataclass(frozen=True, eq=False)
class Channels:
    """lab        float32[H, W, 3]: L from 0 to 1, a and b from about -1 to 1
    gradient   float32[H, W]: the largest of the three channels' gradients
    oriented   float32[H, W, 8]: the gradient, shared among the two nearest of 8 orientations in [0, pi)
    """

    lab: Float32
    gradient: Float32
    oriented: Float32

    @classmethod
    def of(cls, image: Image) -> Channels:
        cv2 = opencv()
        lab = cv2.cvtColor(shrunk(image).astype(np.float32) / np.float32(255), cv2.COLOR_RGB2Lab) / np.float32(100)
        gradient, angle = _gradient(cv2.GaussianBlur(lab, (0, 0), _SMOOTHING))
        return cls(lab, gradient, _oriented(gradient, angle))


def shrunk(image: Image) -> Image:
    """The image itself, or one of about 40,000 pixels when it has more."""
    height, width = image.shape[:2]
    factor = np.sqrt(_LARGEST / (height * width))
    if factor >= 1.0:
        return image
    cv2 = opencv()
    size = (max(round(width * factor), 2), max(round(height * factor), 2))
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)


def blurred(channels: Float32, radius: float) -> Float32:
    """The mean over a square of this radius in pixels, at least 1."""
    side = 2 * max(1, round(radius)) + 1
    cv2 = opencv()
    return np.asarray(cv2.blur(channels, (side, side), borderType=cv2.BORDER_REFLECT), dtype=np.float32)


def _gradient(lab: Float32) -> tuple[Float32, Float32]:
    """Strength and angle of the strongest channel's gradient."""
    cv2 = opencv()
    across, down = (cv2.Sobel(lab, cv2.CV_32F, *order, scale=1 / 8) for order in ((1, 0), (0, 1)))
    power = across**2 + down**2
    strongest = power.argmax(axis=2)[..., None]
    across, down = (np.take_along_axis(d, strongest, axis=2)[..., 0] for d in (across, down))
    return np.sqrt(power.max(axis=2)), np.arctan2(down, across)


def _oriented(gradient: Float32, angle: Float32) -> Float32:
    position = angle / np.pi % 1.0 * ORIENTATIONS
    low = np.floor(position)
    upper_share = position - low
    row, column = np.indices(gradient.shape)
    out = np.zeros((*gradient.shape, ORIENTATIONS), dtype=np.float32)
    out[row, column, low.astype(np.int64) % ORIENTATIONS] = gradient * (1 - upper_share)
    out[row, column, (low.astype(np.int64) + 1) % ORIENTATIONS] += gradient * upper_share
    return out
