"""Block-coordinate Frank-Wolfe on the dual, and its pairwise variant over cached outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from casimir._arrays import aligned_zeros
from casimir.duality import DualPoint
from casimir.objective import Objective
from casimir.penalties import Penalty, require
from casimir.problems import DualBlocks, DualIterate
from casimir.scores import FloatArray
from casimir.solvers.base import Monitor
from casimir.solvers.sampling import check_sampling, drawn


@dataclass(frozen=True)
class BCFW:
    """w = argmin_w R(w) + <g, w>, g = sum_i p_i A_i^T alpha_i; a step moves one alpha_i with a line search.

    For R = lam |w|^2 / 2 that is w = -g / lam, and the line search is exact; other penalties take that of a quadratic
    bound.

    pairwise       False: towards the oracle's output, the algorithm of Lacoste-Julien et al. (2013);
                   True: from an example's worst active output to its best cached one
    averaging      what is reported: "weighted", the average over steps t with weights t (bcfw-wavg of the same paper);
                   "none", the last iterate; "better", the better of both. pairwise=True has no average
    light_passes   passes with oracle calls, after every one over all examples, that leave out what skip_below says
    cached_passes  pairwise passes over cached outputs after those, without oracle calls
    steps          pairwise steps per visit
    skip_below     light and cached passes leave out examples whose gap is below this multiple of the mean gap
    sampling       of passes with oracle calls: "permutation", every example once; "replacement", drawn independently

    Dual variables are kept as outputs and weights. No step size to choose. Starts at w = 0: the dual point of w0 is
    not known, so a w0 is refused.
    """

    starts_at_zero: ClassVar[bool] = True

    pairwise: bool = False
    averaging: str = "better"
    cached_passes: int = 0
    steps: int = 2
    skip_below: float = 0.5
    light_passes: int = 0
    sampling: str = "permutation"

    def __post_init__(self) -> None:
        if min(self.cached_passes, self.light_passes) < 0 or self.steps < 1 or self.skip_below < 0.0:
            raise ValueError("BCFW needs cached_passes >= 0, light_passes >= 0, steps >= 1 and skip_below >= 0.")
        if self.cached_passes and not self.pairwise:
            raise ValueError("BCFW: cached_passes move weight between cached outputs; they need pairwise=True.")
        check_sampling(self.sampling, "BCFW")
        if self.averaging not in ("better", "weighted", "none"):
            raise ValueError(f"BCFW: averaging={self.averaging!r}; it must be 'better', 'weighted' or 'none'.")
        if self.steps != BCFW.steps and not self.pairwise:
            raise ValueError(f"BCFW: steps={self.steps} counts pairwise steps; it needs pairwise=True.")
        if self.skip_below != BCFW.skip_below and not (self.light_passes or self.cached_passes):
            raise ValueError(
                f"BCFW: skip_below={self.skip_below} is for light and cached passes; it needs light_passes or "
                "cached_passes."
            )
        if self.averaging == "weighted" and self.pairwise:
            raise ValueError("BCFW: averaging='weighted' needs pairwise=False; pairwise steps have no average.")

    def run(self, objective: Objective, w0: FloatArray, monitor: Monitor, rng: np.random.Generator) -> None:
        check_no_start(w0, "BCFW")
        require(objective.penalty, "BCFW", strongly_convex=True)
        blocks = self.blocks(objective)
        iterate = dual_start(objective.penalty, objective.n_params)
        if self.averaging != "none" and not self.pairwise:
            iterate.average = blocks.new_average(objective.n_params)
        restore(monitor, blocks, iterate)
        while True:
            monitor.rest((blocks, iterate))
            self.passes(objective, blocks, iterate, rng)
            if not monitor.is_due:
                monitor.skip()
            elif self._report(objective, iterate, blocks.ell, monitor):
                return

    def blocks(self, objective: Objective) -> DualBlocks:
        """Dual variables at the truth."""
        return objective.dual_blocks()

    def passes(self, objective: Objective, blocks: DualBlocks, iterate: DualIterate, rng: np.random.Generator) -> float:
        """An epoch: one pass over all examples, then light ones, then cached ones. Returns the mean block gap."""
        gap = 0.0
        for skip_below in (0.0, *(self.skip_below,) * self.light_passes):
            order = drawn(objective, rng, self.sampling)
            gap, calls = blocks.exact_pass(order, self.pairwise, self.steps, skip_below, iterate)
            objective.count("steps", calls)
        for _ in range(self.cached_passes):
            gap = blocks.cached_pass(objective.permutation(rng), self.steps, self.skip_below, iterate)
        return gap

    def _report(self, objective: Objective, iterate: DualIterate, ell: float, monitor: Monitor) -> bool:
        """The last iterate or the average, with the better of their dual points."""
        w, penalty = iterate.w, objective.penalty
        value = None if self.averaging == "weighted" else objective.value(w)
        dual = DualPoint(iterate.gradient(), ell).value(penalty)
        if iterate.average is not None:
            mean = averaged_iterate(iterate)
            mean_value, mean_ell = objective.value(mean.w), iterate.average.ell_sum / iterate.average.mass
            dual = max(dual, DualPoint(mean.gradient(), mean_ell).value(penalty))
            if value is None or mean_value < value:
                w, value = mean.w, mean_value
        return monitor.epoch(w, objective=value, dual=dual)


def restore(monitor: Monitor, blocks: Any, iterate: DualIterate) -> None:
    """Where a run goes on from a checkpoint, its dual variables and its iterate."""
    if monitor.resumed is not None:
        of_blocks, of_iterate = monitor.resumed
        blocks.restore(of_blocks)
        iterate.restore(of_iterate)


def check_no_start(w0: FloatArray, name: str) -> None:
    if np.any(w0 != 0.0):
        raise ValueError(f"{name} starts at w = 0, where its dual variables are known; leave w0 out.")


def dual_start(penalty: Penalty, n_params: int) -> DualIterate:
    """The primal point of g = 0, where all weight is on the truth."""
    w = aligned_zeros(n_params)
    quadratic = penalty.quadratic
    if quadratic is None:
        w[:] = penalty.primal(np.zeros(n_params))
        return DualIterate(penalty, w, aligned_zeros(n_params))
    if quadratic.center is not None:
        w[:] = quadratic.center
    return DualIterate(penalty, w, None)


def averaged_iterate(iterate: DualIterate) -> DualIterate:
    """The primal point of the average over steps of g, which for quadratic penalties is that of w."""
    sums = iterate.average
    moved = iterate.w if iterate.g is None else iterate.g
    mean = np.asarray((sums.mass * moved - sums.q) / sums.mass, dtype=np.float64)
    if iterate.g is None:
        return DualIterate(iterate.penalty, mean, None)
    return DualIterate(iterate.penalty, iterate.penalty.primal(-mean), mean)
