"""Taggers with features of pairs of neighbouring labels."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import casimir as cs
from casimir.features import PackedSequences, pack
from casimir.vocabulary import Vocabulary

LABELS = ["a", "b", "c"]


def data(n: int = 40, seed: int = 0) -> tuple[PackedSequences, list[list[str]]]:
    """What follows a label is told by the gap before the token, which no feature of the token itself knows."""
    rng = np.random.default_rng(seed)
    tokens, gaps, y = [], [], []
    for _ in range(n):
        steps = rng.integers(0, 3, 6)
        start = int(rng.integers(3))
        labels = [(start + int(steps[: t + 1].sum() - steps[0])) % 3 for t in range(6)]
        tokens.append([[f"first={labels[0]}"] if t == 0 else ["word"] for t in range(6)])
        gaps.append([[f"gap={step}"] for step in steps])
        y.append([LABELS[label] for label in labels])
    words = Vocabulary(["word", *(f"first={j}" for j in range(3))])
    edges = pack(gaps, None, vocabulary=Vocabulary([f"gap={j}" for j in range(3)]))
    return pack(tokens, None, vocabulary=words).with_edges(edges), y


@pytest.fixture(scope="module", params=["hinge", "crf"])
def tagger(request: Any) -> cs.SequenceTagger:
    return cs.SequenceTagger(lam=1e-3, loss=request.param, tol=1e-2).fit(*data())


def new(tagger: cs.SequenceTagger, n: int = 5) -> tuple[PackedSequences, list[list[str]]]:
    """Other sentences in the vocabularies of the tagger."""
    X, y = data(n, seed=1)
    assert X.edges is not None
    assert X.edges.vocabulary == tagger.predictor_.pairs
    return X, y


def every_score(tagger: cs.SequenceTagger, X: PackedSequences) -> dict[tuple[str, ...], float]:
    """The scores of all outputs of one sentence, by the formula."""
    p, edges = tagger.predictor_, X.edges
    assert edges is not None
    found = {}
    for y in itertools.product(range(3), repeat=X.n_tokens):
        score = p.ends[0][y[0]] + p.ends[1][y[-1]]
        score += sum(p.unary[f, y[t]] for t in range(len(y)) for f in X.indices[X.indptr[t] : X.indptr[t + 1]])
        for t in range(1, len(y)):
            score += p.transitions[y[t - 1], y[t]]
            for f in edges.indices[edges.indptr[t] : edges.indptr[t + 1]]:
                score += p.edge_weights[f, y[t - 1], y[t]]
        found[tuple(p.classes[j] for j in y)] = float(score)
    return found


def test_what_pairs_tell_is_learnt(tagger: cs.SequenceTagger) -> None:
    X, y = new(tagger, 50)
    assert tagger.score(X, y) == 1.0
    without = cs.SequenceTagger(lam=1e-3, tol=1e-2, max_epochs=100).fit(X.with_edges(None), y)
    assert without.score(X.with_edges(None), y) < 0.8


def test_predictions_and_probabilities_are_those_of_all_outputs(tagger: cs.SequenceTagger) -> None:
    X, y = new(tagger)
    probabilities, best = tagger.predict_marginals(X, as_dicts=True), tagger.predict_topk(X, 3)
    for i in range(len(X)):
        scores = every_score(tagger, X[i])
        ranked = sorted(scores.items(), key=lambda one: -one[1])
        assert tuple(tagger.predict(X)[i]) == ranked[0][0]
        assert [value for _, value in best[i]] == pytest.approx([value for _, value in ranked[:3]])
        total = np.logaddexp.reduce(list(scores.values()))
        assert tagger.sequence_log_proba(X[i], [y[i]])[0] == pytest.approx(scores[tuple(y[i])] - total)
        for t, label in itertools.product(range(6), LABELS):
            mass = sum(np.exp(value - total) for out, value in scores.items() if out[t] == label)
            assert probabilities[i][t][label] == pytest.approx(mass)


def test_an_explanation_adds_up(tagger: cs.SequenceTagger) -> None:
    X, _ = new(tagger)
    told = tagger.explain(X[0])
    assert told.score == pytest.approx(every_score(tagger, X[0])[tuple(told.labels)])
    assert any(row.feature.startswith("gap=") for row in told.contributions)


def test_a_model_folder_keeps_them(tagger: cs.SequenceTagger, tmp_path: Path) -> None:
    X, _ = new(tagger)
    tagger.save(tmp_path / "model")
    again = cs.load(tmp_path / "model")
    assert again.predict(X) == tagger.predict(X)
    np.testing.assert_array_equal(again.predictor_.edge_weights, tagger.predictor_.edge_weights)


def test_hashed_tokens_and_frequent_ones_go_with_them() -> None:
    X, y = data()
    assert X.vocabulary is not None
    hashed = PackedSequences(X.offsets, X.indptr, X.indices * 1000, None, 2**18).with_edges(X.edges)
    for options in ({}, {"min_frequency": 2}):
        model = cs.SequenceTagger(lam=1e-3, **options).fit(hashed, y)
        assert model.score(hashed, y) > 0.7
        assert model.sparsify(1e-6).score(hashed, y) > 0.7


def test_a_regularization_path_selects_them_too() -> None:
    X, y = data(12)
    assert cs.SequenceTagger(lam="auto", tol=0.1).fit(X, y).score(X, y) > 0.7


def test_what_has_no_features_of_pairs_says_so(tagger: cs.SequenceTagger) -> None:
    X, y = data()
    with pytest.raises(ValueError, match="reads features of pairs of labels, and X has none"):
        tagger.predict(X.with_edges(None))
    with pytest.raises(ValueError, match="reads features of pairs"):
        tagger.predict([[["word"]]])
    plain = cs.SequenceTagger(tol=0.1).fit(X.with_edges(None), y)
    with pytest.raises(ValueError, match="which the model does not read"):
        plain.predict(X)
    hashed = pack([[["gap"]] * 6 for _ in y])
    with pytest.raises(ValueError, match="numbers of their own"):
        cs.SequenceTagger().fit(X.with_edges(hashed), y)
    warm = cs.SequenceTagger(tol=0.1, n_features=None, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="training that goes on needs the same"):
        warm.fit(X.with_edges(None), y)


def test_training_goes_on_with_the_same_pairs_and_more_labels() -> None:
    X, y = data()
    tagger = cs.SequenceTagger(lam=1e-3, n_features=None).fit(X, y)
    before = tagger.predictor_.edge_weights.copy()
    renamed = [["d" if label == "c" else label for label in labels] for labels in y[:1]]
    tagger.partial_fit(X[:1], renamed)
    assert tagger.predictor_.edge_weights.shape == (3, 4, 4)
    assert np.abs(tagger.predictor_.edge_weights[:, :3, :3] - before).max() < 0.5 * np.abs(before).max()
    again = cs.SequenceTagger(lam=1e-3, n_features=None, warm_start=True, tol=0.1)
    assert again.fit(X, y).fit(X, y).score(X, y) == 1.0
