"""Hessian products of smoothed max functions against a list of all outputs."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import casimir as cs
from casimir.curvature import hessian_product
from casimir.structures.base import indicator

FOREST = [[-1, 0, 0, -1, 3], [2, 2, -1, 2], [1, 2, 3, -1], [-1]]


def labelled(structure: Any, lengths: list[int], labels: int, seed: int, scale: float) -> tuple[cs.Scores, cs.Scores]:
    """Scores and a direction; a chain has one edge less than a tree has rows."""
    rng = np.random.default_rng(seed)
    short = isinstance(structure, cs.Chain)

    def draw(scale: float) -> cs.Scores:
        unary = [scale * rng.normal(size=(p, labels)) for p in lengths]
        return structure.scores(unary, [scale * rng.normal(size=(p - short, labels, labels)) for p in lengths])

    return draw(scale), draw(1.0)


def brute_force(structure: Any, s: cs.Scores, v: cs.Scores, mu: float, i: int, outputs: list[Any]) -> cs.Scores:
    """Cov(parts(y), <v, parts(y)>) / mu of example i, from the list of its outputs."""
    one, s, v = structure.select([i]), s.select([i]), v.select([i])
    parts = [indicator(one, s, [np.array(y)]) for y in outputs]
    z = np.array([part.dot(s)[0] for part in parts]) / mu
    p = np.exp(z - z.max())
    p /= p.sum()
    dz = np.array([part.dot(v)[0] for part in parts])
    weights = p * (dz - p @ dz) / mu
    total = parts[0] * 0.0
    for part, weight in zip(parts, weights, strict=True):
        total = total + part * weight
    return total


def check(structure: Any, s: cs.Scores, v: cs.Scores, mu: float, outputs: Any) -> None:
    marginals = cs.Entropy()(structure, s, mu).marginals
    found = hessian_product(cs.Entropy(), structure, s, mu, marginals, v)
    for i in range(len(s)):
        wanted = brute_force(structure, s, v, mu, i, outputs(i))
        np.testing.assert_allclose(found.unary(i), wanted.unary(0), atol=1e-10)
        if found.edges is not None:
            np.testing.assert_allclose(found.pairwise(i), wanted.pairwise(0), atol=1e-10)


@settings(max_examples=30, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    labels=st.integers(1, 3),
    seed=st.integers(0, 999),
    scale=st.sampled_from([0.0, 1.0, 40.0, 2000.0]),
)
def test_entropy_of_chains_is_a_covariance(lengths: list[int], labels: int, seed: int, scale: float) -> None:
    chain = cs.Chain(labels)
    s, v = labelled(chain, lengths, labels, seed, scale)
    check(chain, s, v, 0.7, lambda i: list(itertools.product(range(labels), repeat=lengths[i])))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("scale", [0.0, 1.0, 40.0])
def test_entropy_of_forests_is_a_covariance(seed: int, scale: float) -> None:
    tree, lengths = cs.Tree(FOREST, 2), [len(parents) for parents in FOREST]
    s, v = labelled(tree, lengths, 2, seed, scale)
    check(tree, s, v, 1.3, lambda i: list(itertools.product(range(2), repeat=lengths[i])))


def test_entropy_of_lists_is_a_covariance() -> None:
    rng = np.random.default_rng(0)
    candidates = cs.Candidates()
    s, v = (candidates.scores([rng.normal(size=m) for m in (1, 4, 3)]) for _ in range(2))
    check(candidates, s, v, 0.5, lambda i: [[j] for j in range((1, 4, 3)[i])])
    spins = cs.Enumerated([[0, 0], [0, 1], [1, 0], [1, 1]], parts=lambda y: [y[0], y[1], y[0] == y[1]])
    s, v = (spins.scores(rng.normal(size=(2, 3))) for _ in range(2))
    check(spins, s, v, 0.5, lambda i: list(spins.outputs(i)))


def test_a_direction_without_edges_has_zero_edges() -> None:
    chain = cs.Chain(3)
    s, v = labelled(chain, [4, 1, 2], 3, 0, 1.0)
    assert v.edges is not None
    marginals = chain.expect(s, 1.0).marginals
    bare = cs.Scores(v.nodes, v.offsets)
    zero = cs.Scores(v.nodes, v.offsets, 0.0 * v.edges, v.edge_offsets)
    a, b = (hessian_product(cs.Entropy(), chain, s, 1.0, marginals, x) for x in (bare, zero))
    np.testing.assert_array_equal(a.edges, b.edges)
    assert np.abs(a.edges).max() > 0.01


@pytest.mark.parametrize("smoothing", [cs.L2(), cs.L2(k=2)], ids=repr)
@pytest.mark.parametrize("kind", ["chain", "tree", "matching", "graph"])
def test_l2_is_the_slope_of_its_marginals_which_are_piecewise_linear(smoothing: cs.L2, kind: str) -> None:
    rng, step = np.random.default_rng(1), 1e-4
    structure: Any
    if kind == "matching":
        structure = cs.Matching()
        s, v = (structure.scores(rng.normal(size=(3, 3, 3))) for _ in range(2))
    else:
        graph = cs.JunctionTree([[[0, 1], [1, 2], [2, 0]]] * 3, 2)
        structure = {"chain": cs.Chain(2), "tree": cs.Tree([[-1, 0, 0]] * 3, 2), "graph": graph}[kind]
        s, v = labelled(structure, [3, 3, 3], 2, 5, 0.5)
    here, there = (smoothing(structure, s + v * (sign * step), 2.0).marginals for sign in (-1, 1))
    slope = (there - here) * (0.5 / step)
    found = hessian_product(smoothing, structure, s, 2.0, here, v)
    np.testing.assert_allclose(found.nodes, slope.nodes, atol=1e-9)
    assert np.abs(found.nodes).max() > 0.01
    if slope.edges is not None:
        np.testing.assert_allclose(found.edges, slope.edges, atol=1e-9)


def test_what_has_no_derivative_says_what_to_use() -> None:
    graph = cs.JunctionTree([[[0, 1]]], 2)
    rng = np.random.default_rng(0)
    s, v = (graph.scores([rng.normal(size=(2, 2))], [rng.normal(size=(1, 2, 2))]) for _ in range(2))
    marginals = graph.expect(s, 1.0).marginals
    with pytest.raises(NotImplementedError, match=r"Entropy marginals of a JunctionTree .* Use L2\(\)"):
        hessian_product(cs.Entropy(), graph, s, 1.0, marginals, v)
    with pytest.raises(NotImplementedError, match=r"marginals of Hard\(\) have no derivative"):
        hessian_product(cs.Hard(), graph, s, 1.0, marginals, v)
