"""Labelled graphs of small treewidth: exact oracles on a clique tree, in the native core."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from casimir._native import core
from casimir._threads import n_threads
from casimir._validate import finite_float, positive_float, positive_int, ragged_float
from casimir.scores import FloatArray, IntArray, Scores, offsets_of
from casimir.structures.base import (
    Best,
    Expectation,
    Pulled,
    TopK,
    node_label_costs,
    pad_topk,
    split_flat,
    split_outputs,
)
from casimir.structures.pairwise import EdgeLists, is_matrix

_BYTES_PER_CELL = 8


class JunctionTree:
    """score(y) = sum_v unary[v, y_v] + sum_(u, v) pairwise[(u, v), y_u, y_v], y in {0..L-1}^p, any graph.

    Nodes are eliminated in min-fill order; the cliques of this order form a tree, on which max is max-product, topk
    pulls lazily from its tables and expect is sum-product in logs. Time and memory grow as L^(treewidth + 1).

    edges         list of [m_i, 2]: the nodes u, v of every edge of example i
    n_labels      L
    memory_limit  bytes that the tables of one example may take; each thread holds one example at a time, and topk with
                  many equal scores needs twice as much
    """

    __slots__ = ("_edges", "_graphs", "memory_limit", "n_labels")

    def __init__(self, edges: Any, n_labels: int, *, memory_limit: float = 2**30) -> None:
        self.n_labels = positive_int(n_labels, "n_labels")
        self.memory_limit = positive_float(memory_limit, "memory_limit")
        self._edges = EdgeLists.of(edges)
        self._graphs = self._native_graphs()

    def __len__(self) -> int:
        return len(self._edges)

    def edges(self, i: int) -> IntArray:
        """int64[m_i, 2]: the edges of example i."""
        i = range(len(self))[i]
        return self._edges.ends[self._edges.offsets[i] : self._edges.offsets[i + 1]]

    def scores(self, unary: Any, pairwise: Any) -> Scores:
        """unary: list of [p_i, L]; pairwise: list of [m_i, L, L] = score(y_u, y_v), or one [L, L] for all edges."""
        nodes, offsets = ragged_float(unary, "unary", (self.n_labels,))
        self._check(Scores(nodes, offsets))
        return Scores(nodes, offsets, self._pairwise(pairwise), self._edges.offsets)

    def max(self, s: Scores) -> Best:
        value, labels = core.junction_max(*self._arrays(s), n_threads())
        return Best(value, split_flat(labels, s.offsets))

    def topk(self, s: Scores, k: int) -> TopK:
        k = positive_int(k, "k")
        values, counts, labels = core.junction_topk(*self._arrays(s), k, math.inf, n_threads())
        return TopK(pad_topk(values, counts, k), split_outputs(labels, counts, np.diff(s.offsets)))

    def topk_until(self, s: Scores, k: int, mu: float) -> Pulled:
        """At most k outputs, fewer once proj_simplex(z / mu) has no use for more (prop:smoothing:proj-simplex-2)."""
        k, mu = positive_int(k, "k"), positive_float(mu, "mu")
        values, counts, labels = core.junction_topk(*self._arrays(s), k, mu, n_threads())
        return Pulled(split_flat(values, offsets_of(counts)), split_outputs(labels, counts, np.diff(s.offsets)))

    def expect(self, s: Scores, mu: float) -> Expectation:
        mu = positive_float(mu, "mu")
        value, nodes, edges = core.junction_expect(*self._arrays(s), mu, n_threads())
        return Expectation(value, Scores(nodes, s.offsets, edges, self._edges.offsets))

    def max_marginals(self, s: Scores) -> list[FloatArray]:
        return split_flat(core.junction_max_marginals(*self._arrays(s), n_threads()), s.offsets)

    def mixture(self, s: Scores, outputs: Sequence[IntArray], weights: Sequence[FloatArray]) -> Scores:
        self._check(s)
        return self._edges.mixture(s, outputs, weights)

    def score_of(self, s: Scores, outputs: Sequence[IntArray]) -> FloatArray:
        self._check(s)
        return self._edges.score_of(s, outputs)

    def log_n_outputs(self, s: Scores) -> FloatArray:
        """float64[n]: p_i log L."""
        return np.diff(s.offsets) * math.log(self.n_labels)

    def label_costs(self, s: Scores, y: Any, table: FloatArray | None = None) -> Scores:
        """sum_v table[y_v, y'_v] as node scores; the number of wrong labels without a table."""
        self._check(s)
        return node_label_costs(s, y, table)

    def treewidth(self, s: Scores) -> IntArray:
        """int64[n]: the width of the elimination order found, an upper bound of the graph's treewidth."""
        self._check(s)
        return self._widths(s.offsets)

    def select(self, examples: Any) -> JunctionTree:
        """The structure of a sub-batch; elimination orders are shared with it."""
        chosen = np.arange(len(self._edges))[examples]
        part = object.__new__(JunctionTree)
        part.n_labels, part.memory_limit = self.n_labels, self.memory_limit
        part._edges, part._graphs = self._edges.select(chosen), self._graphs.select(chosen)
        return part

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self._edges.ends, self._edges.offsets, self.n_labels, self.memory_limit)

    def _native_graphs(self) -> Any:
        return core.JunctionGraphs(
            self._edges.ends, self._edges.offsets, self.n_labels, self.memory_limit / _BYTES_PER_CELL
        )

    def _pairwise(self, pairwise: Any) -> FloatArray:
        labels = self.n_labels
        if not is_matrix(pairwise):
            return self._edges.scores(pairwise, labels)
        shared = finite_float(pairwise, "pairwise")
        if shared.shape != (labels, labels):
            raise ValueError(f"pairwise has shape {list(shared.shape)}; {labels} labels need {[labels, labels]}.")
        return np.repeat(shared[None], len(self._edges.ends), axis=0)

    def _check(self, s: Scores) -> None:
        self._edges.check(s, self.n_labels, "JunctionTree")

    def _widths(self, offsets: IntArray) -> IntArray:
        """Eliminates the nodes of examples that are seen for the first time."""
        width, cells, finished = self._graphs.prepare(offsets, n_threads())
        large = np.flatnonzero(cells * _BYTES_PER_CELL > self.memory_limit)
        if len(large):
            i = large[0]
            more = "" if finished[i] else " or more"
            raise ValueError(
                f"Example {i} has a treewidth of {width[i]}{more} in min-fill order: with {self.n_labels} labels its "
                f"clique tables need {cells[i] * _BYTES_PER_CELL:.3g} bytes{more}, and memory_limit is "
                f"{self.memory_limit:.3g}. Use GraphCut if there are two labels and -score is submodular; else use "
                "fewer labels or edges, or a larger JunctionTree(..., memory_limit=...)."
            )
        checked: IntArray = width
        return checked

    def _arrays(self, s: Scores) -> tuple[Any, FloatArray, IntArray, FloatArray | None, IntArray]:
        self._check(s)
        self._widths(s.offsets)
        return self._graphs, s.nodes, s.offsets, s.edges, self._edges.offsets


def _restore(ends: IntArray, offsets: IntArray, n_labels: int, memory_limit: float) -> JunctionTree:
    """A copy from a pickle; elimination orders are found again."""
    return JunctionTree(split_flat(ends, offsets), n_labels, memory_limit=memory_limit)
