"""Tiny problems for tests of kernels, objectives and solvers, and their optima found by brute force and SciPy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.optimize
import scipy.sparse
from scipy.special import logsumexp

import casimir as cs
from casimir.models import SharedWeights
from casimir.models.linear_labels import LinearLabelModel
from casimir.scores import FloatArray, IntArray, Scores
from casimir.structures.automaton import StateTable
from casimir.structures.base import indicator
from casimir.testing import list_chain


@dataclass(frozen=True, eq=False)
class Parts:
    """What an objective is made of."""

    model: Any
    structure: Any
    cost: Any
    y: list[IntArray]

    def objective(self, penalty: Any, loss: Any = "hinge", **options: Any) -> cs.Objective:
        """loss: "hinge" with the cost, "crf", or a loss."""
        named = {"hinge": cs.Hinge(self.cost), "crf": cs.Log()}
        loss = named[loss] if isinstance(loss, str) else loss
        return cs.Objective(self.model, self.structure, loss, self.y, penalty, **options)


class PerToken:
    """A cost of the user's own: what a wrong label costs depends on it and on its token. prices: list of [p_i, L]."""

    def __init__(self, prices: list[FloatArray]) -> None:
        self.prices = prices

    def parts(self, structure: Any, s: Scores, y: Any) -> Scores:
        wrong = [np.arange(structure.n_labels) != np.asarray(true)[:, None] for true in y]
        return structure.parts_of_cost(s, [p * w for p, w in zip(self.prices, wrong, strict=True)])

    def __call__(self, y_true: Any, y_pred: Any, example: int | None = None) -> float:
        assert example is not None
        return float(self.prices[example][np.arange(len(y_pred)), y_pred] @ (np.asarray(y_true) != y_pred))


def chain_parts(
    seed: int = 0,
    n: int = 6,
    n_labels: int = 3,
    n_features: int = 7,
    lengths: tuple[int, int] = (1, 4),
    valued: bool = False,
    weighted_cost: bool = False,
) -> Parts:
    """Chains of the given range of lengths, the first of length 1 at the shortest, with repeated indices in tokens."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(lengths[0], lengths[1] + 1, n)
    sizes[0], sizes[-1] = lengths
    counts = rng.integers(0, 5, sizes.sum())
    indices = np.concatenate([np.sort(rng.integers(0, n_features, c)) for c in counts]).astype(np.uint32)
    X = cs.PackedSequences(
        np.concatenate([[0], np.cumsum(sizes)]),
        np.concatenate([[0], np.cumsum(counts)]),
        indices,
        rng.normal(size=len(indices)) if valued else None,
        n_features,
    )
    table = rng.uniform(0.2, 2.0, (n_labels, n_labels)) * (1.0 - np.eye(n_labels)) if weighted_cost else None
    y = [rng.integers(0, n_labels, p) for p in sizes.tolist()]
    return Parts(cs.LinearChainModel(X, n_labels), cs.Chain(n_labels), cs.Hamming(table), y)


def edge_parts(n_edge_features: int = 4, **options: Any) -> Parts:
    """The same with features of edges, some of them twice, and some at first tokens, where nobody reads them."""
    parts = chain_parts(**options)
    X, rng = parts.model.X, np.random.default_rng(options.get("seed", 0) + 1)
    counts = rng.integers(0, 4, X.n_tokens)
    indices = np.concatenate([np.sort(rng.integers(0, n_edge_features, c)) for c in counts]).astype(np.uint32)
    values = None if X.values is None else rng.normal(size=len(indices))
    indptr = np.concatenate([[0], np.cumsum(counts)])
    edges = cs.PackedSequences(X.offsets, indptr, indices, values, n_edge_features)
    return replace(parts, model=cs.LinearChainModel(X.with_edges(edges), parts.model.n_labels))


def automaton_parts(**options: Any) -> Parts:
    """The same under a random automaton of three states, which accepts the truth."""
    parts = chain_parts(**options)
    rng, labels = np.random.default_rng(options.get("seed", 0)), parts.structure.n_labels
    steps, final = np.where(rng.random((3, labels)) < 0.7, rng.integers(0, 3, (3, labels)), -1), rng.random(3) < 0.5
    for y in parts.y:
        state = 0
        for j in y.tolist():
            steps[state, j] = steps[state, j] if steps[state, j] >= 0 else rng.integers(3)
            state = steps[state, j]
        final[state] = True
    return replace(parts, structure=cs.AutomatonChain(labels, automaton=StateTable(steps, final)))


def tree_parts(**options: Any) -> Parts:
    """The features and labels of `chain_parts` on the nodes of random trees and forests."""
    chain = chain_parts(**options)
    rng = np.random.default_rng(options.get("seed", 0))
    parents = []
    for y in chain.y:
        numbers = rng.permutation(len(y))
        above = [-1, *(numbers[rng.integers(i)] if rng.random() < 0.8 else -1 for i in range(1, len(y)))]
        parents.append(np.array(above)[np.argsort(numbers)])
    labels = chain.model.n_labels
    return Parts(cs.LinearTreeModel(chain.model.X, labels), cs.Tree(parents, labels), chain.cost, chain.y)


def shared_parts(n_weights: int = 11, **options: Any) -> Parts:
    """The same with few weights, which the features, labels and edges share at random."""
    trees = tree_parts(**options)
    shape = trees.model.weights.n_rows, trees.model.n_labels
    cells = np.random.default_rng(options.get("seed", 0)).integers(0, n_weights, shape)
    return replace(trees, model=SharedWeights(trees.model, cells, n_weights))


def candidate_parts(seed: int = 0, n: int = 8, dim: int = 5) -> Parts:
    """Boxes with dense features; the first example has one candidate only."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 9, n)
    sizes[0] = 1
    corners = [rng.integers(0, 6, (m, 2)) for m in sizes]
    boxes = [np.hstack([c, c + rng.integers(0, 4, c.shape)]).astype(np.float64) for c in corners]
    features = [rng.normal(size=(m, dim)) for m in sizes]
    y = [rng.integers(0, m, 1) for m in sizes]
    return Parts(cs.LinearCandidateModel(features), cs.Candidates(), cs.IoU(boxes), y)


def class_parts(
    seed: int = 0, n: int = 8, n_classes: int = 3, dim: int = 5, bias: float = 0.0, kind: str = "dense"
) -> Parts:
    """Classes with features that are "dense", "float32" or "sparse"; the first row of a sparse X is empty."""
    rng = np.random.default_rng(seed)
    X: Any = rng.normal(size=(n, dim))
    if kind == "float32":
        X = X.astype(np.float32)
    if kind == "sparse":
        X = scipy.sparse.csr_array(np.where((rng.random(X.shape) < 0.4) & (np.arange(n)[:, None] > 0), X, 0.0))
    table = rng.uniform(0.2, 2.0, (n_classes, n_classes)) * (1.0 - np.eye(n_classes))
    y = [rng.integers(0, n_classes, 1) for _ in range(n)]
    return Parts(cs.LinearClassModel(X, n_classes, bias), cs.Candidates(), cs.Hamming(table), y)


def label_parts(
    seed: int = 0,
    n: int = 8,
    n_labels: int = 5,
    dim: int = 4,
    bias: float = 0.0,
    kind: str = "dense",
    graph: str = "tree",
) -> Parts:
    """Sets of labels, random costs; graph: "tree", "none", "cycle" or "full", or "cut", which is full as well."""
    rng = np.random.default_rng(seed)
    X = class_parts(seed, n, 2, dim, 0.0, kind).model.X
    pairs = np.stack(np.triu_indices(n_labels, 1), axis=1)
    if graph == "cycle":
        pairs = np.stack([np.arange(n_labels), (np.arange(n_labels) + 1) % n_labels], axis=1)
    parents = np.array([-1, *(int(rng.integers(l)) if rng.random() < 0.8 else -1 for l in range(1, n_labels))])
    rows = rng.permutation(np.flatnonzero(parents >= 0)) if graph == "tree" else np.arange(len(pairs))
    structure: Any
    if graph in ("tree", "none"):
        rows = rows if graph == "tree" else rows[:0]
        structure = cs.Tree([parents if graph == "tree" else np.full(n_labels, -1)] * n, 2)
    else:
        structure = cs.GraphCut([pairs] * n) if graph == "cut" else cs.JunctionTree([pairs] * n, 2)
    model = LinearLabelModel(X, n_labels, bias, rows, n_labels if graph in ("tree", "none") else len(rows))
    prices = rng.uniform(0.5, 2.0, (n, n_labels, 2))
    return Parts(model, structure, PerToken(list(prices)), [rng.integers(0, 2, n_labels) for _ in range(n)])


def tiny_parts() -> Parts:
    """Two labels, 4 chains of 1 or 2 tokens, 14 outputs in all, two of the chains equal but for their labels.

    No weights make every loss 0, so that F has a positive minimum for lam = 0 as well.
    """
    offsets = np.array([0, 2, 3, 5, 7])
    indices = np.array([0, 1, 2, 0, 1, 2, 0, 1], dtype=np.uint32)
    indptr = np.array([0, 1, 2, 3, 4, 6, 7, 8])
    X = cs.PackedSequences(offsets, indptr, indices, None, 3)
    y = [np.array([0, 1]), np.array([1]), np.array([1, 0]), np.array([1, 1])]
    return Parts(cs.LinearChainModel(X, 2), cs.Chain(2), cs.Hamming(), y)


def listed(parts: Parts) -> list[tuple[FloatArray, FloatArray]]:
    """(A_i float64[K_i, d], ell_i float64[K_i]) of every example: f_i(w) = max_k ell_ik + <a_ik, w>. Chains only."""
    model, structure = parts.model, parts.structure
    layout = model.scores(model.zeros())
    truth = indicator(structure, layout, parts.y)
    result = []
    for i, y in enumerate(parts.y):
        rows, costs, s = [], [], layout.select([i])
        for output in list_chain(structure.n_labels, len(y)).outputs:
            rows.append(model.adjoint(indicator(structure, s, [output]) - truth.select([i]), [i]))
            costs.append(0.0 if parts.cost is None else parts.cost(y, output))
        result.append((np.array(rows), np.array(costs)))
    return result


def brute_force(parts: Parts, w: FloatArray, lam: float, loss: str = "hinge") -> float:
    """F(w) by listing all outputs."""
    if loss == "crf":
        losses = [logsumexp(A @ w) for A, _ in listed(parts)]
    else:
        losses = [np.max(ell + A @ w) for A, ell in listed(parts)]
    return float(np.mean(losses) + 0.5 * lam * (w @ w))


def hinge_optimum(parts: Parts, lam: float) -> float:
    """min F: for lam > 0 the dual's quadratic program (SLSQP), for lam = 0 the primal's linear program (HiGHS)."""
    return _linear_program(parts) if lam == 0.0 else _quadratic_program(parts, lam)


def crf_optimum(parts: Parts, lam: float) -> float:
    """min of the CRF objective by BFGS on the listed outputs."""
    lists = [A for A, _ in listed(parts)]

    def value_and_gradient(w: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = 0.5 * lam * float(w @ w), lam * w
        for A in lists:
            z = A @ w
            value += logsumexp(z) / len(lists)
            gradient = gradient + np.exp(z - logsumexp(z)) @ A / len(lists)
        return value, gradient

    start = np.zeros(parts.model.n_params)
    options = {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 10_000}
    found = scipy.optimize.minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", options=options)
    assert np.linalg.norm(found.jac) < 1e-6
    return float(found.fun)


def _quadratic_program(parts: Parts, lam: float) -> float:
    """max_u <ell, u> - |A^T u|^2 / (2 lam) over one simplex per example, certified by F(-A^T u / lam)."""
    lists, n = listed(parts), len(parts.y)
    A, ell = np.concatenate([a for a, _ in lists]) / n, np.concatenate([c for _, c in lists]) / n
    owner = np.repeat(np.arange(n), [len(c) for _, c in lists])
    simplex = (owner == np.arange(n)[:, None]).astype(np.float64)
    gram = A @ A.T / lam
    found = scipy.optimize.minimize(
        lambda u: 0.5 * u @ gram @ u - ell @ u,
        simplex.T @ (1.0 / simplex.sum(axis=1)),
        jac=lambda u: gram @ u - ell,
        bounds=[(0.0, 1.0)] * len(ell),
        constraints=[{"type": "eq", "fun": lambda u: simplex @ u - 1.0, "jac": lambda u: simplex}],
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    u = np.clip(found.x, 0.0, None)
    u /= simplex.T @ (simplex @ u)
    lower = float(ell @ u - 0.5 * u @ gram @ u)
    upper = brute_force(parts, -(A.T @ u) / lam, lam)
    assert -1e-9 <= upper - lower < 1e-6
    return 0.5 * (upper + lower)


def _linear_program(parts: Parts) -> float:
    """min mean_i xi_i subject to xi_i >= ell_ik + <a_ik, w>."""
    lists, n, d = listed(parts), len(parts.y), parts.model.n_params
    rows = [np.hstack([A, -np.eye(n)[[i]].repeat(len(A), axis=0)]) for i, (A, _) in enumerate(lists)]
    found = scipy.optimize.linprog(
        np.concatenate([np.zeros(d), np.full(n, 1.0 / n)]),
        A_ub=np.concatenate(rows),
        b_ub=-np.concatenate([ell for _, ell in lists]),
        bounds=[(None, None)] * (d + n),
    )
    assert found.success
    return float(found.fun)


class Counting:
    """A structure that counts the examples its oracles are asked about; the rest is the structure's own."""

    def __init__(self, structure: Any, calls: list[int] | None = None) -> None:
        self._structure = structure
        self.calls = [0] if calls is None else calls

    def max(self, s: Any) -> Any:
        self.calls[0] += len(s)
        return self._structure.max(s)

    def topk_until(self, s: Any, k: int, mu: float) -> Any:
        self.calls[0] += len(s)
        return self._structure.topk_until(s, k, mu)

    def topk(self, s: Any, k: int) -> Any:
        self.calls[0] += len(s)
        return self._structure.topk(s, k)

    def expect(self, s: Any, mu: float) -> Any:
        self.calls[0] += len(s)
        return self._structure.expect(s, mu)

    def select(self, examples: Any) -> Counting:
        return Counting(self._structure.select(examples), self.calls)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._structure, name)
