"""Proximal gradient descent on a smoothed objective, or inside Casimir."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from casimir._arrays import dot
from casimir.losses import Loss
from casimir.objective import Objective
from casimir.scores import FloatArray
from casimir.smoothing import Entropy, Smoothing
from casimir.solvers.alone import run_alone
from casimir.solvers.base import InnerState, Monitor
from casimir.solvers.smoothness import guess_lipschitz

_LONGEST_SEARCH = 60  # doublings of L


@dataclass(frozen=True)
class GradientDescent:
    """w <- prox_R(w - gamma grad f_mu(w)), gamma = 1 / L, with L found by backtracking; an epoch is one step.

    smoothing, mu  as for LBFGS
    lipschitz      the first L; None: a guess. L is doubled until a step keeps its promise, and tried a little lower
                   before each step
    """

    smoothing: Smoothing = Entropy()
    mu: float | None = None
    lipschitz: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("mu", self.mu), ("lipschitz", self.lipschitz)):
            if value is not None and not value > 0:
                raise ValueError(f"GradientDescent: {name}={value}; it must be positive, or None for the default.")

    def run(self, objective: Objective, w0: FloatArray, monitor: Monitor, rng: np.random.Generator) -> None:
        run_alone(self, objective, w0, monitor, rng)

    def start(
        self, objective: Objective, loss: Loss, w: FloatArray, rng: np.random.Generator, before: InnerState | None
    ) -> InnerState:
        lipschitz = self.lipschitz if before is None else before.lipschitz
        if lipschitz is None:
            lipschitz = guess_lipschitz(objective, loss, w, rng)
        return InnerState(w, objective.evaluate(w, loss), lipschitz)

    def epoch(self, objective: Objective, loss: Loss, state: InnerState, rng: np.random.Generator) -> InnerState:
        w, before, gradient = state.w, state.evaluation, state.evaluation.gradient
        assert gradient is not None
        assert state.lipschitz is not None
        lipschitz, penalty = state.lipschitz / 1.5, objective.penalty
        own = before.smoothed - penalty.value(w)
        for _ in range(_LONGEST_SEARCH):
            new = penalty.prox(w - gradient / lipschitz, 1.0 / lipschitz)
            after, moved = objective.evaluate(new, loss), new - w
            promised = own + dot(gradient, moved) + 0.5 * lipschitz * dot(moved, moved)
            if after.smoothed - penalty.value(new) <= promised + 1e-12 * abs(promised):
                break
            lipschitz *= 2.0
        return InnerState(new, after, lipschitz)
