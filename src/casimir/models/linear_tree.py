"""A linear model of labelled trees: sparse features of nodes, and one matrix of edge scores for all edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from casimir.models.tokens import TokenModel
from casimir.scores import FloatArray, Scores


@dataclass(frozen=True, eq=False)
class LinearTreeModel(TokenModel):
    """unary[v, j] = <features of node v, U[:, j]>;  pairwise[v, j, j'] = edges[j, j'], j' the label of the parent.

    X: features of the nodes of every tree, in the order of their numbers. The trees themselves belong to the structure,
    `Tree`, with which this model trains natively.

    Rows of w (see `WeightRows`): n_features of U, then L of edge scores.
    """

    needed_input: ClassVar[str] = "packed features of nodes: pack(trees)"

    def unpack(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Views of w: unary [n_features, L], edges [L, L] (label, label of the parent)."""
        return self.weights.unary(w), self.weights.pairs(w)

    def scores(self, w: FloatArray, examples: Any = None) -> Scores:
        """Every edge gets its own copy of the edge scores: for many large trees pick examples."""
        nodes, offsets = self._unary(w, examples)
        shared = self.unpack(w)[1]
        edges = np.ascontiguousarray(np.broadcast_to(shared, (len(nodes), *shared.shape)))
        return Scores.unchecked(nodes, offsets, edges, offsets)

    def adjoint(self, marginals: Scores, examples: Any = None) -> FloatArray:
        gradient, _ = self._unary_adjoint(marginals, examples)
        if marginals.edges is not None:
            self.unpack(gradient)[1][:] = marginals.edges.sum(axis=0)
        return gradient
