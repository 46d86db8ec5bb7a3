"""Labelled graphs as estimators take them: features of nodes, edges, features of edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from casimir._validate import finite_float, sequence_of
from casimir.errors import Intractable
from casimir.models.linear_graph import EdgeRows
from casimir.scores import FloatArray, IntArray, Scores, offsets_of
from casimir.structures.base import Structure
from casimir.structures.graph_cut import GraphCut
from casimir.structures.junction import JunctionTree
from casimir.structures.tree import Tree


@dataclass(frozen=True, eq=False)
class Graphs:
    """n graphs.

    nodes         float64[N, d]: features of the nodes of all graphs, one after another
    offsets       int64[n + 1]: graph i owns the nodes offsets[i]:offsets[i + 1]
    edges         list of int64[m_i, 2]
    edge_features float64[M, q]; a single 1 per edge where none were given
    """

    nodes: FloatArray
    offsets: IntArray
    edges: list[IntArray]
    edge_features: FloatArray
    has_edge_features: bool

    @classmethod
    def of(cls, X: Any) -> Graphs:
        """X: list of (features [p, d], edges [m, 2][, edge features [m, q]]); or of features alone: chains."""
        given = [_parts(x, i) for i, x in enumerate(sequence_of(X, "X"))]
        if not given:
            raise ValueError("X has no graphs; it needs at least one.")
        widths = {(nodes.shape[1], None if features is None else features.shape[1]) for nodes, _, features in given}
        if len(widths) > 1:
            raise ValueError(
                f"The graphs have different numbers of features, (nodes, edges): {sorted(widths, key=str)}; "
                "all of them need the same."
            )
        nodes, edges = np.concatenate([x[0] for x in given]), [x[1] for x in given]
        has_features = given[0][2] is not None
        ones = np.ones((sum(map(len, edges)), 1))
        features = np.concatenate([f for _, _, f in given if f is not None]) if has_features else ones
        return cls(nodes, offsets_of([len(x[0]) for x in given]), edges, features, has_features)

    def __len__(self) -> int:
        return len(self.edges)

    @property
    def edge_offsets(self) -> IntArray:
        return offsets_of([len(e) for e in self.edges])

    def forest(self) -> list[IntArray] | None:
        """The parents of the nodes of every graph, where all are forests; else None.

        A node that ends just one edge (u, v) has the parent u where that is so for all nodes; else the first node of
        every tree is its root.
        """
        sizes = np.diff(self.offsets).tolist()
        found = [_parents(edges, p) for edges, p in zip(self.edges, sizes, strict=True)]
        return None if any(parents is None for parents in found) else [p for p in found if p is not None]


def exact_structure(graphs: Graphs, n_labels: int, is_attractive: bool) -> tuple[Structure, EdgeRows]:
    """Minimum cuts for two labels that attract, a tree where all graphs are forests, else a junction tree."""
    if is_attractive:
        return GraphCut(graphs.edges), EdgeRows.as_given(graphs.edge_offsets)
    parents = graphs.forest()
    if parents is not None:
        return Tree(parents, n_labels), _rows_of_trees(graphs, parents)
    junction = JunctionTree(graphs.edges, n_labels)
    try:
        junction.treewidth(Scores.unchecked(np.zeros((len(graphs.nodes), n_labels)), graphs.offsets))
    except ValueError as error:
        raise Intractable(
            f"{error} Inference on such graphs is exact for two labels with pairs='attractive' alone; approximate "
            "inference on loopy graphs (LoopyGraph) is still to come."
        ) from None
    return junction, EdgeRows.as_given(graphs.edge_offsets)


def is_directed(graphs: Graphs, parents: Sequence[IntArray]) -> bool:
    """Whether every edge (u, v) goes from a parent u to its child v."""
    return all(
        np.array_equal(above[edges[:, 1]], edges[:, 0]) for above, edges in zip(parents, graphs.edges, strict=True)
    )


def chain_edges(p: int) -> IntArray:
    """int64[p - 1, 2]: (0, 1), (1, 2), ..."""
    return np.stack([np.arange(p - 1), np.arange(1, p)], axis=1)


def _rows_of_trees(graphs: Graphs, parents: Sequence[IntArray]) -> EdgeRows:
    """The row of an edge is its child; the structure reads (label of the child, label of the parent)."""
    rows, flipped = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.bool_)]
    for above, edges, first in zip(parents, graphs.edges, graphs.offsets.tolist(), strict=False):
        goes_down = above[edges[:, 1]] == edges[:, 0]
        rows.append(first + np.where(goes_down, edges[:, 1], edges[:, 0]))
        flipped.append(goes_down)
    return EdgeRows(np.concatenate(rows), np.concatenate(flipped), graphs.offsets)


def _parents(edges: IntArray, p: int) -> IntArray | None:
    """int64[p]: -1 at roots; None where the graph has a cycle."""
    ends = edges.astype(np.int32)  # the graph functions of SciPy 1.11 read no others
    links = coo_array((np.ones(len(edges)), (ends[:, 0], ends[:, 1])), shape=(p, p)).tocsr()
    count, component = connected_components(links, directed=False)
    if len(edges) != p - count:
        return None
    parents = np.full(p, -1, dtype=np.int64)
    if len(np.unique(edges[:, 1])) == len(edges):
        parents[edges[:, 1]] = edges[:, 0]
        return parents
    for root in np.unique(component, return_index=True)[1].tolist():
        order, above = breadth_first_order(links, root, directed=False)
        parents[order[1:]] = above[order[1:]]
    return parents


def _parts(x: Any, i: int) -> tuple[FloatArray, IntArray, FloatArray | None]:
    """Checked (features, edges, edge features) of graph i."""
    if not isinstance(x, tuple):
        nodes = _matrix(x, f"X[{i}]")
        return nodes, chain_edges(len(nodes)), None
    if len(x) not in (2, 3):
        raise ValueError(
            f"X[{i}] is a tuple of {len(x)}; a graph is (features [p, d], edges [m, 2][, edge features [m, q]])."
        )
    nodes, edges = _matrix(x[0], f"X[{i}][0]"), np.asarray(x[1])
    if edges.size == 0:
        edges = np.zeros((0, 2), dtype=np.int64)
    if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu":
        raise ValueError(f"X[{i}][1] is {edges.dtype}{list(edges.shape)}; edges are whole numbers [m, 2].")
    if edges.size and (edges.min() < 0 or edges.max() >= len(nodes)):
        raise ValueError(f"X[{i}][1] names node {edges.max()}; the graph has the nodes 0 to {len(nodes) - 1}.")
    if len(x) == 2:
        return nodes, edges.astype(np.int64), None
    features = finite_float(x[2], f"X[{i}][2]")
    if features.ndim != 2 or len(features) != len(edges):
        raise ValueError(f"X[{i}][2] has shape {list(features.shape)}; it must be [{len(edges)}, q], a row per edge.")
    return nodes, edges.astype(np.int64), features


def _matrix(x: Any, name: str) -> FloatArray:
    nodes = finite_float(x, name)
    if nodes.ndim != 2 or min(nodes.shape) < 1:
        raise ValueError(f"{name} has shape {list(nodes.shape)}; node features are [p, d], p and d at least 1.")
    return nodes
