"""Shapes of the training masks that fit what has been recognised so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from casimir.tasks.opencv import opencv
from casimir.tasks.segment.blur import gaussian_matrix
from casimir.tasks.segment.pictures import Mask
from casimir.tasks.segment.superpixels import Float32, IntArray

SIZE = (24, 32)  # rows, columns
_TEMPERATURES = (10.0, 40.0)  # of the fit over all cells
_LOCAL = ((2.0, 4.0), (4.0, 10.0))  # reach in cells and temperature of local fits
_SURE = 0.02  # no pixel is surer than 0.02 or 0.98


@dataclass(frozen=True, eq=False)
class Shapes:
    """masks  float32[m, 768]: training masks of 24 x 32 cells, the share of foreground in each
    fold   int64[m]: a picture is never shown the masks of its own fold in training
    """

    masks: Float32
    fold: IntArray

    @classmethod
    def of(cls, masks: Sequence[Mask], fold: IntArray) -> Shapes:
        small = [_resized(mask.astype(np.float32), SIZE).ravel() for mask in masks]
        return cls(np.stack(small), fold)

    def expected(self, probability: Float32, fold: int | None = None) -> Float32:
        """float32[H, W, 4]: the mean mask, weighted by exp(fit / temperature), for two whole and two local fits.

        The fit of mask m is sum_c m_c log(p_c / (1 - p_c)) over the cells c, with p the probability of foreground in
        them: its log-likelihood but for a constant. A local fit weighs cells by how near they are, so that the legs of
        one mask may go with the head of another.
        """
        masks = self.masks if fold is None else self.masks[self.fold != fold]
        p = np.clip(_resized(probability, SIZE), _SURE, 1 - _SURE)
        cell_fit = masks.reshape(-1, *SIZE) * np.log(p / (1 - p))
        whole = cell_fit.sum(axis=(1, 2), keepdims=True)
        maps = [_mean_mask(masks, whole / temperature) for temperature in _TEMPERATURES]
        maps += [_mean_mask(masks, _nearby(cell_fit, reach) / temperature) for reach, temperature in _LOCAL]
        return np.stack([_resized(mean, probability.shape) for mean in maps], axis=2)


def _mean_mask(masks: Float32, fit: Float32) -> Float32:
    """float32[24, 32] from fits float32[m, 24, 32], or [m, 1, 1] for all cells alike."""
    weight = np.exp(fit - fit.max(axis=0))
    return np.asarray((weight * masks.reshape(-1, *SIZE)).sum(axis=0) / weight.sum(axis=0), dtype=np.float32)


def _nearby(cell_fit: Float32, reach: float) -> Float32:
    """The sum over cells, each weighted by exp(-distance^2 / (2 reach^2)), for every cell of every mask."""
    down, across = (gaussian_matrix(size, reach, mirrored=True) for size in SIZE)
    weighted_mean = down @ cell_fit.astype(np.float32, copy=False) @ across.T
    return np.asarray(weighted_mean * np.float32(2 * np.pi * reach**2), dtype=np.float32)


def _resized(values: Float32, shape: tuple[int, ...]) -> Float32:
    cv2 = opencv()
    smaller = values.shape[0] * values.shape[1] > shape[0] * shape[1]
    how = cv2.INTER_AREA if smaller else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(values, (shape[1], shape[0]), interpolation=how), dtype=np.float32)
