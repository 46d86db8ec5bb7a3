"""Exponentiated gradient on the duals of log and hinge losses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from problems import candidate_parts, chain_parts, tiny_parts, tree_parts

import casimir as cs
from casimir.solvers.bcfw import dual_start

LAM = 0.1


@pytest.mark.parametrize("kind", [chain_parts, tree_parts, candidate_parts])
@pytest.mark.parametrize("loss", ["hinge", "log", "softmax-margin"])
def test_it_ends_at_the_optimum_that_the_dual_solver_finds(kind: Any, loss: str) -> None:
    parts = kind()
    own = {"hinge": cs.Hinge(parts.cost), "log": cs.Log(), "softmax-margin": cs.SoftmaxMargin(parts.cost)}[loss]
    best = cs.minimize(parts.objective(LAM, own), cs.DualProximal(), epochs=1000, tol=1e-6)
    found = cs.minimize(parts.objective(LAM, own), cs.ExponentiatedGradient(), epochs=2000, tol=1e-3)
    assert best.converged
    assert found.converged
    assert found.dual <= best.objective
    assert best.objective * (1.0 - 1e-6) <= found.objective <= best.objective * (1.0 + 1e-3)


@pytest.mark.parametrize("loss", [cs.Log(), cs.Hinge(cs.Hamming())], ids=repr)
def test_a_structure_that_the_core_does_not_train_can_take_it(loss: Any) -> None:
    rng = np.random.default_rng(0)
    nodes, edges = [rng.normal(size=(4 * 2, 3)) for _ in range(6)], [rng.normal(size=(4 * 4, 3)) for _ in range(6)]
    cycle = [np.array([[0, 1], [1, 2], [2, 3], [3, 0]])] * 6
    y = [rng.integers(2, size=4) for _ in range(6)]
    model, graphs = cs.LinearPartsModel(nodes, edges, n_labels=2), cs.JunctionTree(cycle, 2)
    objective = cs.Objective(model, graphs, loss, y, cs.Ridge(0.5))
    found = cs.minimize(objective, cs.ExponentiatedGradient(), epochs=200, tol=1e-2)
    assert found.converged


@pytest.mark.parametrize("loss", ["hinge", "crf"])
def test_short_steps_of_one_length_raise_the_dual(loss: str) -> None:
    """Without a search: an oracle call per example and epoch, and D rises once steps are short enough."""
    parts = chain_parts(n=8)
    objective, solver = parts.objective(0.5, loss), cs.ExponentiatedGradient(eta=0.05)
    seen: list[float] = []
    blocks, iterate = objective.potential_blocks(solver.eta), dual_start(objective.penalty, objective.n_params)
    for _ in range(60):
        assert blocks.step_pass(objective.examples, 0.0, iterate).oracle_calls == 8
        seen.append(blocks.ell - objective.penalty.conjugate(-iterate.gradient()))
    assert (np.diff(seen) > 0.0).all()
    result = cs.minimize(objective, solver, epochs=400, tol=2e-2)
    assert result.converged
    assert result.trace[-1].steps == 8 * result.trace[-1].epoch


def test_a_step_on_a_hinge_loss_is_multiplicative() -> None:
    """u(y) <- u(y) exp(eta s(y)) / Z, from the start at a margin of 5; the outputs of candidates are their parts."""
    parts = candidate_parts()
    objective, eta = parts.objective(LAM), 0.7
    blocks, iterate = objective.potential_blocks(eta), dual_start(objective.penalty, objective.n_params)
    problem, i = objective.problem(cs.Hard()), 3
    truth, expected = problem.truth(i), np.zeros(objective.n_params)
    theta, costs = 5.0 * truth, np.array([parts.cost(parts.y[i], np.array([k]), i) for k in range(len(truth))])
    for _ in range(3):
        scores = objective.model.scores(iterate.w, [i]).nodes
        theta = theta + eta * (scores + costs)
        u = np.exp(theta - theta.max())
        expected[:] = 0.0
        problem.scatter(i, u / u.sum() - truth, 1.0 / len(parts.y), expected)
        blocks.step_pass(np.array([i]), 0.0, iterate)
        np.testing.assert_allclose(iterate.gradient(), expected, rtol=0, atol=1e-12)
        assert blocks.ell == pytest.approx(float(u @ costs) / u.sum() / len(parts.y), abs=1e-12)


def test_on_a_log_loss_it_is_sdca_without_light_passes() -> None:
    parts = chain_parts(n=8)
    eg = cs.minimize(parts.objective(LAM, "crf"), cs.ExponentiatedGradient(), epochs=5, tol=0.0)
    sdca = cs.minimize(parts.objective(LAM, "crf"), cs.SDCA(light_passes=0), epochs=5, tol=0.0)
    np.testing.assert_array_equal(eg.w, sdca.w)
    assert eg.dual == sdca.dual


def test_what_it_cannot_take_is_refused_with_advice() -> None:
    parts = tiny_parts()
    eg = cs.ExponentiatedGradient
    with pytest.raises(TypeError, match=r"by Entropy\(\), such as .* and FenchelYoung is neither. Use Casimir\(\)"):
        cs.minimize(parts.objective(LAM, cs.FenchelYoung(cs.L2(), 1.0)), eg())
    with pytest.raises(TypeError, match=r"needs Penalty\.strong_convexity > 0"):
        cs.minimize(parts.objective(cs.ElasticNet(LAM, 1.0)), eg())
    with pytest.raises(ValueError, match="ExponentiatedGradient starts at w = 0"):
        cs.minimize(parts.objective(LAM), eg(), w0=np.ones(parts.model.n_params))
    with pytest.raises(ValueError, match=r"eta=1\.5; a step of 1 ends at the scores"):
        cs.minimize(parts.objective(LAM, "crf"), eg(eta=1.5))
    with pytest.raises(MemoryError, match=r"ExponentiatedGradient would keep"):
        cs.minimize(parts.objective(LAM), eg(memory=100.0))
    for bad in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="positive and finite"):
            eg(eta=bad)
    with pytest.raises(ValueError, match="memory=0"):
        eg(memory=0.0)
