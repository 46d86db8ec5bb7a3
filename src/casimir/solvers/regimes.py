"""The parameter sequences of Casimir's outer loop (tab:catalyst_corollaries_summary)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0

Sequence = float | Callable[[int], float] | None


@dataclass(frozen=True)
class Regime:
    """kappa_k, mu_k and delta_k for k = 1, 2, ..., and alpha_0.

    lam > 0, constant:    kappa, mu, sqrt(q) / (2 - sqrt(q)), alpha_0 = sqrt(q), with q = lam / (lam + kappa)
    lam > 0, decreasing:  kappa, mu (1 - sqrt(q)/2)^(k/2), and the same delta, alpha_0
    lam = 0, constant:    kappa, mu, 1 / (k+1)^2, alpha_0 = (sqrt(5) - 1) / 2
    lam = 0, decreasing:  kappa k, mu / k, 1 / (k+1)^2, alpha_0 = (sqrt(5) - 1) / 2

    own_kappa, own_mu, own_delta    functions of k in the place of these
    own_alpha0                      a number in the place of alpha_0
    """

    lam: float
    kappa0: float
    mu0: float
    decreasing: bool
    own_kappa: Callable[[int], float] | None = None
    own_mu: Callable[[int], float] | None = None
    own_delta: Callable[[int], float] | None = None
    own_alpha0: float | None = None

    @property
    def q(self) -> float:
        return self.lam / (self.lam + self.kappa0)

    @property
    def alpha0(self) -> float:
        if self.own_alpha0 is not None:
            return self.own_alpha0
        return math.sqrt(self.q) if self.lam > 0.0 else GOLDEN

    def kappa(self, k: int) -> float:
        if self.own_kappa is not None:
            return self.own_kappa(k)
        return self.kappa0 * k if self.decreasing and self.lam == 0.0 else self.kappa0

    def mu(self, k: int) -> float:
        if self.own_mu is not None:
            return self.own_mu(k)
        if not self.decreasing:
            return self.mu0
        if self.lam > 0.0:
            return float(self.mu0 * (1.0 - math.sqrt(self.q) / 2.0) ** (k / 2.0))
        return self.mu0 / k

    def delta(self, k: int) -> float:
        if self.own_delta is not None:
            return self.own_delta(k)
        if self.lam > 0.0:
            return math.sqrt(self.q) / (2.0 - math.sqrt(self.q))
        return 1.0 / (k + 1.0) ** 2

    def next_alpha(self, alpha: float, k: int) -> float:
        return next_alpha_of(alpha, self.kappa(k) + self.lam, self.kappa(k + 1) + self.lam, self.lam)

    def beta(self, alpha: float, next_alpha: float, k: int) -> float:
        return beta_of(alpha, next_alpha, self.kappa(k) + self.lam, self.kappa(k + 1) + self.lam)


def next_alpha_of(alpha: float, scale: float, next_scale: float, lam: float) -> float:
    """alpha_k in (0, 1): alpha_k^2 (kappa_{k+1} + lam) = (1 - alpha_k) a^2 (kappa_k + lam) + alpha_k lam.

    a = alpha_{k-1} is given, and scale = kappa_k + lam.
    """
    c = alpha**2 * scale
    b = c - lam
    return (-b + math.sqrt(b * b + 4.0 * next_scale * c)) / (2.0 * next_scale)


def beta_of(alpha: float, next_alpha: float, scale: float, next_scale: float) -> float:
    """beta_k = a (1 - a) (kappa_k + lam) / (a^2 (kappa_k + lam) + alpha_k (kappa_{k+1} + lam)), a = alpha_{k-1}."""
    return alpha * (1.0 - alpha) * scale / (alpha**2 * scale + next_alpha * next_scale)


def extrapolation(alpha: float | None, alpha0: float | None, lam: float, kappa: float) -> tuple[float, float | None]:
    """(beta_k, alpha_k) for kappa_{k+1} = kappa_k. alpha None begins anew, at alpha0 or (sqrt(5) - 1) / 2.

    thm:catalyst:outer needs alpha_0 of at least sqrt(q), q = lam / (lam + kappa). Without a centre there is no step.
    """
    if kappa == 0.0:
        return 0.0, None
    scale = lam + kappa
    if alpha is None:
        alpha = max(GOLDEN if alpha0 is None else alpha0, math.sqrt(lam / scale))
    following = next_alpha_of(alpha, scale, scale, lam)
    return beta_of(alpha, following, scale, scale), following


def default_kappa(lipschitz: float, lam: float, n: int, decreasing: bool) -> float:
    """The kappa that minimises the total complexity with SVRG, given L = A_omega / mu.

    lam > 0, constant smoothing: L / n - lam if L / n > 4 lam, else lam (prop:c:total_compl_svrg_sc)
    lam > 0, decreasing:         lam (Sec. 7.3)
    lam = 0:                     L / (n + 1) (prop:c:total_compl_svrg_smooth)
    """
    if lam == 0.0:
        return lipschitz / (n + 1.0)
    if decreasing:
        return lam
    return lipschitz / n - lam if lipschitz / n > 4.0 * lam else lam


def kappa_of(lipschitz: float, lam: float, steps: int) -> float:
    """kappa = L / steps - lam for so many steps per subproblem, without the 4 of the proposition; 0: no centre."""
    return lipschitz / steps - lam if lipschitz / steps > 2.0 * lam else 0.0
