"""Labels that are not fully known: None, or a set of labels, at a token of y."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import casimir as cs
from casimir.estimators.labels import LabelSequences
from casimir.estimators.partial_labels import label_masks
from casimir.solvers import ConcaveConvex

RNG = np.random.default_rng(0)
WORDS = {"D": ["the", "a"], "N": ["cat", "dog"], "V": ["sees", "likes"]}
Y: list[list[str]] = [["D", "N", "V", "D", "N"][: int(RNG.integers(2, 6))] for _ in range(40)]
X = [[{"word": str(RNG.choice(WORDS[label]))} for label in labels] for labels in Y]


def hidden(y: list[list[str]], share: float, seed: int = 0) -> list[list[Any]]:
    """The labels, a share of them unknown or one of two."""
    rng = np.random.default_rng(seed)

    def hide(label: str) -> Any:
        if rng.random() >= share:
            return label
        return None if rng.random() < 0.5 else {label, str(rng.choice(["D", "N", "V"]))}

    return [[hide(label) for label in labels] for labels in y]


def test_masks_are_what_was_written() -> None:
    labels = LabelSequences.of([["a", None], [{"a", "c"}], [frozenset("b"), "c"]], np.array([0, 2, 3, 5]))
    assert labels.is_partial
    classes = labels.classes()
    assert classes == ("a", "b", "c")
    masks = [mask.astype(int).tolist() for mask in label_masks(labels, classes)]
    assert masks == [[[1, 0, 0], [1, 1, 1]], [[1, 0, 1]], [[0, 1, 0], [0, 0, 1]]]
    assert labels.places(classes).flat.tolist() == [0, -1, -1, -1, 2]


@pytest.mark.parametrize("loss", ["hinge", "crf"])
def test_the_objective_is_that_of_truth_sets(loss: str) -> None:
    partial = hidden(Y, 0.5)
    tagger = cs.SequenceTagger(n_features=64, loss=loss).fit(X, partial)
    assert isinstance(tagger.solver_, ConcaveConvex)
    masks = [
        np.array([[label is None or j in label for j in "DNV"] for label in labels], dtype=np.bool_)
        for labels in partial
    ]
    model = cs.LinearChainModel(cs.pack(X, 64), 3)
    made = cs.Objective(model, cs.Chain(3), cs.Log() if loss == "crf" else cs.Hamming(), masks, tagger.lam_)
    assert tagger.objective_ == pytest.approx(made.value(tagger.predictor_.w), rel=1e-9)
    assert tagger.status_ == "stationary"


@pytest.mark.parametrize("loss", ["hinge", "crf"])
def test_half_of_the_labels_are_enough_here(loss: str) -> None:
    tagger = cs.SequenceTagger(n_features=64, loss=loss).fit(X, hidden(Y, 0.5))
    assert tagger.score(X, Y) > 0.95


def test_sets_of_one_label_are_that_label() -> None:
    plain = cs.SequenceTagger(n_features=64).fit(X, Y)
    sets = cs.SequenceTagger(n_features=64).fit(X, [[{label} for label in labels] for labels in Y])
    np.testing.assert_array_equal(plain.predictor_.w, sets.predictor_.w)
    assert sets.status_ == "converged"


def test_a_solver_that_is_asked_for_solves_the_rounds() -> None:
    tagger = cs.SequenceTagger(n_features=64, loss="crf", solver="lbfgs").fit(X, hidden(Y, 0.3))
    assert tagger.solver_ == ConcaveConvex(cs.LBFGS())
    assert tagger.score(X, Y) > 0.9


def test_rules_and_weights_go_along() -> None:
    y = [["B-x", "I-x", "O"], [None, "I-x", "O"], ["O", None, {"I-x", "O"}]]
    data = [[{"word": word} for word in text.split()] for text in ("Ada Lee ran", "Ada Lee slept", "a cat ran")]
    for loss in ("hinge", "crf"):
        tagger = cs.SequenceTagger(loss=loss, constraints="auto", class_weight="balanced").fit(data, y)
        assert tagger.predict(data)[:2] == [["B-x", "I-x", "O"]] * 2


def test_score_leaves_unknown_labels_out_and_takes_any_of_a_set() -> None:
    tagger = cs.SequenceTagger(n_features=64).fit(X, Y)
    sentence = [{"word": "the"}, {"word": "cat"}]
    assert tagger.predict([sentence]) == [["D", "N"]]
    assert tagger.score([sentence], [["V", None]]) == 0.0
    assert tagger.score([sentence], [["D", None]]) == 1.0
    assert tagger.score([sentence], [["V", {"N", "V"}]]) == 0.5
