"""Excessive gap reduction: the invariant at every step, the rate, and that one pass is a step of the paper's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from problems import candidate_parts, chain_parts, tiny_parts, tree_parts
from scipy.special import softmax

import casimir as cs
from casimir.solvers.bounds import a_omega
from casimir.solvers.excessive_gap import Pair, step_length

LAM = 0.1
KINDS = pytest.mark.parametrize("kind", [chain_parts, tree_parts, candidate_parts])
WAYS = pytest.mark.parametrize("is_searched", [True, False], ids=["searched", "known"])
PENALTIES = pytest.mark.parametrize("penalty", [cs.Ridge(LAM), cs.ElasticNet(LAM, 0.5)], ids=repr)


def pairs(objective: cs.Objective, w0: Any, is_searched: bool, steps: int) -> list[Pair]:
    """The start and what follows; L is A_omega / c where it is not searched for."""
    known = None if is_searched else a_omega(objective, cs.Entropy()) / objective.penalty.strong_convexity
    seen = [Pair.start(objective, w0, known)]
    for _ in range(steps):
        following = seen[-1].step(objective, is_searched)
        assert following is not None
        seen.append(following)
    return seen


@KINDS
@WAYS
@PENALTIES
@pytest.mark.parametrize("start", ["zero", "random"])
@pytest.mark.parametrize("weights", [None, np.array([3.0, 0.0, 1.0, 0.5, 2.0, 1.0])], ids=["equal", "weights"])
def test_the_invariant_holds_at_every_step(
    kind: Any, is_searched: bool, penalty: Any, start: str, weights: Any
) -> None:
    """F_mu(w) - mu B <= D(u), by passes of their own, and with it F(w) - D(u) <= mu B."""
    objective = kind(n=6).objective(penalty, sample_weight=weights)
    w0 = np.zeros(objective.n_params)
    if start == "random":
        w0 = np.random.default_rng(0).normal(size=objective.n_params)
    for pair in pairs(objective, w0, is_searched, 60):
        dual, bound = pair.dual.value(penalty), pair.mu * pair.bound
        smoothed = objective.evaluate(pair.w, cs.FenchelYoung(cs.Entropy(), pair.mu, objective.loss.cost)).smoothed
        assert smoothed - bound <= dual + 1e-9 * (1.0 + bound)
        assert dual - 1e-9 <= objective.value(pair.w) <= dual + bound * (1.0 + 1e-9)


@KINDS
@pytest.mark.parametrize("lam", [1.0, 0.01])
def test_the_gap_falls_as_fast_as_the_theorem_says(kind: Any, lam: float) -> None:
    """F - D <= 4 B L / (k + 2 sqrt(L / mu_0))^2 after k steps, L = A_omega / lam."""
    objective = kind().objective(lam)
    L = a_omega(objective, cs.Entropy()) / lam
    seen = pairs(objective, np.zeros(objective.n_params), False, 80)
    first = seen[0]
    for k, pair in enumerate(seen):
        theorem = 4.0 * first.bound * L / (k + 2.0 * math.sqrt(L / first.mu)) ** 2
        assert objective.value(pair.w) - pair.dual.value(objective.penalty) <= theorem * (1.0 + 1e-9)
        assert pair.mu * pair.bound <= theorem * (1.0 + 1e-9)


@KINDS
def test_a_search_makes_longer_steps_than_the_constant(kind: Any) -> None:
    objective = kind().objective(0.01)
    searched, known = (pairs(objective, np.zeros(objective.n_params), way, 60)[-1] for way in (True, False))
    assert searched.mu < known.mu


def test_the_dual_step_of_the_paper_ends_at_the_oracle_of_the_next_point() -> None:
    """u_mu(w) exp(gamma s / mu) / Z, s the scores at w(u'), gamma = tau / (1 - tau); candidates are their own parts."""
    parts = candidate_parts()
    objective = parts.objective(LAM)
    before = pairs(objective, np.zeros(objective.n_params), False, 3)[-1]
    tau = step_length(before.mu / before.lipschitz)
    assert tau**2 / (1.0 - tau) == pytest.approx(before.mu / before.lipschitz)
    after = before.step(objective, False)
    towards = -before.dual.mixed(before.answer, tau).g / LAM
    answer = np.zeros(objective.n_params)
    for i, features in enumerate(_features(parts)):
        costs = np.array([parts.cost(parts.y[i], np.array([k]), i) for k in range(len(features))])
        old = softmax((features @ before.w + costs) / before.mu)
        new = old * np.exp(tau / (1.0 - tau) * (features @ towards + costs) / before.mu)
        answer += (new / new.sum()) @ features - features[parts.y[i][0]]
    assert after is not None
    np.testing.assert_allclose(answer / objective.n_active, after.answer.g, rtol=0, atol=1e-10)
    mixed = (1.0 - tau) * before.dual.g + tau * after.answer.g
    np.testing.assert_allclose(after.dual.g, mixed, rtol=0, atol=1e-12)


def _features(parts: Any) -> list[Any]:
    """float64[m_i, d] of every example, from the scores of unit weights."""
    d = parts.model.n_params
    columns = [parts.model.scores(unit) for unit in np.eye(d)]
    return [np.stack([s.select([i]).nodes.ravel() for s in columns], axis=1) for i in range(len(parts.y))]


@KINDS
@PENALTIES
def test_it_ends_at_the_optimum_that_the_dual_solver_finds(kind: Any, penalty: Any) -> None:
    parts = kind()
    best = cs.minimize(parts.objective(penalty), cs.DualProximal(), epochs=2000, tol=1e-6)
    found = cs.minimize(parts.objective(penalty), cs.ExcessiveGap(), epochs=2000, tol=1e-3)
    assert best.converged
    assert found.converged
    assert found.dual <= best.objective <= found.objective * (1.0 + 1e-6)


@PENALTIES
def test_fused_and_composed_runs_are_the_same(penalty: Any) -> None:
    parts = chain_parts()
    fused, composed = (
        cs.minimize(parts.objective(penalty, native=native), cs.ExcessiveGap(), epochs=10, tol=0.0)
        for native in (True, False)
    )
    np.testing.assert_allclose(fused.w, composed.w, rtol=0, atol=1e-9)
    for column in ("objective", "dual", "mu", "smoothed"):
        np.testing.assert_allclose(fused.trace[column], composed.trace[column], rtol=0, atol=1e-9)


def test_an_l_that_is_given_stays_and_another_one_follows_the_invariant() -> None:
    objective = chain_parts(n=5).objective(0.2)
    given = cs.minimize(objective, cs.ExcessiveGap(lipschitz=50.0), 8, 0.0).trace["lipschitz"]
    assert set(given) == {50.0}
    assert len(set(cs.minimize(objective, cs.ExcessiveGap(), 8, 0.0).trace["lipschitz"])) > 2


def test_evaluations_can_be_left_out() -> None:
    objective = chain_parts(n=5).objective(LAM)
    every, some = (
        cs.minimize(objective, cs.ExcessiveGap(), epochs=20, tol=0.0, evaluate_every=k).trace for k in (1, 10)
    )
    assert some["epoch"].tolist() == [10, 20]
    assert some[-1].evaluations == 2 * 5
    assert some[-1].dual <= every[-1].dual
    assert some[-1].objective == every[-1].objective


def test_what_it_cannot_take_is_refused_with_advice() -> None:
    parts, solver = tiny_parts(), cs.ExcessiveGap
    with pytest.raises(TypeError, match="ExcessiveGap smooths a hinge loss, and Log is smooth already"):
        cs.minimize(parts.objective(LAM, "crf"), solver())
    for penalty in (cs.Ridge(0.0), cs.ElasticNet(LAM, 1.0)):
        with pytest.raises(TypeError, match=r"ExcessiveGap works on the dual, which needs Penalty\.strong_convexity"):
            cs.minimize(parts.objective(penalty), solver())
    for bad in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match="lipschitz"):
            solver(lipschitz=bad)


def test_a_structure_without_the_exp_oracle_is_refused() -> None:
    rng = np.random.default_rng(0)
    pictures = [rng.normal(size=(4, 3)) for _ in range(3)]
    model = cs.LinearPartsModel(pictures, n_labels=2)
    objective = cs.Objective(model, MaxOnly(), cs.Hamming(), [np.array([0, 1])] * 3, cs.Ridge(LAM))
    with pytest.raises(TypeError, match=r"needs Structure\.expect, which MaxOnly does not have"):
        cs.minimize(objective, cs.ExcessiveGap())


class MaxOnly(cs.Chain):
    """A chain that knows nothing but its best output."""

    expect = None  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__(2)
