"""Averaged SGD as `SGD()` runs it, without the certificate after each epoch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import casimir as cs
from casimir._arrays import aligned_zeros
from casimir.kernels.base import Averaged
from casimir.scores import FloatArray


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
        n, lam = self.objective.n_examples, self.objective.lam
        t = np.arange(self.first, self.first + n)
        self.first += n
        gamma, weights = cs.Pegasos().steps(t, lam), t.astype(np.float64)
        kernel = self.objective.kernel(cs.Hard())
        kernel.sgd_epoch(self.rng.permutation(n), gamma, lam, cs.Hard(), 0.0, self.w, self.averaged, weights)

    def mean(self) -> FloatArray:
        """The averaged iterate, aligned as the kernels like it."""
        out = aligned_zeros(len(self.w))
        out[:] = self.averaged.mean(self.w)
        return out
