"""The problem whose passes and epochs run natively, in one call of the core each."""

from __future__ import annotations

from typing import Any

import numpy as np

from casimir._arrays import aligned_zeros
from casimir._native import core
from casimir.problems.base import Answer, BlockPass, DualIterate, Pass
from casimir.problems.core_arguments import core_penalty, core_smoothing
from casimir.scores import FloatArray, IntArray
from casimir.smoothing import L2, Entropy, Smoothing
from casimir.structures.base import split_flat


class FusedProblem:
    """Passes over a Problem of the core.

    at_once  oracles that dual passes ask together (see `oracles_at_once`)
    """

    def __init__(self, problem: Any, threads: int, scales: FloatArray | None = None, at_once: int = 1) -> None:
        self.core, self._threads, self._scales, self._at_once = problem, threads, scales, at_once
        self.active = problem.n_examples if scales is None else int(np.count_nonzero(scales))
        if scales is not None:
            problem.set_scales(scales)

    @property
    def n_examples(self) -> int:
        return int(self.core.n_examples)

    @property
    def n_params(self) -> int:
        return int(self.core.n_params)

    def runs(self, smoothing: Smoothing) -> bool:
        """Whether the core knows this smoothing, and has what it asks of the structure."""
        return core_smoothing(smoothing, 1.0) is not None and (
            self.core.has_expect or not isinstance(smoothing, Entropy)
        )

    def scale(self, i: int) -> float:
        return 1.0 if self._scales is None else float(self._scales[i])

    def marginal_offset(self, i: int) -> int:
        return int(self.core.marginal_offset(i))

    def full_pass(self, w: FloatArray, smoothing: Smoothing, mu: float, *, gradient: bool, keep: bool) -> Pass:
        out = aligned_zeros(self.n_params) if gradient else None
        marginals = np.empty(self.core.n_marginals) if keep else None
        found = self.core.full_pass(w, core_smoothing(smoothing, mu), self._threads, marginals, out)
        value, max_value, cost, upper, exact = found
        if out is not None:
            out /= max(self.active, 1)
        seen = None if isinstance(smoothing, Entropy) else max_value
        exact = exact.astype(np.bool_)
        if isinstance(smoothing, L2):
            smoothing.warn_if_capped(exact, mu)
        return Pass(value, seen, upper, cost, exact, out, marginals)

    def oracle(self, i: int, w: FloatArray, smoothing: Smoothing, mu: float) -> Answer:
        value, max_value, cost, marginals = self.core.oracle(i, w, core_smoothing(smoothing, mu))
        return Answer(value, cost, marginals, max_value)

    def truth(self, i: int) -> FloatArray:
        truth: FloatArray = self.core.truth(i)
        return truth

    def scatter(self, i: int, marginals: FloatArray, scale: float, out: FloatArray) -> None:
        self.core.scatter(i, marginals, scale, out)

    def squared_norm(self, i: int, marginals: FloatArray, zeros: FloatArray) -> float:
        return float(self.core.squared_norm(i, marginals, zeros))

    def decode(self, w: FloatArray) -> list[IntArray]:
        """The best output of every example, int64[p_i], fixed scores included."""
        _, labels = self.core.decode(w, self._threads)
        ends = [self.core.output_offset(i) for i in range(self.n_examples + 1)]
        return split_flat(labels, np.array(ends, dtype=np.int64))

    def dual_blocks(self) -> FusedDualBlocks:
        blocks = self.core.dual_blocks(self._threads)
        if self._at_once > 1:
            blocks.ask_together(self._at_once, self._threads)
        return FusedDualBlocks(blocks)

    def potential_blocks(self, mu: float, eta: float | None = None) -> FusedPotentialBlocks:
        return FusedPotentialBlocks(core.PotentialBlocks(self.core, mu, eta or 0.0))


class FusedDualBlocks:
    """Dual blocks held by the core."""

    def __init__(self, blocks: Any) -> None:
        self._blocks = blocks

    @property
    def ell(self) -> float:
        return float(self._blocks.ell)

    @property
    def cached_outputs(self) -> int:
        return int(self._blocks.cached_outputs)

    def new_average(self, n_params: int) -> Any:
        q = aligned_zeros(n_params)
        return _SharedAverage(core.DualAverage(q), q)

    def exact_pass(
        self, order: IntArray, pairwise: bool, steps: int, skip_below: float, iterate: DualIterate
    ) -> BlockPass:
        average = None if iterate.average is None else iterate.average.sums
        found = self._blocks.exact_pass(order, pairwise, steps, skip_below, *_arguments(iterate), average)
        return BlockPass(float(found.gap), int(found.oracle_calls))

    def cached_pass(self, order: IntArray, steps: int, skip_below: float, iterate: DualIterate) -> float:
        return float(self._blocks.cached_pass(order, steps, skip_below, *_arguments(iterate)))

    def answered_pass(self, order: IntArray, labels: Any, steps: int, iterate: DualIterate) -> float:
        """As an exact pass with pairwise steps, on answers that an oracle gave elsewhere: int32, in the given order.

        Returns the mean block gap; with steps=0 nothing moves, and it is that of the iterate.
        """
        return float(self._blocks.answered_pass(order, labels, steps, *_arguments(iterate)))

    def state(self) -> Any:
        return self._blocks.state()

    def restore(self, state: Any) -> None:
        self._blocks.restore(*state)


class FusedPotentialBlocks:
    """Potential blocks held by the core."""

    def __init__(self, blocks: Any) -> None:
        self._blocks = blocks

    @property
    def ell(self) -> float:
        return float(self._blocks.ell)

    def step_pass(self, order: IntArray, skip_below: float, iterate: DualIterate) -> BlockPass:
        found = self._blocks.step_pass(order, skip_below, *_arguments(iterate))
        return BlockPass(float(found.gap), int(found.oracle_calls))

    def state(self) -> Any:
        return self._blocks.state()

    def restore(self, state: Any) -> None:
        self._blocks.restore(*state)


class _SharedAverage:
    """A DualAverage of the core."""

    def __init__(self, sums: Any, q: FloatArray) -> None:
        self.sums, self.q = sums, q

    @property
    def mass(self) -> float:
        return float(self.sums.mass)

    @property
    def ell_sum(self) -> float:
        return float(self.sums.ell_sum)

    def state(self) -> Any:
        return [self.q, self.sums.mass, self.sums.next_weight, self.sums.ell_sum]

    def restore(self, state: Any) -> None:
        self.q[:], self.sums.mass, self.sums.next_weight, self.sums.ell_sum = state


def _arguments(iterate: DualIterate) -> tuple[Any, ...]:
    sigma = iterate.penalty.strong_convexity
    if iterate.g is None:  # w moves along straight lines, so the curvature is all that counts
        return core.Penalty(0.0, sigma, None, None, 0.0, None), sigma, iterate.w, None
    penalty = core_penalty(iterate.penalty)
    assert penalty is not None, "the objective sends unknown penalties to the composed problem"
    return penalty, sigma, iterate.w, iterate.g
