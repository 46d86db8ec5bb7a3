"""A predictor without the features whose weights are all 0."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from casimir.estimators.predictor import ChainPredictor
from casimir.models.weight_rows import WeightRows
from casimir.vocabulary import Vocabulary


def sparsified(predictor: ChainPredictor, threshold: float = 0.0) -> ChainPredictor:
    """The same predictor, weights of features that are at most `threshold` set to 0, names without weights forgotten.

    The number of a hashed feature is its bucket, and that of a column its place, so these stay.
    """
    if not 0.0 <= threshold < np.inf:
        raise ValueError(f"threshold={threshold!r}; it must be a number, 0 or larger.")
    n_features = predictor.n_features
    rows = predictor.rows.copy()
    unary = rows[:n_features]
    unary[np.abs(unary) <= threshold] = 0.0
    kept, vocabulary = np.arange(n_features), predictor.vocabulary
    if isinstance(vocabulary, Vocabulary):
        kept = np.flatnonzero(unary.any(axis=1))
        vocabulary = Vocabulary(vocabulary[j] for j in kept.tolist())
        kept = kept if len(kept) else np.zeros(1, dtype=np.int64)  # a model has one row at the least
    n_labels = len(predictor.classes)
    layout = WeightRows(len(kept), n_labels, len(rows) - n_features - n_labels)
    w = layout.weights(np.concatenate([unary[kept], rows[n_features:]]))
    return replace(predictor, w=w, n_features=len(kept), vocabulary=vocabulary, known=None).compact()
