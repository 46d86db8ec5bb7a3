"""Descriptors and boxes of candidates -> the features that a score sees: float32 [m, cells, channels], flat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from casimir.scores import IntArray, offsets_of
from casimir.tasks.localize.candidates import CandidateSet
from casimir.tasks.localize.geometry import N_CROWD, N_PLACES, crowd, neighbours, overlaps, places

Rows = npt.NDArray[np.float32]
KINDS = ("full", "geometry", "paper", "raw")
_SCALE = 0.3  # of the numbers about boxes: their length is then between 0.5 and 0.9, beside 1 of a descriptor


@dataclass(frozen=True)
class FeatureMap:
    """Phi(x, y): the descriptor of a box, normalised; where the box lies; what candidates near it look like.

    cells, channels    of the descriptor
    kind   "full": roots sign(v) sqrt|v| of the descriptor, of length 1; their mean over the candidates near the box, as
                   further channels; and, in every cell, the numbers of `places` and `crowd`, times 0.3 / sqrt(cells)
           "geometry": the same without the candidates near the box, half as large
           "paper": the descriptor, of length 1. Raw AlexNet vectors have lengths of about 120, beside which a cost of
                   at most 1 is nothing: the problem becomes degenerate, and what is learned with the usual lam is noise
           "raw": the descriptor as it is

    A descriptor of zeros stays as it is.
    """

    cells: int
    channels: int
    kind: str = "full"

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"features={self.kind!r}; it must be one of {', '.join(KINDS)}.")

    @property
    def n_channels(self) -> int:
        """Channels per cell of the features."""
        own = 2 * self.channels if self.kind == "full" else self.channels
        return own + (N_PLACES + N_CROWD if self._has_geometry else 0)

    @property
    def _has_geometry(self) -> bool:
        return self.kind in ("full", "geometry")

    def rows(self, descriptors: Any, boxes: IntArray, shape: Any) -> Rows:
        """float32[m, cells * n_channels] of all candidates of one picture; shape is its height and width."""
        given = np.asarray(descriptors, dtype=np.float32)
        if given.shape != (len(boxes), self.cells * self.channels):
            raise ValueError(
                f"The descriptors are {list(given.shape)}; {len(boxes)} boxes need "
                f"[{len(boxes)}, {self.cells * self.channels}]. Were they made by another descriptor?"
            )
        if not self._has_geometry:
            return given if self.kind == "raw" else _unit(given)
        own, (iou, share) = _unit(np.copysign(np.sqrt(np.abs(given)), given)), overlaps(boxes)
        about = np.concatenate([places(boxes, shape), crowd(iou, share)], axis=1) * (_SCALE / np.sqrt(self.cells))
        parts = [own, neighbours(own, iou)] if self.kind == "full" else [own]
        rows = np.empty((len(boxes), self.cells, self.n_channels), dtype=np.float32)
        for k, part in enumerate(parts):
            rows[:, :, k * self.channels : (k + 1) * self.channels] = part.reshape(-1, self.cells, self.channels)
        rows[:, :, len(parts) * self.channels :] = about[:, None]
        return rows.reshape(len(boxes), -1)

    def of(self, candidates: CandidateSet, i: int) -> Rows:
        """The features of the candidates of picture i."""
        if self._has_geometry and candidates.shapes is None:
            raise ValueError(
                "The candidates do not say how large their pictures are, which the geometry of boxes needs. Give "
                'CandidateSet the shapes, or train with features="paper".'
            )
        shape = None if candidates.shapes is None else candidates.shapes[i]
        return self.rows(candidates.features[i], candidates.boxes[i], shape)

    def stacked(self, candidates: CandidateSet, dtype: Any = np.float32) -> tuple[npt.NDArray[Any], IntArray]:
        """The features of all pictures in one array [N, d], and where each picture starts, int64[n + 1]."""
        offsets = offsets_of([len(boxes) for boxes in candidates.boxes])
        rows = np.empty((int(offsets[-1]), self.cells * self.n_channels), dtype=dtype)
        for i in range(len(candidates)):
            rows[offsets[i] : offsets[i + 1]] = self.of(candidates, i)
        return rows, offsets


def default_kind(score: str) -> str:
    """ "full"; but "geometry" for the score elu, whose training keeps a Jacobian of 16 numbers per channel."""
    return "geometry" if score == "elu" else "full"


def storage(kind: str, score: str) -> Any:
    """In which precision training keeps the features of all candidates: float16 for "full", whose rows are twice as
    long as the others, where the score is linear; else float32."""
    return np.float16 if kind == "full" and score == "linear" else np.float32


def _unit(rows: Rows) -> Rows:
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    unit: Rows = rows / np.where(lengths > 0.0, lengths, np.float32(1.0)).astype(np.float32)[:, None]
    return unit
