"""Cutting planes: their small quadratic programs, the model of the loss, the rate and the optimum."""

from __future__ import annotations

import sys
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from problems import candidate_parts, chain_parts, hinge_optimum, tiny_parts, tree_parts

import casimir as cs
from casimir.penalties import Proximal
from casimir.solvers import simplex_program
from casimir.solvers.bounds import a_omega
from casimir.solvers.cutting_planes import Model
from casimir.solvers.simplex_program import simplex_maximum

LAM = 0.1
_MASK = {
    "strengths": np.array([0.5, 1.0, 2.0, np.inf, 1.0]),
    "nonnegative": np.array([True, False, True, False, False]),
}
PENALTIES: dict[str, Any] = {
    "ridge": cs.Ridge(LAM),
    "strengths": cs.Ridge(LAM, strengths=_MASK["strengths"]),
    "masks": cs.Ridge(LAM, **_MASK),
    "net": cs.ElasticNet(LAM, 0.7),
    "net-masks": cs.ElasticNet(LAM, 0.3, **_MASK),
    "around": Proximal(cs.ElasticNet(LAM, 1.0), 0.2, np.array([0.3, -1.0, 0.0, 0.4, 2.0])),
    "ridge-around": Proximal(cs.Ridge(LAM), 0.2, np.array([0.3, -1.0, 0.0, 0.4, 2.0])),
}


def excess(H: Any, b: Any, a: Any) -> float:
    """How far <b, a> - a^T H a / 2 may be from its maximum over the simplex."""
    slope = b - H @ a
    return float(slope.max() - slope @ a)


@pytest.mark.parametrize("m", [1, 2, 30, 120])
@pytest.mark.parametrize("copies", [False, True], ids=["single", "copies"])
@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e7])
def test_programs_are_solved_to_the_last_digits_even_where_planes_are_parallel(
    m: int, copies: bool, scale: float
) -> None:
    rng = np.random.default_rng(m)
    planes = rng.normal(size=(1, 200)) + 1e-3 * rng.normal(size=(m, 200))
    if copies:
        planes = np.concatenate([planes, planes * (1.0 + 1e-12)])
    H, b = scale * planes @ planes.T, rng.normal(size=len(planes))
    a = simplex_maximum(H, b)
    assert a.min() >= 0.0
    assert a.sum() == pytest.approx(1.0, abs=1e-14)
    assert excess(H, b, a) <= 1e-9 * max(1.0, float(H.max()))


@pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES)
def test_the_minimum_of_the_model_is_its_dual_value_and_never_falls(penalty: Any) -> None:
    rng = np.random.default_rng(0)
    model, seen = Model(penalty, cs.duality.DualPoint(np.zeros(5), 0.0), 12), [-np.inf]
    planes = [cs.duality.DualPoint(rng.normal(size=5), rng.normal()) for _ in range(40)]
    for k, plane in enumerate(planes):
        model.add(plane, seen[-1])  # a best F that is below D: as exactly as can be
        seen.append(model.lowest.value(penalty))
        at_w = penalty.value(model.w) + float(model.values().max())
        assert seen[-1] == pytest.approx(at_w, abs=1e-9)
        kept = [plane.ell + plane.g @ model.w for plane in model._planes]
        np.testing.assert_allclose(model.values(), kept, rtol=0, atol=1e-9)
        assert len(model) <= min(12, k + 2)
    assert (np.diff(seen) >= -1e-10).all()


def test_where_all_planes_have_weight_the_two_lightest_become_one() -> None:
    """Unit vectors, each with weight 1/4 at the minimum of |w|^2 / 2 + max_k w_k."""
    penalty = cs.Ridge(1.0)
    units = [cs.duality.DualPoint(row, 0.0) for row in np.eye(4)]
    model = Model(penalty, units[0], 3)
    for unit in units[1:]:
        model.add(unit, -np.inf)
    assert len(model) == 3
    np.testing.assert_allclose(np.sort(model.weights), [0.25, 0.25, 0.5], rtol=0, atol=1e-8)
    np.testing.assert_allclose(model.lowest.g, 0.25, rtol=0, atol=1e-8)
    np.testing.assert_allclose(model._mixed(model.weights).g, model.lowest.g, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", [chain_parts, tree_parts, candidate_parts])
@pytest.mark.parametrize("loss", ["hinge", "log", "l2"])
@pytest.mark.parametrize(
    "solver", [cs.CuttingPlanes(), cs.CuttingPlanes(step=1.0), cs.CuttingPlanes(planes=5)], ids=repr
)
def test_it_ends_at_the_optimum_that_others_find(kind: Any, loss: str, solver: Any) -> None:
    parts = kind()
    own = {"hinge": cs.Hinge(parts.cost), "log": cs.Log(), "l2": cs.FenchelYoung(cs.L2(), 0.5, parts.cost)}[loss]
    other = cs.LBFGS() if loss == "l2" else cs.DualProximal()
    best = cs.minimize(parts.objective(LAM, own), other, epochs=2000, tol=1e-6)
    found = cs.minimize(parts.objective(LAM, own), solver, epochs=2000, tol=1e-3 if solver.planes == 5 else 1e-4)
    assert best.converged
    assert found.converged
    assert found.dual <= best.objective <= found.objective * (1.0 + 1e-6)


@pytest.mark.parametrize("penalty", [cs.Ridge(LAM), cs.ElasticNet(LAM, 0.5)], ids=repr)
def test_it_closes_the_gap_to_what_doubles_allow(penalty: Any) -> None:
    """The programs are exact enough not to be the limit."""
    found = cs.minimize(chain_parts().objective(penalty), cs.CuttingPlanes(), epochs=2000, tol=1e-9)
    assert found.converged
    if isinstance(penalty, cs.Ridge):
        assert found.objective == pytest.approx(hinge_optimum(chain_parts(), LAM), rel=1e-6)


@pytest.mark.parametrize("step", [1.0, 0.3])
@pytest.mark.parametrize("lam", [1.0, 0.01])
def test_the_gap_falls_as_fast_as_the_theorem_says(step: float, lam: float) -> None:
    """E -> E - min(E/2, lam E^2 / 8 R^2) at the least with step 1: E of about 8 R^2 / (lam t) after t passes."""
    objective = chain_parts(n=10).objective(lam)
    longest = a_omega(objective, cs.Entropy())  # R^2
    trace = cs.minimize(objective, cs.CuttingPlanes(step=step), epochs=60, tol=0.0).trace
    gaps = np.minimum.accumulate(trace["objective"]) - trace["dual"]

    def after(gap: float) -> float:
        violation = gap if step == 1.0 else 0.5 * gap
        by_dual = gap - min(violation / 2.0, lam * violation**2 / (8.0 * longest))
        return by_dual if step == 1.0 else max(by_dual, (1.0 - 0.5 * step) * gap)

    for gap, following in pairwise(gaps):
        assert following <= after(float(gap)) + 1e-9


@pytest.mark.parametrize("loss", ["hinge", "crf"])
@pytest.mark.parametrize("penalty", [cs.Ridge(LAM), cs.ElasticNet(LAM, 0.5)], ids=repr)
def test_fused_and_composed_runs_are_the_same(loss: str, penalty: Any) -> None:
    parts = chain_parts()
    fused, composed = (
        cs.minimize(parts.objective(penalty, loss, native=native), cs.CuttingPlanes(), epochs=6, tol=0.0)
        for native in (True, False)
    )
    np.testing.assert_allclose(fused.trace["objective"], composed.trace["objective"], rtol=0, atol=1e-9)
    np.testing.assert_allclose(fused.trace["dual"], composed.trace["dual"], rtol=0, atol=1e-9)


def test_it_starts_where_it_is_told_and_leaves_the_start_alone() -> None:
    objective = chain_parts().objective(LAM)
    best = cs.minimize(objective, cs.DualProximal(), epochs=2000, tol=1e-6)
    start = best.w.copy()
    found = cs.minimize(objective, cs.CuttingPlanes(), epochs=3, tol=0.0, w0=start)
    assert found.trace[0].objective == best.objective
    np.testing.assert_array_equal(start, best.w)


def test_what_it_cannot_take_is_refused_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    parts, cuts = tiny_parts(), cs.CuttingPlanes
    for penalty in (cs.Ridge(0.0), cs.ElasticNet(LAM, 1.0)):
        with pytest.raises(TypeError, match=r"CuttingPlanes works on the dual, which needs Penalty\.strong_convexity"):
            cs.minimize(parts.objective(penalty), cuts())
    with pytest.raises(TypeError, match=r"CuttingPlanes needs Penalty\.separable, which Foreign does not have"):
        cs.minimize(parts.objective(Foreign()), cuts())
    for bad in (0.0, -0.1, 1.5, np.nan):
        with pytest.raises(ValueError, match="above 0 and at most 1"):
            cuts(step=bad)
    with pytest.raises(ValueError, match="planes=2; it must be at least 3"):
        cuts(planes=2)
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.raises(ImportError, match=r'pip install "casimir\[cuts\]"'):
        cs.minimize(parts.objective(LAM), cuts())


class Foreign:
    """A penalty of somebody else, which is no square."""

    strong_convexity, quadratic = 1.0, None

    def value(self, w: Any) -> float:
        return float(0.5 * w @ w)

    conjugate = value

    def domain_share(self, g: Any) -> float:
        return 1.0

    def primal(self, g: Any) -> Any:
        return g

    def prox(self, w: Any, t: float) -> Any:
        return w / (1.0 + t)


def test_steps_go_from_the_best_point_towards_the_minimiser_of_the_model() -> None:
    objective, solver, seen = chain_parts(n=8).objective(0.05), cs.CuttingPlanes(step=0.9), []
    cs.minimize(objective, solver, 12, 0.0, callbacks=[lambda row, w: seen.append((row.objective, w.copy()))])
    model, best, best_w, worse = Model(objective.penalty, objective.trivial_dual(), solver.planes), np.inf, None, 0
    for (value, w), (_, following) in pairwise(seen):
        worse += value >= best
        if value < best:
            best, best_w = value, w
        model.add(objective.evaluate(w).dual, best)
        np.testing.assert_allclose(following, best_w + 0.9 * (model.w - best_w), rtol=0, atol=1e-10)
    assert worse > 0, "some steps lead to worse points, from which nothing may go on"


@pytest.mark.parametrize("weight", [0.2, 1.5, np.nan])
def test_a_program_that_is_not_solved_is_an_error(weight: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights that do not add up to about 1 are no share of the planes, and a bound made of them is none."""
    found = SimpleNamespace(x=[weight, weight])
    lost = SimpleNamespace(
        DefaultSettings=SimpleNamespace,
        ZeroConeT=int,
        NonnegativeConeT=int,
        DefaultSolver=lambda *_: SimpleNamespace(solve=lambda: found),
    )
    monkeypatch.setattr(simplex_program, "check_clarabel", lambda: lost)
    with pytest.raises(ArithmeticError, match="found no maximum over 2 planes"):
        simplex_maximum(np.eye(2), np.ones(2))
    found.x = [0.5, 0.5]
    np.testing.assert_array_equal(simplex_maximum(np.eye(2), np.ones(2)), [0.5, 0.5])
