"""Colours and gradients of the cells of an image, and the visual word that each cell is closest to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from casimir.scores import FloatArray, IntArray
from casimir.tasks.boxes.grid import grid_shape

N_ORIENTATIONS = 4
N_DESCRIPTORS = 6 + N_ORIENTATIONS


def describe(pixels: npt.NDArray[np.uint8], cell: int) -> FloatArray:
    """float64[rows, columns, 10] of the cells: mean and spread of the three colours, gradient energy by orientation.

    Orientations are those of the brightness gradient, modulo 180 degrees; a gradient between two of them is shared.
    """
    height, width = pixels.shape[:2]
    rows, columns = grid_shape(pixels, cell)
    padding = ((0, rows * cell - height), (0, columns * cell - width), (0, 0))
    image = np.pad(pixels.astype(np.float64) / 255.0, padding, mode="edge")
    mean = _cell_means(image, cell)
    spread = np.sqrt(np.maximum(_cell_means(image**2, cell) - mean**2, 0.0))
    down, right = np.gradient(image.mean(axis=2))
    size, place = np.hypot(down, right), np.mod(np.arctan2(down, right), np.pi) * (N_ORIENTATIONS / np.pi)
    apart = np.abs(place[..., None] - np.arange(N_ORIENTATIONS))
    share = np.maximum(0.0, 1.0 - np.minimum(apart, N_ORIENTATIONS - apart))
    energy = np.sqrt(_cell_means(size[..., None] * share, cell))
    return np.concatenate([mean, spread, energy], axis=2)


@dataclass(frozen=True, eq=False)
class VisualWords:
    """A vocabulary of cells: k-means centres of standardised descriptors.

    mean, scale  float64[10]
    centres      float64[n_words, 10]
    """

    mean: FloatArray
    scale: FloatArray
    centres: FloatArray

    def __len__(self) -> int:
        return len(self.centres)

    def of(self, descriptors: FloatArray) -> IntArray:
        """int64[cells]: the word of every cell, row by row."""
        z = (descriptors.reshape(-1, N_DESCRIPTORS) - self.mean) / self.scale
        distance = (self.centres**2).sum(axis=1) - 2.0 * z @ self.centres.T
        words: IntArray = np.argmin(distance, axis=1).astype(np.int64)
        return words

    def indicators(self, descriptors: FloatArray) -> Any:
        """Sparse float64[cells, n_words]: 1 at the word of every cell, so that w has one score per word."""
        import scipy.sparse as sp

        words = self.of(descriptors)
        return sp.csr_array((np.ones(len(words)), words, np.arange(len(words) + 1)), shape=(len(words), len(self)))


def learn_words(descriptors: Sequence[FloatArray], n_words: int, seed: int) -> VisualWords:
    """k-means on the cells of all images."""
    from sklearn.cluster import KMeans  # scikit-learn takes a second to load

    cells = np.concatenate([d.reshape(-1, N_DESCRIPTORS) for d in descriptors])
    mean, scale = cells.mean(axis=0), np.maximum(cells.std(axis=0), 1e-6)
    z = (cells - mean) / scale
    distinct = len(np.unique(z, axis=0)) if len(z) < 10 * n_words else n_words
    means = KMeans(min(n_words, distinct), n_init=1, random_state=seed).fit(z)
    return VisualWords(mean, scale, np.asarray(means.cluster_centers_, dtype=np.float64))


def _cell_means(image: FloatArray, cell: int) -> FloatArray:
    """float64[rows, columns, c] of float64[rows cell, columns cell, c]."""
    height, width, channels = image.shape
    blocks = image.reshape(height // cell, cell, width // cell, cell, channels)
    return np.asarray(blocks.mean(axis=(1, 3)))
