"""What stochastic solvers share: oracle answers as gradients, the step that a penalty asks for, sums of iterates.

An epoch is written twice: here and in the solvers' files in plain Python, for any problem and penalty, and in the core
(cpp/solve), where one call runs it. On the same order both go the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from casimir._native import core
from casimir.losses import Loss
from casimir.penalties import Penalty
from casimir.persistence.state import keeps
from casimir.problems import Problem, core_penalty, core_smoothing
from casimir.scores import FloatArray, IntArray


class Seen(NamedTuple):
    """Sums over the oracle calls of an epoch, each times its example's scale: losses f_i(w), costs <u_i, ell_i>.

    max_loss  of losses without smoothing; NaN where the oracle does not see them
    """

    loss: float
    cost: float
    max_loss: float

    def plus(self, other: Seen) -> Seen:
        return Seen(self.loss + other.loss, self.cost + other.cost, self.max_loss + other.max_loss)


@keeps
@dataclass(slots=True)
class Averaged:
    """A weighted sum of iterates that is cheap to keep: sum_t a_t w_t = mass w - q, with total = sum_t a_t."""

    q: FloatArray
    mass: float = 0.0
    total: float = 0.0

    def sum(self, w: FloatArray) -> FloatArray:
        """float64[d] = sum_t a_t w_t, given the last iterate; `keep` takes it back, with more iterates in it."""
        total: FloatArray = self.mass * w - self.q
        return total

    def keep(self, total: FloatArray) -> None:
        self.q[:], self.mass = -total, 0.0

    def mean(self, w: FloatArray) -> FloatArray:
        """float64[d] = sum_t a_t w_t / sum_t a_t, given the last iterate."""
        result: FloatArray = self.sum(w) / self.total
        return result


class FusedArguments(NamedTuple):
    """Problem, penalty and smoothing as the core's epochs take them."""

    problem: Any
    penalty: Any
    smoothing: Any


def fused_arguments(problem: Problem, penalty: Penalty, loss: Loss) -> FusedArguments | None:
    """None where the epoch has to run in Python."""
    known = None if problem.core is None else core_penalty(penalty)
    if known is None:
        return None
    return FusedArguments(problem.core, known, core_smoothing(loss.smoothing, loss.mu))


def fused_sum(averaged: Averaged | None) -> Any:
    return core.IterateSum(None, 0.0) if averaged is None else core.IterateSum(averaged.q, averaged.mass)


def gradients(
    problem: Problem, order: IntArray, loss: Loss, w: FloatArray, less: Callable[[int, FloatArray], FloatArray]
) -> Iterator[tuple[FloatArray, Seen]]:
    """For i in order, at the w of that moment: scale_i J_i^T less(i, marginals of u_i(w)), and what was seen."""
    for i in order.tolist():
        answer, scale = problem.oracle(i, w, loss.smoothing, loss.mu), problem.scale(i)
        gradient = np.zeros_like(w)
        problem.scatter(i, less(i, answer.marginals), scale, gradient)
        yield gradient, Seen(scale * answer.value, scale * answer.cost, scale * answer.max_value)


def take_step(penalty: Penalty, w: FloatArray, gradient: FloatArray, gamma: float) -> None:
    """w <- w - gamma (gradient + grad R(w)) in place; the proximal step where R is not a plain square."""
    quadratic = penalty.quadratic
    if quadratic is None:
        w[:] = penalty.prox(w - gamma * gradient, gamma)
    else:
        w -= gamma * (gradient + quadratic.sigma * (w if quadratic.center is None else w - quadratic.center))
    if not np.isfinite(w).all():
        raise FloatingPointError(
            "The weights became infinite; the step size is too large. Leave it at its default, or use a smaller one."
        )
