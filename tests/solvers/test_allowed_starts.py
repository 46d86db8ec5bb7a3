"""Casimir extrapolates beyond its points; where its inner solvers start, and what they ask oracles, stays allowed."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import casimir as cs
from casimir.penalties import Proximal, nearest_allowed

INNER: list[Any] = [cs.SVRG(cs.L2()), cs.SAGA(cs.L2()), cs.GradientDescent(cs.L2()), cs.LBFGS(cs.L2())]


def cut_objective() -> tuple[cs.Objective, np.ndarray]:
    """Graph cuts, which refuse scores that are not submodular, and edge weights that are pushed below 0."""
    rng, n, d = np.random.default_rng(0), 12, 3
    edges = [[0, 1], [1, 2], [2, 3], [0, 3]]
    nodes, pairs, y = [], [], []
    for _ in range(n):
        x, q = rng.normal(size=(4, d)), rng.uniform(size=(len(edges), 2))
        of_nodes, of_pairs = np.zeros((4, 2, d + 2)), np.zeros((len(edges), 2, 2, d + 2))
        of_nodes[:, 1, :d] = x
        of_pairs[:, 0, 1, d:] = of_pairs[:, 1, 0, d:] = -q
        nodes.append(of_nodes.reshape(-1, d + 2))
        pairs.append(of_pairs.reshape(-1, d + 2))
        y.append((x @ [1.0, -1.0, 0.5] + 1.5 * rng.normal(size=4) > 0).astype(np.int64))
    model = cs.LinearPartsModel(nodes, pairs, n_labels=2)
    mask = np.arange(d + 2) >= d
    return cs.Objective(model, cs.GraphCut([edges] * n), cs.Hamming(), y, cs.Ridge(0.05, nonnegative=mask)), mask


@cache
def optimum() -> float:
    return cs.minimize(cut_objective()[0], cs.DualProximal(), epochs=200, tol=1e-5).objective


@pytest.mark.parametrize("inner", INNER, ids=lambda inner: type(inner).__name__)
@pytest.mark.parametrize("warm_start", ["prox-center", "extrapolation", "prev-iterate"])
def test_extrapolation_never_asks_an_oracle_about_weights_that_are_not_allowed(inner: Any, warm_start: str) -> None:
    objective, mask = cut_objective()
    result = cs.minimize(objective, cs.Casimir.paper("const", inner, warm_start=warm_start), epochs=15, tol=1e-3)
    assert (result.w[mask] >= 0.0).all()
    assert result.dual <= optimum() <= result.objective + 1e-4


def test_the_nearest_allowed_point_is_w_itself_where_it_is_allowed() -> None:
    w, mask = np.array([1.0, -1.0, 2.0]), np.array([True, True, False])
    assert nearest_allowed(cs.Ridge(1.0), w) is w
    assert nearest_allowed(cs.ElasticNet(1.0, 0.5), w).tolist() == w.tolist()
    assert nearest_allowed(cs.ElasticNet(1.0, 1.0, nonnegative=mask), w).tolist() == [1.0, 0.0, 2.0]
    assert nearest_allowed(Proximal(cs.Ridge(1.0, nonnegative=mask), 2.0, -w), w).tolist() == [1.0, 0.0, 2.0]
