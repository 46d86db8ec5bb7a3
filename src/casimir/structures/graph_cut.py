"""Binary labellings of a graph whose neighbours prefer equal labels: oracles by minimum cuts, in the native core."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from casimir._validate import ragged_float
from casimir.errors import Intractable
from casimir.scores import FloatArray, IntArray, Scores
from casimir.structures.core_oracles import LabelledGraph
from casimir.structures.pairwise import EdgeLists

_ROUNDING = 1e-9  # of the largest score of a pair: what a pair may lack and still count as submodular


class GraphCut(LabelledGraph):
    """score(y) = sum_v unary[v, y_v] + sum_(u, v) pairwise[(u, v), y_u, y_v], y in {0, 1}^p.

    -score has to be submodular: s[0, 0] + s[1, 1] >= s[0, 1] + s[1, 0] for the scores s = pairwise[e] of every edge e.
    Then max is one minimum cut (Kolmogorov & Zabih 2004), and max_marginals reuse its flow for every node (Kohli & Torr
    2007); topk is Best Max-Marginal First on them (Yanover & Weiss 2004). Of several maximisers the lowest is taken:
    label 1 only where all of them have it.

    edges  list of int[m_i, 2]: the pairs (u, v) of nodes of example i, counted from 0; nodes may have no edge at all

    Every oracle refuses scores that are not submodular. A linear model keeps them so when pairs enter as
    -theta f(e) [y_u != y_v] with features f(e) >= 0 and weights theta that training keeps non-negative, e.g. by
    Ridge(lam, nonnegative=mask).

    >>> cut = GraphCut([[[0, 1], [1, 2]]])
    >>> cut.max(cut.scores([[[0, 3], [1, 0], [0, 3]]], [[1, 0], [0, 1]])).outputs
    [array([1, 1, 1])]
    """

    n_labels = 2
    _core = "graph_cut"

    def __init__(self, edges: Any) -> None:
        self._edges = EdgeLists.of(edges)

    def edges(self, i: int) -> IntArray:
        """int64[m_i, 2]: the edges of example i."""
        return self._edges.of_example(i)

    def scores(self, unary: Any, pairwise: Any) -> Scores:
        """unary: list of [p_i, 2]; pairwise: list of [m_i, 2, 2] = score(y_u, y_v), or one [2, 2] for all edges."""
        nodes, offsets = ragged_float(unary, "unary", (2,))
        self._check(Scores.unchecked(nodes, offsets))
        s = Scores.unchecked(nodes, offsets, self._edges.scores(pairwise, 2), self._edges.offsets)
        self._check_submodular(s)
        return s

    def expect(self, s: Scores, mu: float) -> NoReturn:
        raise Intractable(
            "GraphCut has no expect: the partition function of such a model is #P-complete (Jerrum & Sinclair 1993). "
            "Use L2() or Hard() smoothing, or JunctionTree when the graph has a small treewidth."
        )

    def select(self, examples: Any) -> GraphCut:
        chosen = GraphCut.__new__(GraphCut)
        chosen._edges = self._edges.select(examples)
        return chosen

    def _arrays(self, s: Scores) -> tuple[FloatArray, IntArray, FloatArray, IntArray, IntArray]:
        self._check_finite(s)
        self._check_submodular(s)
        edges = np.zeros((len(self._edges.ends), 2, 2)) if s.edges is None else s.edges
        return s.nodes, s.offsets, edges, self._edges.ends, self._edges.offsets

    def _check_submodular(self, s: Scores) -> None:
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
