"""An inexact proximal point method around pairwise dual steps: Casimir's outer loop with a dual inner solver."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from casimir._arrays import aligned_zeros, dot
from casimir.duality import DualPoint
from casimir.objective import Objective
from casimir.penalties import Proximal
from casimir.problems import DualBlocks, DualIterate
from casimir.scores import FloatArray
from casimir.solvers.base import Monitor
from casimir.solvers.bcfw import BCFW, check_no_start, dual_start

_LONGEST_WAIT = 25  # epochs: a prediction that was far off must not put the next evaluation off for good
_DEFAULT = BCFW(pairwise=True, cached_passes=8, skip_below=1.0)


@dataclass(frozen=True)
class DualProximal:
    """w_k ~ argmin_w F(w) + (kappa/2) |w - z|^2, then z = w_k; subproblems are solved in the dual, without smoothing.

    It certifies small gaps of hinge losses fastest and is what "auto" takes. Starts at w = 0, as BCFW.

    inner  BCFW(pairwise=True, ...), whose cached outputs go from one subproblem to the next; None: with 8 cached passes
           after every one with oracle calls
    kappa  None: 5 (lam n)^0.7 / n; a fifth of that for absolute values alone
    """

    starts_at_zero: ClassVar[bool] = True

    inner: BCFW | None = None
    kappa: float | None = None

    def __post_init__(self) -> None:
        if self.inner is not None and not (isinstance(self.inner, BCFW) and self.inner.pairwise):
            raise ValueError(
                f"inner={self.inner!r}; DualProximal keeps cached outputs, so it needs BCFW(pairwise=True, ...)."
            )
        if self.kappa is not None and not self.kappa > 0.0:
            raise ValueError(f"kappa={self.kappa}; it must be positive, or None for the default.")

    def run(self, objective: Objective, w0: FloatArray, monitor: Monitor, rng: np.random.Generator) -> None:
        check_no_start(w0, "DualProximal")
        _Run(objective, self.inner or _DEFAULT, self.kappa or default_kappa(objective), rng, monitor).run()


class _Run:
    """The state of a run.

    The subproblem differs from F by its penalty alone, so its dual variables alpha, and hence
    g = sum_i p_i A_i^T alpha_i and ell, are kept from one centre to the next. They are feasible for F itself:
    D = ell - R*(-g).

    The subproblem's mean block gap is S = loss(w) - ell - <g, w>, so F(w) - D = S + ell + <g, w> + R(w) - D. S is known
    only from the last visits, and the average of the w's is better than the last, so this prediction is scaled by what
    it was off by the last time. F is evaluated when the tolerance may be reached, when half of the predicted gap has
    gone, and every 25 epochs at the least.
    """

    def __init__(
        self, objective: Objective, inner: BCFW, kappa: float, rng: np.random.Generator, monitor: Monitor
    ) -> None:
        self.objective, self.inner, self.kappa, self.rng, self.monitor = objective, inner, kappa, rng, monitor
        self.z = aligned_zeros(objective.n_params)
        self.z[:] = _resting_point(objective)
        penalty = Proximal(objective.penalty, kappa, self.z)
        self.blocks: DualBlocks = objective.with_penalty(penalty).dual_blocks()
        self.iterate: DualIterate = dual_start(penalty, objective.n_params)
        self.mean = aligned_zeros(objective.n_params)
        self.mean_dual = objective.trivial_dual() if _has_bounded_dual(objective) else None
        self.average_wins = False

    def run(self) -> None:
        k, last_k, last_predicted, correction = 0, 0, math.inf, 1.0
        while True:
            k += 1
            block_gap = self._inner_passes()
            share = 6.0 / (k + 5.0)
            self.mean += share * (self.iterate.w - self.mean)
            dual, predicted = self._dual_and_prediction(block_gap, share)
            due = self.monitor.is_last or k - last_k >= _LONGEST_WAIT
            if due or predicted <= max(self.monitor.tol * dual / correction, 0.5 * last_predicted):
                value, done = self._report(dual)
                if done:
                    return
                correction = (value - dual) / predicted if predicted > 0.0 and value > dual else 1.0
                last_k, last_predicted = k, predicted
            else:
                self.monitor.skip()
            self._recentre()

    def _inner_passes(self) -> float:
        objective, inner = self.objective, self.inner
        block_gap = self.blocks.exact_pass(objective.permutation(self.rng), True, inner.steps, self.iterate)
        objective.count("steps", objective.n_active)
        for _ in range(inner.cached_passes):
            order = objective.permutation(self.rng)
            block_gap = self.blocks.cached_pass(order, inner.steps, inner.skip_below, self.iterate)
        return block_gap

    def _dual_and_prediction(self, block_gap: float, share: float) -> tuple[float, float]:
        w, g, ell, penalty = self.iterate.w, self.iterate.gradient(), self.blocks.ell, self.objective.penalty
        dual = DualPoint(g, ell).value(penalty)
        if self.mean_dual is not None:
            self.mean_dual = self.mean_dual.mixed(DualPoint(g, ell), share)
            dual = max(dual, self.mean_dual.value(penalty))
        return dual, block_gap + ell + dot(g, w) + penalty.value(w) - dual

    def _report(self, dual: float) -> tuple[float, bool]:
        """The better of w and the average, and whether the run is over. Once the average has won, w is left out."""
        best, value = self.mean, self.objective.value(self.mean)
        if not self.average_wins:
            last = self.objective.value(self.iterate.w)
            self.average_wins = value < last
            if last <= value:
                best, value = self.iterate.w, last
        return value, self.monitor.epoch(best, objective=value, dual=dual, kappa=self.kappa)

    def _recentre(self) -> None:
        """z = w, and w is the primal point of the same g around it, in the memory of z: both stay aligned."""
        w, z, own = self.iterate.w, self.z, self.objective.penalty.quadratic
        g = self.iterate.g
        if g is None and own is not None:
            ratio = self.kappa / (own.sigma + self.kappa)
            z *= -ratio
            z += (1.0 + ratio) * w
        penalty: Any = Proximal(self.objective.penalty, self.kappa, w)
        if g is not None:
            z[:] = penalty.primal(-g)
        self.z, self.iterate = w, DualIterate(penalty, z, g)


def _has_bounded_dual(objective: Objective) -> bool:
    """Whether R* is infinite beyond some g, as for absolute values alone.

    There -g may go beyond by kappa (w_k - w_{k-1}), and D pays for it in full. In a plain average over epochs these
    differences cancel but for the ends, so that the average of the dual points is worth a look.
    """
    return objective.penalty.strong_convexity == 0.0 and objective.penalty.quadratic is None


def _resting_point(objective: Objective) -> FloatArray:
    """The w that the penalty alone would take; 0, or the centre of a proximal penalty."""
    penalty = objective.penalty
    at_rest = np.zeros(objective.n_params)
    return penalty.primal(at_rest) if penalty.strong_convexity > 0.0 else at_rest


def default_kappa(objective: Objective) -> float:
    """kappa = 5 (lam n)^0.7 / n, fitted to the fewest passes on named entity data with lam n from 0.01 to 1.

    The optimum is flat: a factor of 2 either way costs some 10 % more passes. lam is the strong convexity of the
    penalty. Where that is 0 it is the strength of its absolute values, and kappa is a fifth: what w moves by in an
    epoch, times kappa, is lost in the dual.
    """
    n, penalty = objective.n_active, objective.penalty
    l1 = float(getattr(penalty, "l1", 0.0))
    factor = 1.0 if _has_bounded_dual(objective) and l1 > 0.0 else 5.0
    return float(factor * ((penalty.strong_convexity or l1 or 1.0 / n) * n) ** 0.7 / n)
