"""How the weights of token labels lie in memory: rows of one double per label, padded for the kernels."""

from __future__ import annotations

from dataclasses import dataclass

from casimir._arrays import aligned_zeros
from casimir.scores import FloatArray, IntArray

CHAIN_ENDS = 2  # rows of a chain behind its pairs: scores of the first and of the last label


def chain_rows(n_features: int, n_labels: int, n_edge_features: int = 0) -> WeightRows:
    """The rows of a chain: behind those of its ends, L for each feature of edges."""
    return WeightRows(n_features, n_labels, CHAIN_ENDS + n_edge_features * n_labels)


def stride_of(n_labels: int) -> int:
    """Doubles per row of weights: the number of labels rounded up to a multiple of 4."""
    return -(-n_labels // 4) * 4


@dataclass(frozen=True)
class WeightRows:
    """w float64[(n_features + L + n_ends) * stride]: rows of `stride` doubles, of which L count and the rest stay 0.

    First n_features rows of scores of features, then L rows of scores of pairs of labels, then `n_ends` others.
    """

    n_features: int
    n_labels: int
    n_ends: int = 0

    @property
    def stride(self) -> int:
        """Doubles from one row to the next: L and the padding."""
        return stride_of(self.n_labels)

    @property
    def n_rows(self) -> int:
        """Rows of w."""
        return self.n_features + self.n_labels + self.n_ends

    @property
    def n_params(self) -> int:
        """The length of w."""
        return (self.n_features + self.n_labels + self.n_ends) * stride_of(self.n_labels)

    @classmethod
    def of(cls, w: FloatArray, n_features: int, n_labels: int) -> WeightRows:
        """Of weights whose other rows are those behind the features and the pairs."""
        return cls(n_features, n_labels, len(w) // stride_of(n_labels) - n_features - n_labels)

    def padded(self, w: FloatArray) -> FloatArray:
        """float64[n_rows, stride], a view of w."""
        return w.reshape(-1, self.stride)

    def rows(self, w: FloatArray) -> FloatArray:
        """float64[n_rows, L], a view of w."""
        return self.padded(w)[:, : self.n_labels]

    def unary(self, w: FloatArray) -> FloatArray:
        """float64[n_features, L], a view of w."""
        return self.rows(w)[: self.n_features]

    def pairs(self, w: FloatArray) -> FloatArray:
        """float64[L, L], a view of w."""
        return self.rows(w)[self.n_features : self.n_features + self.n_labels]

    def ends(self, w: FloatArray) -> FloatArray:
        """float64[n_ends, L], a view of w."""
        return self.rows(w)[self.n_features + self.n_labels :]

    def spread(self, w: FloatArray, used: IntArray, n_features: int) -> FloatArray:
        """Weights for n_features, of which this layout's features are number used[0], used[1], ...; the rest is 0."""
        stride, others = stride_of(self.n_labels), self.n_labels + self.n_ends
        wide = aligned_zeros((n_features + others) * stride)
        rows, small = wide.reshape(-1, stride), w.reshape(-1, stride)
        rows[used] = small[:-others]
        rows[-others:] = small[-others:]
        return wide

    def weights(self, rows: FloatArray) -> FloatArray:
        """w whose `rows` are these, aligned for the kernels."""
        w = aligned_zeros(self.n_params)
        self.rows(w)[:] = rows
        return w
