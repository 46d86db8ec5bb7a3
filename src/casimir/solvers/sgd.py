"""The stochastic subgradient method, with averaging."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from casimir._arrays import aligned_zeros
from casimir._native import core
from casimir.duality import DualPoint
from casimir.losses import Loss, smoothed
from casimir.objective import Objective
from casimir.penalties import Penalty
from casimir.problems import Problem
from casimir.scores import FloatArray, IntArray
from casimir.smoothing import Hard, Smoothing
from casimir.solvers.base import Monitor
from casimir.solvers.sampling import check_sampling, drawn
from casimir.solvers.schedules import Pegasos, Schedule
from casimir.solvers.smoothness import level_of
from casimir.solvers.steps import Averaged, Seen, fused_arguments, fused_sum, gradients, take_step


@dataclass(frozen=True)
class SGD:
    """w <- w - gamma_t (scale_i A_i^T u_i + grad R(w)), i by a new permutation every epoch, or drawn anew every time.

    Where the penalty R is not a plain square, the step is a proximal one.

    schedule   gamma_t: Pegasos() = 1 / (lam t), Constant, StepDecay, InverseRoot or Inverse
    averaging  "weighted": report sum_t t w_t / sum_t t; "uniform": the plain mean; "none": the last iterate
    smoothing  Hard() for subgradients of the hinge loss; a smoothing (with mu) for its gradients
    sampling   "permutation": every example once in an epoch; "replacement": drawn independently

    It runs on scores that are not linear in w as well; there take averaging="none" and a schedule with a constant, as
    an average of iterates means little and the first steps of Pegasos() are long.
    """

    schedule: Schedule = Pegasos()
    averaging: str = "weighted"
    smoothing: Smoothing = Hard()
    mu: float = 0.0
    sampling: str = "permutation"

    def __post_init__(self) -> None:
        if self.averaging not in ("weighted", "uniform", "none"):
            raise ValueError(f"averaging={self.averaging!r}; it must be 'weighted', 'uniform' or 'none'.")
        check_sampling(self.sampling, "SGD")
        if isinstance(self.smoothing, Hard) and self.mu != 0.0:
            raise ValueError(f"SGD: mu={self.mu} does nothing without a smoothing. Give one, such as L2(k=5).")
        if not isinstance(self.smoothing, Hard) and not self.mu > 0.0:
            raise ValueError(f"SGD: mu={self.mu}; {self.smoothing!r} needs a positive level mu, such as 0.1.")

    def run(self, objective: Objective, w0: FloatArray, monitor: Monitor, rng: np.random.Generator) -> None:
        objective.check_single_truths("SGD")
        loss = smoothed(objective.loss, self.smoothing, self._level(objective, monitor.tol))
        n, problem, penalty = objective.n_active, objective.problem(loss.smoothing), objective.penalty
        lam = penalty.strong_convexity
        w = aligned_zeros(objective.n_params)
        w[:] = w0
        averaged = None if self.averaging == "none" else Averaged(aligned_zeros(objective.n_params))
        dual = objective.trivial_dual()
        done, cost = 0, 0.0
        if monitor.resumed is not None:
            w, averaged, dual, done, cost = monitor.resumed
        while True:
            monitor.rest((w, averaged, dual, done, cost))
            t = np.arange(done + 1, done + n + 1)
            gamma, weights = self.schedule.steps(t, lam), self._weights(t)
            order = drawn(objective, rng, self.sampling)
            seen = sgd_epoch(problem, order, gamma, penalty, loss, w, averaged, weights)
            objective.count("steps", n)
            done, cost = done + n, cost + seen.cost
            if self._has_dual(objective):
                # w = -(mean of the gradients so far) / lam: every example's answers, averaged, are a dual point.
                dual = dual.towards(DualPoint(-lam * w, cost / done), penalty)
            if not monitor.is_due:
                monitor.skip()
                continue
            point = w if averaged is None else averaged.mean(w)
            evaluation = objective.evaluate(point, count="evaluations")
            if evaluation.dual is not None:
                dual = dual.towards(evaluation.dual, penalty)
            if monitor.epoch(point, objective=evaluation.objective, dual=dual, gamma=float(gamma[-1])):
                return

    def _level(self, objective: Objective, tol: float) -> float:
        return 0.0 if self.mu == 0.0 else level_of(objective, self.smoothing, self.mu, tol, "SGD")

    def _has_dual(self, objective: Objective) -> bool:
        """Whether the last iterate is the primal point of a dual one, where all examples have as many answers."""
        if self.sampling != "permutation":
            return False
        quadratic = objective.penalty.quadratic
        is_plain = quadratic is not None and quadratic.center is None and objective.dual_variables == "outputs"
        return isinstance(self.schedule, Pegasos) and objective.is_convex and is_plain

    def _weights(self, t: IntArray) -> FloatArray | None:
        """a_t, the weight of iterate t in the average."""
        if self.averaging == "none":
            return None
        return t.astype(np.float64) if self.averaging == "weighted" else np.ones(len(t))


def sgd_epoch(
    problem: Problem,
    order: IntArray,
    gamma: FloatArray,
    penalty: Penalty,
    loss: Loss,
    w: FloatArray,
    averaged: Averaged | None = None,
    weights: FloatArray | None = None,
) -> Seen:
    """Steps over `order` with lengths gamma; w and `averaged`, with weights a_t, are updated in place."""
    fused = fused_arguments(problem, penalty, loss)
    if averaged is not None:
        assert weights is not None
        averaged.total += float(weights.sum())
    if fused is not None:
        sums = fused_sum(averaged)
        seen = core.sgd_epoch(fused.problem, order, gamma, weights, fused.penalty, fused.smoothing, w, sums)
        if averaged is not None:
            averaged.mass = sums.mass
        return Seen(seen.loss, seen.cost, seen.max_loss)
    total_seen = Seen(0.0, 0.0, 0.0)
    total = None if averaged is None else averaged.sum(w)
    for t, (gradient, seen) in enumerate(gradients(problem, order, loss, w, lambda i, u: u - problem.truth(i))):
        take_step(penalty, w, gradient, gamma[t])
        total_seen = total_seen.plus(seen)
        if total is not None and weights is not None:
            total += weights[t] * w
    if averaged is not None and total is not None:
        averaged.keep(total)
    return total_seen
