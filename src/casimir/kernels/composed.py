"""The composed kernel: any model, structure, cost and smoothing, in plain Python."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from casimir.costs import Cost
from casimir.kernels.base import Averaged, DualBlocks, Pass, Seen, fixed_scores
from casimir.kernels.composed_dual import ComposedDualBlocks
from casimir.models.base import Linearization, ScoreModel, batches, linearize, nearest_allowed, scores_in_batches
from casimir.scores import FloatArray, IntArray, Scores, concatenate
from casimir.smoothing import Smoothed, Smoothing
from casimir.structures.base import Structure, indicator


class ComposedKernel:
    """scores -> + cost and offset -> smoothed max -> adjoint, written as the formulas are.

    A model that has `batch_size` sees that many examples at a time in a full pass, one that has none all of them.
    """

    def __init__(
        self,
        model: ScoreModel,
        structure: Structure,
        cost: Cost | None,
        y: list[IntArray],
        offset: Scores | None = None,
    ) -> None:
        self.model, self.structure, self.y = model, structure, y
        layout = scores_in_batches(model, np.zeros(model.n_params))
        self.truth = indicator(structure, layout, y)
        self.fixed = fixed_scores(structure, layout, cost, y, offset)

    def full_pass(self, w: FloatArray, smoothing: Smoothing, mu: float, *, gradient: bool, keep: bool) -> Pass:
        n = self.model.n_examples
        total = np.zeros(self.model.n_params) if gradient else None
        answers = []
        for examples in batches(self.model):
            answer = self._oracle(w, smoothing, mu, examples, gradient)
            if total is not None:
                total += answer.gradient_towards(_select(self.truth, examples)) / max(n, 1)
            answers.append(answer.without_model())
        smoothed = [answer.smoothed for answer in answers]
        value = np.concatenate([answer.loss for answer in answers])
        max_values = [s.max_value - s.value for s in smoothed if s.max_value is not None]
        return Pass(
            value,
            value + np.concatenate(max_values) if len(max_values) == len(smoothed) else None,
            np.concatenate([answer.cost for answer in answers]),
            np.concatenate([s.exact for s in smoothed]),
            total,
            concatenate([s.marginals for s in smoothed]) if keep else None,
        )

    def sgd_epoch(
        self,
        order: IntArray,
        gamma: FloatArray,
        lam: float,
        smoothing: Smoothing,
        mu: float,
        w: FloatArray,
        averaged: Averaged | None,
        weights: FloatArray | None,
    ) -> Seen:
        loss_sum = cost_sum = 0.0
        total = None if averaged is None else averaged.mass * w - averaged.q
        for t, i in enumerate(order.tolist()):
            answer = self._oracle(w, smoothing, mu, [i])
            gradient = answer.gradient_towards(self.truth.select([i]))
            w *= 1.0 - gamma[t] * lam
            w -= gamma[t] * gradient
            _check_finite(w)
            loss_sum += float(answer.loss[0])
            cost_sum += float(answer.cost[0])
            if total is not None and weights is not None:
                total += weights[t] * w
        if averaged is not None and total is not None and weights is not None:
            averaged.q[:], averaged.mass = -total, 0.0
            averaged.total += float(weights.sum())
        return Seen(loss_sum, cost_sum)

    def svrg_epoch(
        self,
        order: IntArray,
        gamma: float,
        sigma: float,
        c: FloatArray,
        marginals: Any,
        smoothing: Smoothing,
        mu: float,
        w: FloatArray,
    ) -> FloatArray:
        average = np.zeros_like(w)
        for i in order.tolist():
            answer = self._oracle(w, smoothing, mu, [i])
            gradient = answer.gradient_towards(marginals.select([i]))
            gradient += sigma * (w - c) if sigma > 0.0 else -c
            w -= gamma * gradient
            _check_finite(w)
            average += w
        return average / len(order)

    def dual_blocks(self) -> DualBlocks:
        return ComposedDualBlocks(self)

    def augmented(self, w: FloatArray, examples: Any) -> Scores:
        """Scores of the examples plus their costs and offsets."""
        return self._plus_fixed(self.model.scores(nearest_allowed(self.model, w), examples), examples)

    def cost_above_truth(self, parts: Scores, examples: Any) -> FloatArray:
        """float64[m]: <parts, ell> - <truth, ell>, what the fixed scores add to the loss."""
        if self.fixed is None:
            return np.zeros(len(parts))
        fixed = _select(self.fixed, examples)
        return parts.dot(fixed) - _select(self.truth, examples).dot(fixed)

    def _plus_fixed(self, s: Scores, examples: Any) -> Scores:
        return s if self.fixed is None else s + _select(self.fixed, examples)

    def _oracle(self, w: FloatArray, smoothing: Smoothing, mu: float, examples: Any, gradient: bool = True) -> _Answer:
        """The loss of the examples; None is all of them."""
        around = None
        if gradient:
            around = linearize(self.model, nearest_allowed(self.model, w), examples)
            s = self._plus_fixed(around.scores, examples)
        else:
            s = self.augmented(w, examples)
        structure = self.structure if examples is None else self.structure.select(examples)
        smoothed = smoothing(structure, s, mu)
        loss = smoothed.value - s.dot(_select(self.truth, examples))
        return _Answer(loss, self.cost_above_truth(smoothed.marginals, examples), smoothed, around)


class _Answer(NamedTuple):
    """What the oracle tells of some examples at w.

    loss      float64[m]
    cost      float64[m]: <u, ell>
    smoothed  value and marginals of the smoothed max
    around    the model at w, or None when no gradient is wanted
    """

    loss: FloatArray
    cost: FloatArray
    smoothed: Smoothed
    around: Linearization | None

    def gradient_towards(self, reference: Scores) -> FloatArray:
        """float64[d]: J^T (u - reference)."""
        assert self.around is not None
        return self.around.adjoint(self.smoothed.marginals - reference)

    def without_model(self) -> _Answer:
        """What is left once the gradient is taken; the model may hold a lot."""
        return self._replace(around=None)


def _select(s: Scores, examples: Any) -> Scores:
    return s if examples is None else s.select(examples)


def _check_finite(w: FloatArray) -> None:
    if not np.isfinite(w).all():
        raise FloatingPointError(
            "The weights became infinite; the step size is too large. Leave it at its default, or use a smaller one."
        )
