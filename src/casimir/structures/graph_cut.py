"""Binary labellings of a graph whose neighbours prefer equal labels: oracles by minimum cuts, in the native core."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from casimir._native import core
from casimir._threads import n_threads
from casimir._validate import finite_float, positive_float, positive_int, ragged_float
from casimir.errors import Intractable
from casimir.scores import FloatArray, IntArray, Scores, offsets_of
from casimir.structures.base import Best, Pulled, TopK, node_label_costs, pad_topk, split_flat, split_outputs
from casimir.structures.pairwise import EdgeLists, is_matrix

_ROUNDING = 1e-9  # of the largest score of a pair: what a pair may lack and still count as submodular


class GraphCut:
    """score(y) = sum_v unary[v, y_v] + sum_(u, v) pairwise[(u, v), y_u, y_v], y in {0, 1}^p.

    -score has to be submodular: s[0, 0] + s[1, 1] >= s[0, 1] + s[1, 0] for the scores s = pairwise[e] of every edge e.
    Then max is one minimum cut (Kolmogorov & Zabih 2004), and max_marginals reuse its flow for every node (Kohli & Torr
    2007); topk is Best Max-Marginal First on them (Yanover & Weiss 2004). Of several maximisers the lowest is taken:
    label 1 only where all of them have it.

    edges  list of int[m_i, 2]: the pairs (u, v) of nodes of example i, counted from 0; nodes may have no edge at all

    Every oracle refuses scores that are not submodular. A linear model keeps them so when pairs enter as
    -theta f(e) [y_u != y_v] with features f(e) >= 0 and weights theta that training keeps non-negative, e.g. by
    LinearPartsModel(..., nonnegative=mask).

    >>> cut = GraphCut([[[0, 1], [1, 2]]])
    >>> cut.max(cut.scores([[[0, 3], [1, 0], [0, 3]]], [[1, 0], [0, 1]])).outputs
    [array([1, 1, 1])]
    """

    def __init__(self, edges: Any) -> None:
        self._edges = EdgeLists.of(edges)

    def __len__(self) -> int:
        return len(self._edges)

    def edges(self, i: int) -> IntArray:
        """int64[m_i, 2]: the edges of example i."""
        i = range(len(self))[i]
        return self._edges.ends[self._edges.offsets[i] : self._edges.offsets[i + 1]]

    def scores(self, unary: Any, pairwise: Any) -> Scores:
        """unary: list of [p_i, 2]; pairwise: list of [m_i, 2, 2] = score(y_u, y_v), or one [2, 2] for all edges."""
        nodes, offsets = ragged_float(unary, "unary", (2,))
        self._edges.check(Scores(nodes, offsets), 2, "GraphCut")
        if is_matrix(pairwise):
            shared = finite_float(pairwise, "pairwise")
            if shared.shape != (2, 2):
                raise ValueError(f"pairwise has shape {list(shared.shape)}; two labels need [2, 2].")
            edges = np.tile(shared, (len(self._edges.ends), 1, 1))
        else:
            edges = self._edges.scores(pairwise, 2)
        s = Scores(nodes, offsets, edges, self._edges.offsets)
        self._check(s)
        return s

    def max(self, s: Scores) -> Best:
        value, labels = core.graph_cut_max(*self._arrays(s), n_threads())
        return Best(value, split_flat(labels, s.offsets))

    def topk(self, s: Scores, k: int) -> TopK:
        k = positive_int(k, "k")
        values, counts, labels = core.graph_cut_topk(*self._arrays(s), k, math.inf, n_threads())
        return TopK(pad_topk(values, counts, k), split_outputs(labels, counts, np.diff(s.offsets)))

    def topk_until(self, s: Scores, k: int, mu: float) -> Pulled:
        """At most k outputs, fewer once proj_simplex(z / mu) has no use for more (prop:smoothing:proj-simplex-2)."""
        k, mu = positive_int(k, "k"), positive_float(mu, "mu")
        values, counts, labels = core.graph_cut_topk(*self._arrays(s), k, mu, n_threads())
        return Pulled(split_flat(values, offsets_of(counts)), split_outputs(labels, counts, np.diff(s.offsets)))

    def expect(self, s: Scores, mu: float) -> NoReturn:
        raise Intractable(
            "GraphCut has no expect: the partition function of such a model is #P-complete (Jerrum & Sinclair 1993). "
            "Use L2() or Hard() smoothing, or JunctionTree when the graph has a small treewidth."
        )

    def max_marginals(self, s: Scores) -> list[FloatArray]:
        """List of float64[p_i, 2]: max of score(y) over the outputs with y_v = j."""
        return split_flat(core.graph_cut_max_marginals(*self._arrays(s), n_threads()), s.offsets)

    def mixture(self, s: Scores, outputs: Sequence[IntArray], weights: Sequence[FloatArray]) -> Scores:
        self._edges.check(s, 2, "GraphCut")
        return self._edges.mixture(s, outputs, weights)

    def score_of(self, s: Scores, outputs: Sequence[IntArray]) -> FloatArray:
        """float64[n]; of scores that need not be submodular."""
        self._edges.check(s, 2, "GraphCut")
        return self._edges.score_of(s, outputs)

    def log_n_outputs(self, s: Scores) -> FloatArray:
        """float64[n]: p_i log 2."""
        return np.diff(s.offsets) * math.log(2.0)

    def label_costs(self, s: Scores, y: Any, table: FloatArray | None = None) -> Scores:
        """sum_v table[y_v, y'_v] as node scores; the number of wrong labels without a table."""
        self._edges.check(s, 2, "GraphCut")
        return node_label_costs(s, y, table)

    def select(self, examples: Any) -> GraphCut:
        chosen = GraphCut.__new__(GraphCut)
        chosen._edges = self._edges.select(examples)
        return chosen

    def _arrays(self, s: Scores) -> tuple[FloatArray, IntArray, FloatArray, IntArray, IntArray]:
        self._check(s)
        edges = np.zeros((len(self._edges.ends), 2, 2)) if s.edges is None else s.edges
        return s.nodes, s.offsets, edges, self._edges.ends, self._edges.offsets

    def _check(self, s: Scores) -> None:
        self._edges.check(s, 2, "GraphCut")
        if s.edges is None or not len(s.edges):
            return
        pair = s.edges.reshape(-1, 4)
        lack = (pair[:, 1] - pair[:, 0]) + (pair[:, 2] - pair[:, 3])
        if lack.max() <= 0.0:
            return
        bad = np.flatnonzero(lack > _ROUNDING * np.abs(pair).max(axis=1))
        if len(bad):
            e = int(bad[0])
            i = int(np.searchsorted(self._edges.offsets, e, side="right")) - 1
            u, v = self._edges.ends[e].tolist()
            raise ValueError(
                f"The scores {s.edges[e].tolist()} of edge ({u}, {v}) of example {i} are not submodular: "
                f"score(0, 1) + score(1, 0) exceeds score(0, 0) + score(1, 1) by {lack[e]:g}. Minimum cuts need "
                "pairs that prefer equal labels, e.g. -w [y_u != y_v] with w >= 0; else use JunctionTree."
            )
