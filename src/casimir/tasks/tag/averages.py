"""Two taggers as one, whose scores are the means of theirs.

Of parts of speech they make different mistakes if one knows what frequent words were in training and the other does
not. Scores are linear in the weights, so the mean of two taggers is a tagger like any other. Each is trained to its
certified gap; what is told of the training is that of the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import numpy as np

from casimir.estimators.known_features import KnownFeatures
from casimir.estimators.predictor import ChainPredictor
from casimir.models.weight_rows import CHAIN_ENDS, WeightRows
from casimir.scores import FloatArray, IntArray


def mean_of(predictors: Sequence[ChainPredictor]) -> ChainPredictor:
    """The first predictor with the mean of all weights; all have the same features and labels, in the same order."""
    first = predictors[0]
    assert all((one.n_features, one.classes) == (first.n_features, first.classes) for one in predictors)
    used: IntArray = reduce(np.union1d, map(_used, predictors))
    total = np.zeros((len(used) + len(first.classes) + CHAIN_ENDS, len(first.classes)))
    for one in predictors:
        mine, rows = _used(one), _rows(one)
        total[np.searchsorted(used, mine)] += rows[: len(mine)]
        total[len(used) :] += rows[len(mine) :]
    total /= len(predictors)
    w = WeightRows(len(used), len(first.classes), CHAIN_ENDS).weights(total)
    known = None if len(used) == first.n_features else KnownFeatures(first.n_features, used)
    return replace(first, w=w, known=known)


def _used(one: ChainPredictor) -> IntArray:
    """The features that have a row."""
    return np.arange(one.n_features) if one.known is None else one.known.used


def _rows(one: ChainPredictor) -> FloatArray:
    """float64[m + L + 2, L]: the weights of these m features, transitions, start, stop."""
    return WeightRows(len(_used(one)), len(one.classes), CHAIN_ENDS).rows(one.w)
