"""Scores of single tokens, and scorers in scikit-learn's searches."""

from __future__ import annotations

import subprocess
import sys

import pytest
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, cross_val_score

import casimir as cs
from casimir import metrics
from casimir.metrics import scorers

TRUE = [["x", "z", "y"], ["x", "x"]]
GUESS = [["y", "z", "y"], ["x", "y"]]


def test_flat_scores_of_a_hand_worked_corpus() -> None:
    """x: 1 of 3 found, none wrong; y: 1 of 1 found, 2 wrong; z: right."""
    assert metrics.flat_accuracy_score(TRUE, GUESS) == metrics.accuracy_score(TRUE, GUESS) == 3 / 5
    assert metrics.flat_precision_score(TRUE, GUESS, average=None).tolist() == pytest.approx([1, 1 / 3, 1])
    assert metrics.flat_recall_score(TRUE, GUESS, average=None).tolist() == pytest.approx([1 / 3, 1, 1])
    assert metrics.flat_f1_score(TRUE, GUESS, average="macro") == pytest.approx((1 / 2 + 1 / 2 + 1) / 3)
    assert metrics.flat_f1_score(TRUE, GUESS, average="macro", labels=["y", "z"]) == pytest.approx(3 / 4)
    assert metrics.flat_fbeta_score(TRUE, GUESS, beta=1.0, average="macro") == pytest.approx(2 / 3)
    report = metrics.flat_classification_report(TRUE, GUESS, labels=["x", "y"], output_dict=True)
    assert report["x"] == {"precision": 1.0, "recall": pytest.approx(1 / 3), "f1-score": 0.5, "support": 3.0}


def test_a_sequence_is_right_when_all_of_it_is() -> None:
    assert metrics.sequence_accuracy_score([["a", "b"], ["c"], ["d"]], [["a", "b"], ["d"], ["d"]]) == 2 / 3
    assert metrics.sequence_accuracy_score([], []) == 0.0
    assert metrics.sequence_accuracy_score([["a", "b"], ["c"]], [["c"], ["a", "b"]]) == 0.0


def test_labels_that_do_not_pair_up_are_named() -> None:
    with pytest.raises(ValueError, match="sentence 1 has 2 true but 1 predicted"):
        metrics.flat_accuracy_score(TRUE, [["x", "x", "x"], ["x"]])
    with pytest.raises(ValueError, match="2 true but 1 predicted sentences"):
        metrics.sequence_accuracy_score(TRUE, GUESS[:1])


@pytest.fixture
def corpus() -> tuple[list[list[dict[str, str]]], list[list[str]]]:
    words = {"Ada": "B-PER", "Leeds": "B-LOC", "in": "O", "wrote": "O"}
    sentences = [["Ada", "wrote"], ["in", "Leeds"], ["Ada", "in", "Leeds"]] * 6
    return [[{"word": w} for w in s] for s in sentences], [[words[w] for w in s] for s in sentences]


@pytest.mark.parametrize("name", sorted(scorers.SCORERS))
def test_scorers_score_a_tagger(name: str, corpus: tuple[list[list[dict[str, str]]], list[list[str]]]) -> None:
    X, y = corpus
    scores = cross_val_score(cs.SequenceTagger(n_features=None), X, y, cv=3, scoring=scorers.get_scorer(name))
    assert scores.tolist() == [1.0, 1.0, 1.0]
    wrong = cs.SequenceTagger(n_features=None).fit(X, [["O"] * len(tags) for tags in y])
    assert scorers.get_scorer(name)(wrong, X, y) < 0.7


def test_a_grid_is_searched_by_entity_f1(corpus: tuple[list[list[dict[str, str]]], list[list[str]]]) -> None:
    X, y = corpus
    tagger = cs.SequenceTagger(n_features=None, max_epochs=50)
    search = GridSearchCV(tagger, {"lam": [0.05, 1e4]}, scoring=scorers.entity_f1, cv=2).fit(X, y)
    assert search.best_params_ == {"lam": 0.05}


def test_names_of_scorers() -> None:
    assert scorers.get_scorer("accuracy")._score_func is accuracy_score
    assert scorers.get_scorer(scorers.entity_f1) is scorers.entity_f1
    with pytest.raises(ValueError, match="entity_f1"):
        scorers.get_scorer("entity_f2")


def test_metrics_load_without_scikit_learn() -> None:
    code = "import sys, casimir.metrics; assert 'sklearn' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
