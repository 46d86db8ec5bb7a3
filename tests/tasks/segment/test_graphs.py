"""Graphs as models: submodular by construction, costs in shares of pixels."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from casimir.objective import Objective
from casimir.penalties import Ridge
from casimir.scores import Scores
from casimir.solvers import DualProximal, minimize
from casimir.tasks.segment.graphs import CutModel, ImageGraph, PixelHamming, best_labels, edge_weights, structure


def small_graph(rng: np.random.Generator, p: int = 5) -> ImageGraph:
    edges = np.array([[u, v] for u in range(p) for v in range(u + 1, p) if rng.random() < 0.6], dtype=np.int64)
    share = rng.dirichlet(np.ones(p))
    nodes, cuts = rng.normal(size=(p, 3)), rng.random((len(edges), 2))
    return ImageGraph(np.arange(p)[None], share, nodes, edges.reshape(-1, 2), cuts, rng.integers(0, 2, p))


def score(graph: ImageGraph, w: np.ndarray, y: np.ndarray) -> float:
    u, v = graph.edges.T
    cut = (graph.cuts @ w[3:]) * (y[u] != y[v])
    return float(graph.share @ (y * (graph.nodes @ w[:3])) - cut.sum())


def test_scores_are_the_formula(rng: np.random.Generator) -> None:
    graphs = [small_graph(rng), small_graph(rng, 3)]
    w = np.array([1.0, -2.0, 0.5, 0.3, 0.1])
    scores = CutModel(graphs).scores(w)
    for _ in range(10):
        y = [rng.integers(0, 2, len(graph.share)) for graph in graphs]
        by_hand = [score(graph, w, labels) for graph, labels in zip(graphs, y, strict=True)]
        np.testing.assert_allclose(structure(graphs).score_of(scores, y), by_hand, atol=1e-12)


@pytest.mark.parametrize("examples", [None, [2], [2, 0], slice(1, 3)])
def test_the_adjoint_is_that_of_the_scores(rng: np.random.Generator, examples: object) -> None:
    graphs = [small_graph(rng), small_graph(rng, 1), small_graph(rng, 4)]
    model, w = CutModel(graphs), rng.normal(size=5)
    scores = model.scores(w, examples)
    m = Scores(
        rng.normal(size=scores.nodes.shape),
        scores.offsets,
        rng.normal(size=np.shape(scores.edges)),
        scores.edge_offsets,
    )
    assert scores.dot(m).sum() == pytest.approx(w @ model.adjoint(m, examples), abs=1e-12)


def test_no_pair_of_outputs_is_further_apart_than_the_longest_rows(rng: np.random.Generator) -> None:
    graph = small_graph(rng, 4)
    rows = [np.array([score(graph, w, np.array(y)) for w in np.eye(5)]) for y in itertools.product((0, 1), repeat=4)]
    furthest = max(float((a - b) @ (a - b)) for a in rows for b in rows)
    assert CutModel([graph]).longest_rows([graph.truth])[0] >= furthest


def test_the_best_labels_are_the_best_of_all(rng: np.random.Generator) -> None:
    graph = small_graph(rng)
    w = np.array([1.0, -2.0, 0.5, 0.05, 0.02])
    outputs = [np.array(y) for y in itertools.product((0, 1), repeat=5)]
    best = max(score(graph, w, y) for y in outputs)
    assert score(graph, w, best_labels([graph], w)[0]) == pytest.approx(best)


def test_a_graph_without_edges_labels_every_node_alone(rng: np.random.Generator) -> None:
    graph = small_graph(rng).without_edges()
    w = np.array([1.0, -2.0, 0.5, 9.0, 9.0])
    np.testing.assert_array_equal(best_labels([graph], w)[0], (graph.nodes @ w[:3] > 0).astype(int))


def test_the_cost_is_the_share_of_wrong_pixels(rng: np.random.Generator) -> None:
    graphs = [small_graph(rng), small_graph(rng, 4)]
    cost = PixelHamming([graph.share for graph in graphs])
    y = [graph.truth for graph in graphs]
    other = [rng.integers(0, 2, len(truth)) for truth in y]
    parts = cost.parts(structure(graphs), CutModel(graphs).scores(np.zeros(5)), y)
    by_parts = structure(graphs).score_of(parts, other)
    assert by_parts.tolist() == pytest.approx([cost(y[i], other[i], example=i) for i in range(2)])
    assert cost(y[0], 1 - y[0], example=0) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="say which"):
        cost(y[0], y[0])


def test_training_keeps_edge_weights_at_zero_or_above(rng: np.random.Generator) -> None:
    graphs = [small_graph(rng) for _ in range(8)]
    truth = [graph.truth for graph in graphs]
    penalty = Ridge(0.01, nonnegative=edge_weights(graphs))
    cost = PixelHamming([g.share for g in graphs])
    objective = Objective(CutModel(graphs), structure(graphs), cost, truth, penalty)
    result = minimize(objective, DualProximal(), epochs=300, tol=1e-2)
    assert result.gap <= 1e-2
    assert result.w[3:].min() >= 0.0
