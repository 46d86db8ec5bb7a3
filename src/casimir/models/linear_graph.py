"""A linear model of labelled graphs: dense features of nodes, and features of edges that weigh tables of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from casimir._arrays import aligned_zeros
from casimir.models.base import check_marginals, check_weights, chosen_examples
from casimir.models.part_rows import LinearParts, PartRows, read_only_rows
from casimir.scores import FloatArray, IntArray, Scores, ragged_rows

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class EdgeRows:
    """Where a structure keeps the score of every edge.

    rows     int64[M]: the row of edge e among the rows of all examples
    flipped  bool[M]: whether the structure reads (y_v, y_u) where the edge is (u, v)
    offsets  int64[n + 1]: example i owns the rows offsets[i]:offsets[i + 1]
    """

    rows: IntArray
    flipped: BoolArray
    offsets: IntArray

    @property
    def are_as_given(self) -> bool:
        return np.array_equal(self.rows, np.arange(self.offsets[-1])) and not self.flipped.any()

    @classmethod
    def as_given(cls, offsets: IntArray) -> EdgeRows:
        """A row per edge, in their order, as `JunctionTree` and `GraphCut` have them."""
        return cls(np.arange(offsets[-1]), np.zeros(offsets[-1], dtype=np.bool_), offsets)


@dataclass(frozen=True, eq=False)
class LinearGraphModel:
    """unary[v] = x_v U;  pairwise[e] = sum_fk z_e[f] P[f, k] basis[k].

    nodes         float64[N, d]: the features x_v of the nodes of all graphs
    offsets       int64[n + 1]: graph i owns the nodes offsets[i]:offsets[i + 1]
    edges         float64[M, q]: the features z_e of the edges of all graphs
    edge_offsets  int64[n + 1], into edges
    basis         float64[K, L, L]: the tables of label pairs (y_u, y_v) that have a weight
    places        where the structure keeps the score of every edge

    w is U float64[d, L], then P float64[q, K].
    """

    nodes: FloatArray
    offsets: IntArray
    edges: FloatArray
    edge_offsets: IntArray
    basis: FloatArray
    places: EdgeRows

    @property
    def n_examples(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_labels(self) -> int:
        return int(self.basis.shape[1])

    @property
    def n_unary(self) -> int:
        return int(self.nodes.shape[1]) * self.n_labels

    @property
    def n_params(self) -> int:
        return self.n_unary + int(self.edges.shape[1]) * len(self.basis)

    def zeros(self) -> FloatArray:
        return aligned_zeros(self.n_params)

    def layout(self) -> Scores:
        return Scores.unchecked(np.zeros((len(self.nodes), self.n_labels)), self.offsets)

    def parts(self) -> LinearParts | None:
        """None where the structure keeps edges in another order, as trees do."""
        if not self.places.are_as_given:
            return None
        nodes = PartRows(read_only_rows(self.nodes), 0, np.eye(self.n_labels))
        tables = self.basis.reshape(len(self.basis), -1)
        edges = PartRows(read_only_rows(self.edges), self.n_unary, tables)
        return LinearParts(nodes, edges, self.edge_offsets)

    def unpack(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Views of w: U float64[d, L], P float64[q, K]."""
        return w[: self.n_unary].reshape(-1, self.n_labels), w[self.n_unary :].reshape(-1, len(self.basis))

    def scores(self, w: FloatArray, examples: Any = None) -> Scores:
        check_weights(w, self.n_params, "LinearGraphModel")
        part = self if examples is None else self.select(examples)
        U, P = self.unpack(w)
        tables = np.einsum("ek,kab->eab", part.edges @ P, self.basis, optimize=True)
        flipped = part.places.flipped
        tables[flipped] = tables[flipped].transpose(0, 2, 1)
        pairs = np.zeros((int(part.places.offsets[-1]), self.n_labels, self.n_labels))
        pairs[part.places.rows] = tables
        return Scores.unchecked(part.nodes @ U, part.offsets, pairs, part.places.offsets)

    def adjoint(self, marginals: Scores, examples: Any = None) -> FloatArray:
        part = self if examples is None else self.select(examples)
        check_marginals(marginals, (len(part.nodes), self.n_labels), part.offsets, "LinearGraphModel")
        gradient = self.zeros()
        U, P = self.unpack(gradient)
        U[:] = part.nodes.T @ marginals.nodes
        if marginals.edges is not None and len(part.edges):
            tables = marginals.edges[part.places.rows]
            flipped = part.places.flipped
            tables[flipped] = tables[flipped].transpose(0, 2, 1)
            P[:] = part.edges.T @ np.einsum("eab,kab->ek", tables, self.basis, optimize=True)
        return gradient

    def select(self, examples: Any) -> LinearGraphModel:
        """The model of some of the graphs."""
        chosen = chosen_examples(examples, self.n_examples)
        nodes, offsets = ragged_rows(self.offsets, chosen)
        edges, edge_offsets = ragged_rows(self.edge_offsets, chosen)
        lengths = np.diff(self.places.offsets)[chosen]
        new = np.concatenate([[0], np.cumsum(lengths)])
        moved = np.repeat(new[:-1] - self.places.offsets[chosen], np.diff(edge_offsets))
        places = EdgeRows(self.places.rows[edges] + moved, self.places.flipped[edges], new)
        return LinearGraphModel(self.nodes[nodes], offsets, self.edges[edges], edge_offsets, self.basis, places)
