"""Routing of sample weights, names of columns, pipelines with DataFrames and nested grids, for every estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import casimir as cs

SENTENCES = [
    [["Ada", "title"], ["ran"]],
    [["a"], ["cat"], ["ran"]],
    [["Bob", "title"], ["slept"]],
    [["it"], ["ran"]],
] * 3
TAGS = [["N", "V"], ["D", "N", "V"], ["N", "V"], ["N", "V"]] * 3
WEIGHTS = np.arange(12.0) % 4


def rows(q: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Rows of four numbers and indicators of q labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    return X, np.array(X @ rng.normal(size=(4, q)) > 0.0, dtype=np.int64)


def test_sample_weights_reach_the_tagger_in_cross_validation() -> None:
    folds = [(np.arange(8), np.arange(8, 12))]
    with config_context(enable_metadata_routing=True):
        tagger = cs.SequenceTagger(n_features=64).set_fit_request(sample_weight=True)
        options: Any = {"cv": folds, "params": {"sample_weight": WEIGHTS}, "return_estimator": True}
        routed = cross_validate(tagger, SENTENCES, TAGS, **options)["estimator"][0]
    plain = cs.SequenceTagger(n_features=64).fit(SENTENCES[:8], TAGS[:8], sample_weight=WEIGHTS[:8])
    np.testing.assert_array_equal(routed.coef_, plain.coef_)
    assert not np.array_equal(plain.coef_, cs.SequenceTagger(n_features=64).fit(SENTENCES[:8], TAGS[:8]).coef_)


def test_weights_that_nobody_asked_for_are_refused() -> None:
    with config_context(enable_metadata_routing=True), pytest.raises(ValueError, match="sample_weight"):
        GridSearchCV(cs.SequenceTagger(), {"tol": [0.1]}, cv=2).fit(SENTENCES, TAGS, sample_weight=WEIGHTS)


def test_sample_weights_reach_a_multilabel_classifier() -> None:
    X, Y = rows()
    weights = 1.0 + np.arange(30) % 3
    with config_context(enable_metadata_routing=True):
        model = cs.MultilabelClassifier().set_fit_request(sample_weight=True)
        routed = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
        routed.fit(X, Y, sample_weight=weights)
    plain = cs.MultilabelClassifier().fit(StandardScaler().fit_transform(X), Y, sample_weight=weights)
    np.testing.assert_array_equal(routed[-1].coef_, plain.coef_)


def test_columns_keep_their_names_behind_a_scaler_that_gives_frames() -> None:
    pandas = pytest.importorskip("pandas")
    X, Y = rows()
    frame = pandas.DataFrame(X, columns=list("abcd"))
    for model, y in ((cs.StructuredClassifier(), Y[:, 0]), (cs.MultilabelClassifier(), Y)):
        pipe = make_pipeline(StandardScaler(), model).set_output(transform="pandas").fit(frame, y)
        assert pipe[-1].feature_names_in_.tolist() == list("abcd")
        np.testing.assert_array_equal(
            pipe.predict(frame), make_pipeline(StandardScaler(), clone(model)).fit(X, y).predict(X)
        )
        with pytest.raises(ValueError, match="feature names should match"):
            pipe[-1].predict(frame[list("dcba")])


def test_predictors_have_no_output_to_set() -> None:
    """set_output belongs to what transforms; a container that offers it must not find it here."""
    for model in (cs.SequenceTagger(), cs.StructuredClassifier(), cs.MultilabelClassifier(), cs.GraphLabeler()):
        assert not hasattr(model, "set_output")


def test_grids_reach_into_the_solvers_of_all_estimators() -> None:
    X, Y = rows()
    graphs = [(X[3 * i : 3 * i + 3], [[0, 1], [1, 2]]) for i in range(6)]
    labels = [Y[3 * i : 3 * i + 3, 0] for i in range(6)]
    maps = [X[4 * i : 4 * i + 4].reshape(2, 2, 4) for i in range(6)]
    marks = [Y[4 * i : 4 * i + 4, 0].reshape(2, 2) for i in range(6)]
    cases: list[tuple[Any, Any, Any]] = [
        (cs.MultilabelClassifier(solver=cs.BCFW(pairwise=True)), X, Y),
        (cs.GraphLabeler(solver=cs.BCFW(pairwise=True)), graphs, labels),
        (cs.GridLabeler(solver=cs.BCFW(pairwise=True), tol=0.1), maps, marks),
        (cs.SequenceTagger(solver=cs.BCFW(pairwise=True), n_features=64), SENTENCES, TAGS),
    ]
    for model, given, wanted in cases:
        grid = GridSearchCV(model, {"solver__cached_passes": [0, 2], "lam": [0.3]}, cv=2).fit(given, wanted)
        assert grid.best_estimator_.solver.cached_passes in (0, 2)
        assert model.solver == cs.BCFW(pairwise=True)


@pytest.mark.parametrize(
    "model",
    [cs.SequenceTagger(), cs.StructuredClassifier(), cs.MultilabelClassifier(), cs.GraphLabeler(), cs.GridLabeler()],
)
def test_the_first_parameters_are_the_same_everywhere(model: Any) -> None:
    """lam, loss, solver, tol and random_state may be given by position; all others need their names."""
    import inspect

    parameters = inspect.signature(type(model).__init__).parameters
    by_position = [name for name, p in parameters.items() if p.kind is p.POSITIONAL_OR_KEYWORD][1:]
    assert by_position == ["lam", "loss", "solver", "tol", "random_state"]
    assert {"l1_ratio", "max_epochs", "n_jobs", "verbose"} <= set(parameters)
    assert clone(model).get_params(deep=False) == model.get_params(deep=False)
    with pytest.raises(TypeError):
        type(model)(0.1, "hinge", "auto", 1e-2, 0, 0.5)


def test_patience_needs_something_to_wait_for() -> None:
    with pytest.raises(ValueError, match=r"patience=3 .* X_dev and y_dev"):
        cs.SequenceTagger(patience=3).fit(SENTENCES, TAGS)
