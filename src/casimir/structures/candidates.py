"""A finite list of candidates per example; multiclass classification is the case of equal lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from casimir._validate import flat_labels, positive_float, positive_int, ragged_float, sequence_of
from casimir.scores import FloatArray, IntArray, Scores, segment_sums
from casimir.structures.base import (
    Best,
    Expectation,
    TopK,
    check_mixture,
    check_rows_of_costs,
    check_scores,
    pad_topk,
    weighted_counts,
)
from casimir.structures.layout import TensorLayout
from casimir.structures.masks import Masks
from casimir.structures.restricted import Restricted


@dataclass(frozen=True)
class Candidates:
    """score(j) = values[j], j in {0..m-1}. An output is one index, int64[1]; scores.unary(i) is float64[m_i]."""

    nodes_are_outputs: ClassVar[bool] = True
    layout: ClassVar[TensorLayout] = TensorLayout(("M",), (), "M", holes=True)

    def scores(self, values: Any) -> Scores:
        """values: list of [m_i], one score per candidate."""
        return Scores.unchecked(*ragged_float(values, "values", ()))

    def max(self, s: Scores) -> Best:
        self._check(s)
        value = self._max_value(s)
        winners = np.flatnonzero(s.nodes == np.repeat(value, np.diff(s.offsets)))
        first = winners[np.searchsorted(winners, s.offsets[:-1])]
        return Best(value, list((first - s.offsets[:-1])[:, None]))

    def topk(self, s: Scores, k: int) -> TopK:
        self._check(s)
        k, sizes = positive_int(k, "k"), np.diff(s.offsets)
        # Stable: by example, then by score, ties in the order of the list.
        order = np.lexsort((-s.nodes, np.repeat(np.arange(len(s)), sizes)))
        rank = np.arange(len(s.nodes)) - np.repeat(s.offsets[:-1], sizes)
        kept, counts = order[rank < k], np.minimum(sizes, k)
        indices = (kept - np.repeat(s.offsets[:-1], counts))[:, None]
        ends = np.cumsum(counts)
        outputs = [indices[end - count : end] for end, count in zip(ends.tolist(), counts.tolist(), strict=True)]
        return TopK(pad_topk(s.nodes[kept], counts, k), outputs)

    def expect(self, s: Scores, mu: float) -> Expectation:
        self._check(s)
        mu, sizes, top = positive_float(mu, "mu"), np.diff(s.offsets), self._max_value(s)
        p = np.exp((s.nodes - np.repeat(top, sizes)) / mu)
        total = segment_sums(p, s.offsets)
        return Expectation(top + mu * np.log(total), Scores.unchecked(p / np.repeat(total, sizes), s.offsets))

    def max_marginals(self, s: Scores) -> list[FloatArray]:
        """List of float64[1, m_i]: the scores themselves."""
        self._check(s)
        return [s.unary(i)[None].copy() for i in range(len(s))]

    def mixture(self, s: Scores, outputs: Sequence[IntArray], weights: Sequence[FloatArray]) -> Scores:
        """nodes[j] = sum_k u_k [y_k = j]."""
        check_mixture(s, outputs, weights)
        counts = np.array([len(y) for y in outputs], dtype=np.int64)
        example = np.repeat(np.arange(len(s)), counts)
        y = flat_labels([row for o in outputs for row in o], np.ones_like(example), np.diff(s.offsets)[example])
        u = np.concatenate([np.zeros(0), *weights])
        return Scores.unchecked(weighted_counts(s.offsets[example] + y, u, s.nodes.shape), s.offsets)

    def score_of(self, s: Scores, outputs: Sequence[IntArray]) -> FloatArray:
        self._check(s)
        given, sizes = [np.atleast_1d(np.asarray(y)) for y in outputs], np.diff(s.offsets)
        rows: IntArray = s.offsets[:-1] + flat_labels(given, np.ones_like(sizes), sizes)
        return s.nodes[rows]

    def log_n_outputs(self, s: Scores) -> FloatArray:
        """float64[n]: log m_i."""
        return np.log(np.diff(s.offsets))

    def parts_of_cost(self, s: Scores, costs: Any) -> Scores:
        """costs[i][j] on candidate j of example i; costs: list of [m_i], or of [1, m_i], one node with m_i labels."""
        given = [c[0] if np.ndim(c) == 2 and len(c) == 1 else c for c in sequence_of(costs, "costs")]
        nodes, offsets = ragged_float(given, "costs", ())
        check_rows_of_costs(offsets, s.offsets, "candidates")
        return Scores.unchecked(nodes, s.offsets)

    def select(self, examples: Any) -> Candidates:
        return self

    def restricted(self, allowed: Any) -> Restricted:
        """The structure with fewer outputs: allowed is a list of bool[m_i], the candidates of each example, or None."""
        return Restricted(self, Masks.of(allowed, "allowed", ()), counts=True)

    def _check(self, s: Scores) -> None:
        check_scores(s, (), "Candidates")
        if np.any(np.diff(s.offsets) == 0):
            raise ValueError(f"Example {np.flatnonzero(np.diff(s.offsets) == 0)[0]} has no candidate; it needs one.")

    def _max_value(self, s: Scores) -> FloatArray:
        return np.maximum.reduceat(s.nodes, s.offsets[:-1]) if len(s) else np.zeros(0)
