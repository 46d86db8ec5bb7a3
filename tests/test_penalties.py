"""Penalties: conjugates, primal points and proximal steps by brute force, one weight at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

import casimir as cs
from casimir.penalties import Penalty, Proximal, Quadratic, as_penalty
from casimir.penalties.separable import Separable
from casimir.scores import FloatArray

D = 5
STRENGTHS = np.array([0.2, 1.0, 3.0, np.inf, 0.7])
MASK = np.array([True, False, True, True, False])
CENTER = np.array([0.4, -1.2, 0.0, 0.9, -0.1])
PENALTIES: dict[str, Penalty] = {
    "ridge": cs.Ridge(0.3),
    "ridge-strengths": cs.Ridge(0.3, strengths=STRENGTHS),
    "ridge-nonnegative": cs.Ridge(0.3, nonnegative=MASK),
    "ridge-both": cs.Ridge(0.3, strengths=STRENGTHS, nonnegative=MASK),
    "ratio-0": cs.ElasticNet(0.4, 0.0),
    "elastic": cs.ElasticNet(0.4, 0.5),
    "elastic-both": cs.ElasticNet(0.4, 0.5, strengths=STRENGTHS, nonnegative=MASK),
    "l1": cs.ElasticNet(0.4, 1.0),
    "l1-strengths": cs.ElasticNet(0.4, 1.0, strengths=STRENGTHS),
    "l1-both": cs.ElasticNet(0.4, 1.0, strengths=STRENGTHS, nonnegative=MASK),
    "none": cs.Ridge(0.0),
    "none-nonnegative": cs.Ridge(0.0, nonnegative=MASK),
    "proximal-ridge": Proximal(cs.Ridge(0.3), 0.8, CENTER),
    "proximal-elastic": Proximal(cs.ElasticNet(0.4, 0.5, strengths=STRENGTHS, nonnegative=MASK), 0.8, CENTER),
    "proximal-l1": Proximal(cs.ElasticNet(0.4, 1.0, nonnegative=MASK), 0.8, CENTER),
    "proximal-none": Proximal(cs.Ridge(0.0), 0.8, CENTER),
    "proximal-twice": Proximal(Proximal(cs.ElasticNet(0.4, 0.5), 0.8, CENTER), 0.3, -2.0 * CENTER),
    "proximal-0": Proximal(cs.ElasticNet(0.4, 0.5), 0.0, CENTER),
}
STRONG = {name: penalty for name, penalty in PENALTIES.items() if penalty.strong_convexity > 0.0}
every_penalty = pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES)
every_strong = pytest.mark.parametrize("penalty", STRONG.values(), ids=STRONG)
vectors = st.lists(st.floats(-3.0, 3.0), min_size=D, max_size=D).map(np.array)


def base(penalty: Any) -> Any:
    return base(penalty.penalty) if isinstance(penalty, Proximal) else penalty


def limits(penalty: Any, j: int, reach: float = 200.0) -> tuple[float, float]:
    """The interval of w_j that is allowed, cut at `reach`."""
    own = base(penalty)
    if own.strengths is not None and np.isinf(own.strengths[j]):
        return 0.0, 0.0
    return 0.0 if own.nonnegative is not None and own.nonnegative[j] else -reach, reach


def r(penalty: Any, w: FloatArray) -> float:
    """R(w) by its formula, for allowed w."""
    if isinstance(penalty, Proximal):
        return r(penalty.penalty, w) + 0.5 * penalty.kappa * float(np.sum((w - penalty.center) ** 2))
    s = np.ones(D) if penalty.strengths is None else np.where(np.isinf(penalty.strengths), 0.0, penalty.strengths)
    l1 = getattr(penalty, "l1_ratio", 0.0)
    return float(penalty.lam * np.sum(s * (l1 * np.abs(w) + (1.0 - l1) * w**2 / 2.0)))


def minimised(penalty: Any, extra: Any) -> FloatArray:
    """argmin_w R(w) + sum_j extra(j, w_j) over allowed w: R is a sum over weights, so one weight at a time."""
    zero = np.zeros(D)
    found = np.zeros(D)
    for j in range(D):
        low, high = limits(penalty, j)

        def value(x: float, j: int = j) -> float:
            w = zero.copy()
            w[j] = x
            return r(penalty, w) + extra(j, x)

        if low < high:
            x = scipy.optimize.minimize_scalar(value, bounds=(low, high), method="bounded", options={"xatol": 1e-10}).x
            found[j] = min((x, 0.0, low, high), key=value)
    return found


def allowed(penalty: Any, w: FloatArray) -> FloatArray:
    bounds = np.array([limits(penalty, j) for j in range(D)])
    return np.clip(w, bounds[:, 0], bounds[:, 1])


@every_strong
def test_slopes_of_primal_points_are_those_of_differences(penalty: Any) -> None:
    h = 1e-6
    for g in np.random.default_rng(1).normal(size=(8, D)):
        differences = (penalty.primal(g + h) - penalty.primal(g - h)) / (2 * h)
        np.testing.assert_allclose(penalty.separable.primal_slope(g), differences, rtol=0, atol=1e-8)


@every_penalty
@given(w=vectors)
@settings(max_examples=20, deadline=None)
def test_values_are_the_formula(penalty: Any, w: FloatArray) -> None:
    w = allowed(penalty, w)
    assert penalty.value(w) == pytest.approx(r(penalty, w), abs=1e-12)


@every_strong
@given(g=vectors, w=vectors)
@settings(max_examples=20, deadline=None)
def test_fenchel_youngs_inequality_holds_and_is_tight_at_the_primal_point(
    penalty: Any, g: FloatArray, w: FloatArray
) -> None:
    w, best = allowed(penalty, w), penalty.primal(g)
    assert penalty.value(w) + penalty.conjugate(g) >= g @ w - 1e-9
    np.testing.assert_array_equal(best, allowed(penalty, best))
    assert penalty.value(best) + penalty.conjugate(g) == pytest.approx(float(g @ best), abs=1e-9)


@every_strong
def test_conjugates_and_primal_points_are_those_of_brute_force(penalty: Any) -> None:
    for g in np.random.default_rng(0).normal(size=(5, D)):
        w = minimised(penalty, lambda j, x, g=g: -g[j] * x)
        np.testing.assert_allclose(penalty.primal(g), w, atol=1e-6)
        assert penalty.conjugate(g) == pytest.approx(float(g @ w) - r(penalty, w), abs=1e-8)


@every_penalty
@pytest.mark.parametrize("t", [1e-2, 1.0, 30.0])
def test_proximal_steps_are_those_of_brute_force(penalty: Any, t: float) -> None:
    for w in np.random.default_rng(1).normal(size=(4, D)):
        wanted = minimised(penalty, lambda j, x, w=w: (x - w[j]) ** 2 / (2.0 * t))
        found = penalty.prox(w, t)
        np.testing.assert_allclose(found, wanted, atol=1e-5)
        np.testing.assert_array_equal(found, allowed(penalty, found))


@every_penalty
def test_domain_shares_are_the_largest_that_keep_the_conjugate_finite(penalty: Any) -> None:
    for g in np.random.default_rng(2).normal(size=(20, D)):
        t = penalty.domain_share(g)
        assert 0.0 <= t <= 1.0
        assert np.isfinite(penalty.conjugate(t * g))
        if penalty.strong_convexity > 0.0:
            assert t == 1.0
        elif t < 1.0:
            assert penalty.conjugate((t + 1e-6) * g) == np.inf


@pytest.mark.parametrize("name", ["l1", "l1-strengths", "l1-both"])
def test_conjugates_of_absolute_values_are_0_or_infinite(name: str) -> None:
    """R*(g) = 0 where |g_j| <= lam s_j (g_j <= lam s_j for w_j >= 0), else w can grow without end."""
    penalty: Any = PENALTIES[name]
    limit = np.full(D, 0.4) if penalty.strengths is None else 0.4 * STRENGTHS
    for g in np.random.default_rng(3).normal(size=(50, D)) * 0.4:
        reach = np.abs(g) if penalty.nonnegative is None else np.where(MASK, g, np.abs(g))
        assert penalty.conjugate(g) == (0.0 if np.all(reach <= limit) else np.inf)


def test_without_a_penalty_only_zero_is_feasible() -> None:
    free = cs.Ridge(0.0)
    assert free.conjugate(np.zeros(D)) == 0.0
    assert free.conjugate(np.full(D, 1e-3)) == np.inf
    assert (free.domain_share(np.zeros(D)), free.domain_share(np.ones(D))) == (1.0, 0.0)
    below = cs.Ridge(0.0, nonnegative=np.ones(D, dtype=bool))
    assert below.conjugate(-np.ones(D)) == 0.0  # over w >= 0
    assert below.domain_share(-np.ones(D)) == 1.0


@every_penalty
@given(a=vectors, b=vectors)
@settings(max_examples=20, deadline=None)
def test_strong_convexity_is_a_true_and_the_largest_bound(penalty: Any, a: FloatArray, b: FloatArray) -> None:
    a, b = allowed(penalty, a), allowed(penalty, b)
    chord = 0.5 * (penalty.value(a) + penalty.value(b)) - penalty.value(0.5 * (a + b))
    assert chord >= penalty.strong_convexity / 8.0 * float(np.sum((a - b) ** 2)) - 1e-9
    free = [j for j in range(D) if limits(penalty, j)[1] > 0.0]
    chords = []
    for j in free:
        far, near = np.zeros(D), np.zeros(D)
        far[j], near[j] = 3.0, 1.0
        chords.append(0.5 * (penalty.value(far) + penalty.value(near)) - penalty.value(0.5 * (far + near)))
    assert min(chords) == pytest.approx(penalty.strong_convexity / 8.0 * 4.0, abs=1e-12)


@every_penalty
def test_plain_squares_and_they_alone_say_so(penalty: Any) -> None:
    found = penalty.quadratic
    own = base(penalty)
    is_plain = own.strengths is None and own.nonnegative is None and getattr(own, "l1_ratio", 0.0) == 0.0
    assert (found is not None) == is_plain
    if found is not None:
        center = np.zeros(D) if found.center is None else found.center
        rng = np.random.default_rng(0)
        rest = [penalty.value(w) - 0.5 * found.sigma * np.sum((w - center) ** 2) for w in rng.normal(size=(4, D))]
        np.testing.assert_allclose(rest, rest[0], rtol=0, atol=1e-14)


@pytest.mark.parametrize("name", [name for name in PENALTIES if name.startswith("proximal")])
def test_a_proximal_penalty_is_the_same_by_its_weights(name: str) -> None:
    """The generic one, which asks the inner penalty, and `Separable.around`, which knows the formula."""
    generic: Any = PENALTIES[name]
    direct = generic.separable
    assert isinstance(direct, Separable)
    rng = np.random.default_rng(4)
    assert generic.strong_convexity == pytest.approx(direct.strong_convexity)
    first = allowed(generic, rng.normal(size=D))
    constant = generic.value(first) - direct.value(first)  # what two squares leave
    for w, g in rng.normal(size=(10, 2, D)):
        w = allowed(generic, w)
        assert generic.value(w) - direct.value(w) == pytest.approx(constant, abs=1e-12)
        assert direct.conjugate(g) - generic.conjugate(g) == pytest.approx(constant, abs=1e-12)
        np.testing.assert_allclose(generic.primal(g), direct.primal(g), atol=1e-12)
        np.testing.assert_allclose(generic.prox(w, 0.7), direct.prox(w, 0.7), atol=1e-12)


def test_special_cases_agree() -> None:
    rng = np.random.default_rng(5)
    ones = np.ones(D)
    pairs = [
        (cs.ElasticNet(0.4, 0.0), cs.Ridge(0.4)),
        (cs.Ridge(0.4, strengths=ones, nonnegative=ones < 0), cs.Ridge(0.4)),
        (cs.ElasticNet(0.2, 0.5, strengths=2.0 * ones), cs.ElasticNet(0.4, 0.5)),
    ]
    for a, b in pairs:
        assert a.strong_convexity == b.strong_convexity
        for w in rng.normal(size=(5, D)):
            assert a.value(w) == pytest.approx(b.value(w))
            assert a.conjugate(w) == pytest.approx(b.conjugate(w))
            np.testing.assert_allclose(a.primal(w), b.primal(w))
            np.testing.assert_allclose(a.prox(w, 0.3), b.prox(w, 0.3))


def test_fixed_weights_do_not_count_for_strong_convexity() -> None:
    assert cs.Ridge(0.5, strengths=[np.inf, 2.0]).strong_convexity == 1.0
    assert np.isfinite(cs.Ridge(0.5, strengths=[np.inf, np.inf]).strong_convexity)


def test_arguments_are_left_alone() -> None:
    for penalty in PENALTIES.values():
        w = np.random.default_rng(0).normal(size=D)
        before = w.copy()
        penalty.value(w), penalty.conjugate(w), penalty.domain_share(w), penalty.prox(w, 0.5)
        if penalty.strong_convexity > 0.0:
            penalty.primal(w)
        np.testing.assert_array_equal(w, before)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: cs.Ridge(-1.0), ValueError, "lam=-1.0; it must be a finite number, 0 or larger"),
        (lambda: cs.Ridge(np.nan), ValueError, "lam=nan"),
        (lambda: cs.Ridge(np.inf), ValueError, "lam=inf"),
        (lambda: cs.Ridge("big"), TypeError, "lam='big'; it must be a number"),
        (lambda: cs.Ridge(None), TypeError, "lam=None; it must be a number"),
        (lambda: cs.ElasticNet(0.1, 1.5), ValueError, "l1_ratio=1.5; it must be a number from 0"),
        (lambda: cs.ElasticNet(0.1, -0.5), ValueError, "l1_ratio=-0.5"),
        (lambda: cs.ElasticNet(0.1, np.nan), ValueError, "l1_ratio=nan"),
        (lambda: cs.ElasticNet(0.1, "half"), ValueError, "l1_ratio='half'"),
        (lambda: cs.ElasticNet(-0.1, 0.5), ValueError, "lam=-0.1"),
        (lambda: cs.Ridge(0.1, strengths=[1.0, 0.0]), ValueError, "strengths must be .* larger than 0"),
        (lambda: cs.Ridge(0.1, strengths=[1.0, -1.0]), ValueError, "strengths must be"),
        (lambda: cs.Ridge(0.1, strengths=[1.0, np.nan]), ValueError, "strengths must be"),
        (lambda: cs.Ridge(0.1, strengths=np.ones((2, 2))), ValueError, "strengths must be"),
        (lambda: cs.Ridge(0.1, nonnegative=[1, 0]), ValueError, r"nonnegative is int64\[2\]; it must be a bool array"),
        (lambda: cs.ElasticNet(0.1, 0.5, nonnegative=np.ones((1, 2), dtype=bool)), ValueError, "bool array"),
        (lambda: as_penalty("l2", 3), TypeError, r"penalty='l2'; it must be a number, or a penalty such as Ridge"),
        (lambda: as_penalty(True, 3), TypeError, "penalty=True; it must be a number"),
        (lambda: as_penalty(object(), 3), TypeError, "It has no strong_convexity, quadratic, value, conjugate"),
        (lambda: as_penalty(-0.5, 3), ValueError, "lam=-0.5"),
        (lambda: as_penalty(cs.Ridge(1.0, strengths=[1.0]), 3), ValueError, "strengths has 1 entries; the model has 3"),
    ],
)
def test_bad_arguments_are_refused(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


def test_penalties_show_what_they_are() -> None:
    assert repr(cs.Ridge(0.1)) == "Ridge(0.1)"
    assert repr(cs.Ridge(0.1, strengths=STRENGTHS)) == "Ridge(0.1, strengths=...)"
    assert repr(cs.ElasticNet(0.1, 0.25, nonnegative=MASK)) == "ElasticNet(0.1, 0.25, nonnegative=...)"
    assert as_penalty(np.float32(0.5), 3).quadratic == Quadratic(0.5, None)
