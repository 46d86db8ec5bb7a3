"""Brute force over all outputs of small examples: the judge of every oracle."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from casimir.scores import FloatArray, IntArray, Scores


@dataclass(frozen=True, eq=False)
class Listing:
    """All outputs int64[K, p] of one example in lexicographic order, and the parts float64[K, m] each of them uses."""

    outputs: IntArray
    parts: FloatArray


@dataclass(frozen=True, eq=False)
class Ranked:
    """All outputs of one example, sorted by (-score, lexicographic order)."""

    z: FloatArray
    outputs: IntArray
    parts: FloatArray


def flatten(s: Scores, i: int) -> FloatArray:
    """float64[m_i]: node parts of example i, then its edge parts, then its part of the whole, in C order."""
    parts = [s.unary(i).reshape(-1)]
    if s.edges is not None:
        parts.append(s.pairwise(i).reshape(-1))
    if s.whole is not None:
        parts.append(s.whole[i : i + 1])
    return np.concatenate(parts)


def rank(listing: Listing, s: Scores, i: int) -> Ranked:
    """Brute force: score(y) = <parts(y), scores> for every y."""
    z = listing.parts @ flatten(s, i)
    order = sorted(range(len(z)), key=lambda k: (-z[k], tuple(listing.outputs[k])))
    return Ranked(z[order], listing.outputs[order], listing.parts[order])


def list_chain(n_labels: int, length: int) -> Listing:
    """The L^p label sequences; parts are node indicators [p, L], then edge indicators [p - 1, L, L]."""
    return list_graph(n_labels, length, np.stack([np.arange(length - 1), np.arange(1, length)], axis=1))


def list_graph(n_labels: int, n_nodes: int, ends: IntArray) -> Listing:
    """The L^p labellings of a graph with the edges int64[m, 2]; an edge to node -1 has no parts."""
    outputs = np.array(list(itertools.product(range(n_labels), repeat=n_nodes)), dtype=np.int64)
    nodes = np.eye(n_labels)[outputs]
    edges = np.einsum("kma,kmb->kmab", nodes[:, ends[:, 0]], nodes[:, ends[:, 1]])
    edges[:, ends[:, 1] < 0] = 0.0
    return Listing(outputs, np.concatenate([nodes.reshape(len(outputs), -1), edges.reshape(len(outputs), -1)], axis=1))


def project_by_bisection(z: FloatArray) -> FloatArray:
    """Euclidean projection onto the simplex from its definition: u = (z - t)_+ with t such that sum u = 1."""
    low, high = z.max() - 1.0, z.max()
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if np.maximum(z - middle, 0.0).sum() > 1.0 else (low, middle)
    u = np.maximum(z - low, 0.0)
    return np.asarray(u / u.sum())


def l2_max(z: FloatArray, mu: float) -> tuple[float, FloatArray]:
    """max_u <u, z> - mu/2 (||u||^2 - 1) over the simplex, and its maximiser."""
    u = project_by_bisection(z / mu)
    return float(u @ z - 0.5 * mu * (u @ u - 1.0)), u


def random_like(s: Scores, rng: np.random.Generator) -> Scores:
    """Standard normal scores in the layout of s."""
    edges = None if s.edges is None else rng.normal(size=s.edges.shape)
    whole = None if s.whole is None else rng.normal(size=s.whole.shape)
    return Scores(rng.normal(size=s.nodes.shape), s.offsets, edges, s.edge_offsets, s.shapes, whole, s.reference)
