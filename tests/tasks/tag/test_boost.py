"""A boost lowers the score of O at every token, exactly, and the best one is found by F1."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import casimir as cs
from casimir.estimators.predictor import ChainPredictor
from casimir.features import pack
from casimir.tasks.ner import entity_scores
from casimir.tasks.tag.boost import best_boost, boosted, parse_boost

CLASSES = ("B-X", "I-X", "O")


def random_predictor(seed: int) -> ChainPredictor:
    rng = np.random.default_rng(seed)
    return ChainPredictor.of_rows(rng.normal(size=(8 + 3 + 2, 3)), CLASSES, None)


def sentences(seed: int, n: int = 12) -> list[list[list[str]]]:
    rng = np.random.default_rng(seed)
    return [[[f"f{k}" for k in rng.integers(0, 30, size=2)] for _ in range(rng.integers(1, 5))] for _ in range(n)]


def best_by_enumeration(predictor: ChainPredictor, tokens: list[list[str]], boost: float) -> list[str]:
    X = predictor.pack([tokens])
    scores = np.zeros((len(tokens), 3))
    for t in range(len(tokens)):
        for feature in X.indices[X.indptr[t] : X.indptr[t + 1]]:
            scores[t] += predictor.unary[feature]
    scores[0] += predictor.ends[0]
    scores[-1] += predictor.ends[1]
    scores[:, CLASSES.index("O")] -= boost

    def total(y: tuple[int, ...]) -> float:
        steps = sum(predictor.transitions[a, b] for a, b in itertools.pairwise(y))
        return float(sum(scores[t, j] for t, j in enumerate(y)) + steps)

    best = max(itertools.product(range(3), repeat=len(tokens)), key=total)
    return [CLASSES[j] for j in best]


@pytest.mark.parametrize("boost", [0.0, 0.7, -1.3])
def test_a_boost_counts_once_for_every_o(boost: float) -> None:
    predictor = random_predictor(0)
    X = sentences(1)
    before = predictor.w.copy()
    found = boosted(predictor, boost).predict(X)
    assert found == [best_by_enumeration(predictor, tokens, boost) for tokens in X]
    np.testing.assert_array_equal(predictor.w, before)


@pytest.mark.parametrize("shift", [0.6, -0.8])
def test_a_tagger_that_is_too_shy_or_too_eager_is_set_right(shift: float) -> None:
    predictor = random_predictor(2)
    X = pack(sentences(3, n=300), n_features=8)
    truth = predictor.predict(X)
    wrong = boosted(predictor, shift)
    boost = best_boost(wrong, X, truth)
    assert boost == pytest.approx(-shift)
    assert entity_scores(truth, boosted(wrong, boost).predict(X)).f1 == 1.0


def test_a_gain_that_is_noise_changes_nothing() -> None:
    predictor = random_predictor(4)
    X = pack(sentences(5, n=50), n_features=8)
    assert best_boost(predictor, X, predictor.predict(X)) == 0.0


def test_labels_without_o_have_no_boost() -> None:
    X = [[["a"], ["b"]]]
    tagger = cs.SequenceTagger(n_features=16).fit(X, [["N", "V"]])
    assert best_boost(tagger.predictor_, tagger.predictor_.pack(X), [["N", "V"]]) == 0.0
    assert boosted(tagger.predictor_, 1.0) is tagger.predictor_


@pytest.mark.parametrize("text", ["", "nan", "inf", "much"])
def test_a_boost_is_a_number_or_auto(text: str) -> None:
    assert (parse_boost("auto"), parse_boost("-0.5")) == ("auto", -0.5)
    with pytest.raises(ValueError, match="--boost"):
        parse_boost(text)
