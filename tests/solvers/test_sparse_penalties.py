"""Absolute values, strengths and masks: every solver keeps dual <= min F <= objective, and zeros are exact."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from problems import chain_parts, crf_optimum, listed, tiny_parts
from scipy.special import logsumexp

import casimir as cs
from casimir.scores import FloatArray

LAM, D = 0.1, 28
USED = sum(np.abs(A).sum(axis=0) for A, _ in listed(tiny_parts())) > 0
STRENGTHS = np.where(USED, np.random.default_rng(0).choice([0.3, 1.0, 2.5, np.inf], D), 1.0)
MASK = np.random.default_rng(1).random(D) < 0.5
PENALTIES: dict[str, Any] = {
    "elastic": cs.ElasticNet(LAM, 0.5),
    "elastic-strengths": cs.ElasticNet(LAM, 0.5, strengths=STRENGTHS),
    "elastic-nonnegative": cs.ElasticNet(LAM, 0.5, nonnegative=MASK),
    "l1": cs.ElasticNet(LAM, 1.0),
    "l1-nonnegative": cs.ElasticNet(LAM, 1.0, nonnegative=MASK),
    "l1-both": cs.ElasticNet(LAM, 1.0, strengths=STRENGTHS, nonnegative=MASK),
    "ridge-both": cs.Ridge(LAM, strengths=STRENGTHS, nonnegative=MASK),
}
SOLVERS: dict[str, tuple[Any, int, float]] = {
    "dual": (cs.DualProximal(), 500, 5e-3),
    "bcfw": (cs.BCFW(), 1000, 2e-2),
    "bcfw-pairwise": (cs.BCFW(pairwise=True), 1000, 1e-2),
    "sgd": (cs.SGD(cs.InverseRoot(0.3)), 1000, 3e-2),
    "svrg": (cs.SVRG(cs.L2(), mu=0.02), 1000, 3e-2),
    "saga": (cs.SAGA(cs.L2(), mu=0.05), 700, 6e-2),
    "lbfgs": (cs.LBFGS(mu=0.01), 500, 3e-2),
    "descent": (cs.GradientDescent(mu=0.05), 500, 5e-2),
    "casimir": (cs.Casimir(cs.SVRG(cs.L2(), mu=0.02)), 500, 3e-2),
}


def weights_of(name: str) -> tuple[FloatArray, FloatArray, list[tuple[float | None, float | None]]]:
    """l1 and l2 of every weight, and its bounds."""
    penalty = PENALTIES[name]
    s = np.ones(D) if penalty.strengths is None else penalty.strengths
    fixed, kept = np.isinf(s), np.zeros(D, dtype=bool) if penalty.nonnegative is None else penalty.nonnegative
    ratio = getattr(penalty, "l1_ratio", 0.0)
    bounds = [(0.0 if low or stuck else None, 0.0 if stuck else None) for low, stuck in zip(kept, fixed, strict=True)]
    scale = LAM * np.where(fixed, 0.0, s)
    return ratio * scale, (1.0 - ratio) * scale, bounds


@cache
def optimum(name: str) -> float:
    """min F over (w+, w-, slack), w = w+ - w-, by listing outputs: a linear programme, or SLSQP with squares."""
    l1, l2, bounds = weights_of(name)
    lists = listed(tiny_parts())
    n = len(lists)
    rows = [np.hstack([A, -A, -np.eye(n)[[i]].repeat(len(A), axis=0)]) for i, (A, _) in enumerate(lists)]
    A, b = np.concatenate(rows), -np.concatenate([ell for _, ell in lists])
    split = [(0.0, high) for _, high in bounds] + [(0.0, 0.0 if low == 0.0 else None) for low, _ in bounds]
    linear = np.concatenate([l1, l1, np.full(n, 1.0 / n)])
    found: Any
    if not l2.any():
        found = scipy.optimize.linprog(linear, A_ub=A, b_ub=b, bounds=split + [(0.0, None)] * n)
        assert found.success
        return float(found.fun)

    def value(x: FloatArray) -> tuple[float, FloatArray]:
        w = x[:D] - x[D : 2 * D]
        return float(linear @ x + 0.5 * l2 @ w**2), linear + np.concatenate([l2 * w, -l2 * w, np.zeros(n)])

    start = np.concatenate([np.zeros(2 * D), [ell.max() for _, ell in lists]])
    constraint = {"type": "ineq", "fun": lambda x: b - A @ x, "jac": lambda x: -A}
    found = scipy.optimize.minimize(
        value,
        start,
        jac=True,
        bounds=split + [(0.0, None)] * n,
        constraints=[constraint],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 2000},
    )
    assert found.success
    return float(found.fun)


def cases() -> list[tuple[str, str]]:
    """BCFW needs strong convexity."""
    strong = {name for name, penalty in PENALTIES.items() if penalty.strong_convexity > 0.0}
    return [(p, s) for p in PENALTIES for s in SOLVERS if p in strong or not s.startswith("bcfw")]


@pytest.mark.parametrize(("penalty", "solver"), cases())
def test_the_optimum_lies_between_the_dual_and_the_objective(penalty: str, solver: str) -> None:
    best, (method, epochs, within) = optimum(penalty), SOLVERS[solver]
    objective = tiny_parts().objective(PENALTIES[penalty])
    result = cs.minimize(
        objective,
        method,
        epochs=epochs,
        tol=1e-3,
        callbacks=[lambda row, w: row.objective <= best * (1.0 + within / 2)],
    )
    assert result.dual <= best + 1e-7
    assert best - 1e-7 <= result.objective <= best * (1.0 + within)
    assert result.objective == pytest.approx(objective.value(result.w), rel=1e-10)
    assert result.objective - result.dual >= result.objective - best - 1e-7
    _, _, bounds = weights_of(penalty)
    for w, (low, high) in zip(result.w, bounds, strict=True):
        assert low is None or w >= low
        assert high is None or w <= high


@pytest.mark.parametrize("penalty", PENALTIES)
def test_proximal_dual_steps_certify_any_penalty(penalty: str) -> None:
    result = cs.minimize(tiny_parts().objective(PENALTIES[penalty]), cs.DualProximal(), epochs=2000, tol=1e-3)
    assert result.converged


@pytest.mark.parametrize("penalty", ["l1", "l1-nonnegative", "elastic"])
@pytest.mark.parametrize("native", [True, False])
def test_optima_with_absolute_values_have_exact_zeros(penalty: str, native: bool) -> None:
    """Proximal steps and dual points give zeros that are 0.0, and the others are those of the optimum."""
    objective = tiny_parts().objective(PENALTIES[penalty], "crf", native=native)
    best = cs.minimize(objective, cs.LBFGS(), epochs=1000, tol=1e-9)
    support = np.flatnonzero(best.w)
    assert 0 < len(support) < 0.8 * USED.sum()
    for solver in (cs.GradientDescent(), cs.SVRG(), cs.SAGA()):
        result = cs.minimize(objective, solver, epochs=600, tol=1e-8)
        assert np.flatnonzero(result.w).tolist() == support.tolist()
        np.testing.assert_allclose(result.w, best.w, atol=1e-3)


def test_a_large_penalty_of_absolute_values_leaves_nothing() -> None:
    """0 is optimal once lam is at least the largest entry of the gradient there."""
    parts = tiny_parts()
    gradient = parts.objective(0.0, "crf").evaluate(np.zeros(D)).gradient
    assert gradient is not None
    limit = float(np.abs(gradient).max())
    for solver in (cs.LBFGS(), cs.GradientDescent(), cs.SVRG(), cs.SAGA(), cs.Casimir()):
        none = cs.minimize(parts.objective(cs.ElasticNet(1.01 * limit, 1.0), "crf"), solver, epochs=200, tol=1e-9)
        np.testing.assert_array_equal(none.w, 0.0)
        assert none.converged
        some = cs.minimize(parts.objective(cs.ElasticNet(0.9 * limit, 1.0), "crf"), solver, epochs=200, tol=1e-6)
        assert some.w.any()


def crf_elastic_optimum(name: str) -> float:
    """By L-BFGS-B on (w+, w-), which are 0 or larger."""
    l1, l2, bounds = weights_of(name)
    lists = [A for A, _ in listed(tiny_parts())]

    def value(x: FloatArray) -> tuple[float, FloatArray]:
        w = x[:D] - x[D:]
        z = [A @ w for A in lists]
        total = np.mean([logsumexp(each) for each in z]) + 0.5 * l2 @ w**2 + l1 @ x[:D] + l1 @ x[D:]
        slope = sum(np.exp(each - logsumexp(each)) @ A for each, A in zip(z, lists, strict=True)) / len(lists) + l2 * w
        return float(total), np.concatenate([slope + l1, l1 - slope])

    split = [(0.0, high) for _, high in bounds] + [(0.0, 0.0 if low == 0.0 else None) for low, _ in bounds]
    options = {"ftol": 1e-15, "gtol": 1e-11, "maxiter": 10_000}
    found = scipy.optimize.minimize(value, np.zeros(2 * D), jac=True, method="L-BFGS-B", bounds=split, options=options)
    return float(found.fun)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize(
    "solver", [cs.LBFGS(), cs.GradientDescent(), cs.SVRG(), cs.SAGA(), cs.Casimir()], ids=lambda s: type(s).__name__
)
def test_smooth_losses_are_certified_with_any_penalty(penalty: str, solver: Any) -> None:
    best = crf_elastic_optimum(penalty)
    result = cs.minimize(tiny_parts().objective(PENALTIES[penalty], "crf"), solver, epochs=1000, tol=1e-5)
    assert result.converged
    assert result.dual - 1e-9 <= best <= result.objective + 1e-9


def test_lbfgs_takes_few_iterations_where_only_strengths_differ() -> None:
    """Squares let weights change their sign, so no orthant holds them."""
    strengths = np.random.default_rng(3).uniform(0.9, 1.1, D)
    parts = tiny_parts()
    rounds = [
        len(cs.minimize(parts.objective(penalty, "crf"), cs.LBFGS(), epochs=200, tol=1e-8).trace)
        for penalty in (cs.Ridge(0.01), cs.Ridge(0.01, strengths=strengths))
    ]
    assert rounds[1] <= 2 * rounds[0] + 5


def test_brute_force_agrees_with_itself_without_absolute_values() -> None:
    """crf_elastic_optimum on a plain ridge is crf_optimum."""
    PENALTIES["plain"] = cs.Ridge(LAM)
    try:
        assert crf_elastic_optimum("plain") == pytest.approx(crf_optimum(tiny_parts(), LAM), abs=1e-8)
    finally:
        del PENALTIES["plain"]


def test_averages_of_dual_points_certify_absolute_values_alone_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    """There R* is infinite beyond some g, which single dual points keep passing by a little."""

    def gap() -> float:
        return cs.minimize(chain_parts(n=20).objective(cs.ElasticNet(0.02, 1.0)), cs.DualProximal(), 40, 0.0).gap

    averaged = gap()
    monkeypatch.setattr("casimir.solvers.dual_proximal.has_bounded_dual", lambda objective: False)
    assert averaged < 0.7 * gap()
