"""Dual blocks of the composed problem: any linear model and structure, one example at a time, in plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from casimir.models.base import LinearModel
from casimir.problems.base import BlockPass, DualAverage, DualIterate, move
from casimir.scores import FloatArray, IntArray, Scores
from casimir.structures.base import Structure

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

    @classmethod
    def of(
        cls,
        shape: tuple[int, ...],
        gap: float,
        weight: FloatArray,
        cost: FloatArray,
        outputs: IntArray,
        columns: IntArray,
        rows: FloatArray,
    ) -> _Block:
        """With outputs of this shape, the truth first."""
        seen = list(outputs.reshape(len(weight), *shape))
        block = cls(seen[0])
        block.outputs, block.weight, block.cost, block.gap = seen, weight.copy(), cost.copy(), gap
        block.columns, block._rows = columns.copy(), rows.reshape(len(seen), len(columns)).copy()
        block._number = {y.tobytes(): k for k, y in enumerate(seen)}
        return block

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
    """Block-coordinate dual ascent over cached outputs, by the same rules as the native blocks.

    at_once  oracles of a pass of pairwise steps that are asked together, at one w, which saves most of what a call
             costs in Python and lets the structure use all threads; the steps follow one by one, each at the w of then
    """

    def __init__(self, problem: ComposedProblem, truth: Sequence[IntArray], at_once: int = 1) -> None:
        self._problem, self._at_once = problem, at_once
        self._blocks = [_Block(y) for y in truth]
        self._ell = 0.0

    @property
    def ell(self) -> float:
        return self._ell

    @property
    def cached_outputs(self) -> int:
        return sum(len(block.outputs) for block in self._blocks)

    def state(self) -> Any:
        blocks = self._blocks
        return {
            "ell": self._ell,
            "gaps": np.array([block.gap for block in blocks]),
            "counts": np.array([len(block.outputs) for block in blocks]),
            "weights": np.concatenate([block.weight for block in blocks]),
            "costs": np.concatenate([block.cost for block in blocks]),
            "outputs": np.concatenate([np.concatenate(block.outputs, axis=None) for block in blocks]),
            "widths": np.array([len(block.columns) for block in blocks]),
            "columns": np.concatenate([block.columns for block in blocks]),
            "rows": np.concatenate([block.rows.ravel() for block in blocks]),
        }

    def restore(self, state: Any) -> None:
        self._ell = state["ell"]
        gaps, counts, widths = (state[name].tolist() for name in ("gaps", "counts", "widths"))
        sizes = [block.outputs[0].size * count for block, count in zip(self._blocks, counts, strict=True)]
        areas = [width * count for width, count in zip(widths, counts, strict=True)]
        parts = [
            np.split(state[name], np.cumsum(lengths)[:-1])
            for name, lengths in (("weights", counts), ("costs", counts), ("outputs", sizes), ("columns", widths))
        ]
        rows = np.split(state["rows"], np.cumsum(areas)[:-1])
        self._blocks = [
            _Block.of(block.outputs[0].shape, gap, *of_block)
            for block, gap, *of_block in zip(self._blocks, gaps, *parts, rows, strict=True)
        ]

    def new_average(self, n_params: int) -> DualAverage:
        return DualAverage(np.zeros(n_params))

    def exact_pass(
        self, order: IntArray, pairwise: bool, steps: int, skip_below: float, iterate: DualIterate
    ) -> BlockPass:
        chosen = self._chosen(order, skip_below, outputs=1)
        at_once = self._at_once if pairwise else 1
        for first in range(0, len(chosen), at_once):
            together = chosen[first : first + at_once]
            for i, target in zip(together, self._oracles(together, iterate.w), strict=True):
                block = self._blocks[i]
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

    def _oracles(self, examples: list[int], w: FloatArray) -> list[int]:
        """The numbers of the outputs that the max oracle answers for these examples; those not seen before are kept."""
        problem = self._problem
        structure, scores = problem.structure.select(examples), problem.augmented(w, examples)
        best = structure.max(scores).outputs
        found = [self._blocks[i].find(y) for i, y in zip(examples, best, strict=True)]
        new = [k for k, number in enumerate(found) if number is None]
        if new:
            whose, outputs = [examples[k] for k in new], [best[k] for k in new]
            there = scores if len(new) == len(examples) else scores.select(new)
            added = self._remember(problem.structure.select(whose), there, whose, outputs)
            for k, number in zip(new, added, strict=True):
                found[k] = number
        return [number for number in found if number is not None]

    def _remember(
        self, structure: Structure, scores: Scores, examples: list[int], outputs: list[IntArray]
    ) -> list[int]:
        """The numbers of new outputs, one of each example."""
        problem, model = self._problem, cast(LinearModel, self._problem.model)
        parts = structure.mixture(scores, [y[None] for y in outputs], [np.ones(1)] * len(outputs))
        costs, moved = problem.cost_above_truth(parts, examples), parts - problem.true_parts.select(examples)
        numbers = []
        for k, (i, y) in enumerate(zip(examples, outputs, strict=True)):
            vector = model.adjoint(moved.select([k]), [i])
            numbers.append(self._blocks[i].remember(y, float(costs[k]), vector))
        return numbers

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
