"""Boxes of pixels <-> boxes of cells, squares of `cell` pixels; the last row and column of cells may be cut off."""

from __future__ import annotations

from typing import Any

import numpy as np

from casimir.scores import IntArray


def grid_shape(pixels: Any, cell: int) -> tuple[int, int]:
    """Rows and columns of cells that cover an image [H, W, ..]."""
    height, width = np.shape(pixels)[:2]
    return -(-height // cell), -(-width // cell)


def to_cells(box: IntArray, pixels: Any, cell: int) -> IntArray:
    """int64[4]: every side at the nearest line of the image's grid, at least one cell."""
    ends = np.array(grid_shape(pixels, cell))
    low = np.minimum((box[:2] + cell // 2) // cell, ends - 1)
    high = np.minimum((box[2:] + 1 + cell // 2) // cell, ends) - 1
    return np.concatenate([low, np.maximum(high, low)]).astype(np.int64)


def to_pixels(box: IntArray, pixels: Any, cell: int) -> IntArray:
    """int64[4]: the pixels of the cells, as far as the image goes."""
    last = np.array(np.shape(pixels)[:2]) - 1
    return np.concatenate([box[:2] * cell, np.minimum((box[2:] + 1) * cell - 1, last)]).astype(np.int64)
