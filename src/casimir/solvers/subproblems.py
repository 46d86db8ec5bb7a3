"""The proximal subproblems of algo:catalyst, one after another."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from casimir._arrays import dot
from casimir.losses import Loss
from casimir.objective import Evaluation, Objective
from casimir.scores import FloatArray
from casimir.solvers.base import Inner, InnerState

_MAX_INNER_EPOCHS = 100  # where gradients do not vanish (Hard, L2 beyond its k outputs) delta_k may be out of reach,
_LONGEST_SEARCH = 2.0**10  # and no step size helps
_ROUNDING = 1e-14  # relative to the subproblem's value: what is left to gain when nothing is


@dataclass(frozen=True, eq=False)
class Solved:
    """The end of a subproblem; `evaluation` is None where it was neither needed nor asked for."""

    w: FloatArray
    evaluation: Evaluation | None
    lipschitz: float | None
    gamma: float | None


class Subproblems:
    """Solves one proximal subproblem after another.

    The first search for L sees only the first steps from w0; later L is doubled whenever an epoch makes a subproblem
    worse. `seen` has the evaluations of the last subproblem, for their dual points.

    Where L is given, only a report needs to know F at the end of a subproblem: that pass is no full gradient of the
    algorithm, and is made where `report` is True alone.
    """

    def __init__(
        self, inner: Inner, epochs: int, rng: np.random.Generator, first: InnerState, first_loss: Loss
    ) -> None:
        self.inner, self.epochs, self.rng, self.before = inner, epochs, rng, first
        self._first: InnerState | None = first
        self._first_loss = first_loss
        self.seen: list[Evaluation] = []
        self._has_warned = False
        self._knows_steps = getattr(inner, "lipschitz", None) is not None and hasattr(inner, "advance")

    @property
    def manner(self) -> tuple[bool, bool]:
        """What counts beside `before`: whether that is the first state, and whether there was a warning."""
        return self.before is self._first, self._has_warned

    def restore(self, is_first: bool, has_warned: bool) -> None:
        """Of new ones, that were given the `before` of then."""
        self._first, self._has_warned = self.before if is_first else None, has_warned

    def solve(
        self,
        problem: Objective,
        loss: Loss,
        start: FloatArray,
        kappa: float,
        z: FloatArray,
        delta: float | None,
        report: bool,
    ) -> Solved:
        """So many epochs without delta; else epochs until |grad|^2 <= (lam + kappa) delta kappa |w - z|^2."""
        if self.before is self._first and start is self.before.w and loss == self._first_loss:
            state = self.before  # the centre is there, so that the subproblem's square is 0
        else:
            state = self.inner.start(problem, loss, start, self.rng, self.before)
        self.seen = [state.evaluation]
        if delta is not None:
            state = self._until_accurate(problem, loss, state, kappa, z, delta)
        else:
            for _ in range(self.epochs - 1 if self._knows_steps else self.epochs):
                state = self._epoch(problem, loss, state)
        self.before = state
        if delta is None and self._knows_steps:
            return self._last_epoch(problem, loss, state, report)
        return Solved(state.w, state.evaluation, state.lipschitz, state.gamma)

    def _last_epoch(self, problem: Objective, loss: Loss, state: InnerState, report: bool) -> Solved:
        inner: Any = self.inner
        w = inner.advance(problem, loss, state, self.rng)
        found = problem.evaluate(w, loss, count="evaluations") if report else None
        self.seen += [] if found is None else [found]
        assert state.lipschitz is not None
        return Solved(w, found, state.lipschitz, 1.0 / (state.lipschitz + problem.penalty.strong_convexity))

    def _until_accurate(
        self, problem: Objective, loss: Loss, state: InnerState, kappa: float, z: FloatArray, delta: float
    ) -> InnerState:
        first = state.lipschitz
        for _ in range(_MAX_INNER_EPOCHS):
            if _is_accurate(problem, state, kappa, z, delta):
                return state
            trial = self._epoch(problem, loss, state)
            if not trial.is_worse:
                if np.array_equal(trial.w, state.w):  # no step improves any more: as accurate as doubles are
                    return trial
                state = trial
                continue
            state = replace(state, lipschitz=trial.lipschitz)
            if first is not None and trial.lipschitz is not None and trial.lipschitz > _LONGEST_SEARCH * first:
                return replace(state, lipschitz=first)
        if not self._has_warned:
            self._has_warned = True
            warnings.warn(
                f"Casimir's inner solver did not reach the relative accuracy {delta:.2g} in {_MAX_INNER_EPOCHS} epochs "
                "and went on without it. An exact smoothing, such as L2() or Entropy(), or stopping='budget' helps.",
                RuntimeWarning,
                stacklevel=7,
            )
        return state

    def _epoch(self, problem: Objective, loss: Loss, state: InnerState) -> InnerState:
        trial = self.inner.epoch(problem, loss, state, self.rng)
        self.seen.append(trial.evaluation)
        return trial


def _is_accurate(problem: Objective, state: InnerState, kappa: float, z: FloatArray, delta: float) -> bool:
    """The gradient is that of the subproblem, or the length of a proximal step over the step size.

    A point that nothing improves any more is accurate too: where z is optimal, w - z vanishes with the gradient.
    """
    gradient, penalty, moved = state.evaluation.gradient, problem.penalty, state.w - z
    assert gradient is not None
    quadratic, sigma = penalty.quadratic, penalty.strong_convexity
    if quadratic is None:
        t = 1.0 / ((state.lipschitz or 1.0) + sigma)
        gradient = (state.w - penalty.prox(state.w - t * gradient, t)) / t
    else:
        gradient = gradient + quadratic.sigma * (state.w if quadratic.center is None else state.w - quadratic.center)
    nothing = 2.0 * sigma * _ROUNDING * abs(state.evaluation.smoothed)
    return dot(gradient, gradient) <= max(sigma * delta * kappa * dot(moved, moved), nothing)
