"""Weights that do best on a dev set are kept, and training may end when they no longer get better."""

from __future__ import annotations

import numpy as np
import pytest

import casimir as cs
from casimir.datasets import load_news
from casimir.metrics import f1_score
from casimir.metrics.scorers import entity_recall
from casimir.tasks.ner import extract, read_conll


@pytest.fixture(scope="module")
def data() -> tuple[list, list, list, list]:
    news = load_news()
    train, dev = read_conll(news.train), read_conll(news.heldout)
    return extract(train.sentences[:200]), train.labels[:200], extract(dev.sentences[:100]), dev.labels[:100]


def fitted(data: tuple, **options: object) -> cs.SequenceTagger:
    X, y, X_dev, y_dev = data
    return cs.SequenceTagger(tol=1e-3, n_features=None, **options).fit(X, y, X_dev=X_dev, y_dev=y_dev)


def test_the_weights_that_do_best_on_the_dev_set_are_kept(data: tuple) -> None:
    tagger = fitted(data, lam=1e-4)
    assert len(tagger.dev_scores_) == len(tagger.trace_)
    best = int(np.argmax(tagger.dev_scores_))
    assert f1_score(data[3], tagger.predict(data[2])) == tagger.dev_scores_[best]
    assert tagger.best_epoch_ == tagger.trace_[best].epoch
    assert tagger.objective_ == tagger.trace_[best].objective
    assert tagger.gap_ == pytest.approx((tagger.objective_ - tagger.dual_) / tagger.objective_)


def test_the_gap_is_that_of_the_weights_that_are_kept(data: tuple) -> None:
    """A scorer that likes the first weights best: they are far from the optimum, and gap_ says so."""
    seen: list[float] = []

    def first_is_best(tagger: cs.SequenceTagger, X: object, y: object) -> float:
        seen.append(0.0)
        return -len(seen)

    tagger = fitted(data, scoring=first_is_best)
    assert tagger.best_epoch_ == tagger.trace_[0].epoch
    assert tagger.gap_ > 0.05 > 1e-3 >= (tagger.trace_[-1].objective - tagger.dual_) / tagger.trace_[-1].objective


def test_patience_ends_the_training(data: tuple) -> None:
    def never_better(tagger: cs.SequenceTagger, X: object, y: object) -> float:
        return 0.5

    tagger = fitted(data, scoring=never_better, patience=2)
    assert len(tagger.trace_) == 3
    assert tagger.status_ == "callback"


def test_scorers_of_scikit_learn_are_taken(data: tuple) -> None:
    tagger = fitted(data, scoring=entity_recall)
    assert max(tagger.dev_scores_) == entity_recall(tagger, data[2], data[3])


def test_plain_labels_are_scored_by_accuracy() -> None:
    X = [[{"w": word} for word in "abcab"], [{"w": word} for word in "bca"]]
    y = [list("ABCAB"), list("BCA")]
    tagger = cs.SequenceTagger().fit(X, y, X_dev=X, y_dev=y)
    assert tagger.dev_scores_[-1] == tagger.score(X, y)


def test_a_packed_dev_set_gives_the_same(data: tuple) -> None:
    X, y, X_dev, y_dev = data
    one = cs.SequenceTagger().fit(X, y, X_dev=X_dev, y_dev=y_dev)
    other = cs.SequenceTagger().fit(X, y, X_dev=cs.pack(X_dev), y_dev=y_dev)
    assert one.dev_scores_ == other.dev_scores_


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"X_dev": [[["a"]]]}, "come together"),
        ({"X_dev": [[["a"]]], "y_dev": [["A"], ["B"]]}, "X_dev has 1 sentences and y_dev 2"),
    ],
)
def test_a_dev_set_has_to_be_whole(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        cs.SequenceTagger().fit([[["a"], ["b"]]], [["A", "B"]], **options)


def test_an_unknown_scoring_is_refused() -> None:
    X, y = [[["a"], ["b"]]], [["A", "B"]]
    with pytest.raises(ValueError, match="scoring='f2'"):
        cs.SequenceTagger(scoring="f2").fit(X, y, X_dev=X, y_dev=y)
