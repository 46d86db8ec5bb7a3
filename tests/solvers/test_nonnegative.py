"""Weights that a penalty keeps non-negative stay so, and the certificate is that of the constrained problem."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize

import casimir as cs

LAM = 0.2
MASK = np.array([True, False, True, True, False])


def problem(mask: Any = MASK, native: bool = True) -> tuple[cs.Objective, list[np.ndarray], list[np.ndarray]]:
    """Multiclass examples with dense features and a 0/1 cost; the costs are returned too."""
    rng = np.random.default_rng(3)
    features = [rng.normal(size=(4, 5)) - 0.8 for _ in range(6)]
    y = [np.array([k % 4]) for k in range(6)]
    for f, true in zip(features, y, strict=True):
        f[true[0], 0] -= 2.0  # so that the first weight would like to be negative
    model = cs.LinearCandidateModel(features)
    costs = [1.0 - np.eye(4)[true[0]] for true in y]
    return (
        cs.Objective(model, cs.Candidates(), cs.Hamming(), y, cs.Ridge(LAM, nonnegative=mask), native=native),
        features,
        costs,
    )


def constrained_optimum() -> float:
    """min F as a quadratic programme in (w, slack), by SciPy."""
    objective, features, costs = problem()
    n, d = len(features), 5
    rows, limits = [], []
    for i, (f, cost) in enumerate(zip(features, costs, strict=True)):
        for j in range(len(f)):  # slack_i >= cost_j + <w, f_j - f_y>
            slack = np.eye(n)[i]
            rows.append(np.concatenate([f[objective.y[i][0]] - f[j], slack]))
            limits.append(cost[j])
    bounds = [(0.0 if kept else None, None) for kept in MASK] + [(0.0, None)] * n
    found = scipy.optimize.minimize(
        lambda x: x[d:].mean() + 0.5 * LAM * x[:d] @ x[:d],
        np.concatenate([np.zeros(d), np.ones(n)]),
        jac=lambda x: np.concatenate([LAM * x[:d], np.full(n, 1.0 / n)]),
        bounds=bounds,
        constraints=[{"type": "ineq", "fun": lambda x: np.array(rows) @ x - limits, "jac": lambda x: np.array(rows)}],
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert found.success
    return float(found.fun)


SOLVERS = {
    "dual": (cs.DualProximal(), 300, 1e-4),
    "bcfw-pairwise": (cs.BCFW(pairwise=True), 300, 1e-4),
    "bcfw": (cs.BCFW(), 1000, 5e-3),
    "sgd": (cs.SGD(), 1000, 2e-2),
    "lbfgs": (cs.LBFGS(mu=1e-3), 300, 1e-2),
    "descent": (cs.GradientDescent(mu=1e-2), 500, 2e-2),
    "svrg": (cs.SVRG(cs.L2(), mu=1e-2), 500, 2e-2),
    "saga": (cs.SAGA(cs.L2(), mu=1e-2), 500, 2e-2),
    "casimir-svrg": (cs.Casimir(cs.SVRG(cs.L2(), mu=1e-2)), 300, 2e-2),
    "casimir-lbfgs": (cs.Casimir(cs.LBFGS(mu=1e-3)), 300, 1e-2),
}


def check(objective: cs.Objective, name: str) -> None:
    solver, epochs, within = SOLVERS[name]
    best, result = constrained_optimum(), cs.minimize(objective, solver, epochs=epochs, tol=1e-6)
    assert np.all(result.w[MASK] >= 0.0)
    assert result.dual <= best + 1e-7
    assert best - 1e-7 <= result.objective <= best * (1.0 + within)
    assert result.objective == pytest.approx(objective.value(result.w))


@pytest.mark.parametrize("name", SOLVERS)
def test_solvers_reach_the_constrained_optimum(name: str) -> None:
    check(problem()[0], name)


@pytest.mark.parametrize("name", ["dual", "bcfw-pairwise", "lbfgs"])
def test_composed_solvers_reach_the_constrained_optimum(name: str) -> None:
    check(problem(native=False)[0], name)


@pytest.mark.parametrize("name", SOLVERS)
def test_fused_and_composed_runs_are_the_same(name: str) -> None:
    solver, _, _ = SOLVERS[name]
    if isinstance(solver, cs.DualProximal):
        solver = cs.DualProximal(cs.BCFW(pairwise=True, cached_passes=1))
    fused, composed = (cs.minimize(problem(native=native)[0], solver, epochs=5, tol=0.0) for native in (True, False))
    np.testing.assert_allclose(fused.w, composed.w, rtol=0, atol=1e-9)
    for column in ("oracle_calls", "objective", "dual"):
        np.testing.assert_allclose(fused.trace[column], composed.trace[column], rtol=0, atol=1e-9)


def test_the_constraint_matters() -> None:
    free = cs.minimize(problem(None)[0], cs.DualProximal(), epochs=300, tol=1e-6)
    assert free.w[0] < -0.1
    assert free.objective < constrained_optimum() - 1e-3


def test_a_start_that_is_not_allowed_is_refused() -> None:
    with pytest.raises(ValueError, match="w0 has weights that the penalty forbids"):
        cs.minimize(problem()[0], cs.SVRG(), w0=np.array([-1.0, 0.0, 0.0, 0.0, 0.0]))


def test_a_mask_of_the_wrong_size_is_refused() -> None:
    with pytest.raises(ValueError, match="nonnegative has 2 entries; the model has 5 weights"):
        problem(np.array([True, False]))
