"""LinearClassModel, LinearLabelModel and LinearGraphModel: scores, adjoints, sub-batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from problems import class_parts

import casimir as cs
from casimir.models.linear_graph import EdgeRows, LinearGraphModel
from casimir.models.linear_labels import LinearLabelModel
from casimir.scores import offsets_of
from casimir.testing import random_like


def label_model(sparse: bool, bias: float) -> LinearLabelModel:
    X: Any = np.random.default_rng(0).normal(size=(5, 3))
    return LinearLabelModel(sp.csr_array(X) if sparse else X, 4, bias, np.array([2, 0, 3]), 4)


def graph_model() -> LinearGraphModel:
    rng, sizes, counts = np.random.default_rng(0), [3, 1, 4, 2, 2], [2, 0, 3, 1, 1]
    places = EdgeRows(np.array([1, 2, 5, 6, 7, 9, 11]), rng.random(7) < 0.5, offsets_of(sizes))
    basis = rng.normal(size=(3, 2, 2))
    return LinearGraphModel(
        rng.normal(size=(12, 3)), offsets_of(sizes), rng.normal(size=(7, 2)), offsets_of(counts), basis, places
    )


MODELS = {
    "classes": lambda: class_parts(n_classes=5, bias=0.3).model,
    "sparse-classes": lambda: class_parts(n_classes=3, kind="sparse").model,
    "float32-classes": lambda: class_parts(n_classes=3, kind="float32", bias=1.0).model,
    "labels": lambda: label_model(False, 0.0),
    "sparse-labels": lambda: label_model(True, 2.0),
    "graphs": graph_model,
}


@pytest.mark.parametrize("name", MODELS)
def test_the_adjoint_is_the_transpose(name: str) -> None:
    model, rng = MODELS[name](), np.random.default_rng(1)
    w = model.zeros()
    w[:] = rng.normal(size=model.n_params)
    for examples in (None, [3, 0, 2], [1], slice(1, 4)):
        s = model.scores(w, examples)
        m = random_like(s, rng)
        assert s.dot(m).sum() == pytest.approx(float(w @ model.adjoint(m, examples)))


@pytest.mark.parametrize("name", MODELS)
def test_scores_of_some_examples_are_those_of_all(name: str) -> None:
    model = MODELS[name]()
    w = np.random.default_rng(1).normal(size=model.n_params)
    some, every = model.scores(w, [3, 1]), model.scores(w).select([3, 1])
    np.testing.assert_allclose(some.nodes, every.nodes)
    np.testing.assert_array_equal(some.offsets, every.offsets)
    if some.edges is not None:
        np.testing.assert_allclose(some.edges, every.edges)


def test_scores_of_classes_are_a_product() -> None:
    model = class_parts(n_classes=3, bias=0.5).model
    w = np.random.default_rng(0).normal(size=model.n_params)
    table, intercept = model.unpack(w)
    expected = model.X @ table + 0.5 * intercept[0]
    np.testing.assert_allclose(model.scores(w).nodes.reshape(-1, 3), expected)


def test_repeated_entries_of_a_sparse_matrix_are_added_up() -> None:
    twice = sp.coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(2, 3))
    model = cs.LinearClassModel(twice, 2)
    assert model.X.toarray().tolist() == [[0.0, 3.0, 0.0], [0.0, 0.0, 0.0]]
    assert model.longest_rows([]).tolist() == [18.0, 0.0]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros(3), "X has shape"),
        (np.zeros((0, 3)), "at least one row"),
        (np.array([[np.nan]]), "NaN"),
        (sp.csr_array(np.array([[np.inf]])), "NaN or infinite"),
    ],
)
def test_features_are_checked(X: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        cs.LinearClassModel(X, 2)
