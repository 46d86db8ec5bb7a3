"""StructuredClassifier: scikit-learn's checks in full, optima of other software, weights, sparse input."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import logsumexp
from sklearn import config_context
from sklearn.datasets import load_digits, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

import casimir as cs
from casimir.scores import FloatArray

LOSSES = ("hinge", "log")


def blobs(n: int = 120, d: int = 6, classes: int = 4, seed: int = 0) -> tuple[FloatArray, Any]:
    X, y = make_classification(
        n, d, n_informative=d, n_redundant=0, n_classes=classes, n_clusters_per_class=1, random_state=seed
    )
    return X, y


def objective(X: Any, y: Any, table: FloatArray, lam: float, loss: str) -> float:
    """F of W float64[d, L], written down anew."""
    scores, rows = X @ table, np.arange(len(y))
    if loss == "hinge":
        values = (scores + 1.0 - np.eye(table.shape[1])[y]).max(axis=1) - scores[rows, y]
    else:
        values = logsumexp(scores, axis=1) - scores[rows, y]
    return float(np.mean(values) + 0.5 * lam * np.sum(table**2))


def with_ones(X: FloatArray) -> FloatArray:
    return np.hstack([X, np.ones((len(X), 1))])


def table_of(model: cs.StructuredClassifier) -> FloatArray:
    return np.vstack([model.coef_.T, model.intercept_])


@pytest.mark.parametrize("loss", LOSSES)
def test_all_checks_of_scikit_learn_pass(loss: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(cs.StructuredClassifier(loss=loss), on_skip=None)
    assert {r["check_name"] for r in results if r["status"] != "passed"} <= {"check_array_api_input"}


@pytest.mark.parametrize("loss", LOSSES)
def test_the_reported_objective_is_that_of_the_weights(loss: str) -> None:
    X, y = blobs()
    model = cs.StructuredClassifier(0.05, loss).fit(X, y)
    assert model.objective_ == pytest.approx(objective(with_ones(X), y, table_of(model), 0.05, loss), rel=1e-12)
    assert model.gap_ <= 1e-3
    assert model.lam_ == 0.05


def test_the_log_loss_has_the_optimum_of_logistic_regression() -> None:
    X, y = blobs()
    lam = 0.02
    model = cs.StructuredClassifier(lam, "log", tol=1e-10).fit(X, y)
    other = LogisticRegression(C=1 / (lam * len(y)), fit_intercept=False, tol=1e-10, max_iter=5000)
    other.fit(with_ones(X), y)
    np.testing.assert_allclose(table_of(model), other.coef_.T, atol=2e-5)
    best = objective(with_ones(X), y, other.coef_.T, lam, "log")
    assert model.dual_ <= best + 1e-12
    assert model.objective_ == pytest.approx(best, rel=1e-9)
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(with_ones(X)), atol=1e-4)


def test_two_classes_have_half_the_penalty_of_a_binary_logistic_regression() -> None:
    X, y = blobs(classes=2)
    model = cs.StructuredClassifier(0.1, "log", tol=1e-10).fit(X, y)
    other = LogisticRegression(C=2 / (0.1 * len(y)), fit_intercept=False, tol=1e-10, max_iter=5000).fit(with_ones(X), y)
    np.testing.assert_allclose(np.hstack([model.coef_, model.intercept_[:, None]]), other.coef_, atol=1e-4)


def test_the_hinge_loss_has_the_optimum_of_crammer_and_singers_svm() -> None:
    X, y = blobs()
    lam = 0.02
    model = cs.StructuredClassifier(lam, tol=1e-7, max_epochs=5000).fit(X, y)
    other = LinearSVC(multi_class="crammer_singer", C=1 / (lam * len(y)), tol=1e-8, max_iter=100_000, random_state=0)
    other.fit(X, y)
    table = np.vstack([other.coef_.T, other.intercept_])
    best = objective(with_ones(X), y, table, lam, "hinge")
    assert model.dual_ <= best
    assert model.objective_ == pytest.approx(best, rel=1e-6)
    np.testing.assert_allclose(table_of(model), table, atol=5e-3)


@pytest.mark.parametrize("loss", LOSSES)
def test_sparse_and_dense_features_give_the_same_weights(loss: str) -> None:
    X, y = blobs()
    X = np.where(np.abs(X) < 0.7, 0.0, X)
    dense = cs.StructuredClassifier(loss=loss, tol=1e-9, max_epochs=5000).fit(X, y)
    for kind in (sp.csr_array, sp.csc_matrix, sp.coo_array):
        sparse = cs.StructuredClassifier(loss=loss, tol=1e-9, max_epochs=5000).fit(kind(X), y)
        np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-3)
        np.testing.assert_allclose(sparse.decision_function(kind(X)), sparse.decision_function(X))


def test_short_sparse_rows_have_a_smaller_kappa() -> None:
    X, y = blobs()
    short = sp.csr_array(X / np.linalg.norm(X, axis=1, keepdims=True))
    model = cs.StructuredClassifier(0.05).fit(short, y)
    n = len(y)
    assert model.solver_.kappa == pytest.approx(5 * np.sqrt(2 / 15) * (0.05 * n) ** 0.7 / n)  # 2: the row and the bias
    for other in (
        cs.StructuredClassifier(0.05).fit(short.toarray(), y),
        cs.StructuredClassifier(0.05).fit(10.0 * short, y),
        cs.StructuredClassifier(0.05, l1_ratio=0.5).fit(short, y),
    ):
        assert other.solver_ == cs.DualProximal()
    zeros = sp.csr_array((n, 3))
    assert cs.StructuredClassifier(fit_intercept=False).fit(zeros, y).gap_ <= 1e-3


def test_float32_features_are_kept_and_train_the_same() -> None:
    X, y = blobs()
    narrow = X.astype(np.float32)
    a = cs.StructuredClassifier(loss="log", tol=1e-9).fit(narrow, y)
    b = cs.StructuredClassifier(loss="log", tol=1e-9).fit(narrow.astype(np.float64), y)
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_repetitions_and_order_make_the_same_problem(loss: str) -> None:
    X, y = blobs(60)
    counts = np.random.default_rng(0).integers(0, 4, 60)
    order = np.random.default_rng(1).permutation(int(counts.sum()))
    weighted = cs.StructuredClassifier(loss=loss).fit(X, y, sample_weight=counts)
    repeated = cs.StructuredClassifier(loss=loss).fit(np.repeat(X, counts, axis=0)[order], np.repeat(y, counts)[order])
    np.testing.assert_array_equal(weighted.coef_, repeated.coef_)
    assert weighted.lam_ == 1 / counts.sum()


@pytest.mark.parametrize("loss", LOSSES)
def test_class_weights_are_sample_weights(loss: str) -> None:
    X, y = blobs()
    own = {0: 3.0, 1: 0.5, 2: 1.0, 3: 2.0}
    a = cs.StructuredClassifier(loss=loss, class_weight=own).fit(X, y)
    b = cs.StructuredClassifier(loss=loss).fit(X, y, sample_weight=np.array([own[j] for j in y]))
    np.testing.assert_array_equal(a.coef_, b.coef_)
    keep = (y != 0) | (np.arange(len(y)) % 4 == 0)
    X, y = X[keep], y[keep]
    counts = np.bincount(y)
    c = cs.StructuredClassifier(loss=loss, class_weight="balanced").fit(X, y)
    d = cs.StructuredClassifier(loss=loss, class_weight=dict(enumerate(len(y) / (4 * counts)))).fit(X, y)
    np.testing.assert_allclose(c.coef_, d.coef_, atol=1e-12)


def test_a_large_intercept_feature_hardly_feels_the_penalty() -> None:
    X, y = blobs()
    X = X + 5.0
    model = cs.StructuredClassifier(0.1, "log", "lbfgs", 1e-8, intercept_scaling=100.0).fit(X, y)
    other = LogisticRegression(C=1 / (0.1 * len(y)), tol=1e-10, max_iter=5000).fit(X, y)
    np.testing.assert_allclose(model.coef_, other.coef_, atol=5e-3)
    none = cs.StructuredClassifier(0.1, fit_intercept=False).fit(X, y)
    assert none.coef_.shape == (4, 6)
    np.testing.assert_array_equal(none.intercept_, np.zeros(4))


def test_l1_leaves_few_weights_and_is_certified() -> None:
    X, y = load_digits(return_X_y=True)
    model = cs.StructuredClassifier(0.02, "log", l1_ratio=0.9).fit(X[:400] / 16.0, y[:400])
    assert model.gap_ <= 1e-3
    assert 0.02 < np.mean(model.coef_ != 0.0) < 0.5
    assert model.lam_ == 0.02
    pure = cs.StructuredClassifier(loss="log", l1_ratio=1.0, tol=1e-2).fit(X[:100] / 16.0, y[:100])
    assert pure.gap_ <= 1e-2
    assert pure.lam_ == 1 / 100


def test_a_hinge_loss_has_no_probabilities() -> None:
    assert not hasattr(cs.StructuredClassifier(), "predict_proba")
    assert hasattr(cs.StructuredClassifier(loss="log"), "predict_proba")
    with pytest.raises(AttributeError, match="has no attribute 'predict_proba'"):
        cs.StructuredClassifier().predict_proba([[1.0]])


def test_the_end_before_the_gap_is_a_warning() -> None:
    X, y = blobs()
    with pytest.warns(ConvergenceWarning, match="1 epochs at a certified relative gap"):
        cs.StructuredClassifier(1e-4, tol=1e-9, max_epochs=1).fit(X, y)


def test_grids_reach_into_solver_objects() -> None:
    X, y = blobs()
    grid = GridSearchCV(cs.StructuredClassifier(solver=cs.SDCA(), loss="log"), {"solver__light_passes": [0, 2]}, cv=3)
    grid.fit(X, y)
    assert grid.best_estimator_.solver.light_passes in (0, 2)
    model = cs.StructuredClassifier(solver=cs.DualProximal(inner=cs.BCFW(pairwise=True)))
    assert model.set_params(solver__inner__steps=5).solver == cs.DualProximal(inner=cs.BCFW(pairwise=True, steps=5))
    assert model.get_params()["solver__inner__steps"] == 5
    assert "solver__steps" not in cs.StructuredClassifier().get_params()
    with pytest.raises(ValueError, match="no parameter 'speed'"):
        model.set_params(solver__speed=1)


def test_sample_weights_are_routed() -> None:
    X, y = blobs()
    weights = np.random.default_rng(0).integers(1, 3, len(y))
    with config_context(enable_metadata_routing=True):
        model = cs.StructuredClassifier().set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        routed = make_pipeline(scaler, model).fit(X, y, sample_weight=weights)
    plain = cs.StructuredClassifier().fit(StandardScaler().fit_transform(X), y, sample_weight=weights)
    np.testing.assert_array_equal(routed[-1].coef_, plain.coef_)
    assert cross_val_predict(cs.StructuredClassifier(loss="log"), X, y, method="predict_proba").shape == (len(y), 4)


def test_names_of_columns_are_kept() -> None:
    pandas = pytest.importorskip("pandas")
    X, y = blobs()
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    model = cs.StructuredClassifier().fit(frame, y)
    assert model.feature_names_in_.tolist() == list("abcdef")
    assert model.n_features_in_ == 6
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[list("fedcba")])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"loss": "crf"}, "loss='crf'; it must be 'hinge' or 'log'"),
        ({"solver": "newton"}, "it must be one of 'auto'"),
        ({"lam": -1.0}, "lam"),
        ({"random_state": -1}, "random_state=-1"),
        ({"intercept_scaling": np.inf}, "bias=inf"),
    ],
)
def test_errors_say_what_is_wrong(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        cs.StructuredClassifier(**parameters).fit(*blobs())
