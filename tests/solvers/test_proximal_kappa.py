"""kappa of DualProximal follows the run, where nobody gave one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import casimir as cs
from casimir.losses import Loss
from casimir.scores import FloatArray
from casimir.solvers.dual_proximal import _Run, default_inner
from casimir.solvers.proximal_kappa import Kappa


def noisy_classes(
    lam_n: float, penalty: Any = cs.Ridge, n: int = 200, classes: int = 4, dim: int = 6, loss: Loss | None = None
) -> cs.Objective:
    """Labels that the inputs tell in part only, so that examples contradict one another."""
    rng = np.random.default_rng(3)
    inputs = rng.normal(size=(n, dim))
    features = [np.kron(np.eye(classes), x[None]) for x in inputs]
    scores = inputs @ rng.normal(size=(dim, classes)) + 2.0 * rng.normal(size=(n, classes))
    y = [np.array([label]) for label in scores.argmax(axis=1)]
    chosen: Any = cs.Hamming() if loss is None else loss
    return cs.Objective(cs.LinearCandidateModel(features), cs.Candidates(), chosen, y, penalty(lam_n / n))


def kappas(objective: cs.Objective, solver: cs.DualProximal, epochs: int = 60) -> tuple[cs.Result, np.ndarray]:
    result = cs.minimize(objective, solver, epochs, tol=1e-3)
    return result, result.trace["kappa"]


def test_kappa_rises_where_examples_contradict_one_another() -> None:
    objective = noisy_classes(0.01)
    result, seen = kappas(objective, cs.DualProximal())
    assert seen[-1] >= 4.0 * seen[0]
    assert result.converged
    fixed, _ = kappas(objective, cs.DualProximal(kappa=seen[0]))
    assert not fixed.converged


def test_a_kappa_that_was_given_stays() -> None:
    _, seen = kappas(noisy_classes(0.01), cs.DualProximal(kappa=0.001))
    assert set(seen) == {0.001}


def test_kappa_stays_where_there_are_absolute_values_alone() -> None:
    _, seen = kappas(noisy_classes(0.01, lambda lam: cs.ElasticNet(lam, 1.0)), cs.DualProximal())
    assert len(set(seen)) == 1


def next_values(kappa: Kappa, block_gaps: list[float], predicted: float = 1.0, dual: float = 0.0) -> list[float]:
    values = []
    for block_gap in block_gaps:
        kappa.value = kappa.after(block_gap, predicted, 1.0, dual).value
        values.append(kappa.value)
    return values


@pytest.mark.parametrize(
    ("block_gaps", "values"),
    [
        ([1.0, 0.9, 0.8, 0.8], [1.0, 1.0, 2.0, 4.0]),  # the first epoch tells the scale alone
        ([1.0, 0.69, 0.47, 0.32], [1.0, 1.0, 1.0, 1.0]),  # they fall by three tenths or more
        ([1.0, 0.2, 0.2, 0.2], [1.0, 1.0, 1.0, 1.0]),  # they are small
        ([1e-9, 1e-9, 1e-9, 1e-9], [1.0, 1.0, 1.0, 1.0]),  # they never were large: centres hold up the run
    ],
)
def test_kappa_rises_while_passes_leave_the_subproblem_unsolved(block_gaps: list[float], values: list[float]) -> None:
    assert next_values(Kappa(1.0, rises=True, balances=False), block_gaps) == values
    assert next_values(Kappa(1.0, rises=False, balances=False), block_gaps) == [1.0] * 4


def test_kappa_follows_the_share_of_the_gap() -> None:
    kappa = Kappa(1.0, rises=False, balances=True)
    np.testing.assert_allclose(next_values(kappa, [0.4, 0.2, 0.05], dual=2.0), [1.5, 1.5, 1.0])
    assert next_values(Kappa(1.0, rises=False, balances=True), [0.4, 0.05], dual=0.5) == [1.0, 1.0]  # gap above D


def test_kappa_does_not_fall_where_subproblems_are_solved_loosely() -> None:
    """S = 0.05 of a gap of 1: for lam = 0.001 and kappa = 1 that is 50 times what w moved by, for lam = 1 0.03."""
    for lam, value in ((0.001, 1.0), (1.0, 1.0 / 1.5)):
        assert next_values(Kappa(1.0, rises=False, balances=True, lam=lam), [0.05], dual=2.0) == [pytest.approx(value)]


@pytest.mark.parametrize(
    ("lam", "values", "starts"),
    [
        (1.0, [1.0, 1.0, 2.0, 4.0], [False, False, False, False]),  # looseness 4.5, then 12: as for a hinge loss
        (0.2, [1.0, 1.0, 7.5**0.5, 4.0 * 7.5**0.5], [False, False, True, False]),  # 37.5: by its root
        (0.1, [1.0, 1.0, 4.0, 16.0], [False, False, True, False]),  # 82: by most, and once from the first centre
    ],
)
def test_kappa_rises_by_more_where_subproblems_are_solved_far_too_loosely(
    lam: float, values: list[float], starts: list[bool]
) -> None:
    kappa, found = Kappa(1.0, rises=True, balances=True, lam=lam), []
    for _ in values:
        found.append(kappa.after(0.9, 1.0, 1.0, 0.0))
        kappa.value = found[-1].value
    np.testing.assert_allclose([value for value, _ in found], values)
    assert [starts_over for _, starts_over in found] == starts
    hinge = Kappa(1.0, rises=True, balances=False, lam=lam)
    assert [hinge.after(0.9, 1.0, 1.0, 0.0).starts_over for _ in values] == [False] * len(values)


@pytest.mark.parametrize("penalty", [cs.Ridge, lambda lam: cs.ElasticNet(lam, 0.1)], ids=["ridge", "elastic-net"])
@pytest.mark.parametrize("start", [0.0, 0.5])
def test_a_run_that_starts_over_goes_back_to_the_first_centre(penalty: Any, start: float) -> None:
    """As does the w of before, so that nothing is extrapolated from where the run had gone; and it still converges."""
    objective = noisy_classes(0.001, penalty, loss=cs.Log())
    seen: list[FloatArray] = []
    recentre = _Run._recentre

    def look(run: _Run, kappa: float, k: int) -> None:
        dual, g = run.objective.constant + run.blocks.ell, run.iterate.gradient().copy()
        recentre(run, kappa, k)
        if k == 0:
            seen.append(np.array(run.z))
            np.testing.assert_array_equal(run.before, run.z)
            assert run.iterate.w is not run.z
            assert run.before is not run.z
            np.testing.assert_allclose(run.iterate.gradient(), g, atol=1e-9)
            assert run.objective.constant + run.blocks.ell == dual  # the dual variables are the same

    w0 = np.full(objective.n_params, start)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_Run, "_recentre", look)
        result = cs.minimize(objective, cs.DualProximal(), 300, 1e-4, w0=w0)
    assert result.converged
    assert len(seen) == 1
    np.testing.assert_array_equal(seen[0], w0)
    best = cs.minimize(noisy_classes(0.001, penalty, loss=cs.Log()), cs.LBFGS(), 1000, 1e-5)
    assert result.objective == pytest.approx(best.objective, rel=2e-4)


def test_kappa_has_bounds() -> None:
    assert next_values(Kappa(1.0, rises=True, balances=True), [1.0] * 20)[-1] == 500.0
    assert next_values(Kappa(1.0, rises=True, balances=True), [0.0] * 20, dual=2.0)[-1] == 1.0 / 500.0
    assert next_values(Kappa(1.0, rises=True, balances=False, most=3.0), [1.0] * 20)[-1] == 3.0
    assert next_values(Kappa(1.0, rises=True, balances=False, most=0.1), [1.0] * 20)[-1] == 1.0  # it begins above


def lists(length: int, loss: Loss, scale: float = 1.0, n: int = 12) -> cs.Objective:
    """Candidate lists with features of a given scale; lam changes with it so that F does not."""
    rng = np.random.default_rng(5)
    features = [scale * rng.normal(size=(length, 4)) for _ in range(n)]
    model = cs.LinearCandidateModel(features)
    return cs.Objective(model, cs.Candidates(), loss, [np.array([0])] * n, scale**2 * 0.1)


@pytest.mark.parametrize("loss", [cs.Hinge(cs.Hamming()), cs.Log()])
def test_a_run_does_not_depend_on_the_scale_of_the_features(loss: Loss) -> None:
    small, large = (cs.minimize(lists(5, loss, scale), cs.DualProximal(), 20, 1e-9) for scale in (1.0, 8.0))
    np.testing.assert_allclose(large.trace["kappa"], 64.0 * small.trace["kappa"], rtol=1e-9)
    np.testing.assert_allclose(large.trace["objective"], small.trace["objective"], rtol=1e-9)
    np.testing.assert_allclose(8.0 * large.w, small.w, rtol=1e-6, atol=1e-9)


def test_long_lists_have_no_light_passes_of_bcfw() -> None:
    hinge, log = cs.Hinge(cs.Hamming()), cs.Log()
    assert [default_inner(lists(length, hinge)).light_passes for length in (5, 100)] == [1, 0]
    assert [default_inner(lists(length, log)).light_passes for length in (5, 100)] == [1, 1]
    assert default_inner(noisy_classes(1.0)).light_passes == 1


def test_the_first_epochs_evaluate_no_average() -> None:
    objective = noisy_classes(1.0)
    result = cs.minimize(objective, cs.DualProximal(), 2, 0.0)
    assert objective.counts.evaluations == (1 + len(result.trace)) * objective.n_active  # w = 0 and each w once
