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
_FLAT = 0.4  # the losses fall along z by less than this share of what the penalty rises
_SHARE = 20  # n/20 examples are asked


def is_too_long(objective: Objective, z: FloatArray, gradient: FloatArray) -> bool:
    """<gradient of the losses, z> > -0.4 dR(c z)/dc at c = 1."""
    penalty = objective.penalty
    rise = (penalty.value(z) - penalty.value(0.999 * z)) / 0.001
    return rise > 0.0 and dot(gradient, z) > -_FLAT * rise


def shorter(objective: Objective, loss: Loss, z: FloatArray, rng: np.random.Generator) -> float:
    """The c whose c z is best on a few examples: lengths fall until it gets worse."""
    order = objective.permutation(rng)[: max(objective.n_active // _SHARE, 1)]
    problem, best, length = objective.problem(loss.smoothing), math.inf, 1.0
    for c in _LENGTHS:
        value = mean_loss(problem, order, loss, c * z) + objective.penalty.value(c * z)
        objective.count("searches", len(order))
        if not value < best:
            break
        best, length = value, c
    return length
