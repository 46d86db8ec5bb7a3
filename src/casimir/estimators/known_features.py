"""Weights of the features that have some: a hashed model has rows for the buckets in use, and for no others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from casimir._arrays import aligned_zeros
from casimir._native import core
from casimir.features import PackedSequences
from casimir.models.weight_rows import WeightRows
from casimir.scores import FloatArray, IntArray

_SHARE, _BYTES = 0.7, 2**20  # rows of their own pay for the detour below this share, and where they save a megabyte
_WORD = 64  # bits


@dataclass(frozen=True, eq=False)
class KnownFeatures:
    """Feature used[j] of n_features has row j of the weights; the others have none, which is as good as 0.

    used  int64[m], increasing
    """

    n_features: int
    used: IntArray

    @classmethod
    def of(
        cls, w: FloatArray, n_labels: int, n_features: int, used: IntArray | None = None
    ) -> tuple[FloatArray, KnownFeatures | None]:
        """Those whose weights are not all 0, with the weights of these; None: all n_features have a row.

        w     of a chain; solvers may change it later, so what is returned has memory of its own
        used  the features that its rows belong to; None: all
        """
        given = WeightRows.of(w, n_features if used is None else len(used), n_labels)
        rows = given.padded(w)
        there = np.flatnonzero(rows[: given.n_features].any(axis=1))
        found = cls.worth(there, n_features, given.stride)
        if found is not None:
            there = found.used
            own = WeightRows(len(there), n_labels, given.n_ends)
            kept = aligned_zeros(own.n_params)
            own.padded(kept)[: len(there)] = rows[there]
            own.padded(kept)[len(there) :] = rows[given.n_features :]
            return kept, found if used is None else cls(n_features, used[there])
        if used is not None:
            return given.spread(w, used, n_features), None
        kept = aligned_zeros(given.n_params)
        kept[:] = w
        return kept, None

    @classmethod
    def worth(cls, there: IntArray, n_features: int, stride: int) -> KnownFeatures | None:
        """These features, if it is worth it to leave out the others of n_features, with `stride` doubles each."""
        saved = (n_features - len(there)) * stride * 8
        if len(there) >= _SHARE * n_features or saved < _BYTES:
            return None
        return cls(n_features, there if len(there) else np.zeros(1, dtype=np.int64))  # a model has a row at the least

    def spread(self, w: FloatArray, n_labels: int) -> FloatArray:
        """The weights of all n_features."""
        return WeightRows.of(w, len(self.used), n_labels).spread(w, self.used, self.n_features)

    @cached_property
    def _bits(self) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint32]]:
        """A bit per feature, by words, and how many are set before each word."""
        words = -(-self.n_features // _WORD)
        there = np.zeros(words * _WORD, dtype=np.bool_)
        there[self.used] = True
        counts = there.reshape(-1, _WORD).sum(axis=1, dtype=np.uint32)
        before = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.uint32)
        return np.packbits(there, bitorder="little").view("<u8").astype(np.uint64), before

    def select(self, X: PackedSequences) -> PackedSequences:
        """X in the numbers of rows, without the features that have none."""
        there, before = self._bits
        indptr, rows = core.known_tokens(X.indptr, X.indices, there, before)
        values = X.values
        if values is not None:
            values = values[there[X.indices // _WORD] >> (X.indices % _WORD) & np.uint64(1) != 0]
        return PackedSequences.unchecked(X.offsets, indptr, rows, values, len(self.used), edges=X.edges)
