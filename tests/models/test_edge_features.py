"""Chains whose pairs of labels have features: scores by hand, the adjoint, native against composed, solvers."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from problems import edge_parts

import casimir as cs
from casimir.scores import FloatArray


def score_by_hand(model: cs.LinearChainModel, w: FloatArray, i: int, y: tuple[int, ...]) -> float:
    """The formula, feature by feature."""
    X, L = model.X, model.n_labels
    rows = model.weights.rows(w)
    total = rows[X.n_features + L, y[0]] + rows[X.n_features + L + 1, y[-1]]
    for t, label in enumerate(y):
        token = int(X.offsets[i]) + t
        for f in range(X.indptr[token], X.indptr[token + 1]):
            total += (1.0 if X.values is None else X.values[f]) * rows[X.indices[f], label]
        if t == 0:
            continue
        total += rows[X.n_features + y[t - 1], label]
        E = X.edges
        assert E is not None
        for f in range(E.indptr[token], E.indptr[token + 1]):
            row = X.n_features + L + 2 + int(E.indices[f]) * L + y[t - 1]
            total += (1.0 if E.values is None else E.values[f]) * rows[row, label]
    return float(total)


@pytest.mark.parametrize("valued", [False, True])
def test_scores_are_those_of_the_formula(valued: bool) -> None:
    parts = edge_parts(n_labels=3, valued=valued)
    model, w = parts.model, np.random.default_rng(0).normal(size=parts.model.n_params)
    s = model.scores(w)
    for i, true in enumerate(parts.y):
        for y in itertools.product(range(3), repeat=len(true)):
            whole = s.select([i])
            found = whole.nodes[np.arange(len(y)), y].sum() + sum(
                whole.pairwise(0)[t, y[t], y[t + 1]] for t in range(len(y) - 1)
            )
            assert found == pytest.approx(score_by_hand(model, w, i, y), abs=1e-12)


@pytest.mark.parametrize("loss", ["hinge", "crf"])
def test_the_native_loss_is_that_of_all_outputs(loss: str) -> None:
    parts = edge_parts(n_labels=3, weighted_cost=True, valued=True)
    objective = parts.objective(cs.Ridge(0.1), loss)
    w = np.zeros(parts.model.n_params)
    parts.model.weights.rows(w)[:] = np.random.default_rng(1).normal(size=(parts.model.weights.n_rows, 3))
    total = 0.0
    for i, true in enumerate(parts.y):
        outputs = list(itertools.product(range(3), repeat=len(true)))
        scores = np.array([score_by_hand(parts.model, w, i, y) for y in outputs])
        if loss == "hinge":
            total += np.max(scores + [parts.cost(true, np.array(y)) for y in outputs])
        else:
            total += np.logaddexp.reduce(scores)
        total -= score_by_hand(parts.model, w, i, tuple(true))
    assert objective.value(w) == pytest.approx(total / len(parts.y) + 0.05 * w @ w, abs=1e-10)


def test_adjoint_is_the_transpose_of_scores_for_any_examples() -> None:
    parts, rng = edge_parts(n_labels=4, valued=True), np.random.default_rng(2)
    w = np.zeros(parts.model.n_params)
    parts.model.weights.rows(w)[:] = rng.normal(size=(parts.model.weights.n_rows, 4))
    for examples in (None, [0], [4, 1], slice(2, 5)):
        s = parts.model.scores(w, examples)
        m = cs.Scores(rng.normal(size=s.nodes.shape), s.offsets, rng.normal(size=s.edges.shape), s.edge_offsets)
        assert np.sum(s.nodes * m.nodes) + np.sum(s.edges * m.edges) == pytest.approx(
            w @ parts.model.adjoint(m, examples), abs=1e-10
        )


def test_gradients_are_finite_differences() -> None:
    parts = edge_parts(n_labels=3, valued=True)
    objective, rng = parts.objective(cs.Ridge(0.1), "crf"), np.random.default_rng(3)
    w, d = (np.zeros(parts.model.n_params) for _ in range(2))
    for one in (w, d):
        parts.model.weights.rows(one)[:] = rng.normal(size=(parts.model.weights.n_rows, 3))
    slope = (objective.value(w + 1e-5 * d) - objective.value(w - 1e-5 * d)) / 2e-5
    gradient = objective.evaluate(w).gradient
    assert gradient is not None
    assert (gradient + 0.1 * w) @ d == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("loss", ["hinge", "crf"])
def test_no_output_is_farther_than_the_bound_of_its_rows(loss: str) -> None:
    parts = edge_parts(n_labels=3, valued=True)
    bounds = parts.model.longest_rows(parts.y)
    for i, true in enumerate(parts.y):
        layout = parts.model.scores(parts.model.zeros(), [i])
        truth = parts.structure.mixture(layout, [true[None]], [np.ones(1)])
        for y in itertools.product(range(3), repeat=len(true)):
            other = parts.structure.mixture(layout, [np.array([y])], [np.ones(1)])
            assert np.sum(parts.model.adjoint(other - truth, [i]) ** 2) <= bounds[i] + 1e-9


SOLVERS: dict[str, tuple[str, Any]] = {
    "dual": ("hinge", cs.DualProximal()),
    "bcfw": ("hinge", cs.BCFW(pairwise=True)),
    "casimir": ("crf", cs.Casimir()),
    "sdca": ("crf", cs.SDCA()),
    "dual-crf": ("crf", cs.DualProximal()),
    "lbfgs": ("crf", cs.LBFGS()),
    "saga": ("crf", cs.SAGA()),
    "svrg": ("crf", cs.SVRG()),
}


@pytest.mark.parametrize("name", SOLVERS)
def test_every_solver_certifies_the_same_optimum(name: str) -> None:
    loss, solver = SOLVERS[name]
    parts = edge_parts(n_labels=3, n=8, weighted_cost=True)
    best = cs.minimize(parts.objective(cs.Ridge(0.05), loss), cs.DualProximal(), 2000, 1e-6)
    result = cs.minimize(parts.objective(cs.Ridge(0.05), loss), solver, 3000, 1e-3)
    assert best.converged
    assert result.converged
    assert best.dual - 1e-9 <= result.objective <= best.objective * (1.0 + 2e-3)
    assert result.dual <= best.objective + 1e-9


def test_edges_follow_their_sequences() -> None:
    X = edge_parts(n_labels=3, n=6).model.X
    for chosen in (slice(1, 4), [5, 0], np.array([True, False, True, False, False, True])):
        part = X.select(chosen)
        assert part.edges is not None
        np.testing.assert_array_equal(part.edges.offsets, part.offsets)
    E = X[2].edges
    assert E is not None
    assert X.edges is not None
    first, last = X.offsets[2], X.offsets[3]
    np.testing.assert_array_equal(E.indices, X.edges.indices[X.edges.indptr[first] : X.edges.indptr[last]])


def test_edges_of_other_lengths_are_refused() -> None:
    X = edge_parts(n_labels=3).model.X
    with pytest.raises(ValueError, match="as many tokens, sequence by sequence"):
        X.with_edges(X[:2])


def test_trees_refuse_edges() -> None:
    X = edge_parts(n_labels=3).model.X
    with pytest.raises(ValueError, match="has no features of pairs of labels"):
        cs.LinearTreeModel(X, 3)
