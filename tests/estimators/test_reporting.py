"""What a report tells about a tagger is what the tagger itself says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import casimir as cs
from casimir.estimators import confidence
from casimir.estimators.calibration import Reliability, span_outcomes, token_outcomes

X = [
    [{"word": "Ada"}, {"word": "met"}, {"word": "Bob"}],
    [{"word": "Paris"}, {"word": "is"}, {"word": "large"}],
    [{"word": "Lee"}, {"word": "slept"}],
]
Y = [["B-PER", "O", "B-PER"], ["B-LOC", "O", "O"], ["B-PER", "O"]]


@pytest.fixture
def tagger() -> cs.SequenceTagger:
    return cs.SequenceTagger(lam=1 / len(X), loss="crf").fit(X, Y)


def test_sentences_are_those_of_the_predictions(tagger: cs.SequenceTagger, monkeypatch: pytest.MonkeyPatch) -> None:
    gold = [["B-PER", "O", "B-LOC"], ["B-LOC", "O", "B-NEW"], ["O", "O"]]
    whole = tagger.report(X, gold).data.sentences
    monkeypatch.setattr(confidence, "_CELLS", 20)
    assert tagger.report(X, gold).data.sentences == whole
    predicted, tables, spans = tagger.predict(X), tagger.predict_marginals(X), tagger.predict_spans(X)
    likely, chances = tagger.sequence_log_proba(X, gold), tagger.sequence_log_proba(X, predicted)
    for i, one in enumerate(whole):
        assert [*one.words] == [token["word"] for token in X[i]]
        assert (one.gold, one.predicted, one.spans) == (gold[i], predicted[i], [tuple(span) for span in spans[i]])
        np.testing.assert_allclose(one.confidence, tables[i].max(axis=1))
        assert one.gold_log_probability == likely[i]
        assert one.log_probability == pytest.approx(chances[i])
        assert one.margin == (0.0 if gold[i] == predicted[i] else pytest.approx(chances[i] - likely[i]))
    assert whole[1].gold_spans == [(0, 1, "LOC"), (2, 3, "NEW")]


def test_calibration_and_facts(tagger: cs.SequenceTagger) -> None:
    data = tagger.report(X, Y, title="A page").data
    for curve, outcomes in zip(data.curves, (token_outcomes, span_outcomes), strict=True):
        expected = Reliability.of(*outcomes(tagger, X, Y))
        assert curve.error == pytest.approx(expected.expected_error)
        assert sum(curve.counts) == expected.counts.sum()
    assert data.facts["F1"] == "1.0000"
    assert data.facts["token accuracy"] == f"{tagger.score(X, Y):.4f}"
    assert data.facts["certified gap"] == f"{tagger.gap_:.2e}"
    assert data.title == "A page"
    assert np.array_equal(data.transitions, tagger.transitions_)
    assert data.trace["gap"][-1] == tagger.gap_


@pytest.mark.parametrize("packed", [False, True])
def test_words_may_be_given_and_are_else_guessed(tagger: cs.SequenceTagger, packed: bool) -> None:
    given: Any = cs.pack(X) if packed else iter(X)
    first = tagger.report(given, Y).data.sentences[0]
    assert [*first.words] == (["1", "2", "3"] if packed else ["Ada", "met", "Bob"])
    words = [["x"] * len(labels) for labels in Y]
    assert tagger.report(X, Y, words=words).data.sentences[2].words == ["x", "x"]


def test_labels_without_spans_have_tokens_alone() -> None:
    tagger = cs.SequenceTagger().fit(X, [["N"] * len(x) for x in X[:2]] + [["N", "V"]])
    data = tagger.report(X, Y).data
    assert data.sentences[0].spans is None
    assert [curve.name for curve in data.curves] == ["tokens"]
    assert "F1" not in data.facts
