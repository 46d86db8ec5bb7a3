"""Structures agree on what they share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import casimir as cs
from casimir.testing import flatten

SEEDS = st.integers(0, 2**32 - 1)
_quick = settings(max_examples=30, deadline=None)


def path_as_tree(
    unary: np.ndarray, pairwise: np.ndarray, rng: np.random.Generator
) -> tuple[Any, cs.Scores, np.ndarray]:
    """A chain as a tree rooted at a random node; also where the chain's edges went, and whether they were turned."""
    p, labels = unary.shape
    root = int(rng.integers(p))
    parents = np.where(np.arange(p) < root, np.arange(p) + 1, np.arange(p) - 1)
    parents[root] = -1
    own = np.zeros((p, labels, labels))
    for v in range(p):
        if v < root:
            own[v] = pairwise[v]  # child v, parent v + 1
        elif v > root:
            own[v] = pairwise[v - 1].T
    tree = cs.Tree([parents], labels)
    return tree, tree.scores([unary], [own]), parents


def random_path(seed: int) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    rng = np.random.default_rng(seed)
    p, labels = int(rng.integers(1, 30)), int(rng.integers(1, 6))
    return rng.normal(size=(p, labels)), rng.normal(size=(p - 1, labels, labels)), rng


@_quick
@given(SEEDS, st.sampled_from([0.2, 1.0, 5.0]))
def test_a_tree_on_a_path_is_a_chain(seed: int, mu: float) -> None:
    unary, pairwise, rng = random_path(seed)
    chain = cs.Chain(unary.shape[1])
    s = chain.scores([unary], [pairwise])
    tree, t, parents = path_as_tree(unary, pairwise, rng)
    same_answers(chain, s, tree, t, mu)
    own = tree.expect(t, mu).marginals.pairwise(0)
    for v, table in enumerate(chain.expect(s, mu).marginals.pairwise(0)):
        there = own[v] if parents[v] == v + 1 else own[v + 1].T
        np.testing.assert_allclose(there, table, rtol=0, atol=1e-10)


@_quick
@given(SEEDS, st.sampled_from([0.2, 1.0, 5.0]))
def test_a_junction_tree_on_a_forest_is_a_tree(seed: int, mu: float) -> None:
    rng = np.random.default_rng(seed)
    p, labels = int(rng.integers(1, 25)), int(rng.integers(1, 5))
    parents = np.array([rng.integers(-1, v) if v else -1 for v in range(p)])
    number = rng.permutation(p)  # nodes in any order
    shuffled = np.full(p, -1)
    shuffled[number] = np.where(parents >= 0, number[parents], -1)
    tree = cs.Tree([shuffled], labels)
    unary, pairwise = rng.normal(size=(p, labels)), rng.normal(size=(p, labels, labels))
    s = tree.scores([unary], [pairwise])
    child = np.flatnonzero(shuffled >= 0)
    junction = cs.JunctionTree([np.stack([child, shuffled[child]], axis=1)], labels)
    t = junction.scores([unary], [pairwise[child]])
    same_answers(tree, s, junction, t, mu)
    ours, theirs = tree.expect(s, mu).marginals, junction.expect(t, mu).marginals
    np.testing.assert_allclose(ours.pairwise(0)[child], theirs.pairwise(0), rtol=0, atol=1e-9)


def same_answers(a: Any, s: cs.Scores, b: Any, t: cs.Scores, mu: float) -> None:
    """max, top-7, exp value, node marginals and max-marginals of two structures over the same nodes."""
    best, other = a.max(s), b.max(t)
    np.testing.assert_allclose(best.value, other.value, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(best.outputs[0], other.outputs[0])
    np.testing.assert_allclose(a.topk(s, 7).value, b.topk(t, 7).value, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(a.topk(s, 7).outputs[0], b.topk(t, 7).outputs[0])
    np.testing.assert_allclose(a.max_marginals(s)[0], b.max_marginals(t)[0], rtol=0, atol=1e-9)
    soft, hers = a.expect(s, mu), b.expect(t, mu)
    np.testing.assert_allclose(soft.value, hers.value, rtol=0, atol=1e-8)
    np.testing.assert_allclose(soft.marginals.unary(0), hers.marginals.unary(0), rtol=0, atol=1e-9)


@_quick
@given(SEEDS)
def test_a_graph_cut_is_a_junction_tree_on_small_grids(seed: int) -> None:
    rng = np.random.default_rng(seed)
    height, width = int(rng.integers(1, 5)), int(rng.integers(1, 8))
    number = np.arange(height * width).reshape(height, width)
    right = np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()], axis=1)
    down = np.stack([number[:-1].ravel(), number[1:].ravel()], axis=1)
    edges = np.concatenate([right, down])
    unary, pairwise = rng.normal(size=(height * width, 2)), rng.normal(size=(len(edges), 2, 2))
    excess = pairwise[:, 0, 1] + pairwise[:, 1, 0] - pairwise[:, 0, 0] - pairwise[:, 1, 1]
    pairwise[:, 0, 0] += np.maximum(excess, 0.0) + rng.random(len(edges))
    cut, junction = cs.GraphCut([edges]), cs.JunctionTree([edges], 2)
    s, t = cut.scores([unary], [pairwise]), junction.scores([unary], [pairwise])
    np.testing.assert_allclose(cut.max(s).value, junction.max(t).value, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(cut.max(s).outputs[0], junction.max(t).outputs[0])
    np.testing.assert_allclose(cut.max_marginals(s)[0], junction.max_marginals(t)[0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(cut.topk(s, 6).value, junction.topk(t, 6).value, rtol=0, atol=1e-9)


@_quick
@given(SEEDS)
def test_matching_one_word_is_choosing_a_candidate(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.integers(-3, 4, size=(1, int(rng.integers(1, 9)))).astype(float)
    matching, candidates = cs.Matching(), cs.Candidates()
    s, t = matching.scores([weights]), candidates.scores([weights[0]])
    assert matching.max(s).value == candidates.max(t).value
    np.testing.assert_array_equal(matching.topk(s, 5).value, candidates.topk(t, 5).value)
    np.testing.assert_array_equal(matching.topk(s, 5).outputs[0], candidates.topk(t, 5).outputs[0])
    np.testing.assert_array_equal(matching.max_marginals(s)[0], candidates.max_marginals(t)[0])


def instance(name: str, rng: np.random.Generator) -> tuple[Any, cs.Scores]:
    unary = rng.integers(-2, 3, (5, 3)).astype(float)
    edges = np.array([[0, 1], [1, 2], [2, 3], [3, 0], [3, 4]])
    if name == "chain":
        chain = cs.Chain(3)
        return chain, chain.scores([unary], rng.integers(-2, 3, (3, 3)).astype(float))
    if name == "tree":
        tree = cs.Tree([[2, 2, -1, 4, 2]], 3)
        return tree, tree.scores([unary], [rng.integers(-2, 3, (5, 3, 3)).astype(float)])
    if name == "junction":
        junction = cs.JunctionTree([edges], 3)
        return junction, junction.scores([unary], [rng.integers(-2, 3, (5, 3, 3)).astype(float)])
    if name == "cut":
        cut = cs.GraphCut([edges])
        prices = rng.integers(0, 3, (5, 1, 1)) * (np.eye(2) - 1.0)
        return cut, cut.scores([unary[:, :2]], [prices])
    matching = cs.Matching(null=name == "null")
    return matching, matching.scores([rng.integers(-2, 3, (3, 4)).astype(float)])


@pytest.mark.parametrize("name", ["chain", "tree", "junction", "cut", "matching", "null"])
def test_best_max_marginal_first_is_topk(name: str) -> None:
    for seed in range(12):
        structure, s = instance(name, np.random.default_rng(seed))
        top, reference = structure.topk(s, 9), cs.bmmf(structure, s, 9)
        np.testing.assert_array_equal(top.value, reference.value)
        np.testing.assert_array_equal(top.outputs[0], reference.outputs[0])
        assert reference.calls[0] <= 2 * 9


@pytest.mark.parametrize("name", ["chain", "tree", "junction", "cut", "matching", "null"])
def test_parts_of_an_output_give_its_score(name: str) -> None:
    structure, s = instance(name, np.random.default_rng(0))
    top = structure.topk(s, 4)
    for value, output in zip(top.value[0], top.outputs[0], strict=True):
        parts = structure.mixture(s, [output[None]], [np.ones(1)])
        assert flatten(parts, 0) @ flatten(s, 0) == pytest.approx(value)
