"""The core's problem of classes: what it refuses, what it keeps alive, storages that agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from problems import class_parts

import casimir as cs
from casimir._native import core
from casimir.problems import FusedProblem

SPARSE = {
    "indptr": np.array([0, 1, 3]),
    "indices": np.array([1, 0, 2], dtype=np.uint32),
    "values": np.array([1.0, 2.0, 3.0]),
    "n_features": 3,
    "bias": 0.5,
    "n_labels": 2,
    "y": np.array([0, 1], dtype=np.int32),
    "cost": np.array([[0.0, 1.0], [1.0, 0.0]]),
    "truth": None,
}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_labels": 0}, "at least one label"),
        ({"indptr": np.array([0])}, "at least one example"),
        ({"indptr": np.array([0, 1, 4])}, "indptr must rise"),
        ({"indices": np.array([1, 2, 0], dtype=np.uint32)}, "must be sorted"),
        ({"indices": np.array([1, 0, 3], dtype=np.uint32)}, "not below n_features"),
        ({"values": np.ones(2)}, "one entry per feature index"),
        ({"y": np.array([0], dtype=np.int32)}, "one label per token"),
        ({"y": np.array([0, 2], dtype=np.int32)}, "a label is out of range"),
        ({"cost": np.zeros((2, 3))}, "cost has the wrong shape"),
        ({"truth": np.zeros(3)}, "truth has the wrong size"),
    ],
)
def test_arrays_must_fit_together(changes: dict[str, Any], message: str) -> None:
    core.sparse_classes(**SPARSE)
    with pytest.raises(ValueError, match=message):
        core.sparse_classes(**{**SPARSE, **changes})


def test_dense_features_need_a_row_and_a_column() -> None:
    for shape, message in (((0, 2), "at least one example"), ((2, 0), "at least one column")):
        with pytest.raises(ValueError, match=message):
            core.dense_classes(np.zeros(shape), 0.0, 2, None, None)


def test_the_problem_keeps_its_arrays_alive() -> None:
    hard = core.Smoothing("hard", 1, 0.0)
    expected = core.sparse_classes(**SPARSE).full_pass(np.zeros(16), hard, 1, None, None)[0]
    problem = core.sparse_classes(**{k: v.copy() if hasattr(v, "copy") else v for k, v in SPARSE.items()})
    junk = [np.full(1000, 7.0) for _ in range(100)]
    np.testing.assert_array_equal(problem.full_pass(np.zeros(16), hard, 1, None, None)[0], expected)
    assert len(junk) == 100


def test_sparse_and_dense_problems_have_the_same_losses() -> None:
    parts = class_parts(n_classes=5, kind="sparse", bias=0.3)
    dense = cs.LinearClassModel(parts.model.X.toarray(), 5, 0.3)
    w = np.random.default_rng(0).normal(size=dense.n_params)
    a, b = (
        cs.Objective(model, cs.Candidates(), cs.Hinge(parts.cost), parts.y, 0.1).evaluate(w)
        for model in (parts.model, dense)
    )
    assert a.objective == pytest.approx(b.objective, rel=1e-14)
    np.testing.assert_allclose(a.gradient, b.gradient, atol=1e-14)


@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_decoding_is_the_max_oracle(kind: str) -> None:
    parts = class_parts(n=30, n_classes=6, kind=kind, bias=1.0)
    w = np.random.default_rng(0).normal(size=parts.model.n_params)
    problem = parts.objective(0.1, "crf").problem(cs.Hard())
    assert isinstance(problem, FusedProblem)
    expected = parts.structure.max(parts.model.scores(w)).outputs
    np.testing.assert_array_equal(np.concatenate(problem.decode(w)), np.concatenate(expected))


def test_a_class_may_be_one_of_several() -> None:
    """Masks in the place of labels: the truth is completed, and certified on the core."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    y: list[Any] = [np.array([int(np.argmax(x[:3]))]) for x in X]
    y[0] = np.array([True, True, False])
    objective = cs.Objective(cs.LinearClassModel(sp.csr_array(X), 3), cs.Candidates(), cs.Log(), y, 0.1)
    result = cs.minimize(objective, cs.ConcaveConvex(), epochs=200, tol=1e-3)
    plain = cs.Objective(cs.LinearClassModel(X, 3), cs.Candidates(), cs.Log(), y, 0.1, native=False)
    assert result.objective == pytest.approx(plain.value(result.w), rel=1e-10)
