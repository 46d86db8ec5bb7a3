"""Averaged SGD as `SGD()` runs it, without the certificate after each epoch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import casimir as cs
from casimir._arrays import aligned_zeros
from casimir.scores import FloatArray
from casimir.solvers.sgd import sgd_epoch
from casimir.solvers.steps import Averaged


@dataclass
class AveragedSGD:
    """Epochs of w <- w - gamma_t (lam w + A_i^T u_i) with gamma_t = 1 / (lam t), weighted averaging."""

    objective: cs.Objective
    w: FloatArray
    averaged: Averaged
    rng: np.random.Generator
    first: int = 1

    @classmethod
    def start(cls, objective: cs.Objective, seed: int = 0) -> AveragedSGD:
        d = objective.n_params
        return cls(objective, aligned_zeros(d), Averaged(aligned_zeros(d)), np.random.default_rng(seed))

    def epoch(self) -> None:
        n, penalty, loss = self.objective.n_examples, self.objective.penalty, self.objective.loss
        t = np.arange(self.first, self.first + n)
        self.first += n
        gamma, weights = cs.Pegasos().steps(t, penalty.strong_convexity), t.astype(np.float64)
        problem, order = self.objective.problem(loss.smoothing), self.rng.permutation(n)
        sgd_epoch(problem, order, gamma, penalty, loss, self.w, self.averaged, weights)

    def mean(self) -> FloatArray:
        """The averaged iterate, aligned as the core likes it."""
        out = aligned_zeros(len(self.w))
        out[:] = self.averaged.mean(self.w)
        return out
