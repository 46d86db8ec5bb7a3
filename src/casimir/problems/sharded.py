"""A problem whose examples lie in shards: passes go from shard to shard, and stochastic epochs over all of them.

The core's problem of each shard counts its examples in the mean over all: shares, block gaps and ell of the shards add
up. So a pass over dual blocks is a pass over those of one shard after another at the w of then, as it is in memory, and
D counts every block.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from casimir._arrays import aligned_zeros, combine
from casimir._native import core
from casimir._outputs import ShardedOutputs
from casimir.costs import Cost
from casimir.models.sharded import ShardedChainModel
from casimir.persistence.state import Later
from casimir.problems.base import BlockPass, DualIterate, Pass, Truth
from casimir.problems.combination import Combination
from casimir.problems.core_arguments import core_smoothing
from casimir.problems.core_problems import chain_problem
from casimir.problems.fused import FusedDualBlocks, FusedPotentialBlocks, FusedProblem
from casimir.scores import FloatArray, IntArray
from casimir.smoothing import L2, Entropy, Smoothing
from casimir.structures.chain import Chain


def sharded_problem(
    model: ShardedChainModel, structure: Any, cost: Cost | None, truth: Truth, threads: int, scales: FloatArray | None
) -> ShardedProblem:
    """The problem of chains in shards; a TypeError where the core does not know the combination."""
    y = truth.outputs
    if not isinstance(structure, Chain) or structure.n_labels != model.n_labels or not isinstance(y, ShardedOutputs):
        raise TypeError("Sentences in shards need Chain(n_labels) and a label for every token, as a pack has them.")
    shards = []
    for number, shard in enumerate(model.shards):
        own = y.shard(number)
        given, memory = (
            Combination(structure, cost, own, Truth(own)),
            model.state.chunks(),
        )  # those of a shard lie together
        problem = chain_problem(shard, given, y.flats[number], memory)
        if problem is None:
            raise TypeError("Sentences in shards need scores of pairs that are the same for all tokens.")
        shards.append(problem)
        del own, given
        core.release_memory()
    return ShardedProblem(model, shards, threads, scales)


class ShardedProblem(FusedProblem):
    """Passes over the core's problems of shards."""

    def __init__(
        self, model: ShardedChainModel, shards: Sequence[Any], threads: int, scales: FloatArray | None
    ) -> None:
        super().__init__(core.ShardedProblem(list(shards), model.enter), threads, scales)
        self.model, self.shards, self.starts = model, shards, model.starts
        if scales is not None:
            for k, shard in enumerate(shards):
                shard.set_scales(scales[self.starts[k] : self.starts[k + 1]], self.active)

    def enter(self, shards: Sequence[int]) -> Iterator[int]:
        """The shards one by one; the model is told before each."""
        for k, shard in enumerate(shards):
            self.model.enter(shard, shards[k + 1] if k + 1 < len(shards) else None)
            yield shard

    def full_pass(self, w: FloatArray, smoothing: Smoothing, mu: float, *, gradient: bool, keep: bool) -> Pass:
        found: list[list[Any]] = [[], [], [], [], []]
        total, part = (aligned_zeros(self.n_params), aligned_zeros(self.n_params)) if gradient else (None, None)
        marginals = self.model.state.array(self.core.n_marginals, np.float64) if keep else None
        known, first = core_smoothing(smoothing, mu), 0
        for k in self.enter(range(len(self.shards))):
            own = self.shards[k]
            kept = None if marginals is None else marginals[first : first + own.n_marginals]
            first += own.n_marginals
            for column, values in zip(found, own.full_pass(w, known, self._threads, kept, part), strict=True):
                column.append(values)
            if total is not None and part is not None:
                combine(1.0, total, 1.0, part, out=total)
        if total is not None:
            total /= max(self.active, 1)
        value, max_value, cost, upper, exact = map(np.concatenate, found)
        exact = exact.astype(np.bool_)
        if isinstance(smoothing, L2):
            smoothing.warn_if_capped(exact, mu)
        return Pass(value, None if isinstance(smoothing, Entropy) else max_value, upper, cost, exact, total, marginals)

    def dual_blocks(self) -> Any:
        return ShardedDualBlocks(self, [FusedDualBlocks(shard.dual_blocks(self._threads)) for shard in self.shards])

    def potential_blocks(self, mu: float, eta: float | None = None) -> Any:
        parts = [FusedPotentialBlocks(core.PotentialBlocks(shard, mu, eta or 0.0)) for shard in self.shards]
        return ShardedPotentialBlocks(self, parts)


class _ShardedBlocks:
    """The blocks of every shard. An order goes through one shard after another."""

    def __init__(self, problem: ShardedProblem, parts: Sequence[Any]) -> None:
        self._problem, self._parts = problem, parts
        self._gaps = np.zeros(len(parts))  # what the blocks of each shard add to the mean block gap

    @property
    def ell(self) -> float:
        return math.fsum(part.ell for part in self._parts)

    def state(self) -> Any:
        """Shard by shard, so that what all of them keep need not be in memory twice."""
        return [self._gaps, [_kept_later(part) for part in self._parts]]

    def restore(self, state: Any) -> None:
        self._gaps[:], kept = state
        for part, (layout, data) in zip(self._parts, kept, strict=True):
            part.restore(_restored(layout, data))

    def _runs(self, order: IntArray, skip_below: float) -> Iterator[tuple[int, IntArray, float]]:
        """(shard, the order there, skip_below in units of what the shard adds to the mean) in the order given.

        A shard skips what is below a multiple of its own gap, and what counts is that of all at the pass's beginning.
        """
        starts, least = self._problem.starts, skip_below * float(self._gaps.sum())
        of_each = np.searchsorted(starts, order, side="right") - 1
        cuts = np.flatnonzero(np.diff(of_each)) + 1
        runs = np.split(order, cuts) if len(order) else []
        shards = of_each[[0, *cuts]].tolist() if runs else []
        for shard, run in zip(self._problem.enter(shards), runs, strict=True):
            if least > 0.0 and self._gaps[shard] == 0.0:
                continue
            yield shard, run - starts[shard], least / self._gaps[shard] if least > 0.0 else 0.0


class ShardedDualBlocks(_ShardedBlocks):
    """Dual blocks in shards."""

    @property
    def cached_outputs(self) -> int:
        return sum(part.cached_outputs for part in self._parts)

    def new_average(self, n_params: int) -> Any:
        return _ShardedAverage(self._parts[0].new_average(n_params))

    def exact_pass(
        self, order: IntArray, pairwise: bool, steps: int, skip_below: float, iterate: DualIterate
    ) -> BlockPass:
        calls = 0
        for shard, own, skip in self._runs(order, skip_below):
            part = self._parts[shard]
            others, before = self.ell - part.ell, _mass(iterate)
            found = part.exact_pass(own, pairwise, steps, skip, iterate)
            if iterate.average is not None:
                iterate.average.rest += (_mass(iterate) - before) * others
            self._gaps[shard], calls = found.gap, calls + found.oracle_calls
        return BlockPass(float(self._gaps.sum()), calls)

    def cached_pass(self, order: IntArray, steps: int, skip_below: float, iterate: DualIterate) -> float:
        for shard, own, skip in self._runs(order, skip_below):
            self._gaps[shard] = self._parts[shard].cached_pass(own, steps, skip, iterate)
        return float(self._gaps.sum())


class ShardedPotentialBlocks(_ShardedBlocks):
    """Potential blocks in shards."""

    def step_pass(self, order: IntArray, skip_below: float, iterate: DualIterate) -> BlockPass:
        calls = 0
        for shard, own, skip in self._runs(order, skip_below):
            found = self._parts[shard].step_pass(own, skip, iterate)
            self._gaps[shard], calls = found.gap, calls + found.oracle_calls
        return BlockPass(float(self._gaps.sum()), calls)


class _ShardedAverage:
    """A DualAverage of one shard's blocks, with what the others' ell adds to it."""

    def __init__(self, own: Any) -> None:
        self._own, self.rest = own, 0.0

    def state(self) -> Any:
        return [self._own.state(), self.rest]

    def restore(self, state: Any) -> None:
        own, self.rest = state
        self._own.restore(own)

    @property
    def sums(self) -> Any:
        return self._own.sums

    @property
    def q(self) -> FloatArray:
        q: FloatArray = self._own.q
        return q

    @property
    def mass(self) -> float:
        return float(self._own.mass)

    @property
    def ell_sum(self) -> float:
        return float(self._own.ell_sum) + self.rest


def _mass(iterate: DualIterate) -> float:
    return 0.0 if iterate.average is None else float(iterate.average.mass)


def _kept_later(part: Any) -> Any:
    """[layout, bytes] of what the blocks of a shard keep: a number as it is, an array as its type and length."""

    def make() -> np.ndarray:
        arrays = [one for one in part.state() if isinstance(one, np.ndarray)]
        return np.concatenate([one.view(np.uint8) for one in arrays])

    layout = [[one.dtype.str, len(one)] if isinstance(one, np.ndarray) else one for one in part.state()]
    size = sum(np.dtype(one[0]).itemsize * one[1] for one in layout if isinstance(one, list))
    return [layout, Later(size, make)]


def _restored(layout: Any, data: np.ndarray) -> tuple[Any, ...]:
    found, end = [], 0
    for one in layout:
        if isinstance(one, list):
            begin, end = end, end + np.dtype(one[0]).itemsize * one[1]
            found.append(np.array(data[begin:end].view(one[0])))
        else:
            found.append(one)
    return tuple(found)
