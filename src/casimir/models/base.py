"""What a model is: how weights and inputs give scores, and the adjoint. It never sees which outputs are valid."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np

from casimir.scores import FloatArray, IntArray, Scores, concatenate


class LinearModel(Protocol):
    """scores_i = J_i w.

    `examples` picks some of the n_examples, by an index array, a mask or a slice; None is all of them.
    """

    @property
    def n_examples(self) -> int:
        """The number of examples."""
        ...

    @property
    def n_params(self) -> int:
        """The length of w."""
        ...

    def scores(self, w: FloatArray, examples: Any = None) -> Scores:
        """The part scores of the examples chosen."""
        ...

    def adjoint(self, marginals: Scores, examples: Any = None) -> FloatArray:
        """float64[n_params]: sum_i J_i^T m_i over the examples chosen; marginals in the layout of `scores`."""
        ...


@dataclass(frozen=True, eq=False, slots=True)
class Linearization:
    """A model around w: scores(w + dw) ~ scores + J dw.

    scores   the part scores at w
    forward  float64[n_params] dw -> J dw, in the layout of scores
    adjoint  m in the layout of scores -> float64[n_params]: J^T m = sum_i J_i^T m_i
    """

    scores: Scores
    forward: Callable[[FloatArray], Scores]
    adjoint: Callable[[Scores], FloatArray]


class NonlinearModel(Protocol):
    """scores_i = g_i(w), continuously differentiable.

    `examples` as for a linear model. A model may have `batch_size`, how many examples it likes to see at a time in a
    pass over all of them, and `jacobian(w, examples)`, float32 or float64[N, n_params], the gradient of every node
    score, which is used where those are scores of candidates: [N] alone, without edges or shapes.
    """

    @property
    def n_examples(self) -> int:
        """The number of examples."""
        ...

    @property
    def n_params(self) -> int:
        """The length of w."""
        ...

    def scores(self, w: FloatArray, examples: Any = None) -> Scores:
        """The part scores of the examples chosen."""
        ...

    def linearize(self, w: FloatArray, examples: Any = None) -> Linearization:
        """The scores of the examples chosen at w, with both products by their Jacobian there."""
        ...


ScoreModel = LinearModel | NonlinearModel


def is_linear(model: ScoreModel) -> bool:
    return not hasattr(model, "linearize")


def linearize(model: ScoreModel, w: FloatArray, examples: Any = None) -> Linearization:
    """Any model around w. A linear one is its own linearization."""
    if not is_linear(model):
        return cast(NonlinearModel, model).linearize(w, examples)
    linear = cast(LinearModel, model)
    return Linearization(
        linear.scores(w, examples), lambda dw: linear.scores(dw, examples), lambda m: linear.adjoint(m, examples)
    )


def batches(model: ScoreModel) -> Iterator[IntArray | None]:
    """The examples of a pass, `batch_size` at a time; None is all of them at once, as is the default."""
    size, n = getattr(model, "batch_size", None), model.n_examples
    if size is None or size >= n:
        yield None
        return
    for first in range(0, n, size):
        yield np.arange(first, min(first + size, n))


def scores_in_batches(model: ScoreModel, w: FloatArray) -> Scores:
    """The scores of all examples."""
    return concatenate([model.scores(w, examples) for examples in batches(model)])


def layout_of(model: ScoreModel) -> Scores:
    """Node scores of all examples that show their layout; a model that has `layout` knows it without any scores."""
    layout = getattr(model, "layout", None)
    known: Scores = scores_in_batches(model, np.zeros(model.n_params)) if layout is None else layout()
    return known


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
