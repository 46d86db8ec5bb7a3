"""What a report tells about a tagger is what the tagger itself says."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import casimir as cs
from casimir.estimators import confidence
from casimir.estimators.calibration import Reliability, span_outcomes, token_outcomes
from casimir.estimators.spans import spans_of

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
        assert one.gold_log_probability == pytest.approx(likely[i])
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


ONE_PERSON = cs.Automaton({"none": {"B-PER": "one", "*": "none"}, "one": {"B-PER": None, "*": "one"}})
NO_INSIDE_AFTER_O = [("O", "I-PER")]


def has_one_person(labels: list[str]) -> bool:
    return labels.count("B-PER") <= 1


def begins_spans(labels: list[str]) -> bool:
    """Whether every I-PER stands behind B-PER or I-PER."""
    return all(b != "I-PER" or a in ("B-PER", "I-PER") for a, b in zip(["O", *labels], labels, strict=False))


CONSTRAINTS = {
    "detected": ("auto", begins_spans),
    "named": ("IOB2", begins_spans),
    "pairs": (NO_INSIDE_AFTER_O, lambda y: ("O", "I-PER") not in itertools.pairwise(y)),
    "automaton": (ONE_PERSON, has_one_person),
    "both": (["auto", ONE_PERSON], lambda y: begins_spans(y) and has_one_person(y)),
}
NAMES = [*X, [{"word": "Ada"}, {"word": "Lee"}, {"word": "slept"}]]
VALID = [["B-PER", "O", "O"], *Y[1:], ["B-PER", "I-PER", "O"]]
GOLD = [["B-PER", "O", "B-PER"], ["I-PER", "O", "O"], ["O", "I-PER"], ["B-PER", "I-PER", "O"]]


@pytest.mark.parametrize("y", [VALID, [[None, "O", {"O", "B-PER"}], *VALID[1:]]], ids=["labelled", "partly"])
@pytest.mark.parametrize("name", CONSTRAINTS)
def test_a_report_knows_what_the_rules_of_labels_allow(name: str, y: Any) -> None:
    """Probabilities are those among the valid sequences; gold labels that break the rules have none."""
    constraints, is_valid = CONSTRAINTS[name]
    tagger = cs.SequenceTagger(loss="crf", constraints=constraints, tol=1e-2).fit(NAMES, y)
    free = replace(tagger.predictor_, rules=None)
    broken = 0
    report = tagger.report(NAMES, GOLD)
    for x, gold, one in zip(NAMES, GOLD, report.data.sentences, strict=True):
        every = [found for found in free.predict_topk([x], 4**3)[0] if is_valid(found[0])]
        weights = np.exp([score for _, score in every])
        chances = weights / weights.sum()
        assert one.predicted == every[0][0] == tagger.predict_single(x)
        assert one.log_probability == pytest.approx(np.log(chances[0]))
        true = sum(chance for (labels, _), chance in zip(every, chances, strict=True) if labels == gold)
        broken += true == 0.0
        assert np.exp(one.gold_log_probability) == pytest.approx(true)
        for t, label in enumerate(one.predicted):
            sure = sum(chance for (labels, _), chance in zip(every, chances, strict=True) if labels[t] == label)
            assert one.confidence[t] == pytest.approx(sure)
        for span in one.spans:
            with_it = (c for (labels, _), c in zip(every, chances, strict=True) if span[:3] in spans_of(labels))
            assert span.probability == pytest.approx(sum(with_it))
    assert 0 < broken < len(GOLD)
    page = report._repr_html_()
    assert page.count("the tagger cannot give the true labels") == broken
    assert not {"nan", "inf", "Infinity"} & set(page.replace("<", " ").replace(">", " ").split())


def test_a_report_needs_labels_that_are_known(tagger: cs.SequenceTagger) -> None:
    for unknown, given in ((None, "None"), ({"O", "B-PER"}, "a set of 2")):
        with pytest.raises(ValueError, match=rf"y\[1\]\[2\] is {given}, and a report needs the one right label"):
            tagger.report(X, [Y[0], ["B-LOC", "O", unknown], Y[2]])
    with pytest.raises(ValueError, match=r"y\[0\]\[0\] is None"):
        tagger.report(X, [[None] * len(labels) for labels in Y])
