"""The parameter sequences of Casimir's outer loop keep the equations that define them."""

from __future__ import annotations

import math

import pytest

from casimir.solvers.regimes import Regime, default_kappa

REGIMES = [
    Regime(lam, kappa, 2.0, decreasing)
    for lam in (0.0, 0.01, 1.0)
    for kappa in (0.3, 20.0)
    for decreasing in (False, True)
]


@pytest.mark.parametrize("regime", REGIMES, ids=repr)
def test_alphas_solve_their_equation_and_do_not_grow(regime: Regime) -> None:
    alpha = regime.alpha0
    assert 0.0 < alpha < 1.0
    assert alpha**2 >= regime.lam / (regime.lam + regime.kappa(1)) - 1e-15  # thm:catalyst:outer
    for k in range(1, 60):
        new = regime.next_alpha(alpha, k)
        left = new**2 * (regime.kappa(k + 1) + regime.lam)
        right = (1.0 - new) * alpha**2 * (regime.kappa(k) + regime.lam) + new * regime.lam
        assert left == pytest.approx(right, rel=1e-12)
        assert 0.0 < new <= alpha * (1.0 + 1e-12)
        beta = regime.beta(alpha, new, k)
        scale, next_scale = regime.kappa(k) + regime.lam, regime.kappa(k + 1) + regime.lam
        assert beta == pytest.approx(alpha * (1 - alpha) * scale / (alpha**2 * scale + new * next_scale), rel=1e-12)
        assert 0.0 <= beta < 1.0
        alpha = new


@pytest.mark.parametrize("regime", REGIMES, ids=repr)
def test_parameters_are_in_the_range_of_the_theorem(regime: Regime) -> None:
    for k in range(1, 60):
        assert 0.0 <= regime.delta(k) < 1.0
        assert 0.0 < regime.kappa(k) <= regime.kappa(k + 1)
        assert 0.0 < regime.mu(k + 1) <= regime.mu(k)


def test_the_strongly_convex_regime_is_stationary() -> None:
    """alpha_k = sqrt(q) and beta_k = (1 - sqrt(q)) / (1 + sqrt(q)) throughout."""
    regime = Regime(lam=0.1, kappa0=0.8, mu0=1.0, decreasing=False)
    root = math.sqrt(0.1 / 0.9)
    assert regime.alpha0 == pytest.approx(root)
    assert regime.next_alpha(root, 3) == pytest.approx(root)
    assert regime.beta(root, root, 3) == pytest.approx((1 - root) / (1 + root))
    assert regime.delta(7) == pytest.approx(root / (2 - root))
    assert regime.mu(7) == 1.0


def test_decreasing_smoothing() -> None:
    strong = Regime(lam=0.1, kappa0=0.1, mu0=2.0, decreasing=True)
    assert strong.mu(4) == pytest.approx(2.0 * (1 - math.sqrt(0.5) / 2) ** 2)
    assert strong.kappa(4) == 0.1
    weak = Regime(lam=0.0, kappa0=0.1, mu0=2.0, decreasing=True)
    assert (weak.mu(4), weak.kappa(4), weak.delta(4)) == (0.5, 0.4, 0.04)
    assert weak.alpha0 == pytest.approx((math.sqrt(5) - 1) / 2)


def test_kappa_minimises_the_total_complexity() -> None:
    """prop:c:total_compl_svrg_sc, its lam = 0 sibling, and kappa = lam for decreasing smoothing."""
    assert default_kappa(100.0, 0.1, 10, False) == pytest.approx(10.0 - 0.1)
    assert default_kappa(4.0, 0.1, 10, False) == 0.1  # L / n = 4 lam
    assert default_kappa(4.1, 0.1, 10, False) == pytest.approx(0.31)
    assert default_kappa(100.0, 0.1, 10, True) == 0.1
    assert default_kappa(100.0, 0.0, 9, False) == 10.0
