"""Pixels of letters -> features.

pixels    the 128 pixels and a constant
strokes   nine maps of a letter: ink, ink that goes on to the next pixel in four directions, and ink that goes on to
          both sides in four directions; each blurred, so that a small shift changes little, read off at every second
          pixel, and its square root taken, so that the first bit of ink counts most. And a constant.

Regularisation that suits them is 10/n and 3/n, by cross-validation inside the first of ten folds of Taskar's words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from casimir.features import PackedSequences
from casimir.scores import FloatArray, offsets_of
from casimir.tasks.ocr.words import HEIGHT, WIDTH, WordImages

Images = npt.NDArray[np.bool_]  # [T, 16, 8]

_DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))  # rows down, columns to the right
_BLUR = 1.4  # standard deviation in pixels
_NEGLIGIBLE = 0.03  # smaller entries are left out


@dataclass(frozen=True)
class FeatureSet:
    """matrix  from images bool[T, 16, 8] to features float64[T, d]
    lam     n times the regularisation that suits them
    """

    matrix: Callable[[Images], FloatArray]
    lam: float


def pixel_features(images: Images) -> FloatArray:
    """float64[T, 129]"""
    return _with_constant(images.reshape(len(images), -1).astype(np.float64))


def stroke_features(images: Images) -> FloatArray:
    """float64[T, 9 * 32 + 1]"""
    from scipy.ndimage import gaussian_filter  # takes a tenth of a second to load

    maps = np.stack([images, *_strokes(images)], axis=1).astype(np.float64)
    blurred = gaussian_filter(maps, (0.0, 0.0, _BLUR, _BLUR), mode="constant", truncate=3.0)[:, :, ::2, ::2]
    # With the factor a letter's features are about as long as its pixels, so similar lam suit both.
    features = np.sqrt(2.0 * np.maximum(blurred, 0.0)).reshape(len(images), -1)
    features[features < _NEGLIGIBLE] = 0.0
    return _with_constant(features)


def _strokes(images: Images) -> list[Images]:
    """Ink with ink on one side, and on both sides, in every direction."""
    framed = np.pad(images, ((0, 0), (1, 1), (1, 1)))

    def neighbour(rows: int, columns: int) -> Images:
        return framed[:, 1 + rows : 1 + rows + HEIGHT, 1 + columns : 1 + columns + WIDTH]

    ahead = [images & neighbour(rows, columns) for rows, columns in _DIRECTIONS]
    through = [a & neighbour(-rows, -columns) for a, (rows, columns) in zip(ahead, _DIRECTIONS, strict=True)]
    return ahead + through


def _with_constant(features: FloatArray) -> FloatArray:
    return np.concatenate([features, np.ones((len(features), 1))], axis=1)


FEATURE_SETS = {"strokes": FeatureSet(stroke_features, lam=3.0), "pixels": FeatureSet(pixel_features, lam=10.0)}


def pack_words(words: WordImages, feature_set: str) -> PackedSequences:
    """The features of all letters in the flat arrays that chains are trained on."""
    matrix = FEATURE_SETS[feature_set].matrix(words.pixels)
    rows, columns = np.nonzero(matrix)
    values = matrix[rows, columns]
    indptr = offsets_of(np.bincount(rows, minlength=len(matrix)))
    plain = bool(np.all(values == 1.0))
    return PackedSequences(words.offsets, indptr, columns.astype(np.uint32), None if plain else values, matrix.shape[1])
