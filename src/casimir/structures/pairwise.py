"""What structures with labelled nodes and scored pairs of nodes share: edge lists, parts and scores of outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from casimir._arrays import frozen
from casimir._validate import as_float, check_finite_parts, finite_float, flat_labels, sequence_of
from casimir.scores import FloatArray, IntArray, Scores, offsets_of, ragged_rows, segment_sums
from casimir.structures.base import check_layout, check_mixture, weighted_counts


@dataclass(frozen=True, eq=False, slots=True)
class EdgeLists:
    """The edges of a batch of graphs.

    ends     int64[M, 2]: node numbers u, v within their example; v = -1 marks a row that is no edge (a root)
    offsets  int64[n + 1]: example i owns rows offsets[i]:offsets[i + 1]
    """

    ends: IntArray
    offsets: IntArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "ends", frozen(self.ends))
        object.__setattr__(self, "offsets", frozen(self.offsets))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @classmethod
    def of(cls, edges: Any) -> EdgeLists:
        """From a list of [m_i, 2]; loops and duplicates (in either direction) are refused."""
        given = [_edge_list(e, i) for i, e in enumerate(sequence_of(edges, "edges"))]
        ends = np.concatenate([np.zeros((0, 2), dtype=np.int64), *given])
        return cls(ends, offsets_of([len(e) for e in given]))

    def of_example(self, i: int) -> IntArray:
        """int64[m_i, 2]: the edges of example i."""
        i = range(len(self))[i]
        return self.ends[self.offsets[i] : self.offsets[i + 1]]

    def common(self) -> IntArray | None:
        """int64[m, 2]: the rows of every example, where all have the same; else None."""
        if not len(self) or np.ptp(np.diff(self.offsets)) != 0:
            return None
        rows = self.ends.reshape(len(self), -1, 2)
        return np.ascontiguousarray(rows[0]) if (rows == rows[0]).all() else None

    def select(self, examples: Any) -> EdgeLists:
        rows, offsets = ragged_rows(self.offsets, np.arange(len(self))[examples])
        return EdgeLists(self.ends[rows], offsets)

    def check(self, s: Scores, n_labels: int, name: str) -> None:
        """Whether the scores belong to these graphs."""
        check_layout(s, (n_labels,), name)
        if len(s) != len(self):
            raise ValueError(
                f"{name} was made for {len(self)} examples and got scores of {len(s)}. "
                f"For a sub-batch use {name}.select(examples)."
            )
        if s.edges is not None and (s.edge_offsets is None or not np.array_equal(s.edge_offsets, self.offsets)):
            raise ValueError(
                f"{name} got edge scores that do not belong to its edges. Make them with {name}.scores(...)."
            )
        if s.edges is not None and s.edges.shape[1:] != (n_labels, n_labels):
            raise ValueError(f"{name} got edges {list(s.edges.shape)}; {n_labels} labels need [.., L, L].")
        sizes = np.repeat(np.diff(s.offsets), np.diff(self.offsets))
        bad = np.flatnonzero(np.maximum(self.ends[:, 0], self.ends[:, 1]) >= sizes)
        if len(bad):
            i = int(np.searchsorted(self.offsets, bad[0], side="right")) - 1
            raise ValueError(
                f"Edge {self.ends[bad[0]].tolist()} of example {i} names a node that is not there; "
                f"the example has {sizes[bad[0]]} nodes, counted from 0."
            )

    def scores(self, pairwise: Any, n_labels: int) -> FloatArray:
        """float64[M, L, L] from a list of [m_i, L, L], or from one [L, L] that all edges share."""
        if is_matrix(pairwise):
            return np.repeat(shared_scores(pairwise, n_labels)[None], len(self.ends), axis=0)
        given = sequence_of(pairwise, "pairwise")
        if len(given) != len(self):
            raise ValueError(
                f"pairwise has {len(given)} entries for {len(self)} examples; give one [L, L] for all edges, "
                f"or [edges, L, L] per example, with L = {n_labels}."
            )
        parts = [as_float(a, f"pairwise[{i}]") for i, a in enumerate(given)]
        for i, (part, count) in enumerate(zip(parts, np.diff(self.offsets).tolist(), strict=True)):
            if part.shape != (count, n_labels, n_labels) and not (part.size == count == 0):
                raise ValueError(
                    f"pairwise[{i}] has shape {list(part.shape)}; example {i} has {count} edges, "
                    f"so it must be {[count, n_labels, n_labels]}."
                )
        flat = np.concatenate([np.zeros((0, n_labels, n_labels)), *(part for part in parts if part.size)])
        check_finite_parts(flat, parts, "pairwise")
        return flat

    def score_of(self, s: Scores, outputs: Sequence[IntArray]) -> FloatArray:
        """float64[n]: sum_v unary[v, y_v] + sum_(u, v) pairwise[(u, v), y_u, y_v]."""
        n_labels = s.nodes.shape[1]
        y = flat_labels(outputs, np.diff(s.offsets), n_labels)
        total = segment_sums(s.nodes[np.arange(len(y)), y], s.offsets)
        if s.edges is None:
            return total
        u, v = (np.repeat(s.offsets[:-1], np.diff(self.offsets))[:, None] + self.ends).T
        pairs = np.where(self.ends[:, 1] >= 0, s.edges[np.arange(len(u)), y[u], y[v]], 0.0)
        return total + segment_sums(pairs, self.offsets)

    def mixture(self, s: Scores, outputs: Sequence[IntArray], weights: Sequence[FloatArray]) -> Scores:
        """nodes[v, j] = sum_k w_k [y_k,v = j]; edges[(u, v), j, j'] = sum_k w_k [y_k,u = j, y_k,v = j']."""
        check_mixture(s, outputs, weights)
        n_labels, sizes = s.nodes.shape[1], np.diff(s.offsets)
        example = np.repeat(np.arange(len(s)), [len(y) for y in outputs])  # of every output
        y = flat_labels([row for o in outputs for row in o], sizes[example], n_labels)
        weight = np.concatenate([np.zeros(0), *weights])
        nodes, starts = ragged_rows(s.offsets, example)
        node_parts = weighted_counts(nodes * n_labels + y, np.repeat(weight, sizes[example]), s.nodes.shape)
        rows, bounds = ragged_rows(self.offsets, example)  # the edges of every output
        first = np.repeat(starts[:-1], np.diff(bounds))
        there = self.ends[rows, 1] >= 0
        u, v = (first[:, None] + self.ends[rows])[there].T
        pair = (rows[there] * n_labels + y[u]) * n_labels + y[v]
        shape = (len(self.ends), n_labels, n_labels)
        edge_parts = weighted_counts(pair, np.repeat(weight, np.diff(bounds))[there], shape)
        return Scores.unchecked(node_parts, s.offsets, edge_parts, self.offsets)


def shared_scores(pairwise: Any, n_labels: int) -> FloatArray:
    """float64[L, L]: one matrix for all edges."""
    shared = finite_float(pairwise, "pairwise")
    if shared.shape != (n_labels, n_labels):
        raise ValueError(f"pairwise has shape {list(shared.shape)}; {n_labels} labels need {[n_labels, n_labels]}.")
    return shared


def is_matrix(pairwise: Any) -> bool:
    """Whether pairwise is one matrix (an array or nested lists) and not a list with one entry per example."""
    if isinstance(pairwise, np.ndarray):
        return pairwise.ndim == 2
    given = sequence_of(pairwise, "pairwise")
    return len(given) > 0 and np.ndim(given[0]) == 1 and len(given[0]) > 0


def _edge_list(edges: Any, i: int) -> IntArray:
    array = np.asarray(edges)
    if array.size == 0:
        return np.zeros((0, 2), dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(f"edges[{i}] has shape {list(array.shape)}; it must be [m, 2], a pair of nodes per edge.")
    if array.dtype.kind not in "iu":
        raise TypeError(f"edges[{i}] has dtype {array.dtype}; nodes are numbered by integers.")
    array = array.astype(np.int64)
    if array.min() < 0:
        raise ValueError(f"edges[{i}] names the node {array.min()}; nodes are counted from 0.")
    loops = np.flatnonzero(array[:, 0] == array[:, 1])
    if len(loops):
        raise ValueError(
            f"edges[{i}][{loops[0]}] joins node {array[loops[0], 0]} to itself; put its score into the unary scores."
        )
    low, high = array.min(axis=1), array.max(axis=1)
    order = np.lexsort((high, low))
    same = (np.diff(low[order]) == 0) & (np.diff(high[order]) == 0)
    if same.any():
        k = order[np.argmax(same)]
        twice = [int(low[k]), int(high[k])]
        raise ValueError(f"edges[{i}] lists the edge {twice} more than once; add the scores up and list it once.")
    return array
