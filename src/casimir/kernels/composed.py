"""The composed kernel: any model, structure, cost and smoothing, one example at a time, in plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from casimir.costs import Cost
from casimir.kernels.base import Averaged, DualAverage, Pass, Seen
from casimir.models.base import ScoreModel, nearest_allowed
from casimir.scores import FloatArray, IntArray, Scores
from casimir.smoothing import Smoothed, Smoothing
from casimir.structures.base import Structure, indicator

_TIE = 1e-11  # relative to the largest score, as in the core


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

    def dual_blocks(self) -> ComposedDualBlocks:
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


class _Block:
    """The outputs of one example that were ever the oracle's answer; the truth is the first."""

    def __init__(self, truth: IntArray) -> None:
        self.outputs: list[IntArray] = [np.asarray(truth)]
        self.weight: list[float] = [1.0]
        self.cost: list[float] = [0.0]
        self.gap = 0.0

    def remember(self, output: IntArray, cost: float) -> int:
        for k, known in enumerate(self.outputs):
            if np.array_equal(known, output):
                return k
        self.outputs.append(output)
        self.weight.append(0.0)
        self.cost.append(cost)
        return len(self.outputs) - 1


class ComposedDualBlocks:
    """Block-coordinate dual ascent over cached outputs, by the same rules as the native blocks."""

    def __init__(self, kernel: ComposedKernel) -> None:
        self._kernel = kernel
        self._blocks = [_Block(y) for y in kernel.y]
        self._ell = 0.0

    @property
    def ell(self) -> float:
        return self._ell

    @property
    def cached_outputs(self) -> int:
        return sum(len(block.outputs) for block in self._blocks)

    def exact_pass(
        self, order: IntArray, sigma: float, pairwise: bool, steps: int, w: FloatArray, average: DualAverage | None
    ) -> float:
        for i in order.tolist():
            block = self._blocks[i]
            s = self._kernel.augmented(w, [i])
            best = self._kernel.structure.select([i]).max(s).outputs[0]
            target = block.remember(best, self._cost(i, best))
            scores = self._scores(i, s)
            block.gap = _gap(block, scores)
            before = w.copy() if average is not None else w
            if pairwise:
                self._pairwise_steps(i, sigma, steps, scores, w)
            else:
                self._frank_wolfe(i, target, sigma, scores, w)
            if average is not None:
                sums = average.iterates
                sums.q += sums.mass * (w - before)
                sums.mass += average.next_weight
                sums.total = sums.mass
                average.ell_sum += average.next_weight * self._ell
                average.next_weight += 1.0
        return self._mean_gap()

    def cached_pass(self, order: IntArray, sigma: float, steps: int, skip_below: float, w: FloatArray) -> float:
        bound = skip_below * self._mean_gap()
        chosen = [i for i in order.tolist() if len(self._blocks[i].outputs) >= 2 and self._blocks[i].gap >= bound]
        for i in chosen:
            scores = self._scores(i, self._kernel.augmented(w, [i]))
            self._blocks[i].gap = _gap(self._blocks[i], scores)
            self._pairwise_steps(i, sigma, steps, scores, w)
        return self._mean_gap()

    def _mean_gap(self) -> float:
        return sum(block.gap for block in self._blocks) / max(len(self._blocks), 1)

    def _cost(self, i: int, output: IntArray) -> float:
        costs = self._kernel.costs
        if costs is None:
            return 0.0
        return float(self._kernel.structure.select([i]).score_of(costs.select([i]), [output])[0])

    def _scores(self, i: int, s: Scores) -> FloatArray:
        structure = self._kernel.structure.select([i])
        return np.array([structure.score_of(s, [output])[0] for output in self._blocks[i].outputs])

    def _mixture(self, i: int, weights: FloatArray) -> FloatArray:
        """A_i^T of a combination of the cached outputs, as a vector in w."""
        layout = self._kernel.truth.select([i])
        parts = self._kernel.structure.select([i]).mixture(layout, [np.stack(self._blocks[i].outputs)], [weights])
        return self._kernel.model.adjoint(parts, [i])

    def _pairwise_steps(self, i: int, sigma: float, steps: int, scores: FloatArray, w: FloatArray) -> None:
        block, n = self._blocks[i], len(self._blocks)
        for step in range(steps):
            best, worst, gain = _pairwise_move(scores, np.array(block.weight) > 0.0)
            if gain == 0.0:
                return
            direction = np.zeros(len(block.outputs))
            direction[best], direction[worst] = 1.0, -1.0
            vector = self._mixture(i, direction)
            curvature = float(vector @ vector) / (sigma * n)
            held = block.weight[worst]
            moved = gain / curvature if curvature * held > gain else held
            block.weight[best] += moved
            block.weight[worst] = 0.0 if moved == held else held - moved
            self._ell += moved * (block.cost[best] - block.cost[worst]) / n
            w -= moved / (sigma * n) * vector
            if step + 1 < steps:
                scores = self._scores(i, self._kernel.augmented(w, [i]))

    def _frank_wolfe(self, i: int, target: int, sigma: float, scores: FloatArray, w: FloatArray) -> None:
        """alpha <- (1 - gamma) alpha + gamma e_target with the gamma that maximises the dual."""
        block, n = self._blocks[i], len(self._blocks)
        direction = -np.array(block.weight)
        direction[target] += 1.0
        gap = float(direction @ scores)
        vector = self._mixture(i, direction)
        curvature = float(vector @ vector) / (sigma * n)
        gamma = 0.0 if gap <= 0.0 else gap / curvature if curvature > gap else 1.0
        self._ell += gamma * float(direction @ np.array(block.cost)) / n
        block.weight = [(1.0 - gamma) * weight for weight in block.weight]
        block.weight[target] += gamma
        w -= gamma / (sigma * n) * vector


def _check_finite(w: FloatArray) -> None:
    if not np.isfinite(w).all():
        raise FloatingPointError(
            "The weights became infinite; the step size is too large. Leave it at its default, or use a smaller one."
        )


def _pairwise_move(scores: FloatArray, active: npt.NDArray[np.bool_]) -> tuple[int, int, float]:
    """The first best output, the first worst active one, and the difference of their scores, 0 when nothing is left.

    A line search that ends inside leaves two scores equal but for rounding, so scores this close count as tied.
    """
    tie = _TIE * float(np.abs(scores).max())
    lowest = np.where(active, scores, np.inf)
    best, worst = int(np.argmax(scores >= scores.max() - tie)), int(np.argmax(lowest <= lowest.min() + tie))
    gain = float(scores[best] - scores[worst])
    return best, worst, gain if gain > tie else 0.0


def _gap(block: _Block, scores: FloatArray) -> float:
    return max(0.0, float(scores.max() - np.array(block.weight) @ scores))
