"""The composed kernel: any model, structure, cost and smoothing, one example at a time, in plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from casimir.costs import Cost
from casimir.kernels.base import Averaged, DualBlocks, Pass, Seen
from casimir.kernels.composed_dual import ComposedDualBlocks
from casimir.models.base import ScoreModel, nearest_allowed
from casimir.scores import FloatArray, IntArray, Scores
from casimir.smoothing import Smoothed, Smoothing
from casimir.structures.base import Structure, indicator


class ComposedKernel:
    """scores -> + cost -> smoothed max -> adjoint, written as the formulas are."""

    def __init__(self, model: ScoreModel, structure: Structure, cost: Cost | None, y: list[IntArray]) -> None:
        self.model, self.structure, self.y = model, structure, y
        layout = model.scores(np.zeros(model.n_params))
        self.truth = indicator(structure, layout, y)
        self.costs = None if cost is None else cost.parts(structure, layout, y)

    def full_pass(self, w: FloatArray, smoothing: Smoothing, mu: float, *, gradient: bool, keep: bool) -> Pass:
        n = self.model.n_examples
        value, cost, answer = self._oracle(w, smoothing, mu, None)
        out = self.model.adjoint(answer.marginals - self.truth) / max(n, 1) if gradient else None
        max_value = None
        if answer.max_value is not None:
            max_value = value - answer.value + answer.max_value
        return Pass(value, max_value, cost, answer.exact, out, answer.marginals if keep else None)

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
            value, cost, answer = self._oracle(w, smoothing, mu, [i])
            gradient = self.model.adjoint(answer.marginals - self.truth.select([i]), [i])
            w *= 1.0 - gamma[t] * lam
            w -= gamma[t] * gradient
            _check_finite(w)
            loss_sum += float(value[0])
            cost_sum += float(cost[0])
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
            _, _, answer = self._oracle(w, smoothing, mu, [i])
            gradient = self.model.adjoint(answer.marginals - marginals.select([i]), [i])
            gradient += sigma * (w - c) if sigma > 0.0 else -c
            w -= gamma * gradient
            _check_finite(w)
            average += w
        return average / len(order)

    def dual_blocks(self) -> DualBlocks:
        return ComposedDualBlocks(self)

    def augmented(self, w: FloatArray, examples: Any) -> Scores:
        """Scores plus costs of the examples."""
        s = self.model.scores(nearest_allowed(self.model, w), examples)
        if self.costs is None:
            return s
        return s + (self.costs if examples is None else self.costs.select(examples))

    def _oracle(
        self, w: FloatArray, smoothing: Smoothing, mu: float, examples: Any
    ) -> tuple[FloatArray, FloatArray, Smoothed]:
        """(losses, <u, ell>, answer) of the examples; None is all of them."""
        s = self.augmented(w, examples)
        structure = self.structure if examples is None else self.structure.select(examples)
        truth = self.truth if examples is None else self.truth.select(examples)
        answer = smoothing(structure, s, mu)
        cost = np.zeros(len(s))
        if self.costs is not None:
            cost = answer.marginals.dot(self.costs if examples is None else self.costs.select(examples))
        return answer.value - s.dot(truth), cost, answer


def _check_finite(w: FloatArray) -> None:
    if not np.isfinite(w).all():
        raise FloatingPointError(
            "The weights became infinite; the step size is too large. Leave it at its default, or use a smaller one."
        )
