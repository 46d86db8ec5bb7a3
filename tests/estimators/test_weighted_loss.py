"""class_weight, label_costs and sample_weight: what they do to the objective, judged by objectives made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.class_weight import compute_class_weight

import casimir as cs
from casimir._outputs import Outputs, as_outputs
from casimir.estimators.class_weights import class_weights, sentence_weights
from casimir.estimators.label_costs import cost_table

RNG = np.random.default_rng(0)
WORDS = {"B": ["Ada", "Bob"], "I": ["Lee", "Bob"], "O": ["slept", "Lee", "ran"]}
Y = [[str(label) for label in RNG.choice(["B", "I", "O", "O", "O"], size=int(RNG.integers(1, 6)))] for _ in range(30)]
X = [[[str(RNG.choice(WORDS[label]))] for label in labels] for labels in Y]
NUMBERS = [np.array(["BIO".index(label) for label in labels]) for labels in Y]


def value_by_hand(tagger: cs.SequenceTagger, loss: Any, sample_weight: Any = None) -> float:
    model = cs.LinearChainModel(cs.pack(X, 64), 3)
    objective = cs.Objective(model, cs.Chain(3), loss, NUMBERS, tagger.lam_, sample_weight)
    return objective.value(tagger.predictor_.w)


def fitted(**parameters: Any) -> cs.SequenceTagger:
    return cs.SequenceTagger(n_features=64, **parameters).fit(X, Y)


# --- costs


@pytest.mark.parametrize(
    ("costs", "table"),
    [
        ({("B", "O"): 4.0}, [[0, 1, 4], [1, 0, 1], [1, 1, 0]]),
        ({("*", "O"): 3}, [[0, 1, 3], [1, 0, 3], [1, 1, 0]]),
        ({("O", "*"): 0.5, ("O", "I"): 2}, [[0, 1, 1], [1, 0, 1], [0.5, 2, 0]]),
        ({("*", "*"): 2, ("*", "B"): 5}, [[0, 2, 2], [5, 0, 2], [5, 2, 0]]),
        ("recall", [[0, 1, 3], [1, 0, 3], [1, 1, 0]]),
        ([[0, 1, 2], [3, 0, 4], [5, 6, 0]], [[0, 1, 2], [3, 0, 4], [5, 6, 0]]),
    ],
)
def test_costs_are_those_of_the_table(costs: Any, table: list[list[float]]) -> None:
    np.testing.assert_array_equal(cost_table(costs, ("B", "I", "O")), table)
    tagger = fitted(label_costs=costs)
    assert tagger.objective_ == pytest.approx(value_by_hand(tagger, cs.Hinge(cs.Hamming(np.array(table, float)))))


@pytest.mark.parametrize(
    ("costs", "error", "words"),
    [
        ("precision", ValueError, "must be a dict"),
        ({("B", "?"): 1}, ValueError, r"label '\?'; y has only"),
        ({"B": 1}, TypeError, "keys are pairs"),
        (np.zeros((2, 2)), ValueError, r"need \[3, 3\]"),
        ({("B", "B"): 1}, ValueError, "a correct label must cost 0"),
        ({("B", "O"): -1}, ValueError, "negative"),
    ],
)
def test_costs_that_mean_nothing_are_refused(costs: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        fitted(label_costs=costs)


def test_the_preset_needs_a_label_for_nothing() -> None:
    with pytest.raises(ValueError, match="'O', which y does not have"):
        cs.SequenceTagger(label_costs="recall").fit([[["a"], ["b"]]], [["D", "N"]])


def test_what_is_dear_is_kept_further_away() -> None:
    """Where labels can be told apart and lam is small, scores differ by what the mistake costs."""
    tagger = cs.SequenceTagger(n_features=None, lam=1e-3, label_costs="recall").fit([[["b"]], [["o"]]], [["B"], ["O"]])
    scores = [{labels[0]: score for labels, score in top} for top in tagger.predict_topk([[["b"]], [["o"]]], 2)]
    assert scores[0]["B"] - scores[0]["O"] == pytest.approx(3.0, rel=0.05)
    assert scores[1]["O"] - scores[1]["B"] == pytest.approx(1.0, rel=0.05)


# --- weights of labels


def test_balanced_is_what_scikit_learn_calls_so() -> None:
    y = as_outputs(NUMBERS)
    expected = compute_class_weight("balanced", classes=np.arange(3), y=y.flat)
    np.testing.assert_allclose(class_weights("balanced", ("B", "I", "O"), y, None), expected)


def test_a_class_weight_multiplies_the_costs_of_that_label() -> None:
    tagger = fitted(class_weight={"B": 5.0, "O": 0.5}, label_costs={("*", "O"): 3})
    table = np.array([[0, 1, 3], [1, 0, 3], [1, 1, 0]]) * np.array([[5.0], [1.0], [0.5]])
    assert tagger.objective_ == pytest.approx(value_by_hand(tagger, cs.Hinge(cs.Hamming(table))))


def test_a_sentence_of_a_crf_weighs_the_mean_of_its_labels() -> None:
    weight = {"B": 5.0, "I": 2.0, "O": 0.5}
    by_hand = np.array([np.mean([weight[label] for label in labels]) for labels in Y])
    own = RNG.uniform(0.0, 2.0, size=len(X))
    tagger = cs.SequenceTagger(n_features=64, loss="crf", class_weight=weight).fit(X, Y, sample_weight=own)
    assert tagger.objective_ == pytest.approx(value_by_hand(tagger, cs.Log(), own * by_hand))


def test_unknown_labels_do_not_weigh() -> None:
    y = Outputs(np.array([0, -1, 2, -1]), np.array([0, 3, 4]))
    np.testing.assert_allclose(sentence_weights(np.array([4.0, 9.0, 2.0]), y), [3.0, 1.0])
    np.testing.assert_allclose(class_weights("balanced", "abc", y, None), [1 / 1.5, 1.0, 1 / 1.5])


@pytest.mark.parametrize("loss", ["hinge", "crf"])
def test_a_weight_of_two_is_a_sentence_twice_also_where_labels_are_balanced(loss: str) -> None:
    weights = np.where(np.arange(len(X)) % 3 == 0, 2, 1)
    twice = [i for i, w in enumerate(weights) for _ in range(w)]
    parameters: dict[str, Any] = {"n_features": 64, "loss": loss, "class_weight": "balanced", "tol": 1e-6}
    a = cs.SequenceTagger(**parameters).fit(X, Y, sample_weight=weights)
    b = cs.SequenceTagger(**parameters).fit([X[i] for i in twice], [Y[i] for i in twice])
    assert a.objective_ == pytest.approx(b.objective_, rel=1e-5)


@pytest.mark.parametrize(
    ("weight", "error", "words"),
    [
        ("equal", TypeError, "'balanced' or None"),
        ([1.0, 2.0], TypeError, "must be a dict"),
        ({"?": 1.0}, ValueError, r"label '\?'; y has only"),
        ({"B": -1.0}, ValueError, "0 or larger"),
        ({"B": "2"}, TypeError, "a weight is a number"),
    ],
)
def test_weights_that_mean_nothing_are_refused(weight: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        fitted(class_weight=weight)


# --- keeping them


@pytest.mark.parametrize(
    "parameters",
    [
        {"class_weight": {"B": 5.0}, "label_costs": {("*", "O"): 3.0}},
        {"class_weight": "balanced", "label_costs": "recall"},
        {"label_costs": np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 4.0], [5.0, 6.0, 0.0]])},
    ],
)
def test_a_saved_tagger_has_them_and_trains_again_as_it_did(parameters: dict[str, Any], tmp_path: Path) -> None:
    tagger = clone(cs.SequenceTagger(n_features=64, **parameters)).fit(X, Y)
    tagger.save(tmp_path / "model")
    again = cs.load(tmp_path / "model")
    for name, value in parameters.items():
        np.testing.assert_equal(again.get_params()[name], value)
    np.testing.assert_array_equal(clone(again).fit(X, Y).predictor_.w, tagger.predictor_.w)
