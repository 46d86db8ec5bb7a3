"""A pass of subgradient steps before variance-reduced ones, whose first epoch from w = 0 is wasted."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from casimir._arrays import aligned_zeros
from casimir._native import core
from casimir.losses import Loss
from casimir.objective import Objective
from casimir.penalties import nearest_allowed
from casimir.problems import Problem, core_smoothing
from casimir.scores import FloatArray, IntArray
from casimir.solvers.sgd import sgd_epoch
from casimir.solvers.steps import Averaged, fused_sum


class FirstPass(NamedTuple):
    """w     float64[d]: the mean of the second half of the iterates
    loss  the mean loss that the second half of the steps met
    """

    w: FloatArray
    loss: float


def first_pass(objective: Objective, w0: FloatArray, gamma: float, rng: np.random.Generator) -> FirstPass:
    """w <- w - gamma_t (g_i(w) + grad R(w)), gamma_t = gamma / (1 + gamma lam t), over one permutation."""
    n, lam, loss = objective.n_active, objective.penalty.strong_convexity, objective.loss
    problem, penalty, order, half = (
        objective.problem(loss.smoothing),
        objective.penalty,
        objective.permutation(rng),
        n // 2,
    )
    steps: FloatArray = gamma / (1.0 + gamma * lam * np.arange(1.0, n + 1.0))
    w, averaged = aligned_zeros(objective.n_params), Averaged(aligned_zeros(objective.n_params))
    w[:] = w0
    if half:
        sgd_epoch(problem, order[:half], steps[:half], penalty, loss, w)
    seen = sgd_epoch(problem, order[half:], steps[half:], penalty, loss, w, averaged, np.ones(n - half))
    objective.count("steps", n)
    return FirstPass(nearest_allowed(penalty, averaged.mean(w)), seen.loss / (n - half))


def mean_loss(problem: Problem, order: IntArray, loss: Loss, w: FloatArray) -> float:
    """The mean of scale_i f_i(w) over `order`: a look at a few examples that costs no full pass."""
    if problem.core is not None:
        nothing, here = core.Penalty(0.0, 0.0, None, None, 0.0, None), aligned_zeros(len(w))
        here[:] = w
        smoothing, steps = core_smoothing(loss.smoothing, loss.mu), np.zeros(len(order))
        seen = core.sgd_epoch(problem.core, order, steps, None, nothing, smoothing, here, fused_sum(None))
        return float(seen.loss) / len(order)
    values = [problem.scale(i) * problem.oracle(i, w, loss.smoothing, loss.mu).value for i in order.tolist()]
    return float(np.mean(values))
