"""What the gradients of a few examples at w = 0 tell: a step length, and how evenly they fill the directions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from casimir._arrays import aligned_zeros
from casimir.objective import Objective
from casimir.scores import FloatArray

_SAMPLED = 50
_SHARE, _LEAST = 5, 5  # no more than a fifth of the examples, but a handful: where they are few, a look costs


class Scale(NamedTuple):
    """gamma   Polyak's step at w = 0: mean_i f_i(0) / mean_i |grad f_i(0)|^2 over a few examples
    loss    the mean loss there
    square  mean_i |grad f_i(0)|^2; features c times as large make it c^2 times as large, as lam has to be then
    """

    gamma: float
    loss: float
    square: float


def scale_at_zero(objective: Objective, most: int = _SAMPLED) -> Scale:
    """Of `most` examples, a fifth where that is fewer, and all if there are hardly any.

    They are the same whatever the seed of a run is: "auto" asks for this, then the solver, and they are looked at once.
    An objective whose examples are elsewhere tells it itself, by a method of this name.
    """
    own: Any = getattr(objective, "scale_at_zero", None)
    if own is not None:
        elsewhere: Scale = own(most)
        return elsewhere
    size = min(most, max(_LEAST, objective.n_active // _SHARE), objective.n_active)
    name = f"scale at zero of {size} examples"
    if name not in objective.known_of_losses:
        value = square = 0.0
        problem, zeros = objective.problem(objective.loss.smoothing), aligned_zeros(objective.n_params)
        for i, loss, direction in _sampled(objective, np.random.default_rng(0), size, zeros):
            value += problem.scale(i) * loss
            square += problem.scale(i) ** 2 * problem.squared_norm(i, direction, zeros)
        gamma = value / square if square > 0.0 and value > 0.0 else 1.0
        objective.known_of_losses[name] = Scale(gamma, value / size, square / size)
    found: Scale = objective.known_of_losses[name]
    return found


def evenness(objective: Objective, rng: np.random.Generator) -> float:
    """(tr C)^2 / (d tr C^2), C = mean_i g_i g_i^T and g_i = grad f_i(0): 1 where all directions are alike.

    It is the share of the d directions that gradients fill: tr C = mean_i |g_i|^2, tr C^2 = mean_{i != j} <g_i, g_j>^2,
    over pairs of a few examples. 0 where there is one example only, or no gradient.
    """
    size = min(2 * _SAMPLED, objective.n_active)
    problem, gradients = objective.problem(objective.loss.smoothing), np.zeros((size, objective.n_params))
    at_zero = _sampled(objective, rng, size, aligned_zeros(objective.n_params))
    for gradient, (i, _, direction) in zip(gradients, at_zero, strict=True):
        problem.scatter(i, direction, problem.scale(i), gradient)
    products = gradients @ gradients.T
    squares = np.diag(products)
    of_pairs = float(np.square(products).sum() - np.square(squares).sum())
    if not of_pairs > 0.0:
        return 0.0
    return float(squares.mean() ** 2 * size * (size - 1) / of_pairs / objective.n_params)


def _sampled(
    objective: Objective, rng: np.random.Generator, size: int, zeros: FloatArray
) -> Iterator[tuple[int, float, FloatArray]]:
    """i, f_i(0) and what its gradient is made of, marginals less the truth's, of `size` different examples.

    zeros  float64[d]: w, and 0 whenever this goes on
    """
    examples = objective.examples[np.sort(rng.choice(objective.n_active, size=size, replace=False))]
    problem, loss = objective.problem(objective.loss.smoothing), objective.loss
    for i in examples.tolist():
        answer = problem.oracle(i, zeros, loss.smoothing, loss.mu)
        yield i, answer.value, answer.marginals - problem.truth(i)
    objective.count("searches", size)
