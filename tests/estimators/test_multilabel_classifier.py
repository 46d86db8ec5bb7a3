"""MultilabelClassifier: scikit-learn's checks in full, enumeration, CVXPY and logistic regression as judges."""

from __future__ import annotations

import itertools
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from scipy.special import logsumexp
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict, cross_val_score
from sklearn.utils.estimator_checks import check_estimator

import casimir as cs
from casimir.estimators.label_graph import _mutual_information, chow_liu, label_graph
from casimir.scores import FloatArray, IntArray

LOSSES = ("hinge", "log")
STRUCTURES: dict[str, Any] = {
    "tree": "tree",
    "full": "full",
    "none": "none",
    "forest": [[0, 2], [1, 3]],
    "cycle": [[0, 1], [1, 2], [2, 3], [0, 3]],
}
OUTPUTS = np.array(list(itertools.product([0, 1], repeat=4)))


def data(n: int = 40, d: int = 3, q: int = 4, seed: int = 0) -> tuple[FloatArray, IntArray]:
    """Labels that depend on x and on each other: the last ones follow the first."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = (X @ rng.normal(size=(d, q)) + rng.normal(size=(n, q)) > 0.3).astype(np.int64)
    follows = rng.random(n) < 0.8
    Y[:, q - 1] = np.where(follows, Y[:, 0], Y[:, q - 1])
    return X, Y


def listed_scores(model: cs.MultilabelClassifier, X: FloatArray) -> FloatArray:
    """float64[n, 16]: the score of every output, written down anew."""
    on = X @ model.coef_.T + model.intercept_
    agree = OUTPUTS[:, model.edges_[:, 0]] == OUTPUTS[:, model.edges_[:, 1]]
    return on @ OUTPUTS.T + agree @ model.interactions_


def listed_objective(model: cs.MultilabelClassifier, X: FloatArray, Y: IntArray, lam: float) -> float:
    scores = listed_scores(model, X)
    truth = scores[np.arange(len(Y)), Y @ (2 ** np.arange(4)[::-1])]
    costs = (OUTPUTS[None] != Y[:, None]).sum(axis=2)
    losses = (scores + costs).max(axis=1) if model.loss == "hinge" else logsumexp(scores, axis=1)
    weights = (model.coef_, model.intercept_, model.interactions_)
    return float(np.mean(losses - truth) + 0.5 * lam * sum(np.sum(w**2) for w in weights))


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"loss": "log", "tol": 0.1},
        {"structure": "attractive", "tol": 0.1},
        {"structure": "full", "loss": "log", "tol": 0.1},
    ],
    ids=["tree", "tree-log", "attractive", "full-log"],
)
def test_all_checks_of_scikit_learn_pass(parameters: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(cs.MultilabelClassifier(**parameters), on_skip=None, on_fail=None)
    allowed = {"check_array_api_input"}
    if parameters.get("loss") != "log":
        allowed.add("check_classifiers_multilabel_output_format_predict_proba")  # there is no such method
    if sklearn.__version__.startswith("1.6."):  # its check makes y binary by whatever entry comes first
        allowed |= {f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")}
    assert {r["check_name"] for r in results if r["status"] != "passed"} <= allowed


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("structure", STRUCTURES)
def test_enumeration_agrees(structure: str, loss: str) -> None:
    X, Y = data()
    model = cs.MultilabelClassifier(0.05, loss, structure=STRUCTURES[structure]).fit(X, Y)
    assert model.gap_ <= 1e-2
    assert model.objective_ == pytest.approx(listed_objective(model, X, Y, 0.05), rel=1e-10)
    scores = listed_scores(model, X)
    if loss == "hinge":
        np.testing.assert_array_equal(model.predict(X), OUTPUTS[scores.argmax(axis=1)])
        with_label = np.stack([scores[:, OUTPUTS[:, j] == 1].max(axis=1) for j in range(4)], axis=1)
        without = np.stack([scores[:, OUTPUTS[:, j] == 0].max(axis=1) for j in range(4)], axis=1)
        np.testing.assert_allclose(model.decision_function(X), with_label - without, atol=1e-10)
    else:
        p = np.exp(scores - logsumexp(scores, axis=1, keepdims=True)) @ OUTPUTS
        np.testing.assert_allclose(model.predict_proba(X), p, atol=1e-10)
        np.testing.assert_array_equal(model.predict(X), (p > 0.5).astype(int))


@pytest.mark.parametrize("structure", ["tree", "full", "attractive"])
def test_cvxpy_finds_the_same_optimum(structure: str) -> None:
    cvxpy = pytest.importorskip("cvxpy")
    X, Y = data(12)
    model = cs.MultilabelClassifier(0.1, structure=structure, tol=1e-4, fit_intercept=False, max_epochs=5000).fit(X, Y)
    U, J = cvxpy.Variable((3, 4)), cvxpy.Variable(len(model.edges_), nonneg=structure == "attractive")
    agree = (OUTPUTS[:, model.edges_[:, 0]] == OUTPUTS[:, model.edges_[:, 1]]).astype(float)
    losses = []
    for x, y in zip(X, Y, strict=True):
        difference = OUTPUTS - y
        agrees = agree - (y[model.edges_[:, 0]] == y[model.edges_[:, 1]])
        losses.append(cvxpy.max(difference @ (x @ U) + agrees @ J + np.abs(difference).sum(axis=1)))
    penalty = 0.05 * (cvxpy.sum_squares(U) + cvxpy.sum_squares(J))
    best = cvxpy.Problem(cvxpy.Minimize(sum(losses) / len(losses) + penalty)).solve(solver="CLARABEL")
    assert model.dual_ <= best + 1e-6
    assert model.objective_ == pytest.approx(best, rel=2e-4)


def test_independent_labels_are_logistic_regressions() -> None:
    X, Y = data()
    model = cs.MultilabelClassifier(0.05, "log", tol=1e-9, structure="none").fit(X, Y)
    ones = np.hstack([X, np.ones((len(X), 1))])
    for j in range(4):
        other = LogisticRegression(C=1 / (0.05 * len(X)), fit_intercept=False, tol=1e-9).fit(ones, Y[:, j])
        np.testing.assert_allclose([*model.coef_[j], model.intercept_[j]], other.coef_[0], atol=1e-3)


def test_the_tree_has_the_most_information() -> None:
    _, Y = data(200)
    weights = np.random.default_rng(0).integers(0, 3, 200).astype(float)
    information = _mutual_information(Y, weights)
    pairs = list(itertools.combinations(range(4), 2))
    trees = [t for t in itertools.combinations(pairs, 3) if len({v for e in t for v in e}) == 4]
    best = max(sum(information[e] for e in tree) for tree in trees)
    found = chow_liu(Y, weights)
    assert sum(information[tuple(e)] for e in found) == pytest.approx(best)
    assert [0, 3] in found.tolist()  # label 3 follows label 0


def test_information_is_that_of_the_smoothed_table() -> None:
    _, Y = data(30)
    table = np.array([[np.sum((Y[:, 0] == a) & (Y[:, 1] == b)) + 0.5 for b in (0, 1)] for a in (0, 1)]) / 32
    outer = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True)
    assert _mutual_information(Y, np.ones(30))[0, 1] == pytest.approx(float(np.sum(table * np.log(table / outer))))


def test_interactions_help_where_labels_exclude_each_other() -> None:
    """One of three labels, in noise: on its own, no label is likely enough."""
    rng = np.random.default_rng(0)
    Y = np.eye(3, dtype=np.int64)[rng.integers(3, size=300)]
    X = Y + 0.8 * rng.normal(size=(300, 3))
    both = (cs.MultilabelClassifier(structure=structure) for structure in ("full", "none"))
    joint, alone = (cross_val_score(model, X, Y, cv=3).mean() for model in both)
    assert joint > alone + 0.05


def test_attractive_interactions_are_not_negative() -> None:
    X, Y = data()
    Y[:, 1] = 1 - Y[:, 0]
    assert cs.MultilabelClassifier(structure="attractive").fit(X, Y).interactions_.min() == 0.0
    assert cs.MultilabelClassifier(structure="full").fit(X, Y).interactions_.min() < 0.0
    with pytest.raises(cs.Intractable, match="has no probabilities"):
        cs.MultilabelClassifier(structure="attractive", loss="log").fit(X, Y)


def test_many_labels_that_all_interact_are_refused() -> None:
    with pytest.raises(cs.Intractable, match=r"All pairs of 19 labels interact.*Use structure='tree'"):
        label_graph("full", np.zeros((3, 19), dtype=np.int64), np.ones(3))


@pytest.mark.parametrize("loss", LOSSES)
def test_sparse_matrices_and_weights(loss: str) -> None:
    X, Y = data()
    counts = np.random.default_rng(0).integers(0, 3, len(X))
    a = cs.MultilabelClassifier(loss=loss).fit(sp.csr_array(X), sp.csr_array(Y), sample_weight=counts)
    b = cs.MultilabelClassifier(loss=loss).fit(np.repeat(X, counts, axis=0), np.repeat(Y, counts, axis=0))
    np.testing.assert_array_equal(a.edges_, b.edges_)
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-6)
    np.testing.assert_array_equal(a.predict(sp.csr_array(X)), a.predict(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(a)).predict(X), a.predict(X))


def test_probabilities_of_folds() -> None:
    X, Y = data()
    p = cross_val_predict(cs.MultilabelClassifier(loss="log"), X, Y, cv=3, method="predict_proba")
    assert np.shape(p) == Y.shape


@pytest.mark.parametrize(
    ("structure", "message"),
    [
        ("star", "must be one of"),
        ([[0, 4]], "two different labels of 0 to 3"),
        ([[1, 1]], "two different labels"),
        ([0, 1], r"an array \[m, 2\]"),
    ],
)
def test_structures_are_checked(structure: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        cs.MultilabelClassifier(structure=structure).fit(*data())


def test_classes_belong_elsewhere() -> None:
    with pytest.raises(ValueError, match="use StructuredClassifier"):
        cs.MultilabelClassifier().fit([[0.0], [1.0], [2.0]], [0, 1, 2])
