"""Paths of lam, and the lam that is chosen on one."""

from __future__ import annotations

import numpy as np
import pytest

import casimir as cs
from casimir.datasets import load_news
from casimir.estimators import path
from casimir.metrics import f1_score
from casimir.tasks.ner import extract, read_conll


@pytest.fixture(scope="module")
def data() -> tuple[list, list, list, list]:
    news = load_news()
    train, dev = read_conll(news.train), read_conll(news.heldout)
    return extract(train.sentences[:150]), train.labels[:150], extract(dev.sentences[:80]), dev.labels[:80]


def test_a_path_on_a_dev_set_is_the_models_one_by_one(data: tuple) -> None:
    X, y, X_dev, y_dev = data
    n = len(X)
    found = path(cs.SequenceTagger(tol=1e-4), X, y, lams=[0.3 / n, 30 / n], X_dev=X_dev, y_dev=y_dev)
    assert [point.lam_n for point in found] == pytest.approx([30.0, 0.3])
    for point, model in zip(found, found.estimators, strict=True):
        alone = cs.SequenceTagger(lam=point.lam, tol=1e-4).fit(X, y)
        assert point.gap <= 1e-4
        assert point.objective == pytest.approx(alone.objective_, rel=2e-4)
        assert point.score == f1_score(y_dev, model.predict(X_dev))
        assert point.n_nonzero == np.count_nonzero(model.predictor_.w)


def test_a_path_goes_on_while_the_best_is_at_an_end(data: tuple) -> None:
    def smaller_is_better(tagger: cs.SequenceTagger, X: object, y: object) -> float:
        return -abs(np.log10(tagger.lam * 150 / 0.095))

    found = path(cs.SequenceTagger(tol=0.1), *data[:2], X_dev=data[2], y_dev=data[3], scoring=smaller_is_better)
    assert found["lam_n"] == pytest.approx([30, 10, 3, 1, 0.3, 0.3 / 10**0.5, 0.03])
    assert found.best.lam_n == pytest.approx(0.3 / 10**0.5)


def test_folds_hold_out_every_sentence_once(data: tuple) -> None:
    seen: list[tuple[int, int]] = []

    def note(tagger: cs.SequenceTagger, X: cs.PackedSequences, y: list) -> float:
        assert [len(tags) for tags in y] == X.lengths.tolist()
        seen.append((len(X), X.n_tokens))
        return 0.0

    X, y = data[:2]
    found = path(cs.SequenceTagger(tol=0.1), X, y, lams=[0.1], scoring=note, cv=4)
    assert (sum(n for n, _ in seen), sum(tokens for _, tokens in seen)) == (150, sum(map(len, y)))
    assert found.best_estimator is None


def test_auto_takes_the_best_lam_of_the_path_and_all_the_data(data: tuple) -> None:
    X, y, X_dev, y_dev = data
    tagger = cs.SequenceTagger("auto").fit(X, y, X_dev=X_dev, y_dev=y_dev)
    assert tagger.lam == "auto"
    assert tagger.lam_ == tagger.path_.best.lam
    assert tagger.path_.best.score == max(tagger.path_["score"])
    by_folds = cs.SequenceTagger("auto", scoring="flat_accuracy").fit(X, y)
    assert by_folds.lam_ == by_folds.path_.best.lam
    assert by_folds.gap_ <= 1e-2


def test_of_two_equal_scores_the_larger_lam_wins(data: tuple) -> None:
    found = path(
        cs.SequenceTagger(tol=0.1), *data[:2], lams=[0.01, 0.1], X_dev=data[2], y_dev=data[3], scoring=lambda *_: 0.5
    )
    assert found.best.lam == 0.1


def test_a_solver_that_starts_at_zero_has_a_path_too(data: tuple) -> None:
    found = path(cs.SequenceTagger(solver="bcfw", tol=0.5), *data[:2], lams=[1.0, 0.5], X_dev=data[2], y_dev=data[3])
    assert len(found) == 2


def test_the_default_is_five_over_n_and_three_for_a_crf(data: tuple) -> None:
    assert cs.SequenceTagger(tol=0.1, loss="crf").fit(*data[:2]).lam_ == 3.0 / 150
    assert cs.SequenceTagger(tol=0.1).fit(*data[:2]).lam_ == 5.0 / 150


@pytest.mark.parametrize(
    ("options", "message"),
    [({"lams": []}, "lams is empty"), ({"cv": 1}, "cv=1"), ({"X_dev": [[["a"]]]}, "come together")],
)
def test_bad_options_are_refused(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        path(cs.SequenceTagger(), [[["a"]], [["b"]], [["a"]]], [["A"], ["B"], ["A"]], **options)


def test_another_word_for_lam_is_refused() -> None:
    with pytest.raises(ValueError, match="lam='best'"):
        cs.SequenceTagger("best").fit([[["a"]]], [["A"]])
