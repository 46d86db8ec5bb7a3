"""Training without the features that no training sentence has, or too few: their weights stay 0."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from casimir._native import core
from casimir.estimators.known_features import KnownFeatures
from casimir.features import PackedSequences
from casimir.models.weight_rows import WeightRows
from casimir.scores import FloatArray, IntArray

BoolArray = npt.NDArray[np.bool_]

_WORTH_IT = 0.7  # share of used features below which the smaller weights pay for the detour


def seen_in(X: PackedSequences) -> BoolArray:
    """bool[n_features]: which features some token of X has."""
    seen = np.zeros(X.n_features, dtype=np.bool_)
    seen[X.indices] = True
    return seen


@dataclass(frozen=True, eq=False)
class UsedFeatures:
    """Feature `used[j]` of n_features is number j in training.

    used  int64[m], increasing; None: all of them, under their own numbers
    """

    n_features: int
    used: IntArray | None

    @classmethod
    def of(
        cls, X: PackedSequences, min_frequency: int = 0, *, overwrite: bool = False
    ) -> tuple[UsedFeatures, PackedSequences]:
        """The features that X uses, and X with their numbers. Order is kept, so rows of X stay sorted.

        min_frequency  leave out those that occur less often, counted over tokens
        overwrite      the new numbers take the memory of those in X, which is left without features
        """
        if min_frequency > 1:
            return cls._frequent(X, min_frequency)
        features = cls.of_seen(seen_in(X))
        return features, features.numbered(X, overwrite=overwrite)

    @classmethod
    def of_seen(cls, seen: BoolArray) -> UsedFeatures:
        """Those that are marked in bool[n_features]."""
        used = np.flatnonzero(seen)
        return cls(len(seen), used if 0 < len(used) < _WORTH_IT * len(seen) else None)

    def numbered(self, X: PackedSequences, *, overwrite: bool = False) -> PackedSequences:
        """X, which has no other features, with the numbers of these."""
        if self.used is None:
            return X
        number = np.zeros(X.n_features, dtype=np.uint32)
        number[self.used] = np.arange(len(self.used), dtype=np.uint32)
        indices = X.indices if overwrite else X.indices.copy()
        core.renumber(indices, number)
        small = PackedSequences.unchecked(X.offsets, X.indptr, indices, X.values, len(self.used), edges=X.edges)
        if overwrite:
            object.__setattr__(X, "indices", indices[:0].copy())
            object.__setattr__(X, "values", None)
        return small

    @classmethod
    def _frequent(cls, X: PackedSequences, min_frequency: int) -> tuple[UsedFeatures, PackedSequences]:
        counts = np.bincount(X.indices, minlength=X.n_features)
        used = np.flatnonzero(counts >= min_frequency)
        if not len(used):
            raise ValueError(
                f"min_frequency={min_frequency} leaves no features: the most frequent one occurs {counts.max()} times."
            )
        number = np.zeros(X.n_features, dtype=np.uint32)
        number[used] = np.arange(len(used), dtype=np.uint32)
        kept = counts[X.indices] >= min_frequency
        indptr = np.concatenate([[0], np.cumsum(kept)])[X.indptr]
        values = None if X.values is None else X.values[kept]
        indices = number[X.indices[kept]]
        small = PackedSequences.unchecked(X.offsets, indptr, indices, values, len(used), edges=X.edges)
        return cls(X.n_features, used), small

    def known(
        self, w: FloatArray, n_labels: int, onto: FloatArray | None = None
    ) -> tuple[FloatArray, KnownFeatures | None]:
        """The weights of a predictor from those of the used features, in memory of their own: solvers change w later.

        onto  the weights of features that are not used; None: 0
        """
        if onto is None or self.used is None:
            return KnownFeatures.of(w, n_labels, self.n_features, self.used)
        wide = WeightRows.of(w, len(self.used), n_labels).spread(w, self.used, self.n_features)
        layout, rest = WeightRows.of(wide, self.n_features, n_labels), np.ones(self.n_features, dtype=np.bool_)
        rest[self.used] = False
        layout.unary(wide)[rest] = layout.unary(onto)[rest]
        return KnownFeatures.of(wide, n_labels, self.n_features)

    def compress(self, w: FloatArray, n_labels: int) -> FloatArray:
        """The weights of the used features from those of all."""
        if self.used is None:
            return w
        layout = WeightRows.of(w, self.n_features, n_labels)
        rows, small = layout.rows(w), WeightRows(len(self.used), n_labels, layout.n_ends)
        return small.weights(np.concatenate([rows[self.used], rows[self.n_features :]]))
