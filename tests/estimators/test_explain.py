"""Contributions add up to the scores of both outputs, whatever the features are called and numbered."""

from __future__ import annotations

import math
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import casimir as cs
from casimir.estimators.words import words_of

X = [
    [{"word": "Ada", "title": True, "length": 0.6}, {"word": "met", "length": 0.6}, {"word": "Bob", "title": True}],
    [{"word": "Paris", "title": True}, {"word": "is", "in": ["a", "b"]}, {"word": "<large>"}],
    [{"word": "Bob", "title": True}, {"word": "slept"}],
]
Y = [["PER", "O", "PER"], ["LOC", "O", "O"], ["PER", "O"]]


def fitted(**parameters: Any) -> cs.SequenceTagger:
    return cs.SequenceTagger(**parameters).fit(X, Y)


@pytest.mark.parametrize("n_features", [None, 4, 2**12])  # 4: nearly all features share a bucket
@pytest.mark.parametrize("x", [X[0], X[2][:1], [{"word": "Unseen", "title": True}, {"word": "met", "length": 3}]])
def test_contributions_add_up_to_both_scores(n_features: int | None, x: list[Any]) -> None:
    tagger = fitted(n_features=n_features)
    found = tagger.explain(x)
    (best, score, chance), (second, other, other_chance) = tagger.predict_topk([x], 2, probabilities=True)[0]
    assert (found.labels, found.other) == (best, second)
    assert (found.score, found.other_score) == pytest.approx((score, other))
    assert math.fsum(row.contribution for row in found.contributions) == found.score
    assert math.fsum(row.other for row in found.contributions) == found.other_score
    assert math.fsum(row.difference for row in found.contributions) == pytest.approx(found.margin)
    assert (found.probability, found.other_probability) == pytest.approx((chance, other_chance))
    by_token = found.by_token()
    assert sum(row[3] for row in by_token) == pytest.approx(score)
    assert sum(row[5] for row in by_token) == pytest.approx(other)


def test_every_feature_has_a_row_with_its_name_and_its_weight() -> None:
    tagger = fitted(n_features=None)
    found = tagger.explain(X[0])
    rows = {(row.token, row.feature): row for row in found.contributions}
    assert {name for token, name in rows if token == 0} == {"word=Ada", "title", "length", "first label"}
    column = list(tagger.classes_).index(found.labels[0])
    weight = tagger.coef_[tagger.predictor_.vocabulary.find("length"), column]
    assert rows[0, "length"].contribution == pytest.approx(0.6 * weight)
    hashed = fitted().explain(X[0])
    assert {(row.token, row.feature) for row in hashed.contributions} == set(rows)


def test_any_labels_can_be_held_against_any_others() -> None:
    tagger = fitted()
    found = tagger.explain(X[2], labels=["O", "O"], against=["LOC", "PER"])
    every = {tuple(labels): score for labels, score in tagger.predict_topk([X[2]], 9)[0]}
    assert (found.score, found.other_score) == pytest.approx((every["O", "O"], every["LOC", "PER"]))
    assert found.differing == [0, 1]
    wrong = tagger.explain(X[2], labels=["O", "O"])
    assert wrong.other == tagger.predict([X[2]])[0]


def test_label_scores_are_those_of_the_model() -> None:
    tagger = fitted()
    found, packed = tagger.explain(X[0]), cs.pack(X[:1])
    model = cs.LinearChainModel(packed, 3)
    expected = model.scores(model.weights.weights(tagger.predictor_.rows)).nodes
    np.testing.assert_allclose(found.label_scores, expected, atol=1e-12)


def test_packed_sentences_are_explained_by_the_names_that_are_known() -> None:
    kept = fitted(keep_names=True)
    named = kept.explain(cs.pack(X[:1]))
    assert {row.feature for row in named.contributions if row.token == 1} >= {"word=met", "length"}
    assert named.score == pytest.approx(kept.explain(X[0]).score)
    assert all("bucket" in row.feature for row in fitted().explain(cs.pack(X[:1])).contributions[:3])


def test_text_and_html_show_what_decides() -> None:
    found = fitted(n_features=None).explain(X[1], ["LOC", "O", "O"], against=["LOC", "O", "PER"])
    text = str(found)
    assert all(part in text for part in ("Paris/LOC", "probability", "word=<large>"))
    html = found._repr_html_()
    assert "&lt;large&gt;" in html
    assert "<large>" not in html
    HTMLParser().feed(html)
    assert [row[0] for row in found.table(2)] == [0, 0, 1, 1, 2, 2]


def test_a_single_output_has_no_runner_up() -> None:
    tagger = cs.SequenceTagger().fit([[["a"]]], [["X"]])
    found = tagger.explain([["a"]])
    assert (found.other, found.other_probability, found.probability) == (None, 0.0, 1.0)
    assert "X" in str(found)


def test_what_cannot_be_explained_is_named() -> None:
    tagger = fitted()
    with pytest.raises(ValueError, match="label '\\?' was not seen"):
        tagger.explain(X[2], labels=["?", "O"])
    with pytest.raises(ValueError, match="one sentence; got 3"):
        tagger.explain(cs.pack(X))
    with pytest.raises(ValueError, match="2 tokens and 1 label"):
        tagger.explain(X[2], labels=["O"])


def test_words_are_found_in_the_features() -> None:
    assert words_of([{"form": "Ada"}, {"x": 1}, ["w[0]=met", "b"], ["=x"], "abc"]) == ["Ada", "2", "met", "4", "5"]
