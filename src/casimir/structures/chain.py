"""Label sequences: a linear chain of tokens, oracles in the native core."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from casimir._native import core
from casimir._threads import threads_of_oracles
from casimir._validate import flat_labels, positive_float, positive_int, ragged_float
from casimir.scores import FloatArray, IntArray, Scores, chain_edge_offsets, segment_sums
from casimir.structures.allowed import AllowedLabels, same
from casimir.structures.base import Expectation, SharedGradient, check_layout, check_scores, node_costs
from casimir.structures.layout import TensorLayout, labels_layout
from casimir.structures.masks import BoolArray, Masks, Seen
from casimir.structures.pairwise import EdgeLists, is_matrix, shared_scores

_WORTH_A_THREAD = 400_000  # products of messages and transitions: about half a millisecond


@dataclass(frozen=True, eq=False, repr=False)
class Chain(AllowedLabels):
    """score(y) = sum_v unary[v, y_v] + sum_v pairwise[v, y_v, y_{v+1}], y in {0..L-1}^p.

    n_labels       L
    allowed        bool[L, L]: which labels (from, to) may follow one another
    allowed_start  bool[L]: the labels that the first token may have
    allowed_stop   bool[L]: those of the last
    labels         list of bool[p_i, L]: those of every token, or None for an example whose tokens may have any

    Outputs that are not allowed are never returned and have no probability; without the arguments all are allowed.
    max is Viterbi's algorithm, topk pulls lazily from its table, expect is forward-backward, in logs where needed.
    With 33 labels or more, of whose pairs at most 10 % are allowed, they read the pairs that are, and no others.

    >>> chain = Chain(2, allowed=[[True, True], [False, True]])  # no 0 after a 1
    >>> chain.max(chain.scores([[[0, 1], [1, 0], [0, 0]]], [[0, 0], [0, 0]])).outputs
    [array([0, 0, 0])]
    """

    n_labels: int
    allowed: Any = None
    allowed_start: Any = None
    allowed_stop: Any = None
    labels: Any = None
    _core: ClassVar[str] = "chain"
    nodes_are_labels: ClassVar[bool] = True

    def __post_init__(self) -> None:
        set_ = functools.partial(object.__setattr__, self)
        set_("n_labels", positive_int(self.n_labels, "n_labels"))
        if not self.is_constrained:
            return
        set_("allowed", self._mask(self.allowed, "allowed", 2))
        set_("allowed_start", self._mask(self.allowed_start, "allowed_start", 1))
        set_("allowed_stop", self._mask(self.allowed_stop, "allowed_stop", 1))
        set_("labels", self._masks(self.labels))
        set_("_seen", Seen(None if self.labels is None else len(self.labels)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Chain) and all(
            same(getattr(self, f.name), getattr(other, f.name)) for f in fields(self)
        )

    def __hash__(self) -> int:
        return hash((Chain, self.n_labels))

    def __repr__(self) -> str:
        return f"Chain({self._described('allowed_start', 'allowed_stop')})"

    @property
    def layout(self) -> TensorLayout:
        return labels_layout(self.n_labels, "T - 1")

    def scores(self, unary: Any, pairwise: Any) -> Scores:
        """unary: list of [p_i, L]; pairwise: [L, L] (from, to) shared by all, or a list of [p_i - 1, L, L]."""
        labels = self.n_labels
        nodes, offsets = ragged_float(unary, "unary", (labels,))
        if self.labels is not None:
            self.labels.check(offsets, "Chain")
        if is_matrix(pairwise):
            return Scores.unchecked(nodes, offsets, shared_scores(pairwise, labels))
        path = chain_edges(offsets)
        return Scores.unchecked(nodes, offsets, path.scores(pairwise, labels), path.offsets)

    def expect(self, s: Scores, mu: float) -> Expectation:
        mu = positive_float(mu, "mu")
        value, nodes, edges = self._call("expect", s, mu)
        return Expectation(value, Scores.unchecked(nodes, s.offsets, edges, chain_edge_offsets(s.offsets)))

    def log_sum(self, s: Scores, mu: float) -> FloatArray:
        """float64[n]: mu log sum_y exp(score(y) / mu), the value of `expect` alone."""
        sums: FloatArray = self._call("log_sum", s, positive_float(mu, "mu"))
        return sums

    def soft_loss(self, s: Scores, y: IntArray, mu: float) -> tuple[FloatArray, Scores | SharedGradient]:
        """float64[n] = expect(s, mu) - score_of(s, y) and its gradient by the scores; y int64[N], all labels in a row.

        Where the scores have one matrix for all edges, the gradient by it waits until the examples have weights.
        """
        forbidden, labels = self.forbidden(s), self.n_labels
        s = s if forbidden is None else s + forbidden
        edges = np.zeros((labels, labels)) if s.edges is None else s.edges
        threads = min(threads_of_oracles(), 1 + s.nodes.size * labels // _WORTH_A_THREAD)
        if edges.ndim == 2:
            losses, nodes, pairs = core.chain_shared_soft_loss(s.nodes, s.offsets, edges, y, mu, threads)
            return losses, SharedGradient(Scores.unchecked(nodes, s.offsets), _SharedPairs(pairs, threads))
        losses, nodes, pairs = core.chain_soft_loss(s.nodes, s.offsets, edges, y, mu, threads)
        return losses, Scores.unchecked(nodes, s.offsets, pairs, chain_edge_offsets(s.offsets))

    def log_n_outputs(self, s: Scores) -> FloatArray:
        """float64[n]: the log of the number of allowed outputs, without the marginals of their pairs."""
        if self.forbidden(s) is None:
            return np.asarray(np.diff(s.offsets) * math.log(self.n_labels))
        zeros = Scores(np.zeros(s.nodes.shape), s.offsets)  # log sum_y exp(0) - 0
        some = np.concatenate([np.zeros(0, dtype=np.int64), *self.max(zeros).outputs])
        return np.asarray(np.maximum(self.soft_loss(zeros, some, 1.0)[0], 0.0))

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

    @property
    def is_constrained(self) -> bool:
        """Whether some output may not be allowed."""
        masks = self.allowed, self.allowed_start, self.allowed_stop, self.labels
        return any(mask is not None for mask in masks)

    def forbidden_nodes(self, s: Scores) -> FloatArray | None:
        """float64[N, L]: 0, and -inf for labels that a token must not have; None when all are allowed."""
        rows = super().forbidden_nodes(s)
        if self.allowed_start is None and self.allowed_stop is None:
            return rows
        rows = np.zeros((s.offsets[-1], self.n_labels)) if rows is None else rows
        filled = np.diff(s.offsets) > 0
        for mask, ends in ((self.allowed_start, s.offsets[:-1]), (self.allowed_stop, s.offsets[1:] - 1)):
            if mask is not None:
                rows[ends[filled]] += np.where(mask, 0.0, -np.inf)
        return rows

    def parts_of_cost(self, s: Scores, costs: Any) -> Scores:
        """sum_v costs[i][v, y_v] as node scores; costs: list of [p_i, L]."""
        check_layout(s, (self.n_labels,), "Chain")
        return node_costs(s, costs)

    def select(self, examples: Any) -> Self:
        if self.labels is None:
            return self
        chosen = np.arange(len(self.labels))[examples]
        part = self._with_labels(self.labels.select(chosen))
        object.__setattr__(part, "_seen", self._seen.select(chosen))
        return part

    def _with_labels(self, labels: Masks) -> Self:
        return replace(self, labels=labels)

    def _ends(self, offsets: IntArray) -> tuple[IntArray, IntArray]:
        right = np.delete(np.arange(offsets[-1]), offsets[:-1])
        return right - 1, right

    def _describe(self, u: int, v: int, label: int, other: int) -> str:
        return f"[{u}:{v + 1}] has the labels {label}, {other} one after another"

    def _stuck(self, i: int, rows: BoolArray, pairs: BoolArray) -> str:
        left = rows[0]
        for t in range(1, len(rows)):
            if not left.any():
                return f"no label is left for token {t - 1} of {len(rows)}"
            left = rows[t] & (left @ pairs)
        return f"no label is left for token {len(rows) - 1}, the last one"

    def _arrays(self, s: Scores) -> tuple[FloatArray, IntArray, FloatArray]:
        check_scores(s, (self.n_labels,), "Chain")
        if self.labels is not None:
            self.labels.check(s.offsets, "Chain")
        if s.edges is None:
            return s.nodes, s.offsets, np.zeros((self.n_labels, self.n_labels))
        if s.edges.shape[-2:] != (self.n_labels, self.n_labels):
            raise ValueError(f"Chain got edges {list(s.edges.shape)}; {self.n_labels} labels need [.., L, L].")
        if s.edge_offsets is not None and not np.array_equal(s.edge_offsets, chain_edge_offsets(s.offsets)):
            raise ValueError(
                "Chain got edges that are not p_i - 1 per example. Make the scores with Chain.scores(...)."
            )
        return s.nodes, s.offsets, s.edges


@dataclass(frozen=True, eq=False, slots=True)
class _SharedPairs:
    native: Any
    threads: int

    def weighted(self, weights: FloatArray) -> FloatArray:
        found: FloatArray = self.native.weighted(np.ascontiguousarray(weights, dtype=np.float64), self.threads)
        return found


def chain_edges(offsets: IntArray) -> EdgeLists:
    """The edges (v, v + 1) of chains whose nodes have the given offsets."""
    edge_offsets = chain_edge_offsets(offsets)
    first = np.arange(edge_offsets[-1]) - np.repeat(edge_offsets[:-1], np.diff(edge_offsets))
    return EdgeLists(np.stack([first, first + 1], axis=1), edge_offsets)
