"""Labelled trees: a label per node, scores of nodes and of edges to parents; oracles in the native core."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from casimir._arrays import frozen
from casimir._native import core
from casimir._validate import positive_float, positive_int, ragged_float, sequence_of
from casimir.scores import IntArray, Scores, offsets_of, ragged_rows
from casimir.structures.allowed import AllowedLabels, same
from casimir.structures.base import Expectation
from casimir.structures.core_oracles import LabelledGraph
from casimir.structures.layout import TensorLayout, labels_layout
from casimir.structures.masks import BoolArray, Masks, Seen
from casimir.structures.pairwise import EdgeLists


class Tree(AllowedLabels, LabelledGraph):
    """score(y) = sum_v unary[v, y_v] + sum_{v not a root} pairwise[v, y_v, y_parent(v)], y in {0..L-1}^p.

    parents   list of int[p_i], one tree per example: the parent of each node, -1 at a root. Nodes may be numbered in
              any order, and an example may have several roots (a forest)
    n_labels  L
    allowed   bool[L, L]: which labels (label, label of the parent) a node and its parent may have
    labels    list of bool[p_i, L]: the labels of every node, or None for an example whose nodes may have any

    Outputs that are not allowed are never returned and have no probability; without the arguments all are allowed.
    max is the max-product algorithm (algo:dp:supp), topk pulls lazily from its tables, expect is the sum-product
    algorithm in the log domain. None of them is recursive: trees may be deep. Scores that differ by rounding error
    only, about 1e-14 of the scores' sums, count as ties.
    """

    _core = "tree"
    order: tuple[IntArray, ...]
    """(node, parent, subtree), int64[N] each: the preorder of every tree, as the native core reads it."""

    def __init__(self, parents: Any, n_labels: int, *, allowed: Any = None, labels: Any = None) -> None:
        self.n_labels = positive_int(n_labels, "n_labels")
        given = [_parent_array(a, i) for i, a in enumerate(sequence_of(parents, "parents"))]
        flat = np.concatenate([np.zeros(0, dtype=np.int64), *given])
        offsets = offsets_of([len(a) for a in given])
        self.order = tuple(frozen(a) for a in core.tree_order(flat, offsets))
        nodes = np.arange(len(flat)) - np.repeat(offsets[:-1], np.diff(offsets))
        self._edges = EdgeLists(np.stack([nodes, flat], axis=1), offsets)
        self.allowed, self.labels = self._mask(allowed, "allowed", 2), self._masks(labels)
        if self.labels is not None:
            self.labels.check(offsets, "Tree")
        self._seen = Seen(len(self))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Tree)
            and self.n_labels == other.n_labels
            and np.array_equal(self._edges.ends, other._edges.ends)
            and np.array_equal(self.offsets, other.offsets)
            and same(self.allowed, other.allowed)
            and same(self.labels, other.labels)
        )

    def __hash__(self) -> int:
        return hash((Tree, self.n_labels, len(self), len(self._edges.ends)))

    def __repr__(self) -> str:
        return f"Tree(<{len(self)} of {self.offsets[-1]} nodes>, {self._described()})"

    @property
    def layout(self) -> TensorLayout:
        return labels_layout(self.n_labels, "T")

    @property
    def offsets(self) -> IntArray:
        """int64[n + 1]: example i owns the nodes offsets[i]:offsets[i + 1]."""
        return self._edges.offsets

    def parents(self, i: int) -> IntArray:
        """int64[p_i]: the parents of example i."""
        return self._edges.of_example(i)[:, 1].copy()

    def scores(self, unary: Any, pairwise: Any) -> Scores:
        """unary: list of [p_i, L]; pairwise: list of [p_i, L, L] (label, label of the parent), or [L, L] for all edges.

        The pairwise rows of roots are not read.
        """
        labels = self.n_labels
        nodes, offsets = ragged_float(unary, "unary", (labels,))
        self._check_sizes(offsets)
        return Scores.unchecked(nodes, offsets, self._edges.scores(pairwise, labels), offsets)

    def expect(self, s: Scores, mu: float) -> Expectation:
        """The edge marginals of roots are 0."""
        mu = positive_float(mu, "mu")
        value, nodes, edges = self._call("expect", s, mu)
        return Expectation(value, Scores.unchecked(nodes, s.offsets, edges, s.offsets))

    def select(self, examples: Any) -> Tree:
        chosen = np.arange(len(self))[examples]
        rows, _ = ragged_rows(self._edges.offsets, chosen)
        part = copy.copy(self)  # the order of each tree is known
        part.order = tuple(frozen(a[rows]) for a in self.order)
        part._edges = self._edges.select(chosen)
        part.labels = None if self.labels is None else self.labels.select(chosen)
        part._seen = self._seen.select(chosen)
        return part

    def _with_labels(self, labels: Masks) -> Tree:
        part = copy.copy(self)
        part.labels, part._seen = labels, Seen(len(self))
        labels.check(self.offsets, "Tree")
        return part

    def _ends(self, offsets: IntArray) -> tuple[IntArray, IntArray]:
        first, inner = np.repeat(offsets[:-1], np.diff(offsets)), self._edges.ends[:, 1] >= 0
        u, v = (first[:, None] + self._edges.ends)[inner].T
        return u, v

    def _describe(self, u: int, v: int, label: int, other: int) -> str:
        return f" has the label {label} at node {u} and {other} at its parent, node {v}"

    def _stuck(self, i: int, rows: BoolArray, pairs: BoolArray) -> str:
        left, start = rows.copy(), self.offsets[i]
        node, parent = (a[start : self.offsets[i + 1]] for a in self.order[:2])
        for t in reversed(range(len(node))):
            here = left[node[t]]
            if not here.any():
                return f"no label is left for node {node[t]} of {len(node)}"
            if parent[t] >= 0:
                left[node[parent[t]]] &= here @ pairs
        raise AssertionError("some output is allowed")

    def _check(self, s: Scores) -> None:
        if isinstance(s, Scores):  # sizes first: a wrong tree gets the clearest message
            self._check_sizes(s.offsets)
        super()._check(s)

    def _check_sizes(self, offsets: IntArray) -> None:
        if len(offsets) - 1 != len(self):
            raise ValueError(
                f"Tree was made for {len(self)} examples and got scores of {len(offsets) - 1}. "
                "For a sub-batch use Tree.select(examples)."
            )
        if not np.array_equal(offsets, self._edges.offsets):
            given, needed = np.diff(offsets), np.diff(self._edges.offsets)
            i = int(np.flatnonzero(given != needed)[0])
            raise ValueError(f"Example {i} has scores of {given[i]} nodes; its tree has {needed[i]}.")

    def _arrays(self, s: Scores) -> tuple[Any, ...]:
        self._check_finite(s)
        edges = np.zeros((self.n_labels, self.n_labels)) if s.edges is None else s.edges
        return s.nodes, s.offsets, edges, *self.order


def _parent_array(parents: Any, i: int) -> IntArray:
    array = np.asarray(parents)
    if array.ndim != 1 or not len(array):
        hint = " For a single example pass [parents]." if i == 0 and array.ndim == 0 else ""
        raise ValueError(f"parents[{i}] has shape {list(array.shape)}; it must be [p] with p >= 1.{hint}")
    if array.dtype.kind not in "iu":
        raise TypeError(f"parents[{i}] has dtype {array.dtype}; nodes are numbered by integers, and -1 is a root.")
    return array.astype(np.int64)
