"""The judge agrees with other solvers: SciPy on hinge and log losses, and a second solver of CVXPY."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
from certificates.cases import Case
from problems import crf_optimum, hinge_optimum, tiny_parts


@pytest.mark.parametrize("penalty", ["ridge", "ridge-weak", "none"])
def test_the_judge_agrees_with_scipy_on_hinge_losses(penalty: str) -> None:
    lam = {"ridge": 0.3, "ridge-weak": 0.01, "none": 0.0}[penalty]
    found = Case("chain-tiny", "hinge", penalty, "equal").judged().optimum()
    assert found == pytest.approx(hinge_optimum(tiny_parts(), lam), abs=1e-7)


def test_the_judge_agrees_with_scipy_on_the_log_loss() -> None:
    found = Case("chain-tiny", "log", "ridge", "equal").judged().optimum()
    assert found == pytest.approx(crf_optimum(tiny_parts(), 0.3), abs=1e-7)


@pytest.mark.parametrize(
    ("family", "loss"),
    [("candidates", "log"), ("candidates", "l2"), ("chain-own-edges", "entropy"), ("enumerated", "l2-wide")],
)
def test_the_judge_agrees_with_bounded_descent_on_smooth_losses(family: str, loss: str) -> None:
    """L-BFGS-B with numeric gradients on w = a - b, a, b >= 0, where absolute values are a linear term."""
    judged = Case(family, loss, "net", "unequal").judged()
    d = judged.n_params

    def value(x: np.ndarray) -> float:
        a, b = x[:d], x[d:]
        return judged.value(a - b) + 0.1 * float((a + b).sum() - np.abs(a - b).sum())

    options = {"ftol": 1e-14, "gtol": 1e-8, "maxiter": 2000, "maxfun": 10**6}
    found = scipy.optimize.minimize(value, np.full(2 * d, 0.1), bounds=[(0.0, None)] * 2 * d, options=options)
    assert judged.optimum() == pytest.approx(found.fun, abs=1e-6)


@pytest.mark.parametrize(("penalty", "solver"), [("l1-masks", "SCIPY"), ("l1", "SCIPY"), ("net-masks", "SCS")])
def test_the_judge_agrees_with_a_second_solver(penalty: str, solver: str) -> None:
    judged = Case("tree-constrained", "hinge", penalty, "some-zero").judged()
    options = {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iters": 200_000} if solver == "SCS" else {}
    assert judged.optimum() == pytest.approx(judged.optimum(solver, **options), abs=1e-7)
