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
from casimir.duality import DualPoint, relative_gap
from casimir.losses import smoothed
from casimir.penalties import ElasticNet, Proximal, Ridge
from casimir.scores import FloatArray
from casimir.smoothing import L2, Entropy, Hard
from casimir.testing import l2_max

LAM = 0.2
PATHS = pytest.mark.parametrize("native", [True, False], ids=["native", "composed"])
SMOOTHINGS = [Hard(), L2(2), L2(4), L2(), Entropy()]


def evaluate(objective: cs.Objective, w: FloatArray, smoothing: Any, mu: float) -> Any:
    """With the objective's loss smoothed; Hard leaves it as it is."""
    return objective.evaluate(w, smoothed(objective.loss, smoothing, 0.0 if smoothing == Hard() else mu))


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
        assert evaluate(objective, w, Entropy(), mu).smoothed == pytest.approx(np.mean(soft) + ridge, abs=1e-10)
        assert evaluate(objective, w, L2(), mu).smoothed == pytest.approx(np.mean(flat) + ridge, abs=1e-10)


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
    here = evaluate(objective, w, smoothing, mu)
    gradient = here.gradient + LAM * w  # the penalty's is not part of it
    assert here.exact == 1.0
    for _ in range(4):
        v = rng.normal(size=len(w))
        up, down = (evaluate(objective, w + sign * h * v, smoothing, mu).smoothed for sign in (1, -1))
        assert (up - down) / (2 * h) == pytest.approx(float(gradient @ v), abs=1e-6)


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
        found = evaluate(objective, w, smoothing, mu)
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
    assert evaluate(objective, parts.model.zeros(), L2(2), 100.0).exact == 0.25
    assert evaluate(objective, parts.model.zeros(), L2(4), 100.0).exact == 1.0
    assert evaluate(objective, parts.model.zeros(), Entropy(), 1.0).exact == 1.0


@PATHS
def test_a_smoothing_that_saw_enough_outputs_is_exact_whatever_is_rounded(native: bool) -> None:
    """mu is about sum_j (z_j - z_3) of the first outputs, whose scores differ by 1e-12: pulling ends by a hair."""
    rng = np.random.default_rng(0)
    X = cs.PackedSequences(np.array([0, 2]), np.array([0, 1, 2]), np.array([0, 1], dtype=np.uint32), None, 2)
    model = cs.LinearChainModel(X, 2)
    objective = cs.Objective(model, cs.Chain(2), cs.Hinge(None), [np.array([0, 0])], 0.0, native=native)
    for _ in range(300):
        w = model.zeros()
        unary = model.unpack(w)[0]
        unary[:] = rng.uniform(-1.0, 1.0) + rng.uniform(-1e-12, 1e-12, (2, 2))
        z = np.sort([unary[0, a] + unary[1, b] for a in (0, 1) for b in (0, 1)])[::-1]
        for count in (2, 3):
            mu = float(np.sum(z[:count] - z[count]))
            if mu > 0.0:
                assert objective.evaluate(w, cs.FenchelYoung(L2(), mu)).exact == 1.0


def test_full_passes_give_the_same_bits_on_any_number_of_threads() -> None:
    parts = chain_parts(n=23, n_labels=5, n_features=40, lengths=(1, 5), valued=True)
    w = points_of_size(parts)
    for smoothing in (Hard(), L2(3), L2(cap=1000), Entropy()):
        first, *others = (evaluate(parts.objective(LAM, n_threads=k), w, smoothing, 0.3) for k in (1, 2, 3, 8))
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
                assert evaluate(hinge, w, smoothing, 0.5).dual.value(hinge.penalty) <= optimum + 1e-6
            dual = smooth.evaluate(w).dual
            assert dual is not None
            assert dual.value(smooth.penalty) <= crf + 1e-8
            assert smooth.value(w) >= crf - 1e-8


@PATHS
@pytest.mark.parametrize("smoothing", SMOOTHINGS, ids=repr)
def test_a_small_gradient_certifies_a_small_gap(native: bool, smoothing: Any) -> None:
    """F - D <= |grad F_mu|^2 / (2 lam) + mu times the smoothing's bound, at every w."""
    parts, mu = tiny_parts(), 0.3
    objective = parts.objective(LAM, native=native)
    for w in points(parts, 2):
        found = evaluate(objective, w, smoothing, mu)
        gradient = found.gradient + LAM * w
        limit = float(gradient @ gradient) / (2.0 * LAM) + mu * smoothing.bound(np.log(4.0))
        assert objective.value(w) - found.dual.value(objective.penalty) <= limit + 1e-12


def test_the_trivial_dual_point_is_zero() -> None:
    objective = tiny_parts().objective(LAM)
    assert objective.trivial_dual().value(objective.penalty) == 0.0
    assert DualPoint(np.ones(3), 5.0).value(Ridge(0.0)) == 0.0  # no dual without lam, but no loss is negative


PENALTIES = [
    *(Ridge(lam) for lam in (1e-3, 0.1, 10.0)),
    Ridge(0.1, strengths=[0.5, 1.0, 3.0, np.inf], nonnegative=[True, False, True, False]),
    *(ElasticNet(lam, ratio) for lam in (0.02, 1.0) for ratio in (0.5, 1.0)),
    ElasticNet(0.3, 1.0, nonnegative=[True, False, True, False]),
    Proximal(ElasticNet(0.2, 0.7), 0.6, np.array([0.3, -0.2, 0.0, 1.0])),
]


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_the_best_point_of_a_segment_is_no_worse_than_its_ends(penalty: Any) -> None:
    rng = np.random.default_rng(0)
    for _ in range(100):
        a, b = (DualPoint(rng.normal(size=4) * rng.choice([0.0, 0.1, 1.0]), rng.uniform()) for _ in range(2))
        best = a.towards(b, penalty).value(penalty)
        around = [DualPoint((1 - t) * a.g + t * b.g, (1 - t) * a.ell + t * b.ell) for t in (0.0, 0.1, 0.35, 0.8, 1.0)]
        values = [point.value(penalty) for point in around]
        # A search ends once the slope has all but gone; that of a plain square is exact.
        slack = 1e-9 * (1 + abs(best)) if penalty.quadratic is not None else 2e-3 * max(1.0, *np.abs(values))
        assert best >= max(values) - slack


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_a_dual_point_that_is_not_feasible_is_moved_towards_the_truth(penalty: Any) -> None:
    """D(t g, t ell), t as large as R* allows, is what a search over t finds, where ell is all that counts."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        point = DualPoint(rng.normal(size=4), rng.uniform())
        shares = np.linspace(0.0, 1.0, 2001)
        found = [share * point.ell - penalty.conjugate(-share * point.g) for share in shares]
        assert point.value(penalty) <= max(found) + 1e-3
        if penalty.strong_convexity == 0.0:
            assert point.value(penalty) >= max(found) - 1e-9
        else:
            assert point.value(penalty) == pytest.approx(found[-1])


def test_the_best_point_of_a_segment_without_curvature_is_its_better_end() -> None:
    low, high = DualPoint(np.ones(2), 1.0), DualPoint(np.ones(2), 2.0)
    for penalty in (Ridge(1.0), ElasticNet(1.0, 0.5), ElasticNet(1.0, 1.0)):
        assert low.towards(high, penalty).ell == 2.0
        assert high.towards(low, penalty).ell == 2.0


@PATHS
@pytest.mark.parametrize("penalty", [Ridge(0.3), ElasticNet(0.3, 0.5), Ridge(0.0)], ids=repr)
def test_another_penalty_leaves_the_losses_alone(native: bool, penalty: Any) -> None:
    parts = tiny_parts()
    objective = parts.objective(penalty, native=native)
    w, center = points(parts)[1:3]
    problem = objective.with_penalty(Proximal(penalty, 0.7, center))
    here, there = (evaluate(p, w, Entropy(), 1.0) for p in (objective, problem))
    square = 0.35 * np.sum((w - center) ** 2)
    assert there.smoothed == pytest.approx(here.smoothed + square)
    assert problem.value(w) == pytest.approx(objective.value(w) + square)
    np.testing.assert_array_equal(there.gradient, here.gradient)
    assert there.dual.ell == here.dual.ell
    assert objective.penalty is penalty
    assert problem.counts is objective.counts


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
        evaluate(objective, w, smoothing, 0.5)
        assert objective.oracle_calls == k * objective.n_examples
    np.testing.assert_array_equal(w, before)


def test_counted_calls_are_real_calls() -> None:
    parts = chain_parts()
    counting = Counting(parts.structure)
    objective = Parts(parts.model, counting, parts.cost, parts.y).objective(LAM)
    assert not objective.is_native
    for smoothing in (Hard(), L2(3), Entropy()):
        evaluate(objective, parts.model.zeros(), smoothing, 0.5)
    assert objective.oracle_calls == counting.calls[0] == 3 * len(parts.y)


def test_calls_are_counted_by_what_they_are_for() -> None:
    parts = chain_parts()
    objective, w, n = parts.objective(LAM), parts.model.zeros(), len(parts.y)
    objective.evaluate(w)
    objective.value(w)
    objective.evaluate(w, count="searches")
    objective.with_penalty(Ridge(1.0)).evaluate(w)
    assert vars(objective.counts) == {"steps": 0, "full_gradients": 2 * n, "evaluations": n, "searches": n}
    assert objective.counts.oracle_calls == objective.oracle_calls == 4 * n


def test_one_label_has_no_loss() -> None:
    parts = chain_parts(n_labels=1)
    for loss in ("hinge", "crf"):
        found = parts.objective(LAM, loss=loss).evaluate(parts.model.zeros())
        assert found.objective == found.smoothed == 0.0
        np.testing.assert_array_equal(found.gradient, 0.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"penalty": -0.1}, "lam=-0.1; it must be a finite number"),
        ({"penalty": np.nan}, "lam=nan"),
        ({"penalty": np.inf}, "lam=inf"),
        ({"penalty": Ridge(0.1, strengths=np.ones(3))}, "strengths has 3 entries; the model has 28 weights"),
        ({"penalty": ElasticNet(0.1, 0.5, nonnegative=[True])}, "nonnegative has 1 entries; the model has 28 weights"),
        ({"penalty": Proximal(Ridge(0.1), 1.0, np.ones(2))}, "center has 2 entries; the model has 28 weights"),
        ({"y": []}, "y has 0 outputs; the model has 4 examples"),
        ({"y": [np.array([0])] * 4}, "needs"),
        ({"y": [np.array(y) for y in ([0, 7], [1], [1, 0], [1, 1])]}, "holds 7"),
        ({"structure": cs.Chain(3)}, "Chain got scores"),
        ({"loss": cs.Hinge(cs.Hamming(np.zeros((3, 3))))}, "cost"),
        ({"n_threads": 0}, "n_threads=0"),
        ({"y": [np.array([0.5, 1.0])] * 4}, "has float64 entries; outputs are whole numbers"),
    ],
)
@PATHS
def test_bad_arguments_are_refused(native: bool, change: dict[str, Any], message: str) -> None:
    parts = tiny_parts()
    arguments = {"model": parts.model, "structure": parts.structure, "loss": parts.cost, "y": parts.y, "penalty": 0.1}
    with pytest.raises(ValueError, match=message):
        cs.Objective(**(arguments | change), native=native).value(parts.model.zeros())


@PATHS
def test_weights_of_the_wrong_size_are_refused(native: bool) -> None:
    objective = tiny_parts().objective(LAM, native=native)
    with pytest.raises(ValueError, match="28"):
        objective.value(np.zeros(3))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"loss": "hinge"}, r"loss='hinge'; it must be a loss such as Hinge\(Hamming\(\)\) or Log\(\), or a cost"),
        ({"loss": None}, "loss=None; it must be a loss"),
        ({"penalty": "ridge"}, r"penalty='ridge'; it must be a number, or a penalty such as Ridge\(lam\)"),
        ({"penalty": None}, "It has no strong_convexity, quadratic"),
        ({"penalty": True}, "penalty=True; it must be a number"),
        ({"lam": 0.1}, "unexpected keyword argument 'lam'"),
    ],
)
def test_arguments_of_the_wrong_kind_are_refused(change: dict[str, Any], message: str) -> None:
    parts = tiny_parts()
    arguments = {"model": parts.model, "structure": parts.structure, "loss": parts.cost, "y": parts.y, "penalty": 0.1}
    with pytest.raises(TypeError, match=message):
        cs.Objective(**(arguments | change))


@PATHS
def test_weights_of_examples_are_shares_whatever_their_scale(native: bool) -> None:
    parts = chain_parts(n=3, lengths=(1, 3))
    shares, w = np.array([1.0, 0.5, 3.0]), points(parts)[1]

    def value(scale: float) -> float:
        plain = parts.objective(LAM, native=native)
        arguments = plain.model, plain.structure, plain.loss, plain.y, plain.penalty
        return cs.Objective(*arguments, scale * shares, native=native).value(w)

    for scale in (1e-290, 1e-10, 1e10, 1e90):
        assert value(scale) == pytest.approx(value(1.0), rel=1e-12)
    for scale, total in ((5e307, "inf"), (1e200, "4.5e\\+200"), (1e-320, "4.49995e-320")):  # inf: all shares would be 0
        with pytest.raises(ValueError, match=f"sample_weight adds up to {total}; it must be 1e-300 at the least"):
            value(scale)


def test_a_cost_stands_for_a_hinge_loss_and_a_number_for_a_ridge() -> None:
    parts = tiny_parts()
    given = cs.Objective(parts.model, parts.structure, parts.cost, parts.y, 0.1)
    assert given.loss == cs.Hinge(parts.cost)
    assert (given.penalty.lam, given.penalty.quadratic) == (0.1, (0.1, None))


def test_a_crf_has_no_dual_blocks() -> None:
    with pytest.raises(TypeError, match=r"needs Hinge\(cost\): the dual variables of Log are not a few outputs.*LBFGS"):
        tiny_parts().objective(LAM, loss="crf").dual_blocks()
