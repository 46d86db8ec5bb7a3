"""A loss, a smoothing, a penalty and two solvers from outside the package, held against brute force.

Everything here is written as a user would: public names, nothing inherited, and no change in the library.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar

import numpy as np
import pytest
import scipy.optimize
from problems import Parts, chain_parts, listed
from scipy.special import logsumexp

import casimir as cs
from casimir.losses import smoothed
from casimir.scores import FloatArray
from casimir.smoothing import Smoothed
from casimir.solvers.base import InnerState
from casimir.solvers.smoothness import guess_lipschitz, level_of
from casimir.solvers.steps import gradients, take_step

SHARES = np.array([2.0, 0.0, 1.0, 1.0, 3.0, 1.0])


@dataclass(frozen=True)
class Sharpened:
    """f_mu(s) = (mu/2) log sum_y exp(2 score(y) / mu): the entropy smoothing of half the level."""

    def __call__(self, structure: Any, s: Any, mu: float) -> Smoothed:
        soft = structure.expect(s, mu / 2.0)
        return Smoothed(soft.value, soft.marginals, None, np.ones(len(s), dtype=np.bool_))

    def bound(self, log_n_outputs: float) -> float:
        return 0.5 * log_n_outputs


@dataclass(frozen=True)
class SharpMargin:
    """f_i(w) = (1/2) log sum_y exp(2 (score_i(y; w) + cost_i(y))) - score_i(y_i; w)."""

    cost: Any
    smoothing: ClassVar[Any] = Sharpened()
    mu: ClassVar[float] = 1.0


@dataclass(frozen=True)
class Box:
    """R(w) = (lam/2) |w|^2 over |w_j| <= side, infinite elsewhere."""

    lam: float
    side: float
    quadratic: ClassVar[None] = None

    @property
    def strong_convexity(self) -> float:
        return self.lam

    def value(self, w: FloatArray) -> float:
        return float(0.5 * self.lam * w @ w) if np.abs(w).max(initial=0.0) <= self.side + 1e-12 else np.inf

    def conjugate(self, g: FloatArray) -> float:
        w = self.primal(g)
        return float(g @ w) - self.value(w)

    def domain_share(self, g: FloatArray) -> float:
        return 1.0

    def primal(self, g: FloatArray) -> FloatArray:
        free = g / self.lam if self.lam > 0.0 else np.where(g == 0.0, 0.0, np.copysign(np.inf, g))
        return np.clip(free, -self.side, self.side)

    def prox(self, w: FloatArray, t: float) -> FloatArray:
        return np.clip(w / (1.0 + t * self.lam), -self.side, self.side)


@dataclass(frozen=True)
class SAG:
    """w <- w - gamma (mean_j g_j + grad R(w)), g_j the gradient of example j when it was last visited."""

    smoothing: Any = cs.Entropy()
    mu: float | None = None

    def run(self, objective: Any, w0: FloatArray, monitor: Any, rng: np.random.Generator) -> None:
        mu = level_of(objective, self.smoothing, self.mu, monitor.tol, "SAG")
        loss, dual = smoothed(objective.loss, self.smoothing, mu), objective.trivial_dual()
        state = self.start(objective, loss, w0, rng, None)
        while True:
            state = self.epoch(objective, loss, state, rng)
            here = state.evaluation
            dual = dual.towards(here.dual, objective.penalty)
            if monitor.epoch(state.w, objective=here.objective, smoothed=here.smoothed, dual=dual, mu=mu or None):
                return

    def start(
        self, objective: Any, loss: Any, w: FloatArray, rng: np.random.Generator, before: InnerState | None
    ) -> InnerState:
        here = objective.evaluate(w, loss, keep=before is None)
        if before is not None:
            return replace(before, w=w, evaluation=here)
        lipschitz = guess_lipschitz(objective, loss, w, rng)
        return InnerState(w, here, lipschitz, memory=(here.marginals, here.gradient.copy()))

    def epoch(self, objective: Any, loss: Any, state: InnerState, rng: np.random.Generator) -> InnerState:
        problem, n = objective.problem(loss.smoothing), objective.n_active
        kept, mean = state.memory
        assert state.lipschitz is not None
        w, gamma = state.w.copy(), 1.0 / (state.lipschitz + objective.penalty.strong_convexity)

        def change(i: int, marginals: FloatArray) -> FloatArray:
            own = kept[problem.marginal_offset(i) : problem.marginal_offset(i + 1)]
            moved = marginals - own
            own[:] = marginals
            return moved

        for moved, _ in gradients(problem, objective.draw(rng, n), loss, w, change):
            mean += moved / n
            take_step(objective.penalty, w, mean, gamma)
        objective.count("steps", n)
        return replace(state, w=w, evaluation=objective.evaluate(w, loss, count="evaluations"))


@cache
def parts() -> Parts:
    return chain_parts(seed=3, n=len(SHARES))


@cache
def tables() -> list[tuple[FloatArray, FloatArray]]:
    return listed(parts())


def losses_of(loss: Any, w: FloatArray) -> FloatArray:
    """float64[n] by listing all outputs."""
    if isinstance(loss, SharpMargin):
        return np.array([0.5 * logsumexp(2.0 * (ell + A @ w)) for A, ell in tables()])
    return np.array([np.max(ell + A @ w) for A, ell in tables()])


@cache
def optimum(loss: Any, penalty: Box, weighted: bool) -> float:
    """min F over the box. A hinge loss is a quadratic program: a slack per example above each of its outputs."""
    p = SHARES / SHARES.sum() if weighted else np.full(len(SHARES), 1.0 / len(SHARES))
    d, n = parts().model.n_params, len(p)
    box = [(-penalty.side, penalty.side)] * d
    if isinstance(loss, SharpMargin):
        smooth = scipy.optimize.minimize(
            lambda w: float(p @ losses_of(loss, w)) + penalty.value(w), np.zeros(d), bounds=box, tol=1e-12
        )
        return float(smooth.fun)
    above = np.concatenate([np.hstack([-A, np.eye(n)[[i] * len(A)]]) for i, (A, _) in enumerate(tables())])
    needed = np.concatenate([ell for _, ell in tables()])
    found = scipy.optimize.minimize(
        lambda x: 0.5 * penalty.lam * x[:d] @ x[:d] + p @ x[d:],
        np.concatenate([np.zeros(d), np.full(n, needed.max())]),
        jac=lambda x: np.concatenate([penalty.lam * x[:d], p]),
        bounds=[*box, *[(0.0, None)] * n],
        constraints={"type": "ineq", "fun": lambda x: above @ x - needed, "jac": lambda x: above},
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert found.success
    return float(found.fun)


LOSSES = [cs.Hinge(parts().cost), SharpMargin(parts().cost)]
PENALTIES = [Box(0.3, 10.0), Box(0.05, 0.4)]  # one whose sides do not matter, and one whose sides do
PRIMAL: list[Any] = [
    SAG(),
    cs.Casimir(SAG()),
    cs.Casimir.paper("const", SAG(), warm_start="extrapolation"),
    cs.SGD(),
    cs.SVRG(cs.Entropy()),
    cs.SAGA(cs.Entropy()),
    cs.GradientDescent(),
]
SMOOTHING: list[Any] = [SAG(mu=0.2), cs.SVRG(Sharpened(), mu=0.2), cs.Casimir(cs.SAGA(Sharpened(), mu=0.2)), cs.SGD()]
DUAL: list[Any] = [cs.DualProximal(), cs.BCFW()]


def name_of(solver: Any) -> str:
    return type(solver).__name__ + type(getattr(solver, "inner", None)).__name__.replace("NoneType", "")


def check_run(result: cs.Result, objective: cs.Objective, best: float, penalty: Box) -> None:
    """F is that of w, and the optimum lies between both bounds."""
    assert result.dual <= best + 1e-7
    assert best - 1e-7 <= result.objective
    assert np.isclose(objective.value(result.w), result.objective)
    assert np.abs(result.w).max() <= penalty.side + 1e-9


@pytest.mark.parametrize("loss", LOSSES, ids=lambda part: type(part).__name__)
@pytest.mark.parametrize("native", [True, False])
def test_a_loss_from_outside_is_the_one_that_was_written(loss: Any, native: bool) -> None:
    rng = np.random.default_rng(0)
    for _ in range(5):
        w = np.zeros(parts().model.n_params)
        w.reshape(-1, 4)[:, :3] = rng.normal(size=(len(w) // 4, 3))  # rows are padded with zeros
        objective = parts().objective(cs.Ridge(0.0), loss, sample_weight=SHARES, native=native)
        assert np.isclose(objective.value(w), SHARES / SHARES.sum() @ losses_of(loss, w), atol=1e-12)


@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
def test_the_box_keeps_the_promises_of_a_penalty(penalty: Box) -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        g, t = rng.normal(size=3), rng.uniform(0.1, 3.0)
        grid = [penalty.side * rng.uniform(-1.0, 1.0, 3) for _ in range(200)]
        best, near = penalty.primal(g), penalty.prox(g, t)
        assert np.isclose(g @ best - penalty.value(best), penalty.conjugate(g))
        assert all(penalty.value(w) + penalty.conjugate(g) >= g @ w - 1e-12 for w in grid)
        step = penalty.value(near) + (near - g) @ (near - g) / (2.0 * t)
        assert all(penalty.value(w) + (w - g) @ (w - g) / (2.0 * t) >= step - 1e-12 for w in grid)


@pytest.mark.parametrize(("native", "weighted"), [(True, True), (False, False)])
@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
@pytest.mark.parametrize("solver", PRIMAL, ids=name_of)
def test_a_smooth_loss_from_outside_is_minimised_and_certified(
    solver: Any, penalty: Box, native: bool, weighted: bool
) -> None:
    objective = parts().objective(penalty, LOSSES[1], sample_weight=SHARES if weighted else None, native=native)
    result = cs.minimize(objective, solver, epochs=100, tol=0.02)
    assert result.converged
    check_run(result, objective, optimum(LOSSES[1], penalty, weighted), penalty)


@pytest.mark.parametrize(("native", "weighted"), [(True, True), (False, False)])
@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
@pytest.mark.parametrize("solver", [*SMOOTHING, *DUAL], ids=name_of)
def test_certificates_of_a_hinge_loss_hold_with_parts_from_outside(
    solver: Any, penalty: Box, native: bool, weighted: bool
) -> None:
    objective = parts().objective(penalty, LOSSES[0], sample_weight=SHARES if weighted else None, native=native)
    result = cs.minimize(objective, solver, epochs=40, tol=0.05)
    assert result.converged or solver not in DUAL
    assert result.objective < 0.9 * objective.value(np.zeros(objective.n_params))
    check_run(result, objective, optimum(LOSSES[0], penalty, weighted), penalty)


def test_counts_of_a_solver_from_outside_are_its_oracle_calls() -> None:
    objective = parts().objective(PENALTIES[0], LOSSES[1], sample_weight=SHARES)
    row = cs.minimize(objective, SAG(), epochs=4, tol=0.0).trace[-1]
    assert (row.steps, row.evaluations, row.full_gradients) == (4 * 5, 4 * 5, 5)
    assert row.oracle_calls == row.steps + row.evaluations + row.full_gradients + row.searches


def test_a_point_that_a_penalty_forbids_is_no_start() -> None:
    objective = parts().objective(Box(0.1, 0.4))
    with pytest.raises(ValueError, match="Box is infinite at w0"):
        cs.minimize(objective, cs.SGD(), w0=np.ones(objective.n_params))


def test_a_penalty_whose_conjugate_is_too_small_is_noticed() -> None:
    class Wrong(Box):
        def conjugate(self, g: FloatArray) -> float:
            return 0.1 * super().conjugate(g)

    with pytest.raises(cs.BrokenCertificate, match="penalty of your own"):
        cs.minimize(parts().objective(Wrong(0.3, 10.0)), cs.DualProximal(), tol=0.0)
