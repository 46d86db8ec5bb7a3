"""The stochastic subgradient method, with averaging."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from casimir._arrays import aligned_zeros
from casimir.kernels.base import Averaged
from casimir.objective import DualPoint, Objective
from casimir.scores import FloatArray, IntArray
from casimir.smoothing import Hard, Smoothing
from casimir.solvers.base import Monitor
from casimir.solvers.schedules import Pegasos, Schedule


@dataclass(frozen=True)
class SGD:
    """w <- w - gamma_t (lam w + A_i^T u_i), i drawn by a new permutation every epoch.

    schedule   gamma_t: Pegasos() = 1 / (lam t), Constant, StepDecay, InverseRoot or Inverse
    averaging  "weighted": report sum_t t w_t / sum_t t; "uniform": the plain mean; "none": the last iterate
    smoothing  Hard() for subgradients of the hinge loss; a smoothing (with mu) for its gradients

    It runs on scores that are not linear in w as well; there take averaging="none" and a schedule with a constant, as
    an average of iterates means little and the first steps of Pegasos() are long.
    """

    schedule: Schedule = Pegasos()
    averaging: str = "weighted"
    smoothing: Smoothing = Hard()
    mu: float = 0.0

    def __post_init__(self) -> None:
        if self.averaging not in ("weighted", "uniform", "none"):
            raise ValueError(f"averaging={self.averaging!r}; it must be 'weighted', 'uniform' or 'none'.")

    def run(self, objective: Objective, w0: FloatArray, monitor: Monitor, rng: np.random.Generator) -> None:
        smoothing, mu = objective.resolve(self.smoothing, self.mu)
        n, kernel = objective.n_examples, objective.kernel(smoothing)
        w = aligned_zeros(objective.n_params)
        w[:] = w0
        averaged = None if self.averaging == "none" else Averaged(aligned_zeros(objective.n_params))
        dual = objective.trivial_dual()
        done, cost = 0, 0.0
        while True:
            t = np.arange(done + 1, done + n + 1)
            gamma, weights = self.schedule.steps(t, objective.lam), self._weights(t)
            seen = kernel.sgd_epoch(rng.permutation(n), gamma, objective.lam, smoothing, mu, w, averaged, weights)
            objective.oracle_calls += n
            done, cost = done + n, cost + seen.cost
            if isinstance(self.schedule, Pegasos) and objective.is_convex and not objective.is_smooth:
                # w = -(mean of the gradients so far) / lam: every example's answers, averaged, are a dual point.
                dual = dual.towards(DualPoint(-objective.lam * w, cost / done), objective.lam)
            point = w if averaged is None else averaged.mean(w)
            evaluation = objective.evaluate(point)
            if evaluation.dual is not None and objective.lam > 0.0:
                dual = dual.towards(evaluation.dual, objective.lam)
            if monitor.epoch(point, objective=evaluation.objective, dual=dual):
                return

    def _weights(self, t: IntArray) -> FloatArray | None:
        """a_t, the weight of iterate t in the average."""
        if self.averaging == "none":
            return None
        return t.astype(np.float64) if self.averaging == "weighted" else np.ones(len(t))
