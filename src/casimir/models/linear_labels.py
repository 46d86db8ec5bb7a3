"""A linear model of sets of labels: features of an example that all labels share, and pairs of labels that interact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from casimir._arrays import aligned_zeros
from casimir._validate import positive_int
from casimir.models.base import check_marginals, check_weights, chosen_examples
from casimir.models.linear_classes import checked_features
from casimir.models.weight_rows import stride_of
from casimir.scores import FloatArray, IntArray, Scores


@dataclass(frozen=True, eq=False)
class LinearLabelModel:
    """Label l is a node with y_l in {0, 1}: unary[l] = (0, <x_i, U[:, l]> + bias b[l]), pairwise[e] = J[e] [y_u = y_v].

    With a `Tree`, `JunctionTree` or `GraphCut` that has the same graph for all examples it trains natively.

    X          float64 or float32[n, d], or a SciPy sparse matrix, which stays sparse
    n_labels   q
    bias       the value of one more feature that all examples have; 0: there is none, and no b
    edge_rows  int64[m]: the row of an example's edge scores that belongs to the m-th pair of labels
    n_rows     how many rows of edge scores an example has: q for `Tree`, whose rows are children; m for others

    w has rows of `stride` doubles, q rounded up to a multiple of 4: a row per feature and one of b where there is a
    bias, of which q count, then as many rows as J needs, filled one after another. The rest stays 0.
    """

    X: Any
    n_labels: int
    bias: float
    edge_rows: IntArray
    n_rows: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_labels", positive_int(self.n_labels, "n_labels"))
        object.__setattr__(self, "X", checked_features(self.X))

    @property
    def n_examples(self) -> int:
        return int(self.X.shape[0])

    @property
    def stride(self) -> int:
        """Doubles per row of weights."""
        return stride_of(self.n_labels)

    @property
    def n_unary(self) -> int:
        """Where the weights of pairs begin."""
        return (int(self.X.shape[1]) + (self.bias != 0.0)) * self.stride

    @property
    def n_params(self) -> int:
        return self.n_unary + -(-len(self.edge_rows) // self.stride) * self.stride

    def zeros(self) -> FloatArray:
        return aligned_zeros(self.n_params)

    def layout(self) -> Scores:
        n = self.n_examples
        return Scores.unchecked(np.zeros((n * self.n_labels, 2)), self._offsets(n, self.n_labels))

    def unpack(self, w: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Views of w: U float64[d, q], b float64[1, q] ([0, q] where there is none), J float64[m]."""
        rows, d = w[: self.n_unary].reshape(-1, self.stride)[:, : self.n_labels], int(self.X.shape[1])
        return rows[:d], rows[d:], w[self.n_unary : self.n_unary + len(self.edge_rows)]

    def pack(self, table: FloatArray, intercepts: FloatArray, interactions: FloatArray) -> FloatArray:
        """w whose views these are."""
        w = self.zeros()
        for view, values in zip(self.unpack(w), (table, intercepts, interactions), strict=True):
            view[...] = values
        return w

    def scores(self, w: FloatArray, examples: Any = None) -> Scores:
        check_weights(w, self.n_params, "LinearLabelModel")
        X = self._pick(examples)
        n, (table, intercept, interactions) = int(X.shape[0]), self.unpack(w)
        nodes = np.zeros((n * self.n_labels, 2))
        nodes[:, 1] = (np.asarray(X @ table) + self.bias * intercept.sum(axis=0)).ravel()
        pairs = np.zeros((self.n_rows, 2, 2))
        pairs[self.edge_rows, 0, 0] = pairs[self.edge_rows, 1, 1] = interactions
        edges = np.ascontiguousarray(np.broadcast_to(pairs, (n, *pairs.shape))).reshape(-1, 2, 2)
        return Scores.unchecked(nodes, self._offsets(n, self.n_labels), edges, self._offsets(n, self.n_rows))

    def adjoint(self, marginals: Scores, examples: Any = None) -> FloatArray:
        X = self._pick(examples)
        n = int(X.shape[0])
        check_marginals(marginals, (n * self.n_labels, 2), self._offsets(n, self.n_labels), "LinearLabelModel")
        on = marginals.nodes[:, 1].reshape(n, self.n_labels)
        gradient = self.zeros()
        table, intercept, interactions = self.unpack(gradient)
        table[:] = X.T @ on
        intercept[:] = self.bias * on.sum(axis=0)
        if marginals.edges is not None and len(self.edge_rows):
            of_rows = marginals.edges.reshape(n, self.n_rows, 2, 2).sum(axis=0)[self.edge_rows]
            interactions[:] = of_rows[:, 0, 0] + of_rows[:, 1, 1]
        return gradient

    def _offsets(self, n: int, rows: int) -> IntArray:
        return np.arange(n + 1, dtype=np.int64) * rows

    def _pick(self, examples: Any) -> Any:
        return self.X if examples is None else self.X[chosen_examples(examples, self.n_examples)]
