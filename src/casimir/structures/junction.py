"""Labelled graphs of small treewidth: exact oracles on a clique tree, in the native core."""

from __future__ import annotations

from typing import Any

import numpy as np

from casimir._native import core
from casimir._threads import threads_of_oracles
from casimir._validate import positive_float, positive_int, ragged_float
from casimir.scores import FloatArray, IntArray, Scores
from casimir.structures.base import (
    Expectation,
    split_flat,
)
from casimir.structures.core_oracles import LabelledGraph
from casimir.structures.pairwise import EdgeLists

_BYTES_PER_CELL = 8


class JunctionTree(LabelledGraph):
    """score(y) = sum_v unary[v, y_v] + sum_(u, v) pairwise[(u, v), y_u, y_v], y in {0..L-1}^p, any graph.

    Nodes are eliminated in min-fill order; the cliques of this order form a tree, on which max is max-product, topk
    pulls lazily from its tables and expect is sum-product in logs. Time and memory grow as L^(treewidth + 1).

    edges         list of [m_i, 2]: the nodes u, v of every edge of example i
    n_labels      L
    memory_limit  bytes that the tables of one example may take; each thread holds one example at a time, and topk with
                  many equal scores needs twice as much
    """

    _core = "junction"

    def __init__(self, edges: Any, n_labels: int, *, memory_limit: float = 2**30) -> None:
        self.n_labels = positive_int(n_labels, "n_labels")
        self.memory_limit = positive_float(memory_limit, "memory_limit")
        self._edges = EdgeLists.of(edges)
        self._graphs = self._native_graphs()

    @property
    def max_cells(self) -> float:
        """What the tables of one example may have together."""
        return self.memory_limit / _BYTES_PER_CELL

    def edges(self, i: int) -> IntArray:
        """int64[m_i, 2]: the edges of example i."""
        return self._edges.of_example(i)

    def scores(self, unary: Any, pairwise: Any) -> Scores:
        """unary: list of [p_i, L]; pairwise: list of [m_i, L, L] = score(y_u, y_v), or one [L, L] for all edges."""
        nodes, offsets = ragged_float(unary, "unary", (self.n_labels,))
        self._check(Scores.unchecked(nodes, offsets))
        return Scores.unchecked(nodes, offsets, self._edges.scores(pairwise, self.n_labels), self._edges.offsets)

    def expect(self, s: Scores, mu: float) -> Expectation:
        mu = positive_float(mu, "mu")
        value, nodes, edges = self._call("expect", s, mu)
        return Expectation(value, Scores.unchecked(nodes, s.offsets, edges, self._edges.offsets))

    def treewidth(self, s: Scores) -> IntArray:
        """int64[n]: the width of the elimination order found, an upper bound of the graph's treewidth."""
        self._check(s)
        return self._widths(s.offsets)

    def select(self, examples: Any) -> JunctionTree:
        """The structure of a sub-batch; elimination orders are shared with it."""
        chosen = np.ascontiguousarray(np.arange(len(self._edges))[examples])
        part = object.__new__(JunctionTree)
        part.n_labels, part.memory_limit = self.n_labels, self.memory_limit
        part._edges, part._graphs = self._edges.select(chosen), self._graphs.select(chosen)
        return part

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self._edges.ends, self._edges.offsets, self.n_labels, self.memory_limit)

    def _native_graphs(self) -> Any:
        return core.JunctionGraphs(self._edges.ends, self._edges.offsets, self.n_labels, self.max_cells)

    def _widths(self, offsets: IntArray) -> IntArray:
        """Eliminates the nodes of examples that are seen for the first time."""
        width, cells, finished = self._graphs.prepare(offsets, threads_of_oracles())
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
        self._check_finite(s)
        self._widths(s.offsets)
        return self._graphs, s.nodes, s.offsets, s.edges, self._edges.offsets


def _restore(ends: IntArray, offsets: IntArray, n_labels: int, memory_limit: float) -> JunctionTree:
    """A copy from a pickle; elimination orders are found again."""
    return JunctionTree(split_flat(ends, offsets), n_labels, memory_limit=memory_limit)
