"""A linear model of labelled trees: sparse features of nodes, and one matrix of edge scores for all edges."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from casimir._arrays import aligned_zeros
from casimir._validate import positive_int
from casimir.features import PackedSequences
from casimir.models.base import check_marginals, check_weights, chosen_examples
from casimir.models.linear import feature_matrix, stride_of
from casimir.scores import FloatArray, IntArray, Scores


@dataclass(frozen=True, eq=False)
class LinearTreeModel:
    """unary[v, j] = <features of node v, U[:, j]>;  pairwise[v, j, j'] = edges[j, j'], j' the label of the parent.

    X: features of the nodes of every tree, in the order of their numbers. The trees themselves belong to the structure,
    `Tree`, with which this model trains natively.

    w float64[(n_features + L) * stride]: rows of `stride` doubles, of which L count and the rest stay 0; n_features
    rows U, then L rows of edge scores.
    """

    X: PackedSequences
    n_labels: int

    def __post_init__(self) -> None:
        if not isinstance(self.X, PackedSequences):
            raise TypeError(
                f"LinearTreeModel got a {type(self.X).__name__}; it needs packed features of nodes: pack(trees)."
            )
        object.__setattr__(self, "n_labels", positive_int(self.n_labels, "n_labels"))

    @property
    def n_examples(self) -> int:
        return len(self.X)

    @property
    def n_features(self) -> int:
        return self.X.n_features

    @property
    def stride(self) -> int:
        return stride_of(self.n_labels)

    @property
    def n_params(self) -> int:
        return (self.n_features + self.n_labels) * self.stride

    def zeros(self) -> FloatArray:
        """Weights to start from, aligned for the native kernels."""
        return aligned_zeros(self.n_params)

    def unpack(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Views of w: unary [n_features, L], edges [L, L] (label, label of the parent)."""
        rows = w.reshape(-1, self.stride)[:, : self.n_labels]
        return rows[: self.n_features], rows[self.n_features :]

    def scores(self, w: FloatArray, examples: Any = None) -> Scores:
        """Every edge gets its own copy of the edge scores: for many large trees pick examples."""
        check_weights(w, self.n_params, "LinearTreeModel")
        matrix, offsets = self._pick(examples)
        nodes = (matrix @ w.reshape(-1, self.stride)[: self.n_features])[:, : self.n_labels].copy()
        shared = self.unpack(w)[1]
        edges = np.ascontiguousarray(np.broadcast_to(shared, (len(nodes), *shared.shape)))
        return Scores(nodes, offsets, edges, offsets)

    def adjoint(self, marginals: Scores, examples: Any = None) -> FloatArray:
        matrix, offsets = self._pick(examples)
        check_marginals(marginals, (int(offsets[-1]), self.n_labels), offsets, "LinearTreeModel")
        gradient = self.zeros()
        unary, edges = self.unpack(gradient)
        unary[:] = matrix.T @ marginals.nodes
        if marginals.edges is not None:
            edges += marginals.edges.sum(axis=0)
        return gradient

    def _pick(self, examples: Any) -> tuple[Any, IntArray]:
        """The features of the examples chosen, as a sparse matrix [nodes, n_features], and their node offsets."""
        if examples is None:
            return self._matrix, self.X.offsets
        X = self.X.select(chosen_examples(examples, self.n_examples))
        return feature_matrix(X), X.offsets

    @cached_property
    def _matrix(self) -> Any:
        return feature_matrix(self.X)
