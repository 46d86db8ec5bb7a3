"""A linear model of classes: the features of an example are the same for all of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from casimir._arrays import aligned_zeros, frozen, read_only
from casimir._validate import all_finite, positive_int
from casimir.models.base import check_marginals, check_weights, chosen_examples
from casimir.models.weight_rows import stride_of
from casimir.scores import FloatArray, IntArray, Scores

SparseFeatures = tuple[IntArray, npt.NDArray[np.uint32], FloatArray]


def is_sparse(X: Any) -> bool:
    """Whether X is a SciPy sparse matrix or array; SciPy need not be loaded to tell."""
    return hasattr(X, "tocsr")


@dataclass(frozen=True, eq=False)
class LinearClassModel:
    """scores_i[j] = <x_i, W[:, j]> + bias b[j], for every class j; with `Candidates()` it trains natively.

    X          float64 or float32[n, d], or a SciPy sparse matrix, which stays sparse
    n_classes  L
    bias       the value of one more feature that all examples have; 0: there is none, and no b

    w has a row of `stride` doubles per feature, of which L count and the rest stay 0; b is the last row.
    """

    X: Any
    n_classes: int
    bias: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_classes", positive_int(self.n_classes, "n_classes"))
        object.__setattr__(self, "X", checked_features(self.X))
        if not np.isfinite(self.bias):
            raise ValueError(f"bias={self.bias}; it must be a finite number, or 0 for no intercepts.")

    @property
    def n_examples(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """How many features X has."""
        return int(self.X.shape[1])

    @property
    def stride(self) -> int:
        """Doubles per row of weights: the classes, rounded up to a multiple of 4."""
        return stride_of(self.n_classes)

    @property
    def n_params(self) -> int:
        return (self.n_features + (self.bias != 0.0)) * self.stride

    def zeros(self) -> FloatArray:
        """Weights of 0."""
        return aligned_zeros(self.n_params)

    def layout(self) -> Scores:
        return Scores.unchecked(np.zeros(self.n_examples * self.n_classes), self._offsets(self.n_examples))

    def unpack(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Views of w: W float64[d, L], and b float64[1, L], or [0, L] where there is none."""
        rows = w.reshape(-1, self.stride)[:, : self.n_classes]
        return rows[: self.n_features], rows[self.n_features :]

    def longest_rows(self, y: Any) -> FloatArray:
        """float64[n] = max_y |Phi(y) - Phi(y_i)|^2 = 2 |x_i|^2"""
        return np.full(self.n_examples, 2.0 if self.n_classes > 1 else 0.0) * (self._squares + self.bias**2)

    @cached_property
    def _squares(self) -> FloatArray:
        if is_sparse(self.X):
            return np.asarray(self.X.multiply(self.X).sum(axis=1), dtype=np.float64).ravel()
        return np.asarray(np.einsum("ij,ij->i", self.X, self.X, dtype=np.float64))

    def curvature_at_zero(self, shares: FloatArray | None, most: int) -> FloatArray | None:
        """float64[rows, rows] = sum_i p_i x_i x_i^T / L; None where X is sparse or has more than `most` rows.

        At w = 0 all classes are alike, and the covariance of L of them, I / L - 1 1^T / L^2, is at most I / L.
        """
        moments = feature_moments(self.X, self.bias, shares, most)
        return None if moments is None else moments / self.n_classes

    def scores(self, w: FloatArray, examples: Any = None) -> Scores:
        check_weights(w, self.n_params, "LinearClassModel")
        X = self._pick(examples)
        table, intercept = self.unpack(w)
        values = np.asarray(X @ table, dtype=np.float64) + self.bias * intercept.sum(axis=0)
        return Scores.unchecked(values.ravel(), self._offsets(X.shape[0]))

    def adjoint(self, marginals: Scores, examples: Any = None) -> FloatArray:
        X = self._pick(examples)
        n = int(X.shape[0])
        check_marginals(marginals, (n * self.n_classes,), self._offsets(n), "LinearClassModel")
        rows = marginals.nodes.reshape(n, self.n_classes)
        gradient = self.zeros()
        table, intercept = self.unpack(gradient)
        table[:] = X.T @ rows
        intercept[:] = self.bias * rows.sum(axis=0)
        return gradient

    def _offsets(self, n: int) -> IntArray:
        return np.arange(n + 1, dtype=np.int64) * self.n_classes

    def _pick(self, examples: Any) -> Any:
        return self.X if examples is None else self.X[chosen_examples(examples, self.n_examples)]


def sparse_parts(X: Any) -> SparseFeatures | None:
    """(indptr int64[n + 1], indices uint32[nnz], values float64[nnz]) as the core reads them; None: X is dense."""
    return (X.indptr.astype(np.int64), X.indices.astype(np.uint32), X.data) if is_sparse(X) else None


def feature_moments(X: Any, bias: float, shares: FloatArray | None, most: int) -> FloatArray | None:
    """float64[rows, rows] = sum_i p_i x_i x_i^T, with one more feature of value `bias` if that is not 0.

    shares  p float64[n]; None: all 1 / n
    most    rows that are still taken; None is returned for more, and for sparse features
    """
    n, d = X.shape
    rows = d + (bias != 0.0)
    if is_sparse(X) or rows > most:
        return None
    X = X.astype(np.float64, copy=False)
    weighed = X / n if shares is None else X * shares[:, None]
    moments = np.empty((rows, rows))
    moments[:d, :d] = weighed.T @ X
    if bias != 0.0:
        moments[:d, d] = moments[d, :d] = bias * weighed.sum(axis=0)
        moments[d, d] = bias**2
    return moments


def checked_features(X: Any) -> Any:
    """A contiguous float64 or float32[n, d], or a float64 CSR matrix with sorted rows in which nothing comes twice.

    It is read-only. Numbers that need no conversion are not copied, only where they stand: do not write to them while a
    model trains.
    """
    given: Any = X.tocsr() if is_sparse(X) else np.asarray(X)
    if given.ndim != 2 or min(given.shape) < 1:
        raise ValueError(f"X has shape {list(given.shape)}; it must be [n, d] with at least one row and one column.")
    if is_sparse(given):
        from scipy.sparse import csr_array

        given = csr_array(given, dtype=np.float64)
        if not given.has_canonical_format:
            given = given.copy()
            given.sum_duplicates()
    else:
        given = np.ascontiguousarray(given, dtype=np.float32 if given.dtype == np.float32 else np.float64)
    if not all_finite(given.data if is_sparse(given) else given):
        raise ValueError("X has entries that are NaN or infinite; they must be finite.")
    if not is_sparse(given):
        return read_only(given)
    rows = type(given)((read_only(given.data), frozen(given.indices), frozen(given.indptr)), shape=given.shape)
    rows.has_canonical_format = True
    return rows
