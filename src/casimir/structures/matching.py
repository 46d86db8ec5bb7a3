"""Bipartite matchings: each row takes a column of its own, oracles in the native core."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from casimir._validate import as_float, check_finite_parts, finite_float, flat_labels, sequence_of
from casimir.errors import Intractable
from casimir.scores import FloatArray, IntArray, Scores, offsets_of, segment_sums
from casimir.structures.base import (
    Expectation,
    check_mixture,
    check_scores,
    weighted_counts,
)
from casimir.structures.core_oracles import NativeOracles
from casimir.structures.layout import TensorLayout
from casimir.structures.masks import Masks
from casimir.structures.restricted import Restricted

_MORE_ROWS = (
    "every row takes a column of its own. Transpose the weights, or use Matching(null=True), "
    "whose last column is the score of leaving a row unmatched."
)
_FULL = TensorLayout(("P", "Q"), ("P",), "Q", holes=True)
_PARTIAL = TensorLayout(("P", "Q + 1"), ("P",), "Q + 1", holes=True)


@dataclass(frozen=True)
class Matching(NativeOracles):
    """score(y) = sum_v weights[v, y_v], y_v in {0..q-1} all different; a permutation when p = q.

    null  if true, the last of the q + 1 columns is the score of leaving row v unmatched, y_v = q, which any number of
          rows may do

    max is the assignment problem, max_marginals follow from its prices, topk is Murty's partitioning. scores.unary(i)
    is float64[p_i, q_i], or [p_i, q_i + 1] with null.
    """

    null: bool = False
    _core: ClassVar[str] = "matching"

    def __post_init__(self) -> None:
        if not isinstance(self.null, bool | np.bool_):
            raise TypeError(f"null={self.null!r}; it must be True or False.")
        object.__setattr__(self, "null", bool(self.null))

    @property
    def layout(self) -> TensorLayout:
        return _PARTIAL if self.null else _FULL

    def scores(self, weights: Any) -> Scores:
        """weights: list of [p_i, q_i] with p_i <= q_i; with null a list of [p_i, q_i + 1], any p_i and q_i."""
        given = sequence_of(weights, "weights")
        parts = [as_float(a, f"weights[{i}]") for i, a in enumerate(given)]
        for i, part in enumerate(parts):
            self._check_shape(part.shape, i)
        flat = np.concatenate([np.zeros(0), *(part.ravel() for part in parts)])
        check_finite_parts(flat, parts, "weights")
        shapes = np.array([part.shape for part in parts], dtype=np.int64).reshape(-1, 2)
        return Scores.unchecked(flat, offsets_of(shapes.prod(axis=1)), shapes=shapes)

    def expect(self, s: Scores, mu: float) -> Expectation:
        raise Intractable(
            "Matching has no expect: a sum over matchings is a permanent, which is #P-complete. Use L2() or Hard()."
        )

    def max_marginals(self, s: Scores) -> list[FloatArray]:
        """List of float64[p_i, columns]: the best score of a matching in which row v takes column j."""
        tables = super().max_marginals(s)
        return [cells.reshape(shape) for cells, shape in zip(tables, self._shapes(s).tolist(), strict=True)]

    def mixture(self, s: Scores, outputs: Sequence[IntArray], weights: Sequence[FloatArray]) -> Scores:
        """nodes[v, j] = sum_k u_k [y_k,v = j]."""
        check_mixture(s, outputs, weights)
        shapes = self._shapes(s)
        example = np.repeat(np.arange(len(s)), [len(y) for y in outputs])  # of every output
        cells = self._cells(s, [row for o in outputs for row in o], example, "outputs")
        u = np.repeat(np.concatenate([np.zeros(0), *weights]), shapes[example, 0])
        return Scores.unchecked(weighted_counts(cells, u, s.nodes.shape), s.offsets, shapes=shapes)

    def score_of(self, s: Scores, outputs: Sequence[IntArray]) -> FloatArray:
        shapes = self._arrays(s)[2]
        cells = self._cells(s, outputs, np.arange(len(s)), "outputs")
        return segment_sums(s.nodes[cells], offsets_of(shapes[:, 0]))

    def log_n_outputs(self, s: Scores) -> FloatArray:
        """float64[n]: log q! / (q - p)!; with null the log of sum_k C(p, k) C(q, k) k!, k rows being matched."""
        shapes = [(int(p), int(columns)) for p, columns in self._shapes(s)]
        if not self.null:
            return np.array([math.lgamma(q + 1) - math.lgamma(q - p + 1) for p, q in shapes], dtype=np.float64)
        return np.array([_log_partial_matchings(p, columns - 1) for p, columns in shapes], dtype=np.float64)

    def parts_of_cost(self, s: Scores, costs: Any) -> Scores:
        """sum_v costs[i][v, y_v] as cell scores; costs: list of matrices of the shapes of the scores."""
        shapes = self._shapes(s)
        parts = [finite_float(c, f"costs[{i}]") for i, c in enumerate(sequence_of(costs, "costs"))]
        if len(parts) != len(s):
            raise ValueError(f"costs has {len(parts)} entries for {len(s)} examples; give one per example.")
        for i, part in enumerate(parts):
            if part.shape != tuple(shapes[i]):
                raise ValueError(f"costs[{i}] has shape {list(part.shape)}; example {i} needs {shapes[i].tolist()}.")
        flat = np.concatenate([np.zeros(0), *(part.ravel() for part in parts)])
        return Scores.unchecked(flat, s.offsets, shapes=shapes)

    def select(self, examples: Any) -> Matching:
        return self

    def restricted(self, allowed: Any) -> Restricted:
        """The structure with fewer outputs: allowed is a list of bool of the shape of unary(i), the columns that each
        row may take, or None."""
        return Restricted(self, Masks.of_matrices(allowed, "allowed"))

    def _check_shape(self, shape: tuple[int, ...], i: int) -> None:
        needed = "[p, q + 1], the last column for unmatched rows," if self.null else "[p, q] with p <= q,"
        if len(shape) != 2:
            hint = " For a single example pass [weights]." if i == 0 and len(shape) == 1 else ""
            raise ValueError(f"weights[{i}] has shape {list(shape)}; it must be {needed} one row per item.{hint}")
        if 0 in shape:
            raise ValueError(f"weights[{i}] has shape {list(shape)}, which is empty; it must be {needed} with p >= 1.")
        if not self.null and shape[0] > shape[1]:
            raise ValueError(f"weights[{i}] has {shape[0]} rows and {shape[1]} columns; {_MORE_ROWS}")

    def _lengths(self, s: Scores) -> IntArray:
        return self._shapes(s)[:, 0]

    def _shapes(self, s: Scores) -> IntArray:
        if not isinstance(s, Scores):
            raise TypeError(f"Matching got a {type(s).__name__}; it reads Scores. Make them with Matching.scores(...).")
        if s.shapes is None:
            raise ValueError(
                "Matching got scores without shapes; it reads one matrix per example. Make them with "
                "Matching.scores(...), or give LinearPartsModel the shapes."
            )
        return s.shapes

    def _arrays(self, s: Scores) -> tuple[FloatArray, IntArray, IntArray, bool]:
        check_scores(s, (), "Matching")
        shapes = self._shapes(s)
        bad = np.flatnonzero((shapes < 1).any(axis=1) | ((shapes[:, 0] > shapes[:, 1]) & (not self.null)))
        if len(bad):
            self._check_shape(tuple(shapes[bad[0]].tolist()), int(bad[0]))
        return s.nodes, s.offsets, shapes, self.null

    def _cells(self, s: Scores, outputs: Any, example: IntArray, name: str) -> IntArray:
        """The cells in nodes that the given outputs use, one output per entry of `example`."""
        rows, columns = self._shapes(s)[example].T
        y = flat_labels(outputs, rows, columns, name)
        which = np.repeat(np.arange(len(example)), rows)
        _check_columns_differ(y, which, columns - 1 if self.null else columns, name)
        row = np.arange(len(y)) - np.repeat(offsets_of(rows)[:-1], rows)
        cells: IntArray = s.offsets[:-1][example][which] + row * columns[which] + y
        return cells


def _check_columns_differ(y: IntArray, which: IntArray, limit: IntArray, name: str) -> None:
    """Whether no output takes a column twice; columns from `limit` on (the null column) may be taken by many."""
    order = np.lexsort((y, which))
    twice = (np.diff(y[order]) == 0) & (np.diff(which[order]) == 0) & (y[order] < limit[which[order]])[:-1]
    if twice.any():
        at = order[np.flatnonzero(twice)[0]]
        raise ValueError(
            f"{name}[{which[at]}] takes column {y[at]} twice; in a matching every row has a column of its own."
        )


def _log_partial_matchings(p: int, q: int) -> float:
    """log sum_k C(p, k) C(q, k) k!."""
    terms = [
        math.lgamma(p + 1) + math.lgamma(q + 1) - math.lgamma(k + 1) - math.lgamma(p - k + 1) - math.lgamma(q - k + 1)
        for k in range(min(p, q) + 1)
    ]
    top = max(terms)
    return top + math.log(math.fsum(math.exp(t - top) for t in terms))
