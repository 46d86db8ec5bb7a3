"""SVRG on a smoothed objective, or inside Casimir on one of its proximal subproblems."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from casimir._arrays import aligned_zeros
from casimir._native import core
from casimir.losses import Loss
from casimir.objective import Evaluation, Objective
from casimir.penalties import Penalty
from casimir.problems import Problem
from casimir.scores import FloatArray, IntArray
from casimir.smoothing import L2, Smoothing
from casimir.solvers.alone import run_alone
from casimir.solvers.base import InnerState, Monitor
from casimir.solvers.smoothness import search_lipschitz
from casimir.solvers.steps import fused_arguments, gradients, take_step

_ROUNDING = 1e-12  # relative changes that mean nothing


@dataclass(frozen=True)
class SVRG:
    """w <- w - gamma (g_i(w) - g_i(w~) + grad F_mu(w~) + grad R(w)), n such steps after one full gradient at w~.

    The next snapshot w~ is the average of the epoch's iterates (Johnson & Zhang, 2013; Sec. 7.2 of the paper). Where
    the penalty R is not a plain square, the step is a proximal one.

    smoothing  of a hinge loss: L2(k), L2(), Entropy(), or Hard() for the paper's heuristic comparison
    mu         level of smoothing; None: eps / (10 D_omega) with eps = tol F(0), as prop:c:total_compl_svrg_sc takes it
    lipschitz  L, which sets gamma = 1 / (L + lam); None: found by a doubling search on short trial epochs, and doubled
               whenever an epoch makes the smoothed objective worse
    steps      steps of an epoch; None: n
    """

    smoothing: Smoothing = L2(k=5)
    mu: float | None = None
    lipschitz: float | None = None
    steps: int | None = None

    def __post_init__(self) -> None:
        for name, value in (("mu", self.mu), ("lipschitz", self.lipschitz), ("steps", self.steps)):
            if value is not None and not value > 0:
                raise ValueError(f"SVRG: {name}={value}; it must be positive, or None for the default.")

    def run(self, objective: Objective, w0: FloatArray, monitor: Monitor, rng: np.random.Generator) -> None:
        run_alone(self, objective, w0, monitor, rng)

    def start(
        self, objective: Objective, loss: Loss, w: FloatArray, rng: np.random.Generator, before: InnerState | None
    ) -> InnerState:
        """The full gradient at w, with every example's marginals; and L."""
        evaluation = self._snapshot(objective, loss, w)
        if self.lipschitz is not None or before is not None:
            return InnerState(w, evaluation, self.lipschitz if before is None else before.lipschitz)

        def trial(lipschitz: float, trial_rng: np.random.Generator, steps: int) -> FloatArray:
            objective.count("searches", steps)
            return self._steps(objective, loss, w, evaluation, lipschitz, trial_rng, steps)

        return InnerState(w, evaluation, search_lipschitz(objective, loss, w, evaluation.smoothed, trial, rng))

    def epoch(self, objective: Objective, loss: Loss, state: InnerState, rng: np.random.Generator) -> InnerState:
        """The mean iterate of an epoch that starts at the snapshot; L is doubled when it is worse than that."""
        count, lipschitz = self.steps or objective.n_active, state.lipschitz
        assert lipschitz is not None
        objective.count("steps", count)
        w = self._steps(objective, loss, state.w, state.evaluation, lipschitz, rng, count)
        after, before = self._snapshot(objective, loss, w), state.evaluation.smoothed
        is_worse = self.lipschitz is None and not after.smoothed <= before + _ROUNDING * abs(before)
        gamma = self._gamma(objective, lipschitz)
        return InnerState(w, after, 2.0 * lipschitz if is_worse else lipschitz, is_worse, gamma=gamma)

    def _snapshot(self, objective: Objective, loss: Loss, w: FloatArray) -> Evaluation:
        return objective.evaluate(w, loss, keep=True)

    def _gamma(self, objective: Objective, lipschitz: float | None) -> float:
        assert lipschitz is not None
        return 1.0 / (lipschitz + objective.penalty.strong_convexity)

    def _steps(
        self,
        objective: Objective,
        loss: Loss,
        w: FloatArray,
        snapshot: Evaluation,
        lipschitz: float,
        rng: np.random.Generator,
        count: int,
    ) -> FloatArray:
        iterate = aligned_zeros(objective.n_params)
        iterate[:] = w
        problem, order = objective.problem(loss.smoothing), objective.draw(rng, count)
        gamma = self._gamma(objective, lipschitz)
        assert snapshot.gradient is not None
        assert snapshot.marginals is not None
        return svrg_epoch(
            problem, order, gamma, objective.penalty, loss, snapshot.gradient, snapshot.marginals, iterate
        )


def svrg_epoch(
    problem: Problem,
    order: IntArray,
    gamma: float,
    penalty: Penalty,
    loss: Loss,
    full: FloatArray,
    snapshot: FloatArray,
    w: FloatArray,
) -> FloatArray:
    """Steps over `order`; `full` is the mean gradient of the losses at the snapshot, which has these marginals.

    w is updated in place. Returns the mean iterate.
    """
    fused = fused_arguments(problem, penalty, loss)
    average = aligned_zeros(len(w))
    if fused is not None:
        native, known, smoothing = fused
        core.svrg_epoch(native, order, gamma, known, np.ascontiguousarray(full), snapshot, smoothing, w, average)
        return average

    def less(i: int, marginals: FloatArray) -> FloatArray:
        return marginals - snapshot[problem.marginal_offset(i) : problem.marginal_offset(i + 1)]

    for gradient, _ in gradients(problem, order, loss, w, less):
        take_step(penalty, w, gradient + full, gamma)
        average += w
    return average / len(order)
