"""Second derivatives of smoothed max functions: how the marginals m(s) = grad f_mu(s) move with the scores.

d/dt m(s + t v) at t = 0 is hess f_mu(s) v. With score_v(y) = <v, parts(y)>:

Entropy  Cov(parts(y), score_v(y)) / mu under p(y) ~ exp(score(y) / mu)
L2       sum_y du_y parts(y), du_y = (score_v(y) - mean score_v) / mu on the support of u, 0 elsewhere

Both are exact. L2 has kinks, where an output enters the support; there it is the derivative on one side.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np

from casimir.scores import FloatArray, IntArray, Scores, offsets_of, ragged_rows, segment_sums
from casimir.smoothing import L2, Entropy, Smoothing, project_simplex, pull
from casimir.structures.automaton_chain import AutomatonChain
from casimir.structures.base import Structure, indicator, split_flat
from casimir.structures.candidates import Candidates
from casimir.structures.chain import Chain
from casimir.structures.enumerated import Enumerated
from casimir.structures.tree import Tree


def hessian_product(
    smoothing: Smoothing, structure: Structure, s: Scores, mu: float, marginals: Scores, v: Scores
) -> Scores:
    """hess f_mu(s) v; marginals are those of the smoothing at s, v has their layout (missing edges are zero)."""
    v = _finite_where_unused(v, marginals)
    if isinstance(smoothing, Entropy):
        return covariance(structure, s, mu, marginals, v) * (1.0 / mu)
    if isinstance(smoothing, L2):
        return _support_product(smoothing, structure, s, mu, v)
    raise NotImplementedError(
        f"The marginals of {smoothing!r} have no derivative that could be used. Use Entropy() or L2(), or call "
        ".detach() on the marginals."
    )


def _finite_where_unused(v: Scores, marginals: Scores) -> Scores:
    """0 for what is infinite at parts of no probability: the slope of p log p at 0, which counts 0 times."""

    def finite(direction: FloatArray, m: FloatArray) -> FloatArray:
        return np.where(np.isinf(direction) & (m == 0.0), 0.0, direction)

    edges = v.edges if v.edges is None or marginals.edges is None else finite(v.edges, marginals.edges)
    return replace(v, nodes=finite(v.nodes, marginals.nodes), edges=edges)


@singledispatch
def covariance(structure: Any, s: Scores, mu: float, marginals: Scores, v: Scores) -> Scores:
    """Cov(parts(y), score_v(y)) under p(y) ~ exp(score(y) / mu), in the layout of the marginals E[parts(y)]."""
    raise NotImplementedError(
        f"Entropy marginals of a {type(structure).__name__} cannot be differentiated yet; those of Chain, Tree, "
        "Candidates and Enumerated can. Use L2(), or call .detach() on the marginals."
    )


@covariance.register
def _of_candidates(structure: Candidates, s: Scores, mu: float, marginals: Scores, v: Scores) -> Scores:
    p = marginals.nodes
    mean = np.repeat(segment_sums(p * v.nodes, s.offsets), np.diff(s.offsets))
    return Scores(p * (v.nodes - mean), s.offsets)


@covariance.register
def _of_enumerated(structure: Enumerated, s: Scores, mu: float, marginals: Scores, v: Scores) -> Scores:
    nodes = np.zeros(len(s.nodes))
    for i in range(len(s)):
        parts = structure.parts(i)
        z, dz = parts @ s.unary(i), parts @ v.unary(i)
        p = np.exp((z - z.max()) / mu)
        p /= p.sum()
        nodes[s.offsets[i] : s.offsets[i + 1]] = (p * (dz - p @ dz)) @ parts
    return Scores(nodes, s.offsets)


@covariance.register
def _of_chain(structure: Chain, s: Scores, mu: float, marginals: Scores, v: Scores) -> Scores:
    """A chain is a tree in which the parent of a token is the one before it."""
    n_nodes, labels = s.nodes.shape
    into = np.delete(np.arange(n_nodes), s.offsets[:-1])  # the second token of every edge
    parent = np.arange(n_nodes) - 1
    parent[s.offsets[:-1]] = -1
    pairs, dpairs = np.zeros((2, n_nodes, labels, labels))
    pairs[into] = _edges_of(marginals).transpose(0, 2, 1)  # (label, label of the parent)
    if v.edges is not None:
        dpairs[into] = v.edges.transpose(0, 2, 1)
    nodes, edges = _forest_covariance(parent, marginals.nodes, pairs, v.nodes, dpairs)
    return replace(marginals, nodes=nodes, edges=np.ascontiguousarray(edges[into].transpose(0, 2, 1)))


@covariance.register
def _of_automaton_chain(structure: AutomatonChain, s: Scores, mu: float, marginals: Scores, v: Scores) -> Scores:
    """That of the chain of labels and states, summed over states."""
    own, there = structure.unfolded, structure.wide.expect(structure.unfolded.scores(s), mu).marginals
    return own.folded(_of_chain(structure.wide, own.scores(s), mu, there, own.scores(v)))


@covariance.register
def _of_tree(structure: Tree, s: Scores, mu: float, marginals: Scores, v: Scores) -> Scores:
    local = np.concatenate([np.zeros(0, dtype=np.int64), *(structure.parents(i) for i in range(len(s)))])
    parent = np.where(local < 0, -1, local + np.repeat(s.offsets[:-1], np.diff(s.offsets)))
    pairs = _edges_of(marginals)
    dpairs = np.zeros(pairs.shape) if v.edges is None else v.edges
    nodes, edges = _forest_covariance(parent, marginals.nodes, pairs, v.nodes, dpairs)
    return replace(marginals, nodes=nodes, edges=edges)


def _forest_covariance(
    parent: IntArray, p: FloatArray, pairs: FloatArray, a: FloatArray, b: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Cov of the parts of a forest with score_v(y) = sum_u a[u, y_u] + b[u, y_u, y_parent(u)], from marginals alone.

    Cov([y_u = j], score_v) = p_u(j) (E[score_v | y_u = j] - E[score_v]), and the conditional means come from the
    leaves and then from the roots, since y is a Markov chain along every path.

    parent    int64[N], -1 at roots; p, a float64[N, L]; pairs, b float64[N, L, L] (label, label of the parent)
    below     float64[N, L]: mean score_v of the subtree of u, given y_u
    message   float64[N, L]: the share of u and its edge in `below` of its parent, given the parent's label
    above     float64[N, L]: mean score_v of all the rest of the tree, given y_u
    rest      float64[N, L]: mean score_v of all but the subtree of u and its edge, given the parent's label
    """
    given_parent, given_child = _normalised(pairs, axis=1), _normalised(pairs, axis=2)
    below, rest = a.copy(), np.zeros(a.shape)
    message, above = np.sum(given_parent * b, axis=1), np.sum(given_child * b, axis=2)  # of the edge alone so far
    levels = list(_levels(parent))[1:]
    for level in reversed(levels):
        up = parent[level]
        message[level] += np.einsum("ujk,uj->uk", given_parent[level], below[level])
        starts = np.flatnonzero(np.diff(up, prepend=-1))  # siblings stand together
        below[up[starts]] += np.add.reduceat(message[level], starts, axis=0)
    for level in levels:
        up = parent[level]
        rest[level] = below[up] + above[up] - message[level]
        above[level] += np.einsum("ujk,uk->uj", given_child[level], rest[level])
    of_pairs = below[:, :, None] + b + rest[:, None, :]
    return _centred(p, below + above, (1,)), _centred(pairs, of_pairs, (1, 2))


def _levels(parent: IntArray) -> Iterator[IntArray]:
    """The roots, their children, ..., each level sorted so that siblings stand together."""
    children = np.argsort(parent, kind="stable")
    offsets = offsets_of(np.bincount(parent + 1, minlength=len(parent) + 1))  # segment u + 1: the children of u
    level = children[: offsets[1]]
    while len(level):
        yield level
        level = children[ragged_rows(offsets, level + 1)[0]]


def _normalised(pairs: FloatArray, axis: int) -> FloatArray:
    """p(row | column) or the reverse; 0 where the condition has no probability."""
    total = pairs.sum(axis=axis, keepdims=True)
    conditional: FloatArray = np.divide(pairs, total, out=np.zeros(pairs.shape), where=total > 0.0)
    return conditional


def _centred(p: FloatArray, mean: FloatArray, axes: tuple[int, ...]) -> FloatArray:
    """p (E[score_v | part] - E[score_v]); the latter is taken row by row, as every tree of a forest has its own."""
    centred: FloatArray = p * (mean - np.sum(p * mean, axis=axes, keepdims=True))
    return centred


def _edges_of(marginals: Scores) -> FloatArray:
    assert marginals.edges is not None, "expect of a chain or tree gives edge marginals"
    return marginals.edges


def _support_product(smoothing: L2, structure: Structure, s: Scores, mu: float, v: Scores) -> Scores:
    """The outputs with weight are pulled again; du is the projection of score_v / mu onto sum du = 0 over them."""
    most = smoothing.cap if smoothing.k is None else smoothing.k
    pulled = pull(structure, s, mu, most)
    supports = [int(np.count_nonzero(project_simplex((z - z[0]) / mu))) for z in pulled.values]
    outputs = [y[:k] for y, k in zip(pulled.outputs, supports, strict=True)]
    example = np.repeat(np.arange(len(s)), supports)
    flat = [y for several in outputs for y in several]
    dz = indicator(structure.select(example), s.select(example), flat).dot(v.select(example))
    du = [(part - part.mean()) / mu for part in split_flat(dz, offsets_of(supports))]
    return structure.mixture(s, outputs, du)
