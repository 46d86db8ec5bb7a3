"""Probabilities that mean what they say: the temperature of a tagger, and how well its confidence fits the facts.

    T* = argmin_T  - sum_i log p_T(y_i | x_i),      p_T(y | x) ~ exp(score(x, y) / T)

on sentences that were not trained on. In 1/T this is convex, so one minimum is all there is. A temperature changes no
prediction, only how sure the tagger is of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from casimir._validate import positive_int
from casimir._warnings import warn
from casimir.estimators.confidence import Confidence, expected, scored, scores_of
from casimir.estimators.labels import LabelSequences
from casimir.estimators.predictor import ChainPredictor
from casimir.estimators.spans import spans_of
from casimir.scores import FloatArray, Scores

_LOW, _HIGH = 1e-3, 1e3  # temperatures that are looked at


def best_temperature(predictor: ChainPredictor, X: Any, y: Any) -> float:
    """The temperature at which labels y of sentences X are most likely."""
    from scipy.optimize import minimize_scalar

    batches = _scored_truths(predictor, X, y)
    n = sum(len(true) for _, true in batches)

    def loss(log_temperature: float) -> float:
        """The mean over sentences of - log p(y | x)."""
        t = math.exp(log_temperature)
        return sum(float(np.sum(predictor.chain.log_sum(s, t) - true)) for s, true in batches) / (t * n)

    edges = math.log(_LOW), math.log(_HIGH)
    found = minimize_scalar(loss, bounds=edges, options={"xatol": 1e-5})
    for edge, kind in zip(edges, ("right", "wrong"), strict=True):
        if loss(edge) <= found.fun + 1e-9:
            warn(
                f"All or nearly all of the {n} sentences are {kind}, so they do not tell how sure the tagger may be; "
                f"the temperature stays {predictor.temperature:g}. Calibrate on more sentences, not trained on.",
            )
            return predictor.temperature
    return math.exp(found.x)


def _scored_truths(predictor: ChainPredictor, X: Any, y: Any) -> list[tuple[Scores, FloatArray]]:
    """Scores of sentences and of their true labels; sentences whose labels the model cannot give are left out."""
    packed = predictor.pack(X)
    labels = LabelSequences.of(y, packed.offsets).places(predictor.classes).flat
    batches, first = [], 0
    for s in scored(predictor, packed):
        true = scores_of(predictor, s, labels[first : first + len(s.nodes)])
        first += len(s.nodes)
        possible = np.flatnonzero(np.isfinite(true))
        if len(possible):
            batches.append((s if len(possible) == len(s) else s.select(possible), true[possible]))
    left_out = len(packed) - sum(len(true) for _, true in batches)
    if left_out == len(packed):
        raise ValueError("calibrate got no sentence whose labels the model can give; y must have labels seen in fit.")
    if left_out:
        warn(
            f"{left_out} of {len(packed)} sentences have labels that were not seen in fit or are not allowed; they are "
            "left out of the calibration.",
        )
    return batches


@dataclass(frozen=True, eq=False)
class Reliability:
    """How often predictions are right, by how sure they are.

    confidence  float64[b]: the mean confidence of the predictions in each bin that has some
    accuracy    float64[b]: the share of them that is right
    counts      int64[b]: how many there are
    """

    confidence: FloatArray
    accuracy: FloatArray
    counts: npt.NDArray[np.int64]

    @classmethod
    def of(cls, right: Any, confidence: Any, n_bins: int = 10) -> Reliability:
        """right: bool[m], whether predictions are right; confidence: float64[m]; bins of equal width."""
        hits, sure = np.asarray(right, dtype=np.float64).ravel(), np.asarray(confidence, dtype=np.float64).ravel()
        if len(hits) != len(sure) or not len(sure):
            raise ValueError(
                f"there are {len(hits)} outcomes and {len(sure)} confidences; give as many of each, 1 at least."
            )
        if not (np.all(sure >= 0.0) and np.all(sure <= 1.0 + 1e-9)):
            raise ValueError(f"confidences lie between 0 and 1; these reach from {sure.min():.3g} to {sure.max():.3g}.")
        n_bins = positive_int(n_bins, "n_bins")
        place = np.minimum((sure * n_bins).astype(np.int64), n_bins - 1)
        counts = np.bincount(place, minlength=n_bins)
        used = np.flatnonzero(counts)
        mean_sure, mean_hits = (np.bincount(place, values, n_bins)[used] / counts[used] for values in (sure, hits))
        return cls(mean_sure, mean_hits, counts[used])

    @property
    def expected_error(self) -> float:
        """The expected calibration error: the mean distance of confidence and accuracy, over all predictions."""
        return float(np.sum(self.counts * np.abs(self.confidence - self.accuracy)) / self.counts.sum())


def token_outcomes(tagger: Confidence, X: Any, y: Sequence[Sequence[Any]]) -> tuple[npt.NDArray[np.bool_], FloatArray]:
    """(right bool[N], confidence float64[N]): every token's predicted label and its marginal probability."""
    predictor = tagger._fitted()
    X = predictor.pack(X)
    true = LabelSequences.of(y, X.offsets).places(predictor.classes).flat
    found = [(predictor.chain.max(s).outputs, soft.marginals.nodes) for s, soft in expected(predictor, X)]
    best = np.concatenate([labels for outputs, _ in found for labels in outputs])
    marginals = np.concatenate([nodes for _, nodes in found])
    return true == best, np.minimum(marginals[np.arange(len(best)), best], 1.0)


def span_outcomes(tagger: Confidence, X: Any, y: Sequence[Sequence[Any]]) -> tuple[npt.NDArray[np.bool_], FloatArray]:
    """(right bool[m], confidence float64[m]): every predicted span and its probability."""
    predicted, right, sure = tagger.predict_spans(X), [], []
    for spans, labels in zip(predicted, y, strict=True):
        true = set(spans_of(labels))
        right += [span[:3] in true for span in spans]
        sure += [span.probability for span in spans]
    return np.array(right, dtype=np.bool_), np.array(sure)
