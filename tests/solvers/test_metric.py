"""Coordinates for L-BFGS: what they bound, that they change no optimum, where they are used."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from problems import class_parts

import casimir as cs
from casimir.models.linear_classes import feature_moments
from casimir.scores import FloatArray
from casimir.solvers.choose import choose
from casimir.solvers.metric import RowMetric


def correlated(n: int = 300, noise: float = 3.0, seed: int = 0) -> tuple[FloatArray, list[Any]]:
    """Features of scales from 1 to 1000 that are nearly copies of each other, and noisy classes."""
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(n, 3))
    X = base[:, [0, 1, 2, 0, 1]] + 0.03 * rng.normal(size=(n, 5))
    classes = (base @ rng.normal(size=(3, 4)) + noise * rng.normal(size=(n, 4))).argmax(axis=1)
    return X * np.logspace(0, 3, 5), [np.array([c]) for c in classes]


def objective_of(X: Any, y: list[Any], penalty: Any = None, **options: Any) -> cs.Objective:
    model = cs.LinearClassModel(X, 4, 1.0)
    return cs.Objective(model, cs.Candidates(), cs.Log(), y, penalty or 1.0 / len(y), **options)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("bias", [0.0, 2.0])
def test_curvature_bounds_the_hessian_at_zero(weighted: bool, bias: float) -> None:
    parts = class_parts(n=7, n_classes=3, dim=2, bias=bias)
    weights = np.arange(7.0) if weighted else None
    objective = parts.objective(1.0, "crf", sample_weight=weights)
    d, h = objective.n_params, 1e-5
    columns = [objective.evaluate(h * e).gradient - objective.evaluate(-h * e).gradient for e in np.eye(d)]
    curvature = objective.curvature_at_zero(100)
    assert curvature is not None
    bound = np.kron(curvature, np.eye(parts.model.stride))
    gaps = np.linalg.eigvalsh(bound - np.array(columns) / (2.0 * h))
    assert gaps.min() > -1e-8
    assert gaps.min() < 1e-8  # and no smaller multiple of it does


def test_moments_are_those_of_features_and_the_constant_one() -> None:
    X, shares = np.random.default_rng(0).normal(size=(6, 3)), np.full(6, 1.0 / 6.0)
    ones = np.hstack([X, np.full((6, 1), 0.5)])
    for given in (None, shares):
        np.testing.assert_allclose(feature_moments(X, 0.5, given, 4), ones.T @ ones / 6)
    assert feature_moments(X, 0.5, None, 3) is None
    assert feature_moments(sp.csr_array(X), 0.5, None, 100) is None


def test_the_transform_makes_the_bound_the_identity() -> None:
    objective = objective_of(*correlated())
    metric, curvature = RowMetric.of(objective, 1.0), objective.curvature_at_zero(100)
    assert metric is not None
    assert curvature is not None
    T, bound = metric.transform, curvature + np.eye(6) / 300
    np.testing.assert_allclose(T.T @ bound @ T, np.eye(6), atol=1e-4)
    g, v = np.random.default_rng(0).normal(size=(2, objective.n_params))
    assert g @ metric.to_weights(v) == pytest.approx(metric.gradient(g) @ v)


@pytest.mark.parametrize("penalty", [cs.ElasticNet(0.01, 0.5), cs.Ridge(0.01, nonnegative=np.ones(24, dtype=np.bool_))])
def test_other_penalties_have_no_metric(penalty: Any) -> None:
    assert RowMetric.of(objective_of(*correlated(), penalty), 1.0) is None


def test_correlated_features_take_few_iterations_to_the_same_optimum() -> None:
    X, y = correlated()
    runs = [cs.minimize(objective_of(X, y), cs.LBFGS(metric=on), 500, 1e-8) for on in (True, False)]
    assert runs[0].converged
    assert runs[0].objective <= runs[1].objective * (1 + 1e-7)
    assert 5 * runs[0].trace[-1].epoch < runs[1].trace[-1].epoch


def test_clear_classes_have_no_use_for_the_metric() -> None:
    """Far from w = 0 the Hessian there says nothing, so that both runs are one."""
    X, y = correlated(noise=0.0)
    runs = [cs.minimize(objective_of(X, y), cs.LBFGS(metric=on), 30, 1e-8) for on in (True, False)]
    np.testing.assert_array_equal(runs[0].w, runs[1].w)


def test_auto_takes_it_where_it_helps() -> None:
    X, y = correlated()
    assert isinstance(choose("auto", objective_of(X, y)), cs.LBFGS)
    assert not isinstance(choose("auto", objective_of(sp.csr_array(X), y)), cs.LBFGS)


def test_auto_takes_it_for_more_weights_than_examples_too() -> None:
    X, y = correlated(n=20, noise=20.0)
    objective = objective_of(X, y)
    assert objective.n_params > objective.n_active == 20
    assert isinstance(choose("auto", objective), cs.LBFGS)
