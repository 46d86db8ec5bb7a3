"""SharedWeights: scores and adjoint of the model with expanded weights, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from problems import Parts, chain_parts, shared_parts

import casimir as cs
from casimir.models import SharedWeights
from casimir.testing import random_like


def shared_chain(n_weights: int = 9) -> Parts:
    """Chains, with start and stop scores; they run on the composed path."""
    chain = chain_parts(n_labels=3, valued=True)
    cells = np.random.default_rng(0).integers(0, n_weights, (chain.model.weights.n_rows, 3))
    return Parts(SharedWeights(chain.model, cells, n_weights), chain.structure, chain.cost, chain.y)


@pytest.mark.parametrize("parts", [shared_chain(), shared_parts(n_labels=3, valued=True)], ids=["chain", "tree"])
def test_the_adjoint_is_the_transpose(parts: Parts) -> None:
    rng = np.random.default_rng(0)
    w = rng.normal(size=parts.model.n_params)
    for examples in (None, [0, 2], [1]):
        s = parts.model.scores(w, examples)
        m = random_like(s, rng)
        assert s.dot(m).sum() == pytest.approx(float(w @ parts.model.adjoint(m, examples)))


def test_scores_are_those_of_the_expanded_weights() -> None:
    parts = shared_parts(n_labels=3)
    model, w = parts.model, np.random.default_rng(0).normal(size=parts.model.n_params)
    unary, edges = model.model.unpack(model.expand(w))
    rows = model.model.n_features
    np.testing.assert_array_equal(unary, w[model.cells[:rows]])
    np.testing.assert_array_equal(edges, w[model.cells[rows:]])
    np.testing.assert_array_equal(model.scores(w).nodes, model.model.scores(model.expand(w)).nodes)


def test_a_cell_each_is_the_model_itself() -> None:
    """All cells different: F, gradient and certified optimum of the plain model."""
    plain = shared_parts(n_labels=3, weighted_cost=True).model.model
    cells = np.arange(plain.weights.n_rows * 3).reshape(-1, 3)
    parts = shared_parts(n_labels=3, weighted_cost=True)
    shared, own = (Parts(m, parts.structure, parts.cost, parts.y) for m in (SharedWeights(plain, cells, 30), plain))
    results = [cs.minimize(p.objective(0.1), cs.DualProximal(), 200, 1e-8, 0) for p in (shared, own)]
    assert results[0].objective == pytest.approx(results[1].objective, rel=1e-6)
    np.testing.assert_allclose(shared.model.expand(results[0].w), results[1].w, atol=1e-3)


@pytest.mark.parametrize("kind", ["chain", "tree"])
def test_solvers_certify_shared_weights(kind: str) -> None:
    """Dual steps with gathered norms against L-BFGS on a smoothed loss, which knows none of them."""
    parts = shared_chain() if kind == "chain" else shared_parts(n_labels=3)
    found = cs.minimize(parts.objective(0.1), cs.DualProximal(), 400, 1e-5, 0)
    assert found.gap <= 1e-5
    other = cs.minimize(parts.objective(0.1), cs.LBFGS(cs.Entropy(), mu=1e-3), 400, 1e-6, 0)
    assert found.dual <= other.objective <= found.objective + 0.02


@pytest.mark.parametrize(
    ("cells", "n_weights", "words"),
    [
        (np.zeros((2, 3), dtype=np.int64), 4, r"\[2, 3\]; it must hold integers \[10, 3\]"),
        (np.zeros((10, 3)), 4, "float64"),
        (np.full((10, 3), 4), 4, "from 4 to 4; they must be from 0 to 3"),
        (np.full((10, 3), -1), 4, "from -1 to -1"),
        (np.zeros((10, 3), dtype=np.int64), 0, "n_weights"),
    ],
)
def test_cells_that_do_not_fit_are_refused(cells: Any, n_weights: int, words: str) -> None:
    model = shared_parts(n_labels=3).model.model
    with pytest.raises((ValueError, TypeError), match=words):
        SharedWeights(model, cells, n_weights)


def test_other_models_are_refused() -> None:
    with pytest.raises(TypeError, match="needs a LinearTreeModel or a LinearChainModel"):
        SharedWeights(cs.LinearCandidateModel([np.eye(2)]), np.zeros((1, 1), dtype=np.int64), 1)  # type: ignore[arg-type]
