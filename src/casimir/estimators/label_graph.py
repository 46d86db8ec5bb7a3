"""Which pairs of labels interact: the best tree by mutual information, all pairs, or those that are given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse.csgraph import breadth_first_order, connected_components, minimum_spanning_tree

from casimir.errors import Intractable
from casimir.scores import FloatArray, IntArray
from casimir.structures.base import Structure
from casimir.structures.graph_cut import GraphCut
from casimir.structures.junction import JunctionTree
from casimir.structures.tree import Tree

NAMES = ("tree", "full", "attractive", "none")
_WIDEST = 18  # labels that may all interact: 2^18 numbers per example


@dataclass(frozen=True, eq=False)
class LabelGraph:
    """edges int64[m, 2] of labels 0..q-1.

    parents        int64[q] where the edges form a forest, and the structure is a `Tree`; else None
    is_attractive  whether interactions are 0 or more: the structure is a `GraphCut`
    """

    n_labels: int
    edges: IntArray
    parents: IntArray | None
    is_attractive: bool

    @property
    def edge_rows(self) -> IntArray:
        """int64[m]: the row of the structure's edge scores that belongs to an edge."""
        if self.parents is None:
            return np.arange(len(self.edges))
        u, v = self.edges.T
        return np.asarray(np.where(self.parents[v] == u, v, u))

    @property
    def n_rows(self) -> int:
        return len(self.edges) if self.parents is None else self.n_labels

    def structure(self, n: int) -> Structure:
        """That of n examples."""
        if self.is_attractive:
            return GraphCut([self.edges] * n)
        return JunctionTree([self.edges] * n, 2) if self.parents is None else Tree([self.parents] * n, 2)


def label_graph(structure: Any, Y: IntArray, weights: FloatArray) -> LabelGraph:
    """The graph that the parameter `structure` names, for indicators Y int64[n, q]; or of given edges [m, 2]."""
    q = Y.shape[1]
    if not isinstance(structure, str):
        return _of_edges(_checked_edges(structure, q), q)
    if structure not in NAMES:
        raise ValueError(f"structure={structure!r}; it must be one of {NAMES}, or an array [m, 2] of pairs of labels.")
    if structure == "none" or q == 1:
        return _of_edges(np.zeros((0, 2), dtype=np.int64), q)
    if structure == "tree":
        return _of_edges(chow_liu(Y, weights), q)
    pairs = np.stack(np.triu_indices(q, 1), axis=1).astype(np.int64)
    return LabelGraph(q, pairs, None, True) if structure == "attractive" else _of_edges(pairs, q)


def chow_liu(Y: IntArray, weights: FloatArray) -> IntArray:
    """int64[q - 1, 2]: the tree of labels with the largest sum of mutual information (Chow and Liu, 1968).

    Probabilities are those of the weighted examples, with half an example more in each of the four cells.
    """
    information = _mutual_information(Y, weights)
    tree = minimum_spanning_tree(information.max() + 1.0 - np.triu(information, 1)).tocoo()
    edges = np.stack([tree.row, tree.col], axis=1).astype(np.int64)
    return edges[np.lexsort(edges.T[::-1])]


def _mutual_information(Y: IntArray, weights: FloatArray) -> FloatArray:
    on = Y.astype(np.float64)
    total = weights.sum() + 2.0
    both = (on * weights[:, None]).T @ on
    single = weights @ on
    cells = {
        (1, 1): both,
        (1, 0): single[:, None] - both,
        (0, 1): single[None, :] - both,
        (0, 0): weights.sum() - single[:, None] - single[None, :] + both,
    }
    marginal = {1: (single + 1.0) / total, 0: (weights.sum() - single + 1.0) / total}
    information = np.zeros_like(both)
    for (a, b), count in cells.items():
        p = (np.maximum(count, 0.0) + 0.5) / total
        information += p * np.log(p / (marginal[a][:, None] * marginal[b][None, :]))
    return information


def _checked_edges(structure: Any, q: int) -> IntArray:
    edges = np.asarray(structure)
    if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu":
        raise ValueError(f"structure must be one of {NAMES}, or an array [m, 2] of pairs of labels, 0 to {q - 1}.")
    edges = np.sort(edges.astype(np.int64), axis=1)
    if len(edges) and (edges.min() < 0 or edges.max() >= q or np.any(edges[:, 0] == edges[:, 1])):
        raise ValueError(f"structure has pairs that are not two different labels of 0 to {q - 1}.")
    return np.unique(edges, axis=0)


def _of_edges(edges: IntArray, q: int) -> LabelGraph:
    graph = np.zeros((q, q))
    graph[edges[:, 0], edges[:, 1]] = 1.0
    count, component = connected_components(graph, directed=False)
    if len(edges) == q - count:
        parents = np.full(q, -1, dtype=np.int64)
        for root in (int(np.argmax(component == c)) for c in range(count)):
            order, above = breadth_first_order(graph, root, directed=False)
            parents[order[1:]] = above[order[1:]]
        return LabelGraph(q, edges, parents, False)
    if len(edges) == q * (q - 1) // 2 and q > _WIDEST:
        raise Intractable(
            f"All pairs of {q} labels interact: exact inference needs tables of 2^{q} numbers. Use structure='tree', "
            f"'attractive' (interactions that are 0 or more, hinge loss), or fewer pairs."
        )
    return LabelGraph(q, edges, None, False)
