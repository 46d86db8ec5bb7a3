"""Weights that a model wants non-negative stay so, and the certificate is that of the constrained problem."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize

import casimir as cs

LAM = 0.2
MASK = np.array([True, False, True, True, False])


def problem(mask: Any = MASK) -> tuple[cs.Objective, list[np.ndarray], list[np.ndarray]]:
    """Multiclass examples with dense features and a 0/1 cost; the costs are returned too."""
    rng = np.random.default_rng(3)
    features = [rng.normal(size=(4, 5)) - 0.8 for _ in range(6)]
    y = [np.array([k % 4]) for k in range(6)]
    for f, true in zip(features, y, strict=True):
        f[true[0], 0] -= 2.0  # so that the first weight would like to be negative
    model = cs.LinearPartsModel(features, nonnegative=mask)
    costs = [1.0 - np.eye(4)[true[0]] for true in y]
    return cs.Objective(model, cs.Candidates(), cs.Hamming(), y, LAM), features, costs


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


@pytest.mark.parametrize(
    ("solver", "epochs", "within"),
    [
        (cs.Casimir(), 300, 1e-4),
        (cs.BCFW(pairwise=True), 300, 1e-4),
        (cs.BCFW(), 1000, 5e-3),
        (cs.SGD(), 1000, 2e-2),
        (cs.LBFGS(mu=1e-3), 300, 1e-2),
    ],
    ids=lambda value: type(value).__name__,
)
def test_solvers_reach_the_constrained_optimum(solver: Any, epochs: int, within: float) -> None:
    best = constrained_optimum()
    result = cs.minimize(problem()[0], solver, epochs=epochs, tol=1e-6)
    assert np.all(result.w[MASK] >= 0.0)
    assert result.dual <= best + 1e-7
    assert best - 1e-7 <= result.objective <= best * (1.0 + within)
    assert result.objective == pytest.approx(problem()[0].value(result.w))


def test_the_constraint_matters() -> None:
    free = cs.minimize(problem(None)[0], cs.Casimir(), epochs=300, tol=1e-6)
    assert free.w[0] < -0.1
    assert free.objective < constrained_optimum() - 1e-3


def test_solvers_without_projection_say_so() -> None:
    for solver in (cs.SVRG(), cs.Casimir(cs.SVRG())):
        with pytest.raises(TypeError, match=r"cannot keep weights non-negative"):
            cs.minimize(problem()[0], solver)


def test_a_mask_of_the_wrong_size_is_refused() -> None:
    with pytest.raises(ValueError, match="bool array, one per weight"):
        cs.LinearPartsModel([np.zeros((2, 3))], nonnegative=[True])
