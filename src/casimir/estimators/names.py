"""The names of features: of a vocabulary, of one sentence at hand, or kept in training beside hashed features."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from casimir.estimators.predictor import ChainPredictor
from casimir.features import PackedSequences, pack
from casimir.scores import IntArray
from casimir.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class FeatureNames:
    """The names of hashed features; more than one may share a bucket.

    vocabulary  the names
    n_features  how many buckets there are
    """

    vocabulary: Vocabulary
    n_features: int

    @cached_property
    def buckets(self) -> IntArray:
        """int64[names]: the bucket of every name."""
        return buckets_of(list(self.vocabulary), self.n_features)

    @cached_property
    def by_bucket(self) -> dict[int, str]:
        """The name of every bucket that has one; names that share it stand beside each other."""
        found: defaultdict[int, list[str]] = defaultdict(list)
        for name, bucket in zip(self.vocabulary, self.buckets.tolist(), strict=True):
            found[bucket].append(name)
        return {bucket: " | ".join(names) for bucket, names in found.items()}


def buckets_of(names: list[str], n_features: int) -> IntArray:
    """int64[m]: the hash buckets of names."""
    if not names:
        return np.zeros(0, dtype=np.int64)
    return pack([[[name] for name in names]], n_features).indices.astype(np.int64)


def packed_with_names(X: Any, n_features: int | None, keep_names: bool) -> tuple[PackedSequences, FeatureNames | None]:
    """X as `pack` gives it, and the names of its features where they are asked for and hashing would lose them."""
    if isinstance(X, PackedSequences):
        if keep_names and X.vocabulary is None:
            raise ValueError(
                "keep_names=True, but the sequences are packed into hash buckets, which have no names. Give the tokens "
                "themselves, or pack them with n_features=None."
            )
        return X, None
    if n_features is None or not keep_names:
        return pack(X, n_features), None
    exact = pack(X, None)
    if not isinstance(exact.vocabulary, Vocabulary):  # features that have numbers of their own are not hashed
        return exact, None
    names = FeatureNames(exact.vocabulary, n_features)
    return _hashed(exact, names.buckets, n_features), names


def _hashed(X: PackedSequences, buckets: IntArray, n_features: int) -> PackedSequences:
    """X with bucket buckets[j] in the place of feature j, sorted as `pack` sorts: by bucket, then by value."""
    tokens, numbers = np.repeat(np.arange(X.n_tokens), np.diff(X.indptr)), buckets[X.indices]
    values = np.zeros(len(numbers)) if X.values is None else X.values
    order = np.lexsort((values, numbers, tokens))
    indices = numbers[order].astype(np.uint32)
    return PackedSequences.unchecked(
        X.offsets, X.indptr, indices, None if X.values is None else X.values[order], n_features
    )


class Feature(NamedTuple):
    """A feature of a token: its name, its value, and its row of the weights."""

    name: str
    value: float
    row: int


def features_of(predictor: ChainPredictor, x: Any, names: FeatureNames | None) -> list[list[Feature]]:
    """The features of every token of one sentence: those that the vocabulary knows, or all under their own names."""
    if isinstance(x, PackedSequences) or predictor.vocabulary is not None:
        known = predictor.pack(x if isinstance(x, PackedSequences) else [x])
        return _by_token(known, [Feature(name_of(predictor, j, names), 1.0, j) for j in known.indices.tolist()])
    exact = pack([x], None)
    assert exact.vocabulary is not None
    own = list(exact.vocabulary)
    rows = buckets_of(own, predictor.n_features).tolist()
    return _by_token(exact, [Feature(own[j], 1.0, rows[j]) for j in exact.indices.tolist()])


def name_of(predictor: ChainPredictor, row: int, names: FeatureNames | None) -> str:
    """The name of a row of the weights; its bucket where names are not known."""
    if predictor.vocabulary is not None:
        return predictor.vocabulary[row]
    known = None if names is None else names.by_bucket.get(row)
    return f"bucket {row}" if known is None else known


def _by_token(X: PackedSequences, features: list[Feature]) -> list[list[Feature]]:
    values = [1.0] * len(features) if X.values is None else X.values.tolist()
    valued = [feature._replace(value=value) for feature, value in zip(features, values, strict=True)]
    ends = X.indptr.tolist()
    return [valued[ends[t] : ends[t + 1]] for t in range(X.n_tokens)]
