"""SAGA: variance-reduced steps without full gradients, from a table of every example's last answer."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from casimir._arrays import aligned_zeros
from casimir._native import core
from casimir.losses import Loss
from casimir.objective import Objective
from casimir.penalties import Penalty
from casimir.persistence.state import keeps
from casimir.problems import Problem
from casimir.scores import FloatArray, IntArray
from casimir.smoothing import L2, Smoothing
from casimir.solvers.alone import run_alone
from casimir.solvers.base import InnerState, Monitor
from casimir.solvers.smoothness import search_lipschitz
from casimir.solvers.steps import Averaged, Seen, fused_arguments, fused_sum, gradients, take_step

_ROUNDING = 1e-12  # relative changes that mean nothing


@keeps
@dataclass(frozen=True, eq=False)
class Table:
    """marginals  float64[m]: every example's last answer u_i
    mean       float64[d] = sum_i p_i A_i^T u_i
    """

    marginals: FloatArray
    mean: FloatArray

    def copy(self) -> Table:
        return Table(self.marginals.copy(), self.mean.copy())


@dataclass(frozen=True)
class SAGA:
    """w <- w - gamma (g_i(w) - g_i + mean_j g_j + grad R(w)), then g_i becomes g_i(w) (Defazio et al., 2014).

    g_i is the gradient of example i when it was last visited; a table of marginals keeps it, so that after the first
    pass there are no full gradients. Examples come in a new permutation every epoch. Where the penalty R is not a plain
    square, the step is a proximal one.

    smoothing  of a hinge loss: L2(k), L2() or Entropy()
    mu         level of smoothing; None: as for SVRG
    lipschitz  L, which sets gamma = 1 / (3 L + lam); None: found by a doubling search on short trial epochs, and
               doubled whenever an epoch makes the smoothed objective worse
    """

    smoothing: Smoothing = L2(k=5)
    mu: float | None = None
    lipschitz: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("mu", self.mu), ("lipschitz", self.lipschitz)):
            if value is not None and not value > 0:
                raise ValueError(f"SAGA: {name}={value}; it must be positive, or None for the default.")

    def run(self, objective: Objective, w0: FloatArray, monitor: Monitor, rng: np.random.Generator) -> None:
        run_alone(self, objective, w0, monitor, rng)

    def start(
        self, objective: Objective, loss: Loss, w: FloatArray, rng: np.random.Generator, before: InnerState | None
    ) -> InnerState:
        """A table from a full pass at w, and L. An old table may point uphill where w is nearly optimal."""
        first = objective.evaluate(w, loss, keep=True)
        assert first.marginals is not None
        assert first.gradient is not None
        table = Table(first.marginals, np.array(first.gradient))
        state = InnerState(w, first, self.lipschitz if before is None else before.lipschitz, memory=table)
        if state.lipschitz is not None:
            return state

        def trial(lipschitz: float, trial_rng: np.random.Generator, steps: int) -> FloatArray:
            objective.count("searches", steps)
            order = objective.permutation(trial_rng)[:steps]
            return self._steps(objective, loss, replace(state, lipschitz=lipschitz), table.copy(), order)

        return replace(state, lipschitz=search_lipschitz(objective, loss, w, first.smoothed, trial, rng))

    def epoch(self, objective: Objective, loss: Loss, state: InnerState, rng: np.random.Generator) -> InnerState:
        """A step per example; the table of `state` is updated in place, and stays so when the epoch is taken back.

        The evaluation at the end is for the certificate alone.
        """
        objective.count("steps", objective.n_active)
        table = state.memory
        w = self._steps(objective, loss, state, table, objective.permutation(rng))
        after, before = objective.evaluate(w, loss, count="evaluations"), state.evaluation.smoothed
        is_worse = self.lipschitz is None and not after.smoothed <= before + _ROUNDING * abs(before)
        assert state.lipschitz is not None
        gamma = self._gamma(objective, state.lipschitz)
        return InnerState(w, after, state.lipschitz * (2.0 if is_worse else 1.0), is_worse, table, gamma)

    def sweep(
        self, objective: Objective, loss: Loss, w: FloatArray, order: IntArray, lipschitz: float, table: Table
    ) -> tuple[FloatArray, Seen]:
        """Steps of 1 / (L + lam) from w over `order`: the mean of the second half of the iterates, and what was seen.

        The table is updated in place.
        """
        iterate, averaged = aligned_zeros(objective.n_params), Averaged(aligned_zeros(objective.n_params))
        iterate[:] = w
        gamma, problem = 1.0 / (lipschitz + objective.penalty.strong_convexity), objective.problem(loss.smoothing)
        weights = (np.arange(len(order)) >= len(order) // 2).astype(np.float64)
        objective.count("steps", len(order))
        fixed = gamma, objective.penalty, loss, table, objective.n_active, iterate
        seen = saga_epoch(problem, order, *fixed, averaged, weights)
        return averaged.mean(iterate), seen

    def _gamma(self, objective: Objective, lipschitz: float | None) -> float:
        assert lipschitz is not None
        return 1.0 / (3.0 * lipschitz + objective.penalty.strong_convexity)

    def _steps(self, objective: Objective, loss: Loss, state: InnerState, table: Table, order: IntArray) -> FloatArray:
        w = aligned_zeros(objective.n_params)
        w[:] = state.w
        gamma, problem = self._gamma(objective, state.lipschitz), objective.problem(loss.smoothing)
        saga_epoch(problem, order, gamma, objective.penalty, loss, table, objective.n_active, w)
        return w


def saga_epoch(
    problem: Problem,
    order: IntArray,
    gamma: float,
    penalty: Penalty,
    loss: Loss,
    table: Table,
    n_active: int,
    w: FloatArray,
    averaged: Averaged | None = None,
    weights: FloatArray | None = None,
) -> Seen:
    """Steps over `order`; w, the table and `averaged`, with weights a_t, are updated in place."""
    fused = fused_arguments(problem, penalty, loss)
    if averaged is not None:
        assert weights is not None
        averaged.total += float(weights.sum())
    if fused is not None:
        native, known, smoothing = fused
        sums = fused_sum(averaged)
        seen = core.saga_epoch(native, order, gamma, weights, known, table.marginals, table.mean, smoothing, w, sums)
        if averaged is not None:
            averaged.mass = sums.mass
        return Seen(seen.loss, seen.cost, seen.max_loss)

    def less(i: int, marginals: FloatArray) -> FloatArray:
        kept = table.marginals[problem.marginal_offset(i) : problem.marginal_offset(i + 1)]
        change = marginals - kept
        kept[:] = marginals
        return change

    total_seen = Seen(0.0, 0.0, 0.0)
    total = None if averaged is None else averaged.sum(w)
    for t, (change, answer) in enumerate(gradients(problem, order, loss, w, less)):
        take_step(penalty, w, change + table.mean, gamma)
        table.mean[:] += change / n_active
        total_seen = total_seen.plus(answer)
        if total is not None and weights is not None:
            total += weights[t] * w
    if averaged is not None and total is not None:
        averaged.keep(total)
    return total_seen
