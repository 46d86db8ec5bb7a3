"""Training sentences as CRFsuite reads them: an attribute of value 0 is one that was seen, though it adds nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from casimir._native import core
from casimir.features import PackedSequences
from casimir.vocabulary import Vocabulary

SEPARATOR = ":"  # between the name and the value of an attribute, as python-crfsuite writes them


def pack_with_zeros(sentences: list[Any]) -> PackedSequences:
    """Every attribute with its value, 0 and False included; `KeptPairs` counts them."""
    vocabulary = Vocabulary()
    offsets, indptr, indices, values = core.pack_growing(sentences, vocabulary._table, SEPARATOR, True)
    return PackedSequences.unchecked(offsets, indptr, indices, values, max(1, len(vocabulary)), vocabulary)


def without_zeros(X: PackedSequences) -> PackedSequences:
    """The same scores, without the values of 0."""
    if X.values is None or X.values.all():
        return X
    stays = X.values != 0.0
    before = np.concatenate([[0], np.cumsum(stays)])
    values = X.values[stays]
    kept = None if (values == 1.0).all() else values
    return PackedSequences.unchecked(X.offsets, before[X.indptr], X.indices[stays], kept, X.n_features, X.vocabulary)
