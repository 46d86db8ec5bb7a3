"""A descriptor without learnt weights: edges and colours in the cells of a box, and how they differ from around it.

Every pixel has shares of edge directions (at a fine and a coarse scale) and of ranges of lightness and colour. Their
means over rectangles come from integral images, so a box costs a few sums, whatever its size.
"""

from __future__ import annotations

import numpy as np

from casimir.scores import FloatArray, IntArray
from casimir.tasks.localize.descriptors import Described
from casimir.tasks.localize.pictures import Pixels
from casimir.tasks.localize.proposals import shrunk
from casimir.tasks.opencv import opencv

_GRID = 3
_DIRECTIONS = 8  # of edges, over 180 degrees
_BLURS = (0.8, 3.2)  # standard deviations in pixels
_RANGES = 5  # of lightness and of both colour axes
_LAB = ((0.0, 100.0), (-60.0, 60.0), (-60.0, 60.0))  # what the ranges cover
_EDGES = _DIRECTIONS * len(_BLURS)
_SHARES = _EDGES + _RANGES * len(_LAB)
_PLACES = 5


class HandMade:
    """A descriptor: [9, channels], the cells of a 3 x 3 grid row by row. Per cell: square roots of the shares of edge
    directions and colours, their difference from a border of one cell's width around the box, the strength of edges at
    both scales, and the box's height, width, area and distance from the centre as parts of the picture's."""

    name = "hand-made"
    cells = _GRID * _GRID
    channels = 2 * _SHARES + len(_BLURS) + _PLACES
    dim = cells * channels
    key = "hand-made-1"

    def describe(self, pixels: Pixels, boxes: IntArray) -> Described:
        """float32[m, dim]"""
        small = shrunk(pixels)
        scale = np.array(small.shape[:2]) / np.array(pixels.shape[:2])
        low, high = boxes[:, :2] * scale, (boxes[:, 2:] + 1) * scale
        sums = _Sums(_pixel_channels(small))
        cells = sums.means(*_grid(low, high))
        border = sums.border(low, high)
        inside, strength = _shares(cells)
        around, _ = _shares(border[:, None])
        known = np.isfinite(border[:, :1, None])  # a box of the whole picture has nothing around it
        contrast = np.where(known, inside - np.where(known, around, 0.0), 0.0)
        places = _places(low, high, small.shape[:2])
        parts = [inside, contrast, strength, np.repeat(places[:, None], self.cells, axis=1)]
        return np.concatenate(parts, axis=2).astype(np.float32).reshape(len(boxes), self.dim)


def _pixel_channels(pixels: Pixels) -> FloatArray:
    """float64[H, W, edges + colours]"""
    cv2 = opencv()
    lab = cv2.cvtColor(pixels.astype(np.float32) / np.float32(255.0), cv2.COLOR_RGB2LAB)
    parts = [_directions(cv2.GaussianBlur(lab, (0, 0), blur)) for blur in _BLURS]
    parts += [_ranges(lab[:, :, k], *_LAB[k]) for k in range(len(_LAB))]
    return np.concatenate(parts, axis=2)


def _directions(lab: np.ndarray) -> FloatArray:
    """float64[H, W, directions]: the strongest gradient of the three channels, shared by the two nearest directions."""
    cv2 = opencv()
    down = cv2.Scharr(lab, cv2.CV_32F, 0, 1).astype(np.float64) / 32.0
    right = cv2.Scharr(lab, cv2.CV_32F, 1, 0).astype(np.float64) / 32.0
    best = np.argmax(down**2 + right**2, axis=2)[:, :, None]
    dy, dx = (np.take_along_axis(part, best, axis=2)[:, :, 0] for part in (down, right))
    at = (np.arctan2(dy, dx) / np.pi * _DIRECTIONS) % _DIRECTIONS
    distance = np.abs(at[:, :, None] - np.arange(_DIRECTIONS))
    near = np.maximum(0.0, 1.0 - np.minimum(distance, _DIRECTIONS - distance))
    shares: FloatArray = near * np.hypot(dy, dx)[:, :, None]
    return shares


def _ranges(values: np.ndarray, low: float, high: float) -> FloatArray:
    """float64[H, W, ranges]: 1, shared by the two nearest ranges."""
    at = np.clip((values.astype(np.float64) - low) / (high - low), 0.0, 1.0) * (_RANGES - 1)
    shares: FloatArray = np.maximum(0.0, 1.0 - np.abs(at[:, :, None] - np.arange(_RANGES)))
    return shares


class _Sums:
    """Integral images: sums over any rectangle from four numbers."""

    def __init__(self, channels: FloatArray) -> None:
        self._shape = np.array(channels.shape[:2])
        self._table = np.zeros((channels.shape[0] + 1, channels.shape[1] + 1, channels.shape[2]))
        np.cumsum(np.cumsum(channels, axis=0), axis=1, out=self._table[1:, 1:])

    def means(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """float64[..., C]: means over rectangles [low, high), at least one pixel each."""
        first, last = self._pixels(low, high)
        total: FloatArray = self._total(first, last) / np.prod(last - first, axis=-1)[..., None]
        return total

    def border(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """float64[m, C]: means over what is at most a third of the box's sides away from it; NaN where nothing is."""
        third = (high - low) / _GRID
        inner, outer = self._pixels(low, high), self._pixels(low - third, high + third)
        total = self._total(*outer) - self._total(*inner)
        area = np.prod(outer[1] - outer[0], axis=-1) - np.prod(inner[1] - inner[0], axis=-1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(area[:, None] > 0, np.maximum(total, 0.0) / area[:, None], np.nan)

    def _pixels(self, low: FloatArray, high: FloatArray) -> tuple[IntArray, IntArray]:
        first = np.clip(np.rint(low).astype(np.int64), 0, self._shape - 1)
        last = np.clip(np.rint(high).astype(np.int64), first + 1, self._shape)
        return first, last

    def _total(self, first: IntArray, last: IntArray) -> FloatArray:
        table, (t, l), (b, r) = self._table, np.moveaxis(first, -1, 0), np.moveaxis(last, -1, 0)
        return np.asarray(table[b, r] - table[t, r] - table[b, l] + table[t, l])


def _grid(low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The cells' corners, float64[m, 9, 2] each, row by row."""
    steps = np.stack(np.meshgrid(np.arange(_GRID), np.arange(_GRID), indexing="ij"), axis=-1).reshape(-1, 2)
    size = (high - low)[:, None] / _GRID
    return low[:, None] + steps * size, low[:, None] + (steps + 1) * size


def _shares(means: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(square roots of shares float64[m, cells, shares], strength of edges float64[m, cells, scales])"""
    edges = np.maximum(means[..., :_EDGES], 0.0).reshape(*means.shape[:2], len(_BLURS), _DIRECTIONS)
    colours = np.maximum(means[..., _EDGES:], 0.0)
    strength = edges.sum(axis=-1)
    typical = strength.mean(axis=1, keepdims=True) + 1e-3  # over the box: weak cells stay weak
    parts = (edges / typical[..., None]).reshape(*means.shape[:2], _EDGES)
    return np.sqrt(np.concatenate([parts, colours], axis=2)), np.sqrt(strength / 10.0)


def _places(low: FloatArray, high: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """float64[m, 5]: height, width, area, and distances of the centre from the picture's, all as parts of the whole."""
    size = (high - low) / np.array(shape)
    off = np.abs((low + high) / 2.0 / np.array(shape) - 0.5)
    return np.concatenate([size, np.prod(size, axis=1, keepdims=True), off], axis=1)
