"""Oracles of the native core, and what structures that label the nodes of given graphs share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from casimir._native import core
from casimir._threads import threads_of_oracles
from casimir._validate import positive_float, positive_int
from casimir.scores import FloatArray, IntArray, Scores, offsets_of
from casimir.structures.base import Best, Pulled, TopK, check_scores, node_costs, pad_topk, split_flat, split_outputs
from casimir.structures.layout import TensorLayout, labels_layout
from casimir.structures.masks import Masks
from casimir.structures.pairwise import EdgeLists
from casimir.structures.restricted import Restricted


class NativeOracles:
    """max, topk, topk_until and max_marginals by the functions of the core whose names start with `_core`."""

    _core: ClassVar[str]
    nodes_are_labels: ClassVar[bool] = False

    def max(self, s: Scores) -> Best:
        value, labels = self._call("max", s)
        return Best(value, split_flat(labels, offsets_of(self._lengths(s))))

    def topk(self, s: Scores, k: int) -> TopK:
        k = positive_int(k, "k")
        values, counts, labels = self._call("topk", s, k, math.inf)
        return TopK(pad_topk(values, counts, k), split_outputs(labels, counts, self._lengths(s)))

    def topk_until(self, s: Scores, k: int, mu: float) -> Pulled:
        """At most k outputs, fewer once proj_simplex(z / mu) has no use for more (prop:smoothing:proj-simplex-2)."""
        k, mu = positive_int(k, "k"), positive_float(mu, "mu")
        values, counts, labels = self._call("topk", s, k, mu)
        return Pulled(split_flat(values, offsets_of(counts)), split_outputs(labels, counts, self._lengths(s)))

    def max_marginals(self, s: Scores) -> list[FloatArray]:
        """List of float64[p_i, L]: max of score(y) over the outputs with y_v = j."""
        return split_flat(self._call("max_marginals", s), s.offsets)

    def _lengths(self, s: Scores) -> IntArray:
        """int64[n]: p_i, the entries of an output."""
        return np.diff(s.offsets)

    def _arrays(self, s: Scores) -> tuple[Any, ...]:
        """What the core's functions read, checked."""
        raise NotImplementedError

    def _oracle_arrays(self, s: Scores) -> tuple[Any, ...]:
        """The same with the constraints of the structure."""
        return self._arrays(s)

    def _call(self, oracle: str, s: Scores, *arguments: Any) -> Any:
        return getattr(core, f"{self._core}_{oracle}")(*self._oracle_arrays(s), *arguments, threads_of_oracles())


class LabelledGraph(NativeOracles):
    """A label per node of each example's own graph, scores of nodes and edges."""

    n_labels: int
    nodes_are_labels = True
    _edges: EdgeLists

    @property
    def layout(self) -> TensorLayout:
        return labels_layout(self.n_labels, "edges")

    def __len__(self) -> int:
        return len(self._edges)

    @property
    def all_edges(self) -> tuple[IntArray, IntArray]:
        """(ends int64[M, 2], offsets int64[n + 1]): the edges of all examples, which nobody can write to."""
        return self._edges.ends, self._edges.offsets

    def common_edges(self) -> IntArray | None:
        """int64[m, 2]: the edges of every example, where all have the same graph; else None."""
        return self._edges.common()

    def mixture(self, s: Scores, outputs: Sequence[IntArray], weights: Sequence[FloatArray]) -> Scores:
        """nodes[v, j] = sum_k u_k [y_k,v = j]; edges[(u, v), j, j'] = sum_k u_k [y_k,u = j, y_k,v = j']."""
        self._check(s)
        return self._edges.mixture(s, outputs, weights)

    def score_of(self, s: Scores, outputs: Sequence[IntArray]) -> FloatArray:
        self._check_finite(s)
        return self._edges.score_of(s, outputs)

    def log_n_outputs(self, s: Scores) -> FloatArray:
        """float64[n]: p_i log L."""
        return np.diff(s.offsets) * math.log(self.n_labels)

    def parts_of_cost(self, s: Scores, costs: Any) -> Scores:
        """sum_v costs[i][v, y_v] as node scores; costs: list of [p_i, L]."""
        self._check(s)
        return node_costs(s, costs)

    def restricted(self, allowed: Any) -> Any:
        """The structure with fewer outputs: allowed is a list of bool[p_i, L], the labels of every node, or None."""
        return Restricted(self, Masks.of(allowed, "allowed", (self.n_labels,)), counts=True)

    def _check(self, s: Scores) -> None:
        """Whether the scores belong to the graphs."""
        self._edges.check(s, self.n_labels, type(self).__name__)

    def _check_finite(self, s: Scores) -> None:
        """The same for oracles, which read finite scores alone."""
        self._check(s)
        check_scores(s, (self.n_labels,), type(self).__name__)
