"""Shapes of the training masks that fit what has been recognised so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from casimir.tasks.segment.opencv import opencv
from casimir.tasks.segment.pictures import Mask
from casimir.tasks.segment.superpixels import Float32, IntArray

SIZE = (24, 32)  # rows, columns
_TEMPERATURES = (10.0, 40.0)
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
        """float32[H, W, 2]: the mean mask, weighted by exp(log-likelihood / temperature), at two temperatures.

        log-likelihood of mask m: sum_c m_c log p_c + (1 - m_c) log(1 - p_c), with p the probability of foreground in
        the cells of 24 x 32.
        """
        masks = self.masks if fold is None else self.masks[self.fold != fold]
        p = np.clip(_resized(probability, SIZE).ravel(), _SURE, 1 - _SURE)
        fit = masks @ np.log(p / (1 - p))
        return np.stack([_mean_mask(masks, fit / t, probability.shape) for t in _TEMPERATURES], axis=2)


def _mean_mask(masks: Float32, fit: Float32, shape: tuple[int, ...]) -> Float32:
    weight = np.exp(fit - fit.max())
    mean = (weight / weight.sum()) @ masks
    return _resized(mean.reshape(SIZE).astype(np.float32), shape)


def _resized(values: Float32, shape: tuple[int, ...]) -> Float32:
    cv2 = opencv()
    smaller = values.shape[0] * values.shape[1] > shape[0] * shape[1]
    how = cv2.INTER_AREA if smaller else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(values, (shape[1], shape[0]), interpolation=how), dtype=np.float32)
