"""Casimir without tuning: smoothing in stages, L and kappa that follow the progress, extrapolation that restarts.

    one pass of subgradient steps of Polyak's length gamma;  w = mean of its second half
    mu = mean loss of that half / 2;   L = 1 / (4 gamma);   z = w
    every epoch:
      kappa = L/n - lam, or 0 where L/n <= 2 lam
      t = an epoch of the inner solver on F_mu + (kappa/2) |. - z|^2, from z;   z' = t + beta (t - t_before)
      F_mu(z') > F_mu(z): take t and restart beta; F_mu(t) > F_mu(z) too: stay at z, L *= 2
      r = (F_mu(z) - F_mu(z')) / (what the tangents of the losses at z promise):
          r > 0.95: L /= 2;  r > 0.75: L *= 0.8;  r < 0.35: L *= 1.4
      the losses hardly fall along z: look for a shorter z
      gain < 0.3 (F_mu - F) twice running, or F rises: mu /= 2, L *= 2, unless F_mu - F is small beside F - D

thm:catalyst:outer allows any alpha_0 of at least sqrt(q), and mu_k that fall. It asks for kappa_k that do not fall and
for subproblems of accuracy delta_k; here kappa falls with L, and one epoch is what a subproblem gets.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from casimir._arrays import dot
from casimir.losses import Loss, smoothed
from casimir.objective import Objective
from casimir.penalties import Proximal, nearest_allowed
from casimir.scores import FloatArray
from casimir.solvers.at_zero import scale_at_zero
from casimir.solvers.base import InnerState, Monitor
from casimir.solvers.first_pass import first_pass
from casimir.solvers.ray import is_too_long, shorter
from casimir.solvers.regimes import Sequence, extrapolation, kappa_of
from casimir.solvers.smoothness import needs_smoothing

_FIRST_L = 4.0  # L = 1 / (4 gamma) at mu = half the first pass's loss
_FACTORS = ((0.95, 0.5), (0.75, 0.8), (0.35, 1.0))  # of L where r is above; r = 1/2 at the best point of a quadratic,
_GREEDY = 1.4  # and where it is below
_FEWEST_STEPS = 64  # of an epoch: with a handful of examples n steps are not worth a full gradient
SLOW = 0.3  # a gain below this share of F_mu - F is slow,
_PATIENCE = 2  # and so many slow epochs end a stage
_NEGLIGIBLE = 0.05  # F_mu - F is small below this share of F - D
_RAY_PAUSE = 3  # epochs after which a length that was right is looked at again
_KEPT = ("here", "before", "mu", "first_mu", "lipschitz", "slow", "next_ray", "restarts", "k", "alpha", "dual")
SMALLEST_MU = 1e-7  # relative to the first: scores over mu keep half of their digits, and so do certificates


@dataclass(frozen=True)
class Settings:
    """What a user has fixed; None leaves it to the scheme. A sequence is a number, or a function of k = 1, 2, ..."""

    inner: Any
    alpha0: float | None = None
    mu: Sequence = None
    kappa: Sequence = None
    inner_epochs: int = 1


def at(sequence: Sequence, k: int) -> float | None:
    return sequence(k) if callable(sequence) else sequence


def value_at(objective: Objective, w: FloatArray) -> float:
    """F(w), counted as a search."""
    value = objective.evaluate(w, gradient=False, count="searches").objective
    return math.inf if value is None else value


class Untuned:
    """One run. `here` is the state at z, where the next subproblem has its centre; `before` the t of the last one."""

    def __init__(
        self, settings: Settings, objective: Objective, w0: FloatArray, monitor: Monitor, rng: np.random.Generator
    ) -> None:
        self.settings, self.inner, self.objective = settings, settings.inner, objective
        self.steps = objective.n_active
        if hasattr(self.inner, "steps"):
            self.steps = self.inner.steps or max(self.steps, _FEWEST_STEPS)
            self.inner = replace(self.inner, steps=self.steps)
        self.monitor, self.rng, self.k, self.alpha = monitor, rng, 1, None
        self.dual = objective.trivial_dual()
        self.is_guided = hasattr(self.inner, "advance")
        self.is_free = self.is_guided and self.inner.lipschitz is None
        self.is_smoothed = needs_smoothing(objective, self.inner.smoothing)
        self.has_stages = self.is_smoothed and settings.mu is None
        self.slow, self.next_ray, self.restarts = 0, 0, 0
        if monitor.resumed is None:
            self._begin(w0)

    alpha: float | None

    def _begin(self, w0: FloatArray) -> None:
        """The first pass; a start that is better than what it leads to is kept."""
        objective, rng = self.objective, self.rng
        scale = scale_at_zero(objective)
        value = value_at(objective, w0) if w0.any() else scale.loss
        pass_ = first_pass(objective, w0, scale.gamma, rng)
        natural = 0.5 * max(pass_.loss, 1e-6 * scale.loss, 1e-300)
        self.mu = self.first_mu = (at(self.settings.mu, 1) or natural) if self.is_smoothed else 0.0
        self.lipschitz: float | None = (natural / self.mu if self.mu else 1.0) / (_FIRST_L * scale.gamma)
        self.here = self._at(pass_.w if _usable(pass_.w) else w0, None)
        if not self._value(self.here) <= value:
            self.here = self._at(w0, self.here)
        self.before = self.here.w

    @property
    def loss(self) -> Loss:
        return smoothed(self.objective.loss, self.inner.smoothing, self.mu)

    def _at(self, w: FloatArray, before: InnerState | None) -> InnerState:
        """The inner solver at w, with the gradient of F_mu there."""
        if self.is_free:
            state: InnerState = self.inner.begin(self.objective, self.loss, w, self.lipschitz)
        else:
            state = self.inner.start(self.objective, self.loss, w, self.rng, None if self.is_guided else before)
            self.lipschitz = state.lipschitz
        if state.evaluation.dual is not None:
            self.dual = self.dual.towards(state.evaluation.dual, self.objective.penalty)
        return state

    def _value(self, state: InnerState) -> float:
        """F at the state's point. Where the smoothing does not see the max, stages ask for a pass of their own."""
        found = state.evaluation
        if found.objective is not None:
            return found.objective
        if not self.has_stages:
            return found.smoothed
        return value_at(self.objective, state.w)

    def state(self) -> Any:
        return {name: getattr(self, name) for name in _KEPT}

    def run(self) -> None:
        if self.monitor.resumed is None:
            value = self._value(self.here)
            is_over = self._report(value, self._kappa())
        else:
            (own, value), is_over = self.monitor.resumed, False
            vars(self).update(own)
        while not is_over:
            self.monitor.rest((self, value))
            self.k += 1
            self._follow_sequence()
            kappa, old, old_value = self._kappa(), self.here, value
            used = self._epoch(kappa)
            if used:
                self._shrink()
            value = self._value(self.here)
            self._end_stage(old, old_value, value)
            is_over = self._report(value, kappa)

    def _report(self, value: float, kappa: float) -> bool:
        found, gamma = self.here.evaluation, None
        if self.is_guided and self.lipschitz is not None:
            gamma = 1.0 / (self.lipschitz + self.objective.penalty.strong_convexity + kappa)
        return self.monitor.epoch(
            self.here.w,
            objective=value if found.objective is not None or self.has_stages else None,
            smoothed=found.smoothed,
            dual=self.dual,
            mu=self.mu or None,
            kappa=kappa,
            lipschitz=self.lipschitz,
            gamma=gamma,
            restarts=self.restarts,
        )

    def _follow_sequence(self) -> None:
        if self.is_smoothed and callable(self.settings.mu):
            mu = max(self.settings.mu(self.k - 1), SMALLEST_MU * self.first_mu)
            if mu != self.mu:
                self.mu = mu
                self.here = self._at(self.here.w, self.here)

    def _kappa(self) -> float:
        given = at(self.settings.kappa, max(self.k - 1, 1))
        if given is not None:
            return given
        lam, n = self.objective.penalty.strong_convexity, self.steps
        if self.lipschitz is None:
            return lam or 1.0 / n
        return kappa_of(self.lipschitz, lam, n)

    def _epoch(self, kappa: float) -> bool:
        """One subproblem and the extrapolation after it. Returns whether z moved."""
        end = self._solve(kappa)
        lam = self.objective.penalty.strong_convexity
        beta, alpha = extrapolation(self.alpha, self.settings.alpha0, lam, kappa)
        if end is not None:
            t = end.w
            z = nearest_allowed(self.objective.penalty, t + beta * (t - self.before)) if beta else t
            if _usable(z):
                new = self._at(z, end)
                if self._accept(new, t, alpha):
                    return True
            if beta:
                self.restarts += 1
                if self._accept(self._at(t, end), t, None):
                    return True
        self.alpha, self.before = None, self.here.w
        if self.is_free and self.lipschitz is not None:
            self.lipschitz *= 2.0
        return False

    def _solve(self, kappa: float) -> InnerState | None:
        """The end of the inner epochs; None where they led nowhere."""
        penalty = self.objective.penalty
        problem = self.objective.with_penalty(Proximal(penalty, kappa, self.here.w)) if kappa > 0.0 else self.objective
        state = InnerState(self.here.w, self.here.evaluation, self.lipschitz, memory=self.here.memory)
        for left in reversed(range(self.settings.inner_epochs)):
            try:
                if self.is_guided and left == 0:
                    w = self.inner.advance(problem, self.loss, state, self.rng)
                    state = InnerState(nearest_allowed(penalty, w), state.evaluation, state.lipschitz)
                else:
                    state = self.inner.epoch(problem, self.loss, state, self.rng)
            except FloatingPointError:
                return None
        if not self.is_guided:
            self.lipschitz = state.lipschitz
        return state if _usable(state.w) else None

    def _accept(self, new: InnerState, t: FloatArray, alpha: float | None) -> bool:
        """Takes the new point if F_mu has not risen, and learns from how much it fell."""
        old, found = self.here.evaluation, new.evaluation
        if not found.smoothed <= old.smoothed:
            return False
        assert old.gradient is not None
        penalty = self.objective.penalty
        promise = dot(old.gradient, self.here.w - new.w) + penalty.value(self.here.w) - penalty.value(new.w)
        gain = old.smoothed - found.smoothed
        if self.is_free and self.lipschitz is not None and promise > 0.0 and gain > 0.0:
            self.lipschitz *= _factor(gain / promise)
        self.here, self.before, self.alpha = new, t, alpha
        return True

    def _shrink(self) -> None:
        """A shorter z, where a look at a few examples and then F_mu say that it is better."""
        z, found = self.here.w, self.here.evaluation
        assert found.gradient is not None
        if self.k < self.next_ray or not is_too_long(self.objective, z, found.gradient):
            return
        length = shorter(self.objective, self.loss, z, found.gradient, self.rng)
        self.next_ray = self.k + _RAY_PAUSE
        if length == 1.0:
            return
        end = self._at(length * z, self.here)
        if end.evaluation.smoothed < found.smoothed:
            self.here, self.before, self.next_ray = end, length * self.before, self.k

    def _end_stage(self, old: InnerState, old_value: float, value: float) -> None:
        if not self.has_stages:
            return
        found = self.here.evaluation
        gain = old.evaluation.smoothed - found.smoothed
        self.slow = self.slow + 1 if gain < SLOW * (found.smoothed - value) else 0
        if (self.slow >= _PATIENCE or value > old_value) and self._may_sharpen(found.smoothed - value, value):
            self.slow = 0
            self.mu /= 2.0
            if self.is_free and self.lipschitz is not None:
                self.lipschitz *= 2.0
            self.here = self._at(self.here.w, self.here)

    def _may_sharpen(self, error: float, value: float) -> bool:
        """Not while smoothing costs next to nothing of what the certificate says is left to gain.

        A certificate is believed by the square of D / F: at first D is far too low.
        """
        bound = max(self.dual.value(self.objective.penalty), 0.0)
        believed = (bound / value) ** 2 if value > 0.0 else 0.0
        is_large = error >= _NEGLIGIBLE * believed * (value - bound)
        return is_large and self.mu > SMALLEST_MU * self.first_mu


def _factor(share: float) -> float:
    """Of L, when F_mu has fallen by this share of what the tangents promised."""
    return next((factor for above, factor in _FACTORS if share > above), _GREEDY)


def _usable(w: FloatArray) -> bool:
    return bool(np.isfinite(w).all()) and float(np.abs(w).max(initial=0.0)) < 1e100
