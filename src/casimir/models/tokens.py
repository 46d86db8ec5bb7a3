"""What linear models of token labels share: sparse features of tokens, and rows of weights padded for the kernels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from casimir._arrays import aligned_zeros
from casimir._validate import positive_int
from casimir.features import PackedSequences
from casimir.models.base import check_marginals, check_weights, chosen_examples
from casimir.models.weight_rows import WeightRows, stride_of
from casimir.scores import FloatArray, IntArray, Scores


@dataclass(frozen=True, eq=False)
class TokenModel:
    """unary[t, j] = <features of token t, U[:, j]>

    The weights lie as `weights` says: the rows U, then scores of pairs, then those that a model has of its own.
    """

    X: PackedSequences
    n_labels: int

    extra_rows: ClassVar[int] = 0
    takes_edges: ClassVar[bool] = False
    needed_input: ClassVar[str] = "packed features: pack(sequences)"

    def __post_init__(self) -> None:
        if not isinstance(self.X, PackedSequences):
            raise TypeError(f"{type(self).__name__} got a {type(self.X).__name__}; it needs {self.needed_input}.")
        if self.X.edges is not None and not self.takes_edges:
            raise ValueError(
                f"{type(self).__name__} has no features of pairs of labels, but X has edges; leave them out: "
                "X.with_edges(None)."
            )
        object.__setattr__(self, "n_labels", positive_int(self.n_labels, "n_labels"))

    @property
    def n_examples(self) -> int:
        return len(self.X)

    @property
    def n_features(self) -> int:
        """Of every token."""
        return self.X.n_features

    @cached_property
    def weights(self) -> WeightRows:
        """How w is cut into rows."""
        return WeightRows(self.X.n_features, self.n_labels, self.extra_rows)

    @property
    def stride(self) -> int:
        """Doubles from one row of w to the next: L and the padding."""
        return stride_of(self.n_labels)

    @property
    def n_params(self) -> int:
        return self.weights.n_params

    def layout(self) -> Scores:
        """Node scores of all examples, all 0."""
        nodes = aligned_zeros(self.X.n_tokens * self.n_labels).reshape(-1, self.n_labels)  # pages that nobody touches
        return Scores.unchecked(nodes, self.X.offsets)

    def zeros(self) -> FloatArray:
        """Weights to start from, aligned for the native kernels."""
        return aligned_zeros(self.n_params)

    def longest_rows(self, y: Any) -> FloatArray:
        """float64[n], at least max_y |Phi(y) - Phi(y_i)|^2: 2 (|sum_t |x_t||^2 + (p_i - 1)^2 + extra rows).

        Sums of features, of pairs and of ends are each at most that long for every output, and two sums of entries that
        are not negative differ by no more than the root of both squares.
        """
        return self._longest_rows

    @cached_property
    def _longest_rows(self) -> FloatArray:
        """Casimir asks for it at every subproblem."""
        lengths, squares = np.diff(self.X.offsets), sums_squared(self._matrix, self.X.offsets)
        return np.asarray(2.0 * (squares + np.maximum(lengths - 1, 0) ** 2 + self.extra_rows), dtype=np.float64)

    def _unary(self, w: FloatArray, examples: Any) -> tuple[FloatArray, IntArray]:
        """The unary scores [tokens, L] of the examples chosen, and their token offsets."""
        check_weights(w, self.n_params, type(self).__name__)
        matrix, offsets = self._pick(examples)
        # The product runs over the padding too: cutting it off first would copy all weights.
        return (matrix @ self.weights.padded(w)[: self.n_features])[:, : self.n_labels].copy(), offsets

    def _unary_adjoint(self, marginals: Scores, examples: Any) -> tuple[FloatArray, IntArray]:
        """The gradient in U, and 0 for the other weights; the token offsets of the examples chosen."""
        matrix, offsets = self._pick(examples)
        check_marginals(marginals, (int(offsets[-1]), self.n_labels), offsets, type(self).__name__)
        padded = np.zeros((len(marginals.nodes), self.stride))
        padded[:, : self.n_labels] = marginals.nodes
        gradient = self.zeros()
        self.weights.padded(gradient)[: self.n_features] = matrix.T @ padded
        return gradient, offsets

    def _pick(self, examples: Any) -> tuple[Any, IntArray]:
        """The features of the examples chosen, as a sparse matrix [tokens, n_features], and their token offsets."""
        if examples is None:
            return self._matrix, self.X.offsets
        X = self.X.select(chosen_examples(examples, self.n_examples))
        return feature_matrix(X), X.offsets

    @cached_property
    def _matrix(self) -> Any:
        return feature_matrix(self.X)


def sums_squared(matrix: Any, offsets: IntArray) -> FloatArray:
    """float64[n]: |sum_t |x_t||^2 over the rows of every sequence."""
    import scipy.sparse as sp

    n_rows = int(offsets[-1])
    rows = sp.csr_array((np.ones(n_rows), np.arange(n_rows), offsets), (len(offsets) - 1, n_rows))
    sums = rows @ abs(matrix.copy())  # SciPy's abs adds up repeated entries in place
    return np.asarray(sums.multiply(sums).sum(axis=1), dtype=np.float64).ravel()


def feature_matrix(X: PackedSequences) -> Any:
    """Sparse [tokens, n_features]; shares the indices of X where SciPy's integers allow it."""
    import scipy.sparse as sp  # not at the top: native chains never come here

    small = max(X.n_features, len(X.indices)) < 2**31
    indices = X.indices.view(np.int32) if small else X.indices.astype(np.int64)
    indptr = X.indptr.astype(np.int32) if small else X.indptr
    values = np.ones(len(X.indices)) if X.values is None else X.values
    return sp.csr_array((values, indices, indptr), shape=(X.n_tokens, X.n_features))
