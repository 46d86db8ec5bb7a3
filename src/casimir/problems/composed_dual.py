"""Dual blocks of the composed problem: any linear model and structure, one example at a time, in plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from casimir.models.base import linearize
from casimir.problems.base import BlockPass, DualAverage, DualIterate, move
from casimir.scores import FloatArray, IntArray

if TYPE_CHECKING:
    from casimir.problems.composed import ComposedProblem

_TIE = 1e-11  # relative to the largest score, as in the core


class _Block:
    """The outputs of one example that were ever the oracle's answer; the truth is the first.

    columns  int64[c]: the weights that any of them uses, sorted
    rows     float64[k, c]: a_y = Phi(y) - Phi(y_i) on these columns, so that score(y) = cost + <w, a_y>; kept with room
    """

    def __init__(self, truth: IntArray) -> None:
        self.outputs: list[IntArray] = [np.asarray(truth)]
        self.weight, self.cost = np.ones(1), np.zeros(1)
        self.gap = 0.0
        self.columns: IntArray = np.zeros(0, dtype=np.int64)
        self._rows: FloatArray = np.zeros((1, 0))
        self._number = {self.outputs[0].tobytes(): 0}

    @property
    def rows(self) -> FloatArray:
        return self._rows[: len(self.outputs)]

    def find(self, output: IntArray) -> int | None:
        return self._number.get(output.tobytes())

    def remember(self, output: IntArray, cost: float, vector: FloatArray) -> int:
        """The number of a new output; vector is a_y over all weights."""
        k = len(self.outputs)
        self._widen(np.flatnonzero(vector))
        if k == len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros((max(4, k), len(self.columns)))])
        self._rows[k] = vector[self.columns]
        self._number[output.tobytes()] = k
        self.outputs.append(output)
        self.weight, self.cost = np.append(self.weight, 0.0), np.append(self.cost, cost)
        return k

    def scores(self, w: FloatArray) -> FloatArray:
        """float64[k]: cost + <w, a_y> of every output, that of the truth being 0."""
        return np.asarray(self.cost + self.rows @ w[self.columns], dtype=np.float64)

    def _widen(self, used: IntArray) -> None:
        columns = np.union1d(self.columns, used)
        if len(columns) > len(self.columns):
            wider = np.zeros((len(self._rows), len(columns)))
            wider[:, np.searchsorted(columns, self.columns)] = self._rows
            self.columns, self._rows = columns, wider


class ComposedDualBlocks:
    """Block-coordinate dual ascent over cached outputs, by the same rules as the native blocks."""

    def __init__(self, problem: ComposedProblem, truth: Sequence[IntArray]) -> None:
        self._problem = problem
        self._blocks = [_Block(y) for y in truth]
        self._ell = 0.0

    @property
    def ell(self) -> float:
        return self._ell

    @property
    def cached_outputs(self) -> int:
        return sum(len(block.outputs) for block in self._blocks)

    def new_average(self, n_params: int) -> DualAverage:
        return DualAverage(np.zeros(n_params))

    def exact_pass(
        self, order: IntArray, pairwise: bool, steps: int, skip_below: float, iterate: DualIterate
    ) -> BlockPass:
        chosen = self._chosen(order, skip_below, outputs=1)
        for i in chosen:
            block = self._blocks[i]
            target = self._oracle(i, iterate.w)
            scores = block.scores(iterate.w)
            block.gap = _gap(block, scores)
            if pairwise:
                self._pairwise_steps(i, steps, scores, iterate)
            else:
                self._frank_wolfe(i, target, scores, iterate)
            if iterate.average is not None:
                _count_iterate(iterate.average, self._ell)
        return BlockPass(self._mean_gap(), len(chosen))

    def cached_pass(self, order: IntArray, steps: int, skip_below: float, iterate: DualIterate) -> float:
        for i in self._chosen(order, skip_below, outputs=2):
            block = self._blocks[i]
            scores = block.scores(iterate.w)
            block.gap = _gap(block, scores)
            self._pairwise_steps(i, steps, scores, iterate)
        return self._mean_gap()

    def _chosen(self, order: IntArray, skip_below: float, outputs: int) -> list[int]:
        """The examples of a pass: those with so many outputs whose last gap is at least skip_below times the mean."""
        least, blocks = skip_below * self._mean_gap(), self._blocks
        return [i for i in order.tolist() if len(blocks[i].outputs) >= outputs and blocks[i].gap >= least]

    def _mean_gap(self) -> float:
        return sum(self._problem.share(i) * block.gap for i, block in enumerate(self._blocks))

    def _oracle(self, i: int, w: FloatArray) -> int:
        """The number of the output that the max oracle answers for example i."""
        problem, block = self._problem, self._blocks[i]
        structure = problem.structure.select([i])
        scores = problem.augmented(w, [i])
        best = structure.max(scores).outputs[0]
        known = block.find(best)
        if known is not None:
            return known
        truth = problem.true_parts.select([i])
        parts = structure.mixture(scores, [best[None]], [np.ones(1)])
        cost = float(problem.cost_above_truth(parts, [i])[0])
        return block.remember(best, cost, linearize(problem.model, w, [i]).adjoint(parts - truth))

    def _pairwise_steps(self, i: int, steps: int, scores: FloatArray, iterate: DualIterate) -> None:
        block, share = self._blocks[i], self._problem.share(i)
        scale = share / iterate.penalty.strong_convexity
        for step in range(steps):
            best, worst, gain = _pairwise_move(scores, block.weight > 0.0)
            if gain == 0.0:
                return
            vector = block.rows[best] - block.rows[worst]
            curvature = float(vector @ vector) * scale
            held = float(block.weight[worst])
            moved = gain / curvature if curvature * held > gain else held
            block.weight[best] += moved
            block.weight[worst] = 0.0 if moved == held else held - moved
            self._ell += moved * float(block.cost[best] - block.cost[worst]) * share
            move(iterate, block.columns, moved * share * vector)
            if step + 1 < steps:
                scores = block.scores(iterate.w)

    def _frank_wolfe(self, i: int, target: int, scores: FloatArray, iterate: DualIterate) -> None:
        """alpha <- (1 - gamma) alpha + gamma e_target, gamma the best for the dual or its quadratic bound."""
        block, share = self._blocks[i], self._problem.share(i)
        direction = -block.weight
        direction[target] += 1.0
        gap = float(direction @ scores)
        vector = direction @ block.rows
        curvature = float(vector @ vector) * share / iterate.penalty.strong_convexity
        gamma = 0.0 if gap <= 0.0 else gap / curvature if curvature > gap else 1.0
        self._ell += gamma * float(direction @ block.cost) * share
        block.weight *= 1.0 - gamma
        block.weight[target] += gamma
        move(iterate, block.columns, gamma * share * vector)


def _count_iterate(average: DualAverage, ell: float) -> None:
    average.mass += average.next_weight
    average.ell_sum += average.next_weight * ell
    average.next_weight += 1.0


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
    return max(0.0, float(scores.max() - block.weight @ scores))
