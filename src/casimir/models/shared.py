"""Weights that several cells of a linear model share, as when a feature and a label are hashed together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from casimir._arrays import aligned_zeros, frozen
from casimir._validate import positive_int
from casimir.models.base import check_weights
from casimir.models.linear import LinearChainModel
from casimir.models.linear_tree import LinearTreeModel
from casimir.scores import FloatArray, Scores


@dataclass(frozen=True, eq=False)
class SharedWeights:
    """scores_i = J_i v,  v = w[cells]: the scores of `model` with v for its weights.

    model      of trees, which then trains natively, or of chains, which takes the composed path
    cells      integers [n_rows, L]: which of the weights w the model has for a row (see `WeightRows`) and a label
    n_weights  how many there are; some may belong to no cell
    """

    model: LinearTreeModel | LinearChainModel
    cells: Any
    n_weights: int

    def __post_init__(self) -> None:
        if not isinstance(self.model, LinearTreeModel | LinearChainModel):
            raise TypeError(
                f"SharedWeights got a {type(self.model).__name__}; it needs a LinearTreeModel or a LinearChainModel."
            )
        given, needed = np.asarray(self.cells), (self.model.weights.n_rows, self.model.n_labels)
        object.__setattr__(self, "n_weights", positive_int(self.n_weights, "n_weights"))
        if given.shape != needed or not np.issubdtype(given.dtype, np.integer):
            raise ValueError(
                f"cells is {given.dtype}{list(given.shape)}; it must hold integers {list(needed)}, a row for every row "
                "of weights and a column for every label."
            )
        if given.min() < 0 or given.max() >= self.n_weights:
            raise ValueError(
                f"cells has numbers from {given.min()} to {given.max()}; they must be from 0 to {self.n_weights - 1}."
            )
        object.__setattr__(self, "cells", frozen(np.ascontiguousarray(given, dtype=np.uint32)))

    @property
    def n_examples(self) -> int:
        return self.model.n_examples

    @property
    def n_params(self) -> int:
        return self.n_weights

    @property
    def n_labels(self) -> int:
        return self.model.n_labels

    def layout(self) -> Scores:
        """Node scores of all examples, all 0."""
        return self.model.layout()

    def zeros(self) -> FloatArray:
        return aligned_zeros(self.n_weights)

    def expand(self, w: FloatArray) -> FloatArray:
        """v, the weights of `model`."""
        check_weights(w, self.n_weights, "SharedWeights")
        return self.model.weights.weights(w[self.cells])

    def scores(self, w: FloatArray, examples: Any = None) -> Scores:
        return self.model.scores(self.expand(w), examples)

    def adjoint(self, marginals: Scores, examples: Any = None) -> FloatArray:
        gradient = self.model.weights.rows(self.model.adjoint(marginals, examples))
        return np.asarray(np.bincount(self.cells.ravel(), gradient.ravel(), self.n_weights), dtype=np.float64)
