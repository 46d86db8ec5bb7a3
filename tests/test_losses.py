"""Losses: values by listing outputs, gradients by differences, never negative; and what is no loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from problems import Parts, chain_parts, listed, tiny_parts
from scipy.special import logsumexp

import casimir as cs
from casimir.losses import LOSS_NAMES, as_loss, loss_named, smoothed
from casimir.scores import FloatArray
from casimir.smoothing import Smoothed
from casimir.solvers.choose import choose
from casimir.testing import l2_max

LAM = 0.2
PATHS = pytest.mark.parametrize("native", [True, False], ids=["native", "composed"])
TABLE = np.array([[0.0, 2.0, 0.5], [1.0, 0.0, 0.3], [0.7, 1.5, 0.0]])
COST = cs.Hamming(TABLE)

# A loss, and what it makes of the scores A w and the costs ell of all outputs of an example.
Listed = Callable[[FloatArray, FloatArray], float]
LOSSES: dict[str, tuple[Any, Listed]] = {
    "hinge": (cs.Hinge(COST), lambda z, ell: float(np.max(z + ell))),
    "perceptron": (cs.Hinge(None), lambda z, ell: float(np.max(z))),
    "log": (cs.Log(), lambda z, ell: float(logsumexp(z))),
    "softmax-margin": (cs.SoftmaxMargin(COST), lambda z, ell: float(logsumexp(z + ell))),
    "l2": (cs.FenchelYoung(cs.L2()), lambda z, ell: l2_max(z, 1.0)[0]),
    "l2-cost": (cs.FenchelYoung(cs.L2(), 0.4, COST), lambda z, ell: l2_max(z + ell, 0.4)[0]),
    "entropy": (cs.FenchelYoung(cs.Entropy(), 0.3), lambda z, ell: 0.3 * float(logsumexp(z / 0.3))),
    "entropy-cost": (
        cs.FenchelYoung(cs.Entropy(), 2.0, COST),
        lambda z, ell: 2.0 * float(logsumexp((z + ell) / 2.0)),
    ),
}
every_loss = pytest.mark.parametrize("name", LOSSES)


PARTS = chain_parts(lengths=(1, 3), n_features=4, valued=True)
LISTED = listed(Parts(PARTS.model, PARTS.structure, COST, PARTS.y))


def points() -> list[FloatArray]:
    """Zero and random weights, without weight on padding."""
    used = sum(np.abs(A).sum(axis=0) for A, _ in LISTED) > 0
    rng = np.random.default_rng(1)
    return [np.zeros(len(used)), *(rng.normal(size=len(used)) * scale * used for scale in (0.3, 1.0, 5.0))]


@PATHS
@every_loss
def test_values_are_those_of_listing_all_outputs(name: str, native: bool) -> None:
    loss, by_listing = LOSSES[name]
    objective = PARTS.objective(LAM, loss, native=native)
    for w in points():
        losses = [by_listing(A @ w, ell) for A, ell in LISTED]
        wanted = np.mean(losses) + 0.5 * LAM * float(w @ w)
        found = objective.evaluate(w)
        assert objective.value(w) == pytest.approx(wanted, abs=1e-10)
        assert found.objective == pytest.approx(wanted, abs=1e-10)
        assert found.smoothed == pytest.approx(wanted, abs=1e-10)
        assert found.exact == 1.0


@PATHS
@every_loss
def test_no_loss_is_negative(name: str, native: bool) -> None:
    """Far from the truth and close to it: the truth's own score is part of every max."""
    loss = LOSSES[name][0]
    objective = PARTS.objective(LAM, loss, native=native)
    towards_truth = -sum(A.mean(axis=0) for A, _ in LISTED)
    for w in (*points(), *(scale * towards_truth for scale in (-100.0, -1.0, 1.0, 100.0))):
        found = objective.problem(loss.smoothing).full_pass(w, loss.smoothing, loss.mu, gradient=False, keep=False)
        assert found.value.min() >= -1e-12 * np.abs(w).max(initial=1.0)


@PATHS
@every_loss
def test_gradients_are_finite_differences(name: str, native: bool) -> None:
    objective, h, rng = PARTS.objective(LAM, LOSSES[name][0], native=native), 1e-6, np.random.default_rng(0)
    w = points()[2]
    gradient = objective.evaluate(w).gradient
    assert gradient is not None
    for _ in range(4):
        v = rng.normal(size=len(w))
        up, down = (objective.value(w + sign * h * v) for sign in (1, -1))
        assert (up - down) / (2 * h) == pytest.approx(float((gradient + LAM * w) @ v), abs=1e-5)


@PATHS
@every_loss
def test_the_dual_point_of_a_pass_lies_below_the_objective_and_meets_it_at_the_optimum(name: str, native: bool) -> None:
    objective = PARTS.objective(LAM, LOSSES[name][0], native=native)
    solver = cs.DualProximal() if objective.dual_variables == "outputs" else cs.LBFGS()
    best = cs.minimize(objective, solver, epochs=2000, tol=1e-6)
    assert best.gap <= 1e-6
    for w in points():
        dual = objective.evaluate(w).dual
        assert dual is not None
        assert dual.value(objective.penalty) <= best.objective + 1e-9
    if objective.dual_variables != "outputs":
        dual = objective.evaluate(best.w).dual
        assert dual is not None
        assert dual.value(objective.penalty) == pytest.approx(best.objective, rel=1e-5)


@PATHS
def test_a_loss_without_a_temperature_of_its_own_is_its_own_smoothing(native: bool) -> None:
    """Log() is the entropy's Fenchel-Young loss at mu = 1, SoftmaxMargin the one with a cost."""
    for one, other in (
        (cs.Log(), cs.FenchelYoung(cs.Entropy())),
        (cs.SoftmaxMargin(COST), cs.FenchelYoung(cs.Entropy(), 1.0, COST)),
    ):
        parts = chain_parts(lengths=(1, 3))
        w = np.random.default_rng(0).normal(size=parts.model.n_params)
        a, b = (parts.objective(LAM, loss, native=native).evaluate(w) for loss in (one, other))
        assert a.smoothed == b.smoothed
        np.testing.assert_array_equal(a.gradient, b.gradient)


@PATHS
def test_a_sparse_loss_vanishes_once_the_truth_wins_by_mu(native: bool) -> None:
    model = cs.LinearCandidateModel([np.eye(3)])
    objective = cs.Objective(model, cs.Candidates(), cs.FenchelYoung(cs.L2(), 0.5), [np.array([1])], 0.0, native=native)
    found = objective.evaluate(np.array([0.0, 0.5, 0.0]))
    assert found.smoothed == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(found.gradient, 0.0, atol=1e-12)
    assert objective.value(np.array([0.0, 0.4, 0.0])) > 1e-3


def test_smoothing_leaves_smooth_losses_alone() -> None:
    hinge = cs.Hinge(COST)
    assert smoothed(hinge, cs.L2(5), 0.1) == cs.FenchelYoung(cs.L2(5), 0.1, COST)
    assert smoothed(hinge, cs.L2(5), 0.0) is hinge
    for loss in (cs.Log(), cs.SoftmaxMargin(COST), cs.FenchelYoung(cs.L2())):
        assert smoothed(loss, cs.L2(5), 0.1) is loss
    with pytest.raises(ValueError, match=r"Use Hinge\(cost\)"):
        cs.FenchelYoung(cs.Hard())


def test_a_loss_without_dual_steps_says_so() -> None:
    objective = PARTS.objective(LAM, cs.FenchelYoung(cs.L2()))
    with pytest.raises(TypeError, match=r"DualProximal has no dual steps for FenchelYoung.*Use Casimir\(\)"):
        cs.minimize(objective, cs.DualProximal())
    assert isinstance(choose("auto", objective), cs.Casimir)


@dataclass
class Lukewarm:
    """A loss of a user: a SoftmaxMargin at another level."""

    cost: Any = COST
    mu: float = 0.7

    @property
    def smoothing(self) -> Any:
        return cs.Entropy()


class TwoTemperatures:
    """A smoothing of a user: the mean of the entropy's at mu and at 2 mu."""

    def __call__(self, structure: Any, s: Any, mu: float) -> Smoothed:
        a, b = (cs.Entropy()(structure, s, level) for level in (mu, 2.0 * mu))
        return Smoothed(0.5 * (a.value + b.value), (a.marginals + b.marginals) * 0.5, None, a.exact & b.exact)

    def bound(self, log_n_outputs: float) -> float:
        return 1.5 * log_n_outputs


class Own:
    """A loss of a user that is no dataclass."""

    cost, smoothing, mu = None, TwoTemperatures(), 1.0


@PATHS
def test_a_loss_of_a_user_is_trained_and_certified(native: bool) -> None:
    parts = chain_parts(lengths=(1, 3))
    objective = parts.objective(LAM, Lukewarm(), native=native)
    assert objective.is_native == native
    result = cs.minimize(objective, cs.LBFGS(), epochs=200, tol=1e-5)
    assert result.converged
    same = cs.minimize(parts.objective(LAM, cs.FenchelYoung(cs.Entropy(), 0.7, COST)), cs.LBFGS(), epochs=200, tol=1e-5)
    assert result.objective == pytest.approx(same.objective, rel=1e-5)


def test_a_smoothing_of_a_user_makes_a_loss() -> None:
    parts = chain_parts(lengths=(1, 3))
    objective = parts.objective(LAM, Own())
    w = np.random.default_rng(0).normal(size=objective.n_params)
    scores = [A @ w for A, _ in listed(parts)]
    wanted = np.mean([0.5 * logsumexp(z) + logsumexp(z / 2.0) for z in scores]) + 0.5 * LAM * w @ w
    assert objective.value(w) == pytest.approx(wanted)
    result = cs.minimize(objective, cs.LBFGS(), epochs=200, tol=1e-4)
    assert result.converged
    saga = cs.minimize(objective, cs.SAGA(), epochs=300, tol=1e-3)
    assert result.dual <= saga.objective + 1e-12


@pytest.mark.parametrize("loss", [cs.FenchelYoung(cs.L2(3)), cs.FenchelYoung(cs.L2(k=1), 0.1, COST)], ids=repr)
def test_a_loss_that_undervalues_itself_is_refused(loss: Any) -> None:
    with pytest.raises(ValueError, match=r"L2\(k=\d\) undervalues itself .* Use L2\(\) without k"):
        tiny_parts().objective(LAM, loss)


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        ("hinge", "loss='hinge'; it must be a loss such as"),
        ("crf", "loss='crf'; it must be a loss such as"),
        (None, "loss=None; it must be a loss such as"),
        (3, "loss=3"),
        (cs.Entropy(), r"loss=Entropy\(\)"),
        (np.zeros((2, 2)), "loss=array"),
    ],
)
def test_what_is_no_loss_is_refused(loss: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        as_loss(loss)


def test_a_cost_stands_for_a_hinge_loss() -> None:
    assert as_loss(COST) == cs.Hinge(COST)
    assert as_loss(cs.Log()) == cs.Log()


@pytest.mark.parametrize("mu", [0.0, -1.0, np.nan, np.inf])
def test_levels_of_smoothing_are_positive(mu: float) -> None:
    with pytest.raises(ValueError, match="mu="):
        cs.FenchelYoung(cs.Entropy(), mu)


def test_names_of_losses_are_for_the_edges() -> None:
    assert {name: loss_named(name, COST) for name in LOSS_NAMES} == {"hinge": cs.Hinge(COST), "crf": cs.Log()}
    with pytest.raises(ValueError, match="loss='svm'; it must be 'hinge' or 'crf'"):
        loss_named("svm", COST)
