"""The objective: values against brute force, gradients against differences, dual points below every value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from problems import (
    Counting,
    Parts,
    brute_force,
    candidate_parts,
    chain_parts,
    crf_optimum,
    hinge_optimum,
    listed,
    tiny_parts,
)

import casimir as cs
from casimir.objective import DualPoint, Proximal, relative_gap
from casimir.scores import FloatArray
from casimir.smoothing import L2, Entropy, Hard
from casimir.testing import l2_max

LAM = 0.2
PATHS = pytest.mark.parametrize("native", [True, False], ids=["native", "composed"])
SMOOTHINGS = [Hard(), L2(2), L2(4), L2(), Entropy()]


def points(parts: Parts, count: int = 3, scale: float = 0.8) -> list[FloatArray]:
    """Zero and random weights, without weight on padding."""
    used = sum(np.abs(A).sum(axis=0) for A, _ in listed(parts)) > 0
    rng = np.random.default_rng(4)
    return [np.zeros(len(used))] + [rng.normal(size=len(used)) * scale * used for _ in range(count)]


@PATHS
@pytest.mark.parametrize("loss", ["hinge", "crf"])
def test_value_is_that_of_listing_all_outputs(native: bool, loss: str) -> None:
    for parts in (tiny_parts(), chain_parts(lengths=(1, 3), valued=True, weighted_cost=True)):
        objective = parts.objective(LAM, loss=loss, native=native)
        for w in points(parts, 2):
            assert objective.value(w) == pytest.approx(brute_force(parts, w, LAM, loss), abs=1e-12)


@PATHS
def test_smoothed_values_are_those_of_listing_all_outputs(native: bool) -> None:
    parts, mu = chain_parts(lengths=(1, 3), weighted_cost=True), 0.7
    objective = parts.objective(LAM, native=native)
    for w in points(parts, 2):
        scores = [ell + A @ w for A, ell in listed(parts)]
        soft = [mu * np.log(np.sum(np.exp(z / mu))) for z in scores]
        flat = [l2_max(z, mu)[0] for z in scores]
        ridge = 0.5 * LAM * float(w @ w)
        assert objective.evaluate(w, Entropy(), mu).smoothed == pytest.approx(np.mean(soft) + ridge, abs=1e-10)
        assert objective.evaluate(w, L2(), mu).smoothed == pytest.approx(np.mean(flat) + ridge, abs=1e-10)


@PATHS
@pytest.mark.parametrize(
    ("smoothing", "loss"),
    [(Hard(), "hinge"), (L2(), "hinge"), (L2(4), "hinge"), (Entropy(), "hinge"), (Hard(), "crf")],
    ids=["hard", "l2", "l2-4", "entropy", "crf"],
)
def test_gradients_are_finite_differences(native: bool, smoothing: Any, loss: str) -> None:
    parts, mu, h = chain_parts(lengths=(1, 3), weighted_cost=True, n_features=4), 0.15, 1e-5
    objective = parts.objective(LAM, loss=loss, native=native)
    rng = np.random.default_rng(0)
    w = points(parts)[1]
    here = objective.evaluate(w, smoothing, mu)
    assert here.gradient is not None
    assert here.exact == 1.0
    for _ in range(4):
        v = rng.normal(size=len(w))
        up, down = (objective.evaluate(w + sign * h * v, smoothing, mu).smoothed for sign in (1, -1))
        assert (up - down) / (2 * h) == pytest.approx(float(here.gradient @ v), abs=1e-6)


@PATHS
@pytest.mark.parametrize("make", [chain_parts, candidate_parts])
@pytest.mark.parametrize("mu", [0.05, 0.5, 3.0])
def test_smoothed_values_bound_the_objective(native: bool, make: Any, mu: float) -> None:
    parts = make()
    objective = parts.objective(LAM, native=native)
    w = np.random.default_rng(2).normal(size=objective.n_params)
    value = objective.value(w)
    outputs = parts.structure.log_n_outputs(parts.model.scores(w))
    for smoothing in SMOOTHINGS:
        found = objective.evaluate(w, smoothing, mu)
        bound = np.mean([smoothing.bound(size) for size in outputs])
        assert value - 1e-12 <= found.smoothed <= value + mu * bound + 1e-12
        if found.objective is not None:
            assert found.objective == pytest.approx(value, abs=1e-12)
        else:
            assert smoothing == Entropy()


@PATHS
def test_exact_is_the_share_of_examples_that_the_smoothing_got_right(native: bool) -> None:
    parts = tiny_parts()  # three chains with 4 outputs, one with 2
    objective = parts.objective(LAM, native=native)
    assert objective.evaluate(parts.model.zeros(), L2(2), 100.0).exact == 0.25
    assert objective.evaluate(parts.model.zeros(), L2(4), 100.0).exact == 1.0
    assert objective.evaluate(parts.model.zeros(), Entropy(), 1.0).exact == 1.0


def test_full_passes_give_the_same_bits_on_any_number_of_threads() -> None:
    parts = chain_parts(n=23, n_labels=5, n_features=40, lengths=(1, 5), valued=True)
    w = points_of_size(parts)
    for smoothing in (Hard(), L2(3), L2(cap=1000), Entropy()):
        first, *others = (parts.objective(LAM, n_threads=k).evaluate(w, smoothing, 0.3) for k in (1, 2, 3, 8))
        for other in others:
            assert (other.objective, other.smoothed, other.exact) == (first.objective, first.smoothed, first.exact)
            np.testing.assert_array_equal(other.gradient, first.gradient)
            assert other.dual is not None
            assert first.dual is not None
            assert other.dual.ell == first.dual.ell


def points_of_size(parts: Parts) -> FloatArray:
    w = parts.model.zeros()
    for view in parts.model.unpack(w):
        view[...] = np.random.default_rng(view.size).normal(size=view.shape)
    return w


@PATHS
@pytest.mark.parametrize("lam", [0.05, 1.0])
def test_every_dual_point_is_below_the_optimum(native: bool, lam: float) -> None:
    for parts in (tiny_parts(), chain_parts(n=4, lengths=(1, 3), n_labels=2, valued=True)):
        optimum, crf = hinge_optimum(parts, lam), crf_optimum(parts, lam)
        hinge = parts.objective(lam, native=native)
        smooth = parts.objective(lam, loss="crf", native=native)
        for w in points(parts, 2):
            for smoothing in SMOOTHINGS:
                dual = hinge.evaluate(w, smoothing, 0.5).dual
                assert dual is not None
                assert dual.value(lam) <= optimum + 1e-6
            dual = smooth.evaluate(w).dual
            assert dual is not None
            assert dual.value(lam) <= crf + 1e-8
            assert smooth.value(w) >= crf - 1e-8


@PATHS
@pytest.mark.parametrize("smoothing", SMOOTHINGS, ids=repr)
def test_a_small_gradient_certifies_a_small_gap(native: bool, smoothing: Any) -> None:
    """F - D <= |grad F_mu|^2 / (2 lam) + mu times the smoothing's bound, at every w."""
    parts, mu = tiny_parts(), 0.3
    objective = parts.objective(LAM, native=native)
    for w in points(parts, 2):
        found = objective.evaluate(w, smoothing, mu)
        assert found.dual is not None
        assert found.gradient is not None
        limit = float(found.gradient @ found.gradient) / (2.0 * LAM) + mu * smoothing.bound(np.log(4.0))
        assert objective.value(w) - found.dual.value(LAM) <= limit + 1e-12


def test_the_trivial_dual_point_is_zero() -> None:
    objective = tiny_parts().objective(LAM)
    assert objective.trivial_dual().value(LAM) == 0.0
    assert DualPoint(np.ones(3), 5.0).value(0.0) == 0.0  # no dual without lam, but no loss is negative


def test_the_best_point_of_a_segment_is_no_worse_than_its_ends() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        lam = 10.0 ** rng.uniform(-3, 1)
        a, b = (DualPoint(rng.normal(size=4) * rng.choice([0.0, 0.1, 1.0]), rng.normal()) for _ in range(2))
        best = a.towards(b, lam)
        slack = 1e-9 * (1 + abs(best.value(lam)))
        assert best.value(lam) >= max(a.value(lam), b.value(lam)) - slack
        for theta in (0.1, 0.35, 0.8):
            between = DualPoint((1 - theta) * a.g + theta * b.g, (1 - theta) * a.ell + theta * b.ell)
            assert best.value(lam) >= between.value(lam) - slack


def test_the_best_point_of_a_segment_without_curvature_is_its_better_end() -> None:
    low, high = DualPoint(np.ones(2), 1.0), DualPoint(np.ones(2), 2.0)
    assert low.towards(high, 1.0).ell == 2.0
    assert high.towards(low, 1.0).ell == 2.0


@pytest.mark.parametrize("kappa", [0.0, 0.7])
@pytest.mark.parametrize("lam", [0.0, 0.3])
def test_the_proximal_subproblem_adds_its_quadratic(kappa: float, lam: float) -> None:
    parts, h = tiny_parts(), 1e-6
    objective = parts.objective(lam)
    w, center, v = points(parts)[1:4]
    problem = Proximal(objective, kappa, center)

    def value(at: FloatArray) -> float:
        return problem.smoothed(at, objective.evaluate(at, Entropy(), 1.0))

    found = objective.evaluate(w, Entropy(), 1.0)
    assert problem.sigma == lam + kappa
    assert value(w) == pytest.approx(found.smoothed + 0.5 * kappa * np.sum((w - center) ** 2))
    slope = float(problem.gradient(w, found) @ v)
    assert (value(w + h * v) - value(w - h * v)) / (2 * h) == pytest.approx(slope, abs=1e-6)
    c = problem.fixed_point(found)
    assert found.dual is not None
    affine = found.dual.g + lam * w + kappa * (w - center)
    np.testing.assert_allclose(problem.sigma * (w - c) if problem.sigma > 0 else -c, affine, atol=1e-12)


def test_relative_gaps() -> None:
    assert relative_gap(2.0, 1.5) == 0.25
    assert relative_gap(0.0, 0.0) == 0.0
    assert relative_gap(1.0, 1.0 + 1e-15) == 0.0  # rounding


@PATHS
def test_evaluate_leaves_w_alone_and_counts_its_calls(native: bool) -> None:
    parts = chain_parts()
    objective = parts.objective(LAM, native=native)
    w = points_of_size(parts)
    before = w.copy()
    for k, smoothing in enumerate(SMOOTHINGS, 1):
        objective.evaluate(w, smoothing, 0.5)
        assert objective.oracle_calls == k * objective.n_examples
    np.testing.assert_array_equal(w, before)


def test_counted_calls_are_real_calls() -> None:
    parts = chain_parts()
    counting = Counting(parts.structure)
    objective = Parts(parts.model, counting, parts.cost, parts.y).objective(LAM)
    assert not objective.is_native
    for smoothing in (Hard(), L2(3), Entropy()):
        objective.evaluate(parts.model.zeros(), smoothing, 0.5)
    assert objective.oracle_calls == counting.calls[0] == 3 * len(parts.y)


def test_one_label_has_no_loss() -> None:
    parts = chain_parts(n_labels=1)
    for loss in ("hinge", "crf"):
        found = parts.objective(LAM, loss=loss).evaluate(parts.model.zeros())
        assert found.objective == found.smoothed == 0.0
        np.testing.assert_array_equal(found.gradient, 0.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lam": -0.1}, "lam=-0.1; it must be a finite number"),
        ({"lam": np.nan}, "lam=nan"),
        ({"lam": np.inf}, "lam=inf"),
        ({"loss": "squared"}, "loss='squared'; it must be 'hinge' or 'crf'"),
        ({"loss": "crf"}, "loss='crf' takes no cost"),
        ({"y": []}, "y has 0 outputs; the model has 4 examples"),
        ({"y": [np.array([0])] * 4}, "needs"),
        ({"y": [np.array([0, 7])] * 4}, "holds 7"),
        ({"structure": cs.Chain(3)}, "Chain got scores"),
        ({"cost": cs.Hamming(np.zeros((3, 3)))}, "cost"),
    ],
)
@PATHS
def test_bad_arguments_are_refused(native: bool, change: dict[str, Any], message: str) -> None:
    parts = tiny_parts()
    arguments = {"model": parts.model, "structure": parts.structure, "cost": parts.cost, "y": parts.y, "lam": 0.1}
    with pytest.raises(ValueError, match=message):
        cs.Objective(**(arguments | change), native=native).value(parts.model.zeros())


@PATHS
def test_weights_of_the_wrong_size_are_refused(native: bool) -> None:
    objective = tiny_parts().objective(LAM, native=native)
    with pytest.raises(ValueError, match="28"):
        objective.value(np.zeros(3))


def test_a_crf_has_no_dual_blocks() -> None:
    with pytest.raises(TypeError, match=r"Block-coordinate Frank-Wolfe needs loss='hinge'.*LBFGS"):
        tiny_parts().objective(LAM, loss="crf").dual_blocks()
