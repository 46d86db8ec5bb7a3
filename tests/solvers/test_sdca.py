"""SDCA and the proximal point method around it: the dual of a CRF."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from problems import Parts, chain_parts, tiny_parts

import casimir as cs
from casimir.solvers.choose import choose
from casimir.solvers.sdca import memory_of

LAM = 0.05
LOSSES = [cs.Log(), cs.SoftmaxMargin(cs.Hamming()), cs.FenchelYoung(cs.Entropy(), 0.4)]


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("solver", [cs.SDCA(), cs.SDCA(light_passes=0), cs.DualProximal()], ids=repr)
def test_it_ends_at_the_optimum_that_lbfgs_finds(loss: Any, solver: Any) -> None:
    parts = chain_parts(n=12)
    best = cs.minimize(parts.objective(LAM, loss), cs.LBFGS(), epochs=300, tol=1e-6)
    found = cs.minimize(parts.objective(LAM, loss), solver, epochs=300, tol=1e-6)
    assert found.converged
    assert found.objective == pytest.approx(best.objective, rel=2e-6)
    np.testing.assert_allclose(found.w, best.w, atol=1e-2)


@pytest.mark.parametrize("solver", [cs.SDCA(), cs.DualProximal()], ids=repr)
def test_every_structure_with_an_exp_oracle_can_take_it(solver: Any) -> None:
    """Cycles: their edge marginals do not determine the entropy, and they do not run on the core."""
    rng = np.random.default_rng(0)
    nodes, edges = [rng.normal(size=(4 * 2, 3)) for _ in range(6)], [rng.normal(size=(4 * 4, 3)) for _ in range(6)]
    cycle = [np.array([[0, 1], [1, 2], [2, 3], [3, 0]])] * 6
    y = [rng.integers(2, size=4) for _ in range(6)]
    graphs = cs.JunctionTree(cycle, 2)
    objective = cs.Objective(cs.LinearPartsModel(nodes, edges, n_labels=2), graphs, cs.Log(), y, cs.Ridge(0.1))
    found = cs.minimize(objective, solver, epochs=100, tol=1e-5)
    best = cs.minimize(objective, cs.LBFGS(), epochs=200, tol=1e-6)
    assert found.converged
    assert found.objective == pytest.approx(best.objective, rel=2e-5)


def test_what_it_cannot_take_is_refused_with_advice() -> None:
    parts = tiny_parts()
    with pytest.raises(TypeError, match=r"by Entropy\(\).* and Hinge is not. Use DualProximal\(\) or BCFW\(\)"):
        cs.minimize(parts.objective(LAM), cs.SDCA())
    with pytest.raises(TypeError, match=r"needs Penalty\.strong_convexity > 0"):
        cs.minimize(parts.objective(cs.ElasticNet(LAM, 1.0), "crf"), cs.SDCA())
    with pytest.raises(ValueError, match="SDCA starts at w = 0"):
        cs.minimize(parts.objective(LAM, "crf"), cs.SDCA(), w0=np.ones(parts.model.n_params))
    with pytest.raises(ValueError, match="light_passes >= 0"):
        cs.SDCA(light_passes=-1)


def test_it_keeps_to_its_memory() -> None:
    objective = tiny_parts().objective(LAM, "crf")
    needed = memory_of(objective)
    assert needed == 16 * (7 + 4 * 2) * 4  # 7 tokens and 2 rows of pairs for each of 4 chains, rows of 4 numbers
    with pytest.raises(MemoryError, match=r"SDCA would keep .* GB.*Raise it, or use Casimir\(\)"):
        cs.minimize(objective, cs.DualProximal(cs.SDCA(memory=needed - 1)))
    assert cs.minimize(objective, cs.DualProximal(cs.SDCA(memory=needed)), tol=1e-3).converged


def test_auto_leaves_what_does_not_fit_into_memory_to_casimir(monkeypatch: pytest.MonkeyPatch) -> None:
    objective = tiny_parts().objective(LAM, "crf")
    assert choose("auto", objective) == cs.DualProximal()
    monkeypatch.setattr("casimir.solvers.dual_proximal.memory_of", lambda _: 2e9)
    assert isinstance(choose("auto", objective), cs.Casimir)


def test_truths_that_are_sets_have_a_certified_round() -> None:
    """The marginal likelihood: a round's truth is given by its marginals, on the core and composed alike."""
    parts = chain_parts(n=8, n_labels=3)
    rng = np.random.default_rng(1)
    y: list[Any] = [np.eye(3, dtype=bool)[labels] | (rng.random((len(labels), 3)) < 0.3) for labels in parts.y]
    results = []
    for native in (True, False):
        objective = Parts(parts.model, parts.structure, parts.cost, y).objective(LAM, cs.Log(), native=native)
        results.append(cs.minimize(objective, cs.ConcaveConvex(cs.DualProximal()), tol=1e-4))
        assert results[-1].status == "stationary"
        assert results[-1].gap <= 1e-4
        assert (np.diff(results[-1].trace["objective"]) <= 1e-12).all()
    assert results[0].objective == pytest.approx(results[1].objective, rel=1e-3)


def test_kappa_follows_the_subproblem_unless_it_is_given() -> None:
    parts = chain_parts(n=12)
    free = cs.minimize(parts.objective(0.1, "crf"), cs.DualProximal(), epochs=40, tol=1e-6)
    fixed = cs.minimize(parts.objective(0.1, "crf"), cs.DualProximal(kappa=0.7), epochs=40, tol=1e-6)
    assert len(set(free.trace["kappa"])) > 1
    assert set(fixed.trace["kappa"]) == {0.7}
