"""What a model is: how weights and inputs give scores, and the adjoint. It never sees which outputs are valid."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from casimir.scores import FloatArray, IntArray, Scores


class ScoreModel(Protocol):
    """scores_i = J_i w for a linear model; in general J_i is the Jacobian at the weights last scored.

    `examples` picks some of the n_examples, by an index array, a mask or a slice; None is all of them. A model may have
    `nonnegative`, bool[n_params]: weights that training must keep at 0 or above.
    """

    @property
    def n_examples(self) -> int: ...

    @property
    def n_params(self) -> int: ...

    def scores(self, w: FloatArray, examples: Any = None) -> Scores:
        """The part scores of the examples chosen."""
        ...

    def adjoint(self, marginals: Scores, examples: Any = None) -> FloatArray:
        """float64[n_params]: sum_i J_i^T m_i over the examples chosen; marginals in the layout of `scores`."""
        ...


def nearest_allowed(model: ScoreModel, w: FloatArray) -> FloatArray:
    """P(w): negative weights that the model wants non-negative become 0; w itself where the model wants none."""
    mask = getattr(model, "nonnegative", None)
    return w if mask is None else np.where(mask, np.maximum(w, 0.0), w)


def chosen_examples(examples: Any, n: int) -> IntArray:
    """int64[m]: the numbers of the examples that an index array, a mask, a slice or None (all) picks."""
    numbers = np.arange(n)
    if examples is None:
        return numbers
    if isinstance(examples, list | tuple) and not len(examples):
        return numbers[:0]
    chosen = numbers[examples]
    if not isinstance(chosen, np.ndarray) or chosen.ndim != 1:
        raise ValueError(f"examples={examples!r}; it must be a list of example numbers, such as [{examples!r}].")
    return chosen


def check_weights(w: Any, n_params: int, model: str) -> None:
    if not isinstance(w, np.ndarray) or w.dtype != np.float64 or w.shape != (n_params,) or not w.flags.c_contiguous:
        given = f"{w.dtype}{list(w.shape)}" if isinstance(w, np.ndarray) else type(w).__name__
        raise ValueError(f"{model} got weights {given}; it needs a contiguous float64[{n_params}]. Start with zeros().")


def check_marginals(marginals: Scores, shape: tuple[int, ...], offsets: IntArray, model: str) -> None:
    """nodes must have the given shape, cut into examples at `offsets`."""
    if marginals.nodes.shape != shape or not np.array_equal(marginals.offsets, offsets):
        raise ValueError(
            f"{model} got marginals of {len(marginals)} examples with nodes {list(marginals.nodes.shape)}; it needs "
            f"{len(offsets) - 1} examples with nodes {list(shape)}. Pass the same `examples` as to scores."
        )
