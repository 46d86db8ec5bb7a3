"""Descriptors and boxes of candidates -> the features that a score sees: float32 [m, cells, channels], flat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from casimir.scores import IntArray, offsets_of
from casimir.tasks.localize.candidates import CandidateSet

Rows = npt.NDArray[np.float32]
NORMALISATIONS = ("l2", "none")
N_PLACES = 12


@dataclass(frozen=True)
class FeatureMap:
    """Phi(x, y): the descriptor of a box, normalised, and where the box lies in its picture.

    cells, channels    of the descriptor
    normalise  "l2" gives every candidate's vector the length 1; a vector of zeros stays. It is the default because raw
               AlexNet vectors have lengths of about 120, beside which a cost of at most 1 is nothing: the problem
               becomes degenerate, and what is learned with the usual lam is noise. "none" leaves them as they are
    geometry   whether every cell gets `places`, divided by sqrt(cells), as further channels
    """

    cells: int
    channels: int
    normalise: str = "l2"
    geometry: bool = True

    def __post_init__(self) -> None:
        if self.normalise not in NORMALISATIONS:
            raise ValueError(f"normalise={self.normalise!r}; it must be one of {', '.join(NORMALISATIONS)}.")

    @property
    def n_channels(self) -> int:
        """Channels per cell of the features."""
        return self.channels + (N_PLACES if self.geometry else 0)

    def rows(self, descriptors: Any, boxes: IntArray, shape: Any) -> Rows:
        """float32[m, cells * n_channels] of one picture's candidates; shape is its height and width."""
        given = np.asarray(descriptors, dtype=np.float32)
        if given.shape != (len(boxes), self.cells * self.channels):
            raise ValueError(
                f"The descriptors are {list(given.shape)}; {len(boxes)} boxes need "
                f"[{len(boxes)}, {self.cells * self.channels}]. Were they made by another descriptor?"
            )
        rows = _unit(given) if self.normalise == "l2" else given
        if not self.geometry:
            return rows
        spread = (places(boxes, shape) / np.sqrt(self.cells)).astype(np.float32)
        parts = [rows.reshape(-1, self.cells, self.channels), np.repeat(spread[:, None], self.cells, axis=1)]
        return np.concatenate(parts, axis=2).reshape(len(rows), -1)

    def of(self, candidates: CandidateSet, i: int) -> Rows:
        """The features of the candidates of picture i."""
        if self.geometry and candidates.shapes is None:
            raise ValueError(
                "The candidates do not say how large their pictures are, which the geometry of boxes needs. Give "
                "CandidateSet the shapes, or train with geometry=False."
            )
        shape = None if candidates.shapes is None else candidates.shapes[i]
        return self.rows(candidates.features[i], candidates.boxes[i], shape)

    def stacked(self, candidates: CandidateSet) -> tuple[Rows, IntArray]:
        """The features of all pictures in one array float32[N, d], and where each picture starts, int64[n + 1]."""
        offsets = offsets_of([len(boxes) for boxes in candidates.boxes])
        rows = np.empty((int(offsets[-1]), self.cells * self.n_channels), dtype=np.float32)
        for i in range(len(candidates)):
            rows[offsets[i] : offsets[i + 1]] = self.of(candidates, i)
        return rows, offsets


def places(boxes: IntArray, shape: Any) -> npt.NDArray[np.float64]:
    """float64[m, 12]: size, shape and position of boxes (top, left, bottom, right) in a picture of shape [2].

    With height h, width w and centre (y, x) as shares of the picture's: sqrt(h w), h, w, h w, |y - 1/2|, |x - 1/2|, y,
    whether the box touches the top, left, bottom and right border, and log(h' / w') / 2 of the sides in pixels.
    """
    low, high = boxes[:, :2], boxes[:, 2:] + 1
    sides, (y, x) = (high - low) / shape, ((low + high) / 2.0 / shape).T
    h, w = sides.T
    touches = np.concatenate([low <= 0, high >= shape], axis=1).T
    aspect = np.log((high - low)[:, 0] / (high - low)[:, 1]) / 2.0
    return np.stack([np.sqrt(h * w), h, w, h * w, np.abs(y - 0.5), np.abs(x - 0.5), y, *touches, aspect], axis=1)


def _unit(rows: Rows) -> Rows:
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    unit: Rows = rows / np.where(lengths > 0.0, lengths, np.float32(1.0)).astype(np.float32)[:, None]
    return unit
