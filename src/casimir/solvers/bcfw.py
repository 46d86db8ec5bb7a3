"""Block-coordinate Frank-Wolfe on the dual, and its pairwise variant over cached outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from casimir._arrays import aligned_zeros
from casimir.kernels.base import Averaged, DualAverage
from casimir.objective import DualPoint, Objective
from casimir.scores import FloatArray
from casimir.solvers.base import Monitor


@dataclass(frozen=True)
class BCFW:
    """w = -g / lam, g = mean_i A_i^T alpha_i; a step moves one alpha_i with an exact line search.

    pairwise       False: towards the oracle's output, the algorithm of Lacoste-Julien et al. (2013);
                   True: from an example's worst active output to its best cached one
    averaging      report the average sum_t t w_t / sum_t t of the iterates as well (pairwise=False only)
    cached_passes  pairwise passes over cached outputs, without oracle calls, after every pass with them
    steps          pairwise steps per visit
    skip_below     cached passes leave out examples whose gap is below this multiple of the mean gap

    Dual variables are kept as outputs and weights. No step size to choose. Starts at w = 0: the dual point of w0 is
    not known, so a w0 is refused.
    """

    starts_at_zero: ClassVar[bool] = True

    pairwise: bool = False
    averaging: bool = True
    cached_passes: int = 0
    steps: int = 2
    skip_below: float = 0.5

    def __post_init__(self) -> None:
        if self.cached_passes < 0 or self.steps < 1 or self.skip_below < 0.0:
            raise ValueError("BCFW needs cached_passes >= 0, steps >= 1 and skip_below >= 0.")
        if self.cached_passes and not self.pairwise:
            raise ValueError("BCFW: cached_passes move weight between cached outputs; they need pairwise=True.")

    def run(self, objective: Objective, w0: FloatArray, monitor: Monitor, rng: np.random.Generator) -> None:
        check_dual_start(objective, w0, "BCFW")
        lam, n = objective.lam, objective.n_examples
        blocks = objective.dual_blocks()
        w = aligned_zeros(objective.n_params)
        average = DualAverage(Averaged(aligned_zeros(objective.n_params))) if self._averages else None
        while True:
            blocks.exact_pass(rng.permutation(n), lam, self.pairwise, self.steps, w, average)
            objective.oracle_calls += n
            for _ in range(self.cached_passes):
                blocks.cached_pass(rng.permutation(n), lam, self.steps, self.skip_below, w)
            if self._report(objective, w, blocks.ell, average, monitor):
                return

    @property
    def _averages(self) -> bool:
        return self.averaging and not self.pairwise

    def _report(
        self, objective: Objective, w: FloatArray, ell: float, average: DualAverage | None, monitor: Monitor
    ) -> bool:
        """The better of the last iterate and the average, with the better of their dual points."""
        lam = objective.lam
        value, dual = objective.value(w), objective.bound(DualPoint(-lam * w, ell))
        if average is None:
            return monitor.epoch(w, objective=value, dual=dual)
        mean = average.iterates.mean(w)
        mean_value = objective.value(mean)
        dual = max(dual, objective.bound(DualPoint(-lam * mean, average.ell_sum / average.iterates.total)))
        if mean_value < value:
            w, value = mean, mean_value
        return monitor.epoch(w, objective=value, dual=dual)


def check_dual_start(objective: Objective, w0: FloatArray, name: str) -> None:
    if objective.lam <= 0.0:
        raise ValueError(
            f"{name} works on the dual, which needs lam > 0; lam is {objective.lam}. Use SGD or Casimir(SVRG)."
        )
    if np.any(w0 != 0.0):
        raise ValueError(f"{name} starts at w = 0, where its dual variables are known; leave w0 out.")
