"""Shorter weights: where the losses hardly fall along z, z is longer than it need be."""

from __future__ import annotations

import math

import numpy as np

from casimir._arrays import dot
from casimir.losses import Loss
from casimir.objective import Objective
from casimir.scores import FloatArray
from casimir.solvers.first_pass import mean_loss

_LENGTHS = (1.0, 0.95, 0.9, 0.8, 0.65, 0.5)
_FLAT = 0.6  # the losses fall along z by less than this share of what the penalty rises
_SHARE = 20  # n/20 examples are asked
_NEARBY = 1e-3  # their slope along z is that of so short a step


def is_too_long(objective: Objective, z: FloatArray, gradient: FloatArray) -> bool:
    """<gradient of the losses, z> > -0.6 dR(c z)/dc at c = 1."""
    penalty = objective.penalty
    rise = (penalty.value(z) - penalty.value(0.999 * z)) / 0.001
    return rise > 0.0 and dot(gradient, z) > -_FLAT * rise


def shorter(objective: Objective, loss: Loss, z: FloatArray, gradient: FloatArray, rng: np.random.Generator) -> float:
    """The c whose c z is best on a few examples: lengths fall until it gets worse.

    Their own slope along z says little about that of all examples, so it gives way to the one of `gradient`, the mean
    gradient of all losses at z.
    """
    order = objective.permutation(rng)[: max(objective.n_active // _SHARE, 1)]
    problem, best, length = objective.problem(loss.smoothing), math.inf, 1.0

    def mean(c: float) -> float:
        objective.count("searches", len(order))
        return mean_loss(problem, order, loss, c * z)

    at_z = mean(1.0)
    excess = (at_z - mean(1.0 - _NEARBY)) / _NEARBY - dot(gradient, z)
    for c in _LENGTHS:
        value = (at_z if c == 1.0 else mean(c)) + (1.0 - c) * excess + objective.penalty.value(c * z)
        if not value < best:
            break
        best, length = value, c
    return length
