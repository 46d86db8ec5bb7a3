"""Excessive gap reduction: a primal and a dual point that approach each other while the smoothing fades."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from casimir._validate import positive_float
from casimir.duality import DualPoint
from casimir.losses import FenchelYoung
from casimir.objective import Objective
from casimir.penalties import require
from casimir.persistence.state import keeps
from casimir.scores import FloatArray
from casimir.smoothing import Entropy
from casimir.solvers.base import Monitor

_SHORTER, _LONGER = 2.0, 0.95  # times L: after a step that broke the invariant, after one that did not
_ROUNDING = 1e-11  # of the invariant
_SHORTEST = 1e-7  # tau that still moves anything


@dataclass(frozen=True)
class ExcessiveGap:
    """F_mu(w) - mu B <= D(u) holds throughout, while mu falls by (1 - tau) a step: then F(w) - D(u) <= mu B.

        u'   = (1 - tau) u + tau u_mu(w),    u_mu(w) the weights of the exp oracle at w and mu
        w   <- (1 - tau) w + tau argmin_w R(w) + <g(u'), w>
        mu  <- (1 - tau) mu
        u   <- (1 - tau) u + tau u_mu(w),    at the new w and mu;      tau^2 / (1 - tau) = mu / L

    The algorithm of Zhang et al. (2014) with the entropy, after Nesterov (2005). The new weights of their dual step,
    u_mu(w) exp(gradient) / Z, are those of the oracle at the new w and mu, so that an iteration is one pass, and u is
    kept by its mean (g, ell) alone. B is what makes the invariant hold at the start. After k steps
    F - D <= 4 B L / (k + 2 sqrt(L / mu_0))^2.

    lipschitz  L, which A_omega / c with the strong convexity c of R is always enough for. None: shorter steps, by a
               larger L, wherever the invariant would break, and longer ones after that

    Needs a hinge loss, Structure.expect and a strongly convex penalty. Any w0 will do.
    """

    lipschitz: float | None = None

    def __post_init__(self) -> None:
        if self.lipschitz is not None:
            positive_float(self.lipschitz, "lipschitz")

    def run(self, objective: Objective, w0: FloatArray, monitor: Monitor, rng: np.random.Generator) -> None:
        if objective.dual_variables != "outputs":
            raise TypeError(
                f"ExcessiveGap smooths a hinge loss, and {type(objective.loss).__name__} is smooth already. Use "
                "DualProximal(), LBFGS() or Casimir()."
            )
        objective.check_convex("ExcessiveGap")
        require(objective.penalty, "ExcessiveGap", strongly_convex=True)
        pair = monitor.resumed or Pair.start(objective, w0, self.lipschitz)
        while True:
            monitor.rest(pair)
            following = pair.step(objective, self.lipschitz is None)
            if following is None:  # nothing moves any more
                while not monitor.is_due:
                    monitor.skip()
            else:
                pair = following
            if not monitor.is_due:
                monitor.skip()
            elif monitor.epoch(pair.w, smoothed=pair.smoothed, dual=pair.dual, mu=pair.mu, lipschitz=pair.lipschitz):
                return
            if following is None:
                return


@keeps
@dataclass(frozen=True, eq=False)
class Pair:
    """w         float64[d]: the primal point
    dual      (g, ell) of the dual point u
    mu        level of smoothing
    answer    (g, ell) of u_mu(w), the weights of the oracle at w
    smoothed  F_mu(w)
    bound     B of the invariant F_mu(w) - mu B <= D(u)
    lipschitz L of the next step
    """

    w: FloatArray
    dual: DualPoint
    mu: float
    answer: DualPoint
    smoothed: float
    bound: float
    lipschitz: float

    @classmethod
    def start(cls, objective: Objective, w0: FloatArray, lipschitz: float | None) -> Pair:
        """u is the best point between the truth and u_mu(w0); mu is F(w0) - D(u), with u of the max oracle."""
        hard = objective.evaluate(w0, count="searches")
        assert hard.objective is not None
        assert hard.dual is not None
        dual, penalty = objective.trivial_dual().towards(hard.dual, objective.penalty), objective.penalty
        mu = max(hard.objective - dual.value(penalty), 1e-8)
        smoothed, answer = _ask(objective, w0, mu)
        dual = dual.towards(answer, penalty)
        bound = (smoothed - dual.value(penalty)) / mu
        return cls(w0, dual, mu, answer, smoothed, bound, mu if lipschitz is None else lipschitz)

    def step(self, objective: Objective, is_searched: bool) -> Pair | None:
        """The next pair; None where no step that is long enough to matter keeps the invariant."""
        lipschitz = self.lipschitz
        while True:
            tau = step_length(self.mu / lipschitz)
            if tau < _SHORTEST:
                return None
            following = self._moved(objective, tau, lipschitz)
            if not is_searched:
                return following
            if following.excess(objective) <= 0.0:
                return replace(following, lipschitz=_LONGER * lipschitz)
            lipschitz *= _SHORTER

    def excess(self, objective: Objective) -> float:
        """F_mu(w) - mu B - D(u), less what rounding may add: at most 0 where the invariant holds."""
        dual = self.dual.value(objective.penalty)
        size = abs(self.smoothed) + self.mu * self.bound + abs(dual)
        return self.smoothed - self.mu * self.bound - dual - _ROUNDING * size

    def _moved(self, objective: Objective, tau: float, lipschitz: float) -> Pair:
        towards = objective.penalty.primal(-self.dual.mixed(self.answer, tau).g)
        w, mu = self.w + tau * (towards - self.w), (1.0 - tau) * self.mu
        smoothed, answer = _ask(objective, w, mu)
        return Pair(w, self.dual.mixed(answer, tau), mu, answer, smoothed, self.bound, lipschitz)


def step_length(ratio: float) -> float:
    """tau with tau^2 / (1 - tau) = ratio."""
    return 2.0 / (1.0 + math.sqrt(1.0 + 4.0 / ratio))


def _ask(objective: Objective, w: FloatArray, mu: float) -> tuple[float, DualPoint]:
    """F_mu(w), and the dual point of the oracle's weights."""
    found = objective.evaluate(w, FenchelYoung(Entropy(), mu, objective.loss.cost))
    assert found.dual is not None
    return found.smoothed, found.dual
