"""Label sequences: a linear chain of tokens, oracles in the native core."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from casimir._validate import (
    flat_labels,
    positive_float,
    positive_int,
    ragged_float,
)
from casimir.scores import FloatArray, IntArray, Scores, chain_edge_offsets, segment_sums
from casimir.structures.base import (
    Expectation,
    check_layout,
    check_scores,
    node_costs,
)
from casimir.structures.native import NativeOracles
from casimir.structures.pairwise import EdgeLists, is_matrix, shared_scores


@dataclass(frozen=True)
class Chain(NativeOracles):
    """score(y) = sum_v unary[v, y_v] + sum_v pairwise[v, y_v, y_{v+1}], y in {0..L-1}^p.

    max is Viterbi's algorithm, topk pulls lazily from its table, expect is forward-backward, in logs where needed.
    """

    n_labels: int
    _core: ClassVar[str] = "chain"

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_labels", positive_int(self.n_labels, "n_labels"))

    def scores(self, unary: Any, pairwise: Any) -> Scores:
        """unary: list of [p_i, L]; pairwise: [L, L] (from, to) shared by all, or a list of [p_i - 1, L, L]."""
        labels = self.n_labels
        nodes, offsets = ragged_float(unary, "unary", (labels,))
        if is_matrix(pairwise):
            return Scores.unchecked(nodes, offsets, shared_scores(pairwise, labels))
        path = chain_edges(offsets)
        return Scores.unchecked(nodes, offsets, path.scores(pairwise, labels), path.offsets)

    def expect(self, s: Scores, mu: float) -> Expectation:
        mu = positive_float(mu, "mu")
        value, nodes, edges = self._call("expect", s, mu)
        return Expectation(value, Scores.unchecked(nodes, s.offsets, edges, chain_edge_offsets(s.offsets)))

    def mixture(self, s: Scores, outputs: Sequence[IntArray], weights: Sequence[FloatArray]) -> Scores:
        """nodes[v, j] = sum_k u_k [y_k,v = j]; edges[v, j, j'] = sum_k u_k [y_k,v = j, y_k,v+1 = j']."""
        return chain_edges(s.offsets).mixture(s, outputs, weights)

    def score_of(self, s: Scores, outputs: Sequence[IntArray]) -> FloatArray:
        nodes, offsets, edges = self._arrays(s)
        y = flat_labels(outputs, np.diff(offsets), self.n_labels)
        total = segment_sums(nodes[np.arange(len(y)), y], offsets)
        right = np.delete(np.arange(len(y)), offsets[:-1])
        pairs = (
            edges[y[right - 1], y[right]] if edges.ndim == 2 else edges[np.arange(len(right)), y[right - 1], y[right]]
        )
        return total + segment_sums(pairs, chain_edge_offsets(offsets))

    def log_n_outputs(self, s: Scores) -> FloatArray:
        """float64[n]: p_i log L."""
        return np.diff(s.offsets) * math.log(self.n_labels)

    def parts_of_cost(self, s: Scores, costs: Any) -> Scores:
        """sum_v costs[i][v, y_v] as node scores; costs: list of [p_i, L]."""
        check_layout(s, (self.n_labels,), "Chain")
        return node_costs(s, costs)

    def select(self, examples: Any) -> Chain:
        return self

    def _arrays(self, s: Scores) -> tuple[FloatArray, IntArray, FloatArray]:
        check_scores(s, (self.n_labels,), "Chain")
        if s.edges is None:
            return s.nodes, s.offsets, np.zeros((self.n_labels, self.n_labels))
        if s.edges.shape[-2:] != (self.n_labels, self.n_labels):
            raise ValueError(f"Chain got edges {list(s.edges.shape)}; {self.n_labels} labels need [.., L, L].")
        if s.edge_offsets is not None and not np.array_equal(s.edge_offsets, chain_edge_offsets(s.offsets)):
            raise ValueError(
                "Chain got edges that are not p_i - 1 per example. Make the scores with Chain.scores(...)."
            )
        return s.nodes, s.offsets, s.edges


def chain_edges(offsets: IntArray) -> EdgeLists:
    """The edges (v, v + 1) of chains whose nodes have the given offsets."""
    edge_offsets = chain_edge_offsets(offsets)
    first = np.arange(edge_offsets[-1]) - np.repeat(edge_offsets[:-1], np.diff(edge_offsets))
    return EdgeLists(np.stack([first, first + 1], axis=1), edge_offsets)
