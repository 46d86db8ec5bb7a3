"""GraphLabeler and GridLabeler: enumeration as the judge, every kind of pairs, native and composed training alike."""

from __future__ import annotations

import itertools
import pickle
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import casimir as cs
from casimir.estimators.graph_labeler import pair_tables
from casimir.estimators.graphs import Graphs, chain_edges, exact_structure
from casimir.estimators.grid_labeler import grid_edges
from casimir.models.linear_tree import LinearTreeModel
from casimir.scores import FloatArray

Graph = tuple[Any, ...]
SHAPES: dict[str, list[list[int]]] = {
    "chain": [[0, 1], [1, 2], [2, 3]],
    "star": [[1, 0], [0, 2], [3, 0]],
    "forest": [[2, 1], [3, 0]],
    "cycle": [[0, 1], [1, 2], [2, 3], [3, 0]],
    "no edges": [],
}


def graphs(shape: str, n: int = 12, labels: int = 3, features: int = 0, seed: int = 0) -> tuple[list[Graph], list[Any]]:
    """Four nodes each; neighbours tend to have equal labels."""
    rng, edges = np.random.default_rng(seed), np.array(SHAPES[shape], dtype=np.int64).reshape(-1, 2)
    centers = rng.normal(size=(labels, 2))
    X: list[Graph] = []
    y = []
    for _ in range(n):
        truth = np.where(rng.random(4) < 0.6, rng.integers(labels), rng.integers(labels, size=4))
        nodes = centers[truth] + 0.8 * rng.normal(size=(4, 2))
        X.append((nodes, edges, rng.random((len(edges), features))) if features else (nodes, edges))
        y.append(truth)
    y[0][:labels] = np.arange(labels)  # every label is there
    return X, y


def listed(model: cs.GraphLabeler, x: Graph) -> tuple[Any, FloatArray]:
    """All outputs of a graph and their scores, written down anew."""
    nodes, edges = x[0], x[1]
    features = x[2] if len(x) == 3 else np.ones((len(edges), 1))
    outputs = np.array(list(itertools.product(range(len(model.classes_)), repeat=len(nodes))))
    scores = (nodes @ model.coef_)[np.arange(len(nodes)), outputs].sum(axis=1)
    for (u, v), z in zip(edges, features, strict=True):
        scores = scores + np.tensordot(z, model.pairs_, axes=1)[outputs[:, u], outputs[:, v]]
    return outputs, scores


def listed_loss(model: cs.GraphLabeler, X: list[Graph], y: list[Any], costs: Any = (1.0, 1.0, 1.0)) -> float:
    total = 0.0
    for x, truth in zip(X, y, strict=True):
        outputs, scores = listed(model, x)
        wrong = (outputs != truth) @ np.asarray(costs)[truth]
        best = np.max(scores + wrong) if model.loss == "hinge" else logsumexp(scores)
        total += best - scores[wrong == 0][0]
    return total / len(X)


@pytest.mark.parametrize("loss", ["hinge", "log"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("pairs", "features"), [("full", 0), ("full", 2), ("symmetric", 0), ("potts", 2)])
def test_enumeration_agrees(shape: str, pairs: str, features: int, loss: str) -> None:
    X, y = graphs(shape, features=features)
    model = cs.GraphLabeler(0.1, loss, pairs=pairs).fit(X, y)
    assert model.gap_ <= 1e-2
    squares = np.sum(model.coef_**2) + np.sum(packed(model.pairs_, pairs) ** 2)
    assert model.objective_ == pytest.approx(listed_loss(model, X, y) + 0.05 * squares, rel=1e-9)
    for x, found in zip(X, model.predict(X), strict=True):
        outputs, scores = listed(model, x)
        assert scores[(outputs == found).all(axis=1)][0] == pytest.approx(scores.max(), abs=1e-12)
    if loss == "log":
        for x, found in zip(X, model.predict_marginals(X), strict=True):
            outputs, scores = listed(model, x)
            p = np.exp(scores - logsumexp(scores))
            expected = [[p[outputs[:, v] == j].sum() for j in range(3)] for v in range(4)]
            np.testing.assert_allclose(found, expected, atol=1e-10)


def balanced(y: list[Any]) -> FloatArray:
    counts = np.bincount(np.concatenate(y))
    return counts.sum() / (len(counts) * counts)


def packed(tables: FloatArray, pairs: str) -> FloatArray:
    """The weights that the penalty sees."""
    if pairs == "potts":
        np.testing.assert_allclose(tables, tables[:, :1, :1] * np.eye(3), atol=1e-12)
        return tables[:, 0, 0]
    if pairs == "symmetric":
        np.testing.assert_allclose(tables, tables.transpose(0, 2, 1), atol=1e-12)
        return tables[:, *np.triu_indices(3)]
    return tables


def test_chains_train_natively_and_the_same() -> None:
    """With a feature of 1 per edge the composed model is the same, and so is its optimum."""
    X, y = graphs("chain", 30)
    plain = cs.GraphLabeler(0.05, tol=1e-5, max_epochs=5000).fit([nodes for nodes, _ in X], y)
    ones = [(nodes, edges, np.ones((3, 1))) for nodes, edges in X]
    composed = cs.GraphLabeler(0.05, tol=1e-3, max_epochs=5000).fit(ones, y)
    assert isinstance(plain._native(Graphs.of(X))[1], LinearTreeModel)
    assert composed._native(Graphs.of(ones))[1] is None
    assert composed.objective_ == pytest.approx(plain.objective_, rel=1e-3)
    np.testing.assert_allclose(composed.coef_, plain.coef_, atol=0.1)


@pytest.mark.parametrize("pairs", ["full", "symmetric", "potts"])
def test_cvxpy_finds_the_same_optimum(pairs: str) -> None:
    cvxpy = pytest.importorskip("cvxpy")
    X, y = graphs("cycle", 6, labels=2, features=2)
    model = cs.GraphLabeler(0.1, pairs=pairs, tol=1e-4, max_epochs=5000).fit(X, y)
    basis = pair_tables(pairs, 2, "hinge")
    U, P = cvxpy.Variable((2, 2)), cvxpy.Variable((2, len(basis)))
    losses = []
    for (nodes, edges, features), truth in zip(X, y, strict=True):
        outputs = np.array(list(itertools.product((0, 1), repeat=4)))
        of_truth = parts_of(truth, nodes, edges, features, basis)
        A = np.array([parts_of(output, nodes, edges, features, basis) - of_truth for output in outputs])
        costs = (outputs != truth).sum(axis=1)
        w = cvxpy.hstack([cvxpy.reshape(U, (4,), order="C"), cvxpy.reshape(P, (P.size,), order="C")])
        losses.append(cvxpy.max(A @ w + costs))
    penalty = 0.05 * (cvxpy.sum_squares(U) + cvxpy.sum_squares(P))
    best = cvxpy.Problem(cvxpy.Minimize(sum(losses) / len(losses) + penalty)).solve(solver="CLARABEL")
    assert model.dual_ <= best + 1e-6
    assert model.objective_ == pytest.approx(best, rel=2e-4)


def parts_of(output: Any, nodes: FloatArray, edges: Any, features: FloatArray, basis: FloatArray) -> FloatArray:
    """The features of a whole output, in the order (U, P)."""
    unary = sum(np.outer(x, np.eye(2)[label]) for x, label in zip(nodes, output, strict=True))
    pairs = sum(np.outer(z, basis[:, output[u], output[v]]) for (u, v), z in zip(edges, features, strict=True))
    return np.concatenate([np.ravel(unary), np.ravel(pairs)])


def test_directions_count() -> None:
    """Label 1 follows label 0 along edges, and the features say nothing."""
    rng = np.random.default_rng(0)
    X, y = [], []
    for _ in range(20):
        first = int(rng.integers(2))
        y.append(np.array([first, 1 - first]))
        X.append((np.array([[2.0 * first - 1.0], [0.0]]), np.array([[0, 1]])))
    full = cs.GraphLabeler().fit(X, y)
    assert full.score(X, y) == 1.0
    flipped = [(nodes, edges[:, ::-1]) for nodes, edges in X]
    assert cs.GraphLabeler().fit(flipped, y).score(flipped, y) == 1.0
    assert full.pairs_[0, 0, 1] > full.pairs_[0, 0, 0]


def test_attractive_pairs_are_cut() -> None:
    X, y = graphs("cycle", labels=2, features=2)
    model = cs.GraphLabeler(0.01, pairs="attractive").fit(X, y)
    assert model.gap_ <= 1e-2
    assert model.pairs_[:, 0, 0].min() >= 0.0
    for x, found in zip(X, model.predict(X), strict=True):
        outputs, scores = listed(model, x)
        assert scores[(outputs == found).all(axis=1)][0] == pytest.approx(scores.max())
    with pytest.raises(cs.Intractable, match="for two labels and loss='hinge'"):
        cs.GraphLabeler(pairs="attractive").fit(*graphs("cycle"))
    with pytest.raises(ValueError, match="0 or more"):
        cs.GraphLabeler(pairs="attractive").fit([(x, e, -z) for x, e, z in X], y)


def test_class_weights_are_costs() -> None:
    X, y = graphs("chain", 30)
    for given, costs in (({0: 10.0, 1: 1.0, 2: 0.5}, [10.0, 1.0, 0.5]), ("balanced", balanced(y))):
        model = cs.GraphLabeler(0.1, class_weight=given).fit(X, y)
        squares = np.sum(model.coef_**2) + np.sum(model.pairs_**2)
        assert model.objective_ == pytest.approx(listed_loss(model, X, y, costs) + 0.05 * squares, rel=1e-9)
    with pytest.raises(ValueError, match="class_weight belongs to loss='hinge'"):
        cs.GraphLabeler(loss="log", class_weight="balanced").fit(X, y)


def test_wide_loopy_graphs_are_intractable() -> None:
    beside, below = grid_edges(40, 40)
    X = [(np.zeros((1600, 1)), np.concatenate([beside, below]))]
    with pytest.raises(cs.Intractable, match=r"pairs='attractive' alone.*LoopyGraph"):
        exact_structure(Graphs.of(X), 3, False)


def test_tools_of_scikit_learn() -> None:
    X, y = graphs("star", 16)
    names = [np.array(["a", "b", "c"])[labels] for labels in y]
    grid = GridSearchCV(cs.GraphLabeler(), {"lam": [0.01, 1.0], "pairs": ["full", "potts"]}, cv=2).fit(X, names)
    assert set(grid.predict(X)[0]) <= {"a", "b", "c"}
    model = clone(cs.GraphLabeler(solver=cs.SDCA(), loss="log")).set_params(solver__light_passes=2).fit(X, y)
    assert model.solver_ == cs.SDCA(light_passes=2)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X)[0], model.predict(X)[0])
    weights = np.arange(16) % 3
    weighted = cs.GraphLabeler(tol=1e-4, max_epochs=5000).fit(X, y, sample_weight=weights)
    repeated = [i for i in range(16) for _ in range(weights[i])]
    plain = cs.GraphLabeler(tol=1e-4, max_epochs=5000).fit([X[i] for i in repeated], [y[i] for i in repeated])
    assert weighted.objective_ == pytest.approx(plain.objective_, rel=2e-4)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([], [], "X has no graphs"),
        ([(np.zeros((2, 1)),)], [[0, 1]], "a tuple of 1"),
        ([(np.zeros((2, 1)), [[0, 2]])], [[0, 1]], "names node 2"),
        ([(np.zeros((2, 1)), [[0, 1]], [[1.0], [2.0]])], [[0, 1]], "a row per edge"),
        ([(np.zeros((2, 1)), [[0, 1]])], [[0, 1, 1]], "has 2 nodes and needs"),
        ([(np.zeros((2, 1)), [[0, 1]])], [[0, 1], [1]], "labels for 2 graphs"),
        ([(np.zeros((2, 1)), [[0, 1]])], [[1, 1]], "one class"),
        ([np.zeros((2, 1)), np.zeros((2, 3))], [[0, 1], [0, 1]], "different numbers of features"),
    ],
)
def test_errors_say_what_is_wrong(X: Any, y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        cs.GraphLabeler().fit(X, y)


def test_new_graphs_need_the_same_features() -> None:
    model = cs.GraphLabeler().fit(*graphs("chain"))
    with pytest.raises(ValueError, match=r"\(node, edge\) features \(5, 1\); fit saw \(2, 1\)"):
        model.predict([np.zeros((3, 5))])


# --- grids


def images(n: int = 6, size: tuple[int, int] = (8, 9), seed: int = 0) -> tuple[list[FloatArray], list[Any]]:
    """A bright rectangle in noise."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        truth = np.zeros(size, dtype=np.int64)
        top, left = rng.integers(0, 4, 2)
        truth[top : top + 4, left : left + 4] = 1
        noisy = truth + rng.normal(size=size)
        X.append(np.stack([noisy, np.ones(size)], axis=2))
        y.append(truth)
    return X, y


def test_smooth_labels_beat_pixels_on_their_own() -> None:
    X, y = images(10)
    new, truth = images(10, seed=1)
    model = cs.GridLabeler().fit(X, y)
    assert model.predict(new)[0].shape == (8, 9)
    found = np.mean([np.mean(a == b) for a, b in zip(model.predict(new), truth, strict=True)])
    alone = np.mean([np.mean((x[:, :, 0] > 0.5) == b) for x, b in zip(new, truth, strict=True)])
    assert found > alone + 0.1


def test_a_grid_is_its_graph() -> None:
    X, y = images(4, (3, 4))
    beside, below = grid_edges(3, 4)
    as_graphs = [(x.reshape(12, 2), np.concatenate([beside, below])) for x in X]
    grid = cs.GridLabeler(0.1, "log", pairs="symmetric", tol=1e-3).fit(X, y)
    graph = cs.GraphLabeler(0.1, "log", pairs="symmetric", tol=1e-3).fit(as_graphs, [labels.ravel() for labels in y])
    np.testing.assert_allclose(grid.pairs_, graph.pairs_)
    marginals = grid.predict_marginals(X)[0]
    assert marginals.shape == (3, 4, 2)
    np.testing.assert_allclose(marginals.reshape(12, 2), graph.predict_marginals(as_graphs)[0])


def test_directions_of_a_grid_have_weights_of_their_own() -> None:
    stripes = np.tile(np.array([[0], [1]]), (3, 6))
    X = [np.random.default_rng(seed).normal(size=(6, 6, 1)) + stripes[:, :, None] * 2 for seed in range(4)]
    model = cs.GridLabeler(0.01, pairs="potts", directional=True).fit(X, [stripes] * 4)
    beside, below = model.pairs_[:, 0, 0]
    assert beside > 0.0 > below


def test_edges_of_a_grid() -> None:
    beside, below = grid_edges(2, 3)
    assert beside.tolist() == [[0, 1], [1, 2], [3, 4], [4, 5]]
    assert below.tolist() == [[0, 3], [1, 4], [2, 5]]
    assert chain_edges(3).tolist() == [[0, 1], [1, 2]]


def test_maps_are_checked() -> None:
    with pytest.raises(ValueError, match=r"an image is a feature map \[H, W, d\]"):
        cs.GridLabeler().fit([np.zeros((2, 2))], [np.zeros((2, 2))])
    with pytest.raises(ValueError, match=r"y\[0\] has shape \[3, 2\]; X\[0\] needs \[2, 2\]"):
        cs.GridLabeler().fit([np.zeros((2, 2, 1))], [np.zeros((3, 2))])
