"""A linear model of candidate lists with dense features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from casimir._arrays import aligned_zeros, frozen, read_only
from casimir._validate import all_finite, as_float, sequence_of
from casimir.models.base import check_marginals, check_weights, chosen_examples
from casimir.scores import FloatArray, IntArray, Scores, offsets_of, ragged_rows

FeatureArray = npt.NDArray[np.float64] | npt.NDArray[np.float32] | npt.NDArray[np.float16]

_STORAGES = (np.float64, np.float32, np.float16)
_BLOCK = 256  # rows that are widened to float64 at a time: they stay in the cache


@dataclass(frozen=True, eq=False, init=False)
class LinearCandidateModel:
    """scores_i = features_i w: one row of features per candidate.

    features  float64, float32 or float16[N, d], the candidates of all examples one after another; sums are taken in
              float64
    offsets   int64[n + 1]: example i owns rows offsets[i]:offsets[i + 1]
    memory    the features as they were given to `of_rows`, for whoever writes the next model to the same place
    """

    features: FeatureArray
    offsets: IntArray
    memory: FeatureArray

    def __init__(self, features: Sequence[Any]) -> None:
        """features: list of [m_i, d], kept in the widest of their precisions."""
        given = [_rows(f, f"features[{i}]") for i, f in enumerate(sequence_of(features, "features"))]
        if not given or given[0].ndim != 2:
            raise ValueError("features must be a non-empty list of arrays [m_i, d], one per example.")
        for i, rows in enumerate(given):
            if rows.ndim != 2 or rows.shape[1] != given[0].shape[1]:
                raise ValueError(f"features[{i}] has shape {list(rows.shape)}; it must be [m, {given[0].shape[-1]}].")
        widest = np.result_type(*{rows.dtype for rows in given})
        dtype = widest if widest in _STORAGES else np.float64
        offsets = offsets_of([len(rows) for rows in given])
        flat = np.empty((offsets[-1], given[0].shape[1]), dtype=dtype)
        np.concatenate(given, out=flat, casting="same_kind")
        self._keep(flat, offsets)

    @classmethod
    def of_rows(cls, features: FeatureArray, offsets: IntArray) -> LinearCandidateModel:
        """The model of rows that lie in one array already, which is not copied: do not write to it while it trains."""
        if features.dtype not in _STORAGES or features.ndim != 2 or not features.flags.c_contiguous:
            raise ValueError(
                f"features is {features.dtype}{list(features.shape)}; it must be a contiguous float64, float32 or "
                "float16[N, d]."
            )
        model = cls.__new__(cls)
        model._keep(features, offsets)
        return model

    def _keep(self, features: FeatureArray, offsets: IntArray) -> None:
        empty = np.flatnonzero(np.diff(offsets) < 1)
        if len(empty):
            raise ValueError(
                f"features[{empty[0]}] is empty; every example needs at least one candidate. Leave empty examples out."
            )
        for first in range(0, len(features), _BLOCK):
            if not all_finite(features[first : first + _BLOCK]):
                row = first + int(np.argwhere(~np.isfinite(features[first : first + _BLOCK]))[0][0])
                example = int(np.searchsorted(offsets, row, side="right")) - 1
                raise ValueError(
                    f"features[{example}] has a nan or infinite entry in row {row - offsets[example]}; "
                    "features must be finite."
                )
        object.__setattr__(self, "features", read_only(features))
        object.__setattr__(self, "memory", features)
        object.__setattr__(self, "offsets", frozen(offsets))

    def longest_rows(self, y: Any) -> FloatArray:
        """float64[n] = max_y |Phi(y) - Phi(y_i)|^2"""
        return np.array([float((rows * rows).sum(axis=1).max()) for rows in self._differences(y)])

    def singular_values(self, y: Any) -> FloatArray:
        """float64[n]: the largest singular value of the rows Phi(y) - Phi(y_i), squared"""
        return np.array([float(np.linalg.norm(rows, 2)) ** 2 for rows in self._differences(y)])

    def _differences(self, y: Any) -> Iterator[FloatArray]:
        for i, output in enumerate(y):
            rows = self.features[self.offsets[i] : self.offsets[i + 1]].astype(np.float64)
            yield rows - rows[int(output[0])]

    @property
    def n_examples(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_params(self) -> int:
        return int(self.features.shape[1])

    def layout(self) -> Scores:
        """Scores of all examples, all 0."""
        return Scores.unchecked(np.zeros(len(self.features)), self.offsets)

    def zeros(self) -> FloatArray:
        """Weights to start from, aligned for the native kernels."""
        return aligned_zeros(self.n_params)

    def scores(self, w: FloatArray, examples: Any = None) -> Scores:
        check_weights(w, self.n_params, "LinearCandidateModel")
        features, offsets = self._pick(examples)
        scores = np.empty(len(features))
        for first in range(0, len(features), _BLOCK):
            block = features[first : first + _BLOCK]
            np.dot(block.astype(np.float64, copy=False), w, out=scores[first : first + len(block)])
        return Scores.unchecked(scores, offsets)

    def adjoint(self, marginals: Scores, examples: Any = None) -> FloatArray:
        features, offsets = self._pick(examples)
        check_marginals(marginals, (len(features),), offsets, "LinearCandidateModel")
        used = np.flatnonzero(marginals.nodes)
        total = np.zeros(self.n_params)
        for first in range(0, len(used), _BLOCK):
            rows = used[first : first + _BLOCK]
            total += marginals.nodes[rows] @ features[rows].astype(np.float64, copy=False)
        return total

    def _pick(self, examples: Any) -> tuple[FeatureArray, IntArray]:
        if examples is None:
            return self.features, self.offsets
        chosen = chosen_examples(examples, self.n_examples)
        if len(chosen) == 1:  # a stochastic step needs no copy
            first, last = self.offsets[chosen[0]], self.offsets[chosen[0] + 1]
            return self.features[first:last], np.array([0, last - first])
        rows, offsets = ragged_rows(self.offsets, chosen)
        return self.features[rows], offsets


def _rows(features: Any, name: str) -> npt.NDArray[Any]:
    """The array itself when it is of floating point, whatever its precision; else float64."""
    array = np.asarray(features)
    return array if array.dtype.kind == "f" else as_float(features, name)
