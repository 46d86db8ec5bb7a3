"""Casimir around SAGA without tuning and without full gradients: a table of every example's last answer.

    one pass of subgradient steps of Polyak's length gamma;  t = z = mean of its second half
    mu = mean loss of that half / 2;   L = 1 / (3 gamma) + 2 lam n
    the table holds the truth, so that all its gradients are 0
    every n/2 steps (a permutation runs on):
      kappa = 2 L/n - lam, or 0 where L/n <= lam
      steps of 1 / (L + lam + kappa) from z on F_mu + (kappa/2) |. - z|^2;   t = mean of the last half of the iterates
      z = t + beta (t - t_before)
    every pass, on the means of the losses that it met, which cost nothing:
      now and then, on 2 sqrt(n) examples: J = (F_mu(t) + F_mu(t_before)) / 2 - F_mu((t + t_before) / 2), what noise
          costs; L *= sqrt(J / (0.05 (F_mu - F))), no less than 0.8 and no more than 4
      the losses hardly fall along t: look for a shorter t
      F's gain < 0.3 (F_mu - F) twice running: mu /= 2, L *= 2;   F_mu rises by a tenth: L *= 2, beta restarts

The evaluation of t after a pass is for the certificate and the trace alone.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from casimir._arrays import aligned_zeros
from casimir.losses import Loss, smoothed
from casimir.objective import Objective
from casimir.penalties import Proximal, nearest_allowed
from casimir.scores import FloatArray, IntArray
from casimir.solvers.at_zero import scale_at_zero
from casimir.solvers.base import Monitor
from casimir.solvers.first_pass import FirstPass, first_pass, mean_loss
from casimir.solvers.ray import is_too_long, shorter
from casimir.solvers.regimes import extrapolation, kappa_of
from casimir.solvers.saga import Table
from casimir.solvers.smoothness import needs_smoothing
from casimir.solvers.steps import Seen
from casimir.solvers.untuned import SLOW, SMALLEST_MU, Settings, at, value_at

_FIRST_L, _OF_PENALTY = 3.0, 2.0  # L = 1 / (3 gamma) + 2 lam n
_FEWEST_STEPS = 32  # of half a pass
_PATIENCE = 2
_FIRST_LOOK, _OFTEN = 3, 4  # pass after which L is looked at first, and every so many passes,
_ASKED = 2.0  # on 2 sqrt(n) examples
_NOISE = 0.05  # of F_mu - F is what noise may cost: 0.02 to 0.07 at the best L on CoNLL-2003, news, multiclass
_FALL, _GROWTH = 0.8, 4.0  # of L at one look
_KEPT = (
    *("t", "t_before", "z", "mu", "first_mu", "lipschitz", "value", "smoothed_value", "table", "alpha", "slow", "k"),
    *("coming", "dual"),
)
_RISE = 1.1  # F_mu that rises by a tenth from pass to pass: steps are too long


class UntunedSAGA:
    """One run. t is the answer, z the next centre, t_before the t before the last."""

    def __init__(
        self, settings: Settings, objective: Objective, w0: FloatArray, monitor: Monitor, rng: np.random.Generator
    ) -> None:
        self.settings, self.inner, self.objective, self.monitor, self.rng = (
            settings,
            settings.inner,
            objective,
            monitor,
            rng,
        )
        self.is_smoothed = needs_smoothing(objective, self.inner.smoothing)
        self.has_stages = self.is_smoothed and settings.mu is None
        self.is_free = self.inner.lipschitz is None
        self.alpha: float | None = None
        self.slow, self.k = 0, 1
        self.steps = max(objective.n_active // 2, _FEWEST_STEPS)
        self.coming: IntArray = np.zeros(0, dtype=np.int64)  # the rest of the permutation
        self.dual = objective.trivial_dual()
        if monitor.resumed is None:
            self._begin(w0)

    def _begin(self, w0: FloatArray) -> None:
        objective = self.objective
        scale = scale_at_zero(objective)
        value = value_at(objective, w0) if w0.any() else scale.loss
        met = first_pass(objective, w0, scale.gamma, self.rng)
        is_better = bool(np.isfinite(met.w).all()) and self._first_value(met, w0) <= value
        self.t = self.t_before = self.z = met.w if is_better else w0
        natural = 0.5 * max(met.loss if is_better else value, 1e-6 * scale.loss, 1e-300)
        self.mu = self.first_mu = (at(self.settings.mu, 1) or natural) if self.is_smoothed else 0.0
        guess = (natural / self.mu if self.mu else 1.0) / (_FIRST_L * scale.gamma)
        strong = _OF_PENALTY * objective.penalty.strong_convexity * objective.n_active
        self.lipschitz: float = self.inner.lipschitz or guess + strong
        self.value, self.smoothed_value = math.inf, math.inf
        self.table = _at_the_truth(objective, self.loss)

    def _first_value(self, met: FirstPass, w0: FloatArray) -> float:
        """F after the first pass; against a start of the user's the losses that it met are too rough a measure."""
        return value_at(self.objective, met.w) if w0.any() else met.loss + self.objective.penalty.value(met.w)

    @property
    def loss(self) -> Loss:
        return smoothed(self.objective.loss, self.inner.smoothing, self.mu)

    def state(self) -> Any:
        return {name: getattr(self, name) for name in _KEPT}

    def run(self) -> None:
        kappa, is_over = 0.0, False
        if self.monitor.resumed is None:
            is_over = self._report(self._kappa())
        else:
            vars(self).update(self.monitor.resumed)
        while not is_over:
            self.monitor.rest(self)
            self.k += 1
            if self.is_smoothed and callable(self.settings.mu):
                self.mu = max(self.settings.mu(self.k - 1), SMALLEST_MU * self.first_mu)
            seen = Seen(0.0, 0.0, 0.0)
            for _ in range(2 * self.settings.inner_epochs):
                kappa = self._kappa()
                seen = seen.plus(self._half_pass(kappa))
            value, smoothed_value = self._met(seen, 2 * self.settings.inner_epochs * self.steps)
            if self.is_free and (self.k == _FIRST_LOOK or self.k % _OFTEN == 0):
                gain = self.smoothed_value - smoothed_value
                self._adapt(_NOISE * (smoothed_value - value if self.is_smoothed else gain))
            self._judge(value, smoothed_value)
            is_over = self._report(kappa)

    def _report(self, kappa: float) -> bool:
        """An evaluation of its own: nothing in it is used by the steps."""
        if not self.monitor.is_due:
            self.monitor.skip()
            return False
        found = self.objective.evaluate(self.t, self.loss, count="evaluations")
        if found.dual is not None:
            self.dual = self.dual.towards(found.dual, self.objective.penalty)
        return self.monitor.epoch(
            self.t,
            objective=found.objective,
            smoothed=found.smoothed,
            dual=self.dual,
            mu=self.mu or None,
            kappa=kappa,
            lipschitz=self.lipschitz,
            gamma=1.0 / (self.lipschitz + self.objective.penalty.strong_convexity + kappa),
        )

    def _kappa(self) -> float:
        given = at(self.settings.kappa, max(self.k - 1, 1))
        if given is not None:
            return given
        lam = self.objective.penalty.strong_convexity
        return kappa_of(self.lipschitz, lam, self.steps)

    def _half_pass(self, kappa: float) -> Seen:
        penalty = self.objective.penalty
        problem = self.objective.with_penalty(Proximal(penalty, kappa, self.z)) if kappa > 0.0 else self.objective
        order = self._next_examples()
        swept: tuple[FloatArray, Seen] = self.inner.sweep(problem, self.loss, self.z, order, self.lipschitz, self.table)
        t, seen = nearest_allowed(penalty, swept[0]), swept[1]
        beta, self.alpha = extrapolation(self.alpha, self.settings.alpha0, penalty.strong_convexity, kappa)
        self.t_before, self.t = self.t, t
        self.z = nearest_allowed(penalty, t + beta * (t - self.t_before))
        return seen

    def _next_examples(self) -> IntArray:
        """One permutation runs on after another."""
        while len(self.coming) < self.steps:
            self.coming = np.concatenate([self.coming, self.objective.permutation(self.rng)])
        order, self.coming = self.coming[: self.steps], self.coming[self.steps :]
        return order

    def _met(self, seen: Seen, steps: int) -> tuple[float, float]:
        """(F, F_mu), about, by the losses that the pass has met on its way and the penalty at its end."""
        penalty = self.objective.penalty.value(self.t)
        value, smoothed_value = seen.max_loss / steps + penalty, seen.loss / steps + penalty
        if self.is_smoothed and not math.isfinite(value):  # the smoothing does not see the max
            value = value_at(self.objective, self.t)
        return value, smoothed_value

    def _adapt(self, allowed: float) -> None:
        """L by the noise of t, on a few examples: what their mean is better than t and the t before."""
        objective, loss = self.objective, self.loss
        few = objective.permutation(self.rng)[: math.ceil(_ASKED * math.sqrt(objective.n_active))]
        problem, penalty = objective.problem(loss.smoothing), objective.penalty
        at_t, at_before, between = (
            mean_loss(problem, few, loss, w) + penalty.value(w)
            for w in (self.t, self.t_before, 0.5 * (self.t + self.t_before))
        )
        objective.count("searches", 3 * len(few))
        noise = max(0.5 * (at_t + at_before) - between, 0.0)
        self.lipschitz *= min(max(math.sqrt(noise / allowed), _FALL), _GROWTH) if allowed > 0.0 else 1.0

    def _judge(self, value: float, smoothed_value: float) -> None:
        """Stages and lengths."""
        objective, rng = self.objective, self.rng
        if self.is_free and not smoothed_value <= _RISE * self.smoothed_value:
            self.lipschitz, self.alpha, self.z = 2.0 * self.lipschitz, None, self.t
        if self.has_stages:
            gain = self.value - value
            self.slow = self.slow + 1 if gain < SLOW * (smoothed_value - value) else 0
        self.value, self.smoothed_value = value, smoothed_value
        if is_too_long(objective, self.t, self.table.mean):
            length = shorter(objective, self.loss, self.t, self.table.mean, rng)
            self.t, self.t_before, self.z = length * self.t, length * self.t_before, length * self.z
        if self.slow >= _PATIENCE and self.mu > SMALLEST_MU * self.first_mu:
            self.slow, self.mu = 0, self.mu / 2.0
            if self.is_free:
                self.lipschitz *= 2.0


def _at_the_truth(objective: Objective, loss: Loss) -> Table:
    problem = objective.problem(loss.smoothing)
    marginals = np.zeros(problem.marginal_offset(objective.n_examples))
    for i in objective.examples.tolist():
        marginals[problem.marginal_offset(i) : problem.marginal_offset(i + 1)] = problem.truth(i)
    return Table(marginals, aligned_zeros(objective.n_params))
