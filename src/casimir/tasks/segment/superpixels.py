"""Superpixels: small connected regions of similar colour, the nodes of an image's graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from casimir.tasks.opencv import opencv

Float32 = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]

_REGION = 6  # pixels per side of a superpixel in an image of _USUAL pixels
_USUAL = 30_000
_COMPACTNESS = 40.0
_ITERATIONS = 10
_SMALLEST_SHARE = 25  # percent of the usual size; smaller pieces join a neighbour


@dataclass(frozen=True, eq=False)
class Superpixels:
    """labels  int64[H, W]: the superpixel of every pixel, 0 .. p - 1
    size    float32[p]: pixels of each
    row, column   float32[p]: its centre
    """

    labels: IntArray
    size: Float32
    row: Float32
    column: Float32

    @classmethod
    def of(cls, lab: Float32) -> Superpixels:
        """SLIC superpixels of an image float32[H, W, 3] in Lab colours, L from 0 to 1."""
        labels = _slic(lab)
        flat, count = labels.ravel(), int(labels.max()) + 1
        size = np.bincount(flat, minlength=count)
        row, column = (np.bincount(flat, axis.ravel(), minlength=count) / size for axis in np.indices(labels.shape))
        return cls(labels, size.astype(np.float32), row.astype(np.float32), column.astype(np.float32))

    def __len__(self) -> int:
        return len(self.size)

    def mean(self, channels: npt.NDArray[Any]) -> Float32:
        """float32[p, C] of float32[H, W, C], or [p] of [H, W]: the mean over the pixels of each superpixel."""
        if channels.ndim == 2:
            total = np.bincount(self.labels.ravel(), channels.ravel(), minlength=len(self))
            return np.asarray(total / self.size, dtype=np.float32)
        return np.stack([self.mean(channels[..., c]) for c in range(channels.shape[2])], axis=1)

    def at(self, channels: npt.NDArray[Any], down: float = 0.0, right: float = 0.0) -> npt.NDArray[Any]:
        """[p, ...] of [H, W, ...]: the values so many pixels below and right of each centre, at most at the border."""
        height, width = self.labels.shape
        row = np.clip(np.rint(self.row + down).astype(np.int64), 0, height - 1)
        column = np.clip(np.rint(self.column + right).astype(np.int64), 0, width - 1)
        return np.asarray(channels[row, column])

    def around(self, channels: npt.NDArray[Any], step: float) -> npt.NDArray[Any]:
        """[9, p, ...]: `at` on a 3 x 3 grid of points `step` pixels apart, row by row; the centre is number 4."""
        grid = (-step, 0.0, step)
        return np.stack([self.at(channels, down, right) for down in grid for right in grid])


def scale_of(height: int, width: int) -> float:
    """1 for an image of the usual size, so that radii in pixels can follow the image."""
    return float(np.sqrt(height * width / _USUAL))


def _slic(lab: Float32) -> IntArray:
    cv2 = opencv()
    pixels = np.clip(lab * (255.0, 100.0, 100.0) + (0.0, 128.0, 128.0), 0, 255).astype(np.uint8)
    side = max(3, round(_REGION * scale_of(*lab.shape[:2])))
    slic = cv2.ximgproc.createSuperpixelSLIC(pixels, cv2.ximgproc.SLIC, side, _COMPACTNESS)
    slic.iterate(_ITERATIONS)
    slic.enforceLabelConnectivity(_SMALLEST_SHARE)
    # Numbers without holes: the mean of an empty superpixel does not exist.
    return np.unique(slic.getLabels(), return_inverse=True)[1].reshape(lab.shape[:2]).astype(np.int64)
