"""Probabilities of labels, pairs, spans and sequences, each against the list of all outputs of a small sentence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import casimir as cs
from casimir.estimators import confidence
from casimir.tasks.ner import spans as scorer_spans

WORDS = {"B-PER": ["Ada", "Bob"], "I-PER": ["Lee"], "B-LOC": ["Paris", "Lee"], "O": ["met", "in", "saw"]}


def sentences(n: int = 40, seed: int = 0) -> tuple[list[list[dict[str, Any]]], list[list[str]]]:
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        labels = ["B-PER", "I-PER", "O", "B-LOC", "O", "B-PER"][int(rng.integers(0, 2)) :][: int(rng.integers(3, 6))]
        labels = ["B-PER" if label == "I-PER" and k == 0 else label for k, label in enumerate(labels)]
        X.append([{"word": str(rng.choice(WORDS[label])), "first": k == 0} for k, label in enumerate(labels)])
        y.append(labels)
    return X, y


X, Y = sentences()


@pytest.fixture(scope="module", params=["hinge", "crf", "calibrated"])
def tagger(request: pytest.FixtureRequest) -> cs.SequenceTagger:
    loss = "hinge" if request.param == "calibrated" else request.param
    made = cs.SequenceTagger(loss=loss, n_features=2**10).fit(X, Y)
    if request.param == "calibrated":
        made.predictor_ = cs.estimators.predictor.ChainPredictor(
            made.predictor_.w, made.predictor_.classes, 2**10, None, temperature=0.4
        )
    return made


def distribution(tagger: cs.SequenceTagger, x: list[Any]) -> list[tuple[list[Any], float]]:
    """All label sequences of a sentence and their probabilities, from scores alone."""
    every = tagger.predict_topk([x], len(tagger.classes_) ** len(x))[0]
    weights = np.exp((np.array([score for _, score in every]) - every[0][1]) / tagger.temperature_)
    return [(labels, weight) for (labels, _), weight in zip(every, weights / weights.sum(), strict=True)]


def test_marginals_of_labels_and_pairs(tagger: cs.SequenceTagger) -> None:
    x, place = X[0][:4], {label: j for j, label in enumerate(tagger.classes_)}
    nodes, edges = np.zeros((len(x), len(place))), np.zeros((len(x) - 1, len(place), len(place)))
    for labels, weight in distribution(tagger, x):
        for t, label in enumerate(labels):
            nodes[t, place[label]] += weight
            if t:
                edges[t - 1, place[labels[t - 1]], place[label]] += weight
    np.testing.assert_allclose(tagger.predict_marginals([x])[0], nodes, atol=1e-10)
    np.testing.assert_allclose(tagger.predict_transition_marginals([x])[0], edges, atol=1e-10)


def test_marginals_as_dicts_and_of_one_sentence_are_the_same_numbers(tagger: cs.SequenceTagger) -> None:
    tables = tagger.predict_marginals(X[:5])
    for table, rows, x in zip(tables, tagger.predict_marginals(X[:5], as_dicts=True), X, strict=False):
        assert [list(row) for row in rows] == [list(tagger.classes_)] * len(x)
        assert [list(row.values()) for row in rows] == table.tolist()
        assert np.array_equal(tagger.predict_marginals_single(x), table)
        assert tagger.predict_marginals_single(x, as_dicts=True) == rows


def test_spans_are_those_of_the_prediction_with_their_exact_probability(tagger: cs.SequenceTagger) -> None:
    for x, labels, spans in zip(X[:8], tagger.predict(X[:8]), tagger.predict_spans(X[:8]), strict=True):
        assert [span[:3] for span in spans] == [tuple(span) for span in scorer_spans(labels)]
        every = distribution(tagger, x)
        for span in spans:
            start, end, kind, probability = span
            expected = sum(weight for other, weight in every if (start, end, kind) in scorer_spans(other))
            assert probability == span.probability == pytest.approx(expected, abs=1e-10)
    assert any(tagger.predict_spans(X[:8]))


def test_topk_with_probabilities(tagger: cs.SequenceTagger) -> None:
    x = X[1][:3]
    plain, told = tagger.predict_topk([x], 5)[0], tagger.predict_topk([x], 5, probabilities=True)[0]
    assert [(labels, score) for labels, score, _ in told] == plain
    expected = [weight for _, weight in distribution(tagger, x)[:5]]
    np.testing.assert_allclose([probability for _, _, probability in told], expected, atol=1e-10)


def test_log_partition_and_sequence_probability(tagger: cs.SequenceTagger) -> None:
    x = X[1][:3]
    scores = np.array([score for _, score in tagger.predict_topk([x], 4**3)[0]]) / tagger.temperature_
    assert tagger.log_partition([x])[0] == pytest.approx(np.log(np.exp(scores).sum()))
    for labels, weight in distribution(tagger, x)[::7]:
        assert np.exp(tagger.sequence_log_proba([x], [labels])[0]) == pytest.approx(weight)
    assert tagger.sequence_log_proba([x], [["B-PER", "?", "O"]])[0] == -np.inf


def test_sentences_in_parts_give_the_same(tagger: cs.SequenceTagger, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = cs.pack(X, 2**10)

    def everything() -> list[Any]:
        found = tagger.predict_marginals(packed), tagger.predict_transition_marginals(packed)
        return [
            *found,
            tagger.sequence_log_proba(packed, Y),
            tagger.predict_spans(packed),
            tagger.predict_topk(packed, 2),
        ]

    whole = everything()
    monkeypatch.setattr(confidence, "_CELLS", 100)
    for one, other in zip(whole, everything(), strict=True):
        for a, b in zip(one, other, strict=True):
            assert np.array_equal(a, b) if isinstance(a, np.ndarray | float) else a == b


def test_a_kept_predictor_has_probabilities_too() -> None:
    kept: list[Any] = []
    tagger = cs.SequenceTagger(n_features=2**10).fit(X, Y, callbacks=[lambda row, predictor: kept.append(predictor)])
    assert kept[-1].predict_spans(X[:2])[0][0][:3] == tagger.predict_spans(X[:2])[0][0][:3]


def test_spans_of_other_labels_are_refused() -> None:
    with pytest.raises(ValueError, match="writes no span"):
        cs.SequenceTagger().fit([[["a"], ["b"]]], [["NN", "VB"]]).predict_spans([[["a"]]])


def test_native_scores_are_those_of_the_model() -> None:
    for n_features in (None, 64):
        tagger = cs.SequenceTagger(n_features=n_features).fit(X, Y)
        packed = tagger.predictor_.pack(X)
        (native,) = confidence.scored(tagger.predictor_, packed)
        composed = cs.LinearChainModel(packed, len(tagger.classes_)).scores(tagger.predictor_.w)
        np.testing.assert_allclose(native.nodes, composed.nodes, rtol=1e-12, atol=1e-12)
        assert np.array_equal(native.edges, composed.edges)


ONE_LOC = cs.Automaton({"none": {"B-LOC": "one", "*": "none"}, "one": {"B-LOC": None, "*": "one"}})


RULES = [None, "auto", [("O", "I-PER"), ("B-LOC", "B-PER")], ONE_LOC, ["auto", ONE_LOC]]


@pytest.mark.parametrize("constraints", RULES)
def test_native_best_outputs_are_those_of_the_structure(constraints: Any) -> None:
    """Of the same scores, with the same rules; and log Z alone is that of the marginals."""
    tagger = cs.SequenceTagger(loss="crf", n_features=2**10, constraints=constraints, tol=0.1).fit(X, Y)
    tagger.predictor_ = replace(tagger.predictor_, temperature=0.7)
    packed = cs.pack(X, 2**10)
    (s,) = confidence.scored(tagger.predictor_, packed)
    chain, classes = tagger.predictor_.chain, tagger.predictor_.classes
    top, log_z = chain.topk(s, 7), chain.expect(s, 0.7).value
    np.testing.assert_allclose(chain.log_sum(s, 0.7), log_z, rtol=1e-12)
    np.testing.assert_allclose(tagger.log_partition(packed), log_z / 0.7, rtol=1e-12)
    for i, ranked in enumerate(tagger.predict_topk(packed, 7, probabilities=True)):
        assert [labels for labels, _, _ in ranked] == [[classes[j] for j in y] for y in top.outputs[i].tolist()]
        scores = np.array([score for _, score, _ in ranked])
        np.testing.assert_allclose(scores, top.value[i][: len(ranked)], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose([p for _, _, p in ranked], np.exp((scores - log_z[i]) / 0.7), rtol=1e-9)


def test_scores_that_are_not_finite_are_refused() -> None:
    tagger = cs.SequenceTagger(n_features=2**6).fit(X, Y)
    tagger.predictor_ = replace(tagger.predictor_, w=np.full_like(tagger.predictor_.w, 1e308))
    with pytest.raises(ValueError, match="the best scores of a sentence are NaN or infinite"):
        tagger.predict_topk(X, 2)
    with pytest.raises(ValueError, match="k=0; it must be a whole number"):
        tagger.predict_topk(X, 0)
