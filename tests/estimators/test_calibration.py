"""The temperature is the minimum of the log loss, it travels with the model, and reliability is counted by hand."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import casimir as cs
from casimir.estimators.calibration import Reliability, span_outcomes, token_outcomes
from casimir.tasks.ner import spans


def noisy(n: int, seed: int) -> tuple[list[Any], list[Any]]:
    """Every tenth label or so is not what the word says."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        words = rng.integers(0, 30, size=int(rng.integers(2, 7)))
        wrong = rng.random(len(words)) < 0.1
        y.append([("B-X", "O", "B-Y")[int(w + k) % 3] for w, k in zip(words, wrong, strict=True)])
        X.append([[f"w={w}"] for w in words])
    return X, y


X, Y = noisy(120, 0)
X_DEV, Y_DEV = noisy(120, 1)


@pytest.mark.parametrize("loss", ["hinge", "crf"])
def test_the_temperature_minimises_the_log_loss(loss: str) -> None:
    tagger = cs.SequenceTagger(loss=loss, n_features=2**10, lam=0.1 / len(X)).fit(X, Y)
    assert tagger.temperature_ == 1.0
    before, raw = tagger.predict(X_DEV), tagger.sequence_log_proba(X_DEV, Y_DEV).mean()
    assert tagger.calibrate(X_DEV, Y_DEV) is tagger
    assert tagger.predict(X_DEV) == before
    best, found = tagger.sequence_log_proba(X_DEV, Y_DEV).mean(), tagger.temperature_
    assert best > raw
    for other in (0.98 * found, 1.02 * found):
        object.__setattr__(tagger.predictor_, "temperature", other)
        assert tagger.sequence_log_proba(X_DEV, Y_DEV).mean() < best


def test_calibration_brings_confidence_and_accuracy_together() -> None:
    X_test, y_test = noisy(300, 2)
    tagger = cs.SequenceTagger(n_features=2**10, lam=0.01 / len(X)).fit(X, Y)
    errors = []
    for _ in range(2):
        errors.append(
            [Reliability.of(*f(tagger, X_test, y_test)).expected_error for f in (token_outcomes, span_outcomes)]
        )
        tagger.calibrate(X_DEV, Y_DEV)
    assert errors[1][0] < 0.5 * errors[0][0]
    assert errors[1][1] < 0.5 * errors[0][1]


def test_the_temperature_is_saved_and_fit_forgets_it(tmp_path: Path) -> None:
    tagger = cs.SequenceTagger(n_features=2**10).fit(X, Y).calibrate(X_DEV, Y_DEV)
    tagger.save(tmp_path / "model")
    again = cs.load(tmp_path / "model")
    assert again.temperature_ == tagger.temperature_ != 1.0
    assert np.array_equal(again.predict_marginals(X[:1])[0], tagger.predict_marginals(X[:1])[0])
    assert tagger.fit(X, Y).temperature_ == 1.0


def test_labels_not_seen_in_fit_are_left_out_with_a_warning() -> None:
    tagger = cs.SequenceTagger(n_features=2**10).fit(X, Y)
    strange = [["?"] * len(labels) for labels in Y_DEV[:3]]
    with pytest.warns(UserWarning, match="3 of 120 sentences") as caught:
        tagger.calibrate(X_DEV, strange + Y_DEV[3:])
    assert caught[0].filename == __file__
    found = tagger.temperature_
    assert tagger.calibrate(X_DEV[3:], Y_DEV[3:]).temperature_ == pytest.approx(found)
    with pytest.raises(ValueError, match="no sentence whose labels"):
        tagger.calibrate(X_DEV[:3], strange)


def test_sentences_without_mistakes_do_not_tell_a_temperature() -> None:
    tagger = cs.SequenceTagger(n_features=2**10).fit(X, Y)
    with pytest.warns(UserWarning, match="nearly all of the 5 sentences are right") as caught:
        assert tagger.calibrate(X[:5], tagger.predict(X[:5])).temperature_ == 1.0
    assert caught[0].filename == __file__


def test_reliability_counts_every_prediction_once() -> None:
    found = Reliability.of([True, False, True, True], [0.05, 0.15, 0.12, 1.0], n_bins=10)
    assert found.counts.tolist() == [1, 2, 1]
    np.testing.assert_allclose(found.confidence, [0.05, 0.135, 1.0])
    np.testing.assert_allclose(found.accuracy, [1.0, 0.5, 1.0])
    assert found.expected_error == pytest.approx((0.95 + 2 * 0.365) / 4)


def test_outcomes_are_those_of_predictions() -> None:
    tagger = cs.SequenceTagger(n_features=2**10).fit(X, Y)
    right, sure = token_outcomes(tagger, X_DEV, Y_DEV)
    assert right.mean() == tagger.score(X_DEV, Y_DEV)
    assert np.all((sure > 1 / 3) & (sure <= 1))  # where labels hardly depend on one another
    right, sure = span_outcomes(tagger, X_DEV, Y_DEV)
    predicted = [spans(labels) for labels in tagger.predict(X_DEV)]
    both = sum(len(set(a) & set(spans(b))) for a, b in zip(predicted, Y_DEV, strict=True))
    assert (len(right), right.sum()) == (sum(map(len, predicted)), both)


@pytest.mark.parametrize(
    ("right", "sure", "message"),
    [([True], [], "1 outcomes and 0"), ([True], [1.5], "between 0 and 1"), ([], [], "1 at least")],
)
def test_bad_outcomes_are_named(right: list[bool], sure: list[float], message: str) -> None:
    with warnings.catch_warnings(), pytest.raises(ValueError, match=message):
        Reliability.of(right, sure)
