"""The native problem of candidate lists equals the composed one, and its dual ascends to the optimum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import casimir as cs
from casimir._native import core
from casimir.models import LinearCandidateModel
from casimir.problems import ComposedProblem, FusedProblem, core_smoothing
from casimir.scores import Scores
from casimir.smoothing import L2, Entropy, Hard
from casimir.solvers.bcfw import dual_start
from casimir.structures.candidates import Candidates

SMOOTHINGS = [Hard(), L2(3), L2(), Entropy()]


def instance(seed: int = 0, n: int = 25, dim: int = 45, dtype: Any = np.float64) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 12, n)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    y = np.array([rng.integers(m) for m in sizes], dtype=np.int32)
    cost = rng.uniform(0.1, 1.0, offsets[-1])
    cost[offsets[:-1] + y] = 0.0
    features = rng.normal(size=(offsets[-1], dim)).astype(dtype)
    return {"offsets": offsets, "features": features, "y": y, "cost": cost}


def composed(data: dict[str, Any], w: np.ndarray, smoothing: Any, mu: float) -> tuple[np.ndarray, np.ndarray, Any]:
    """(value [n], gradient of their sum, the smoothed max) without the native problem."""
    offsets, rows = data["offsets"], data["offsets"][:-1] + data["y"]
    model = LinearCandidateModel(np.split(data["features"].astype(np.float64), offsets[1:-1]))
    scores = model.scores(w)
    smoothed = smoothing(Candidates(), Scores(scores.nodes + data["cost"], offsets), mu)
    truth = np.zeros(offsets[-1])
    truth[rows] = 1.0
    gradient = model.adjoint(Scores(smoothed.marginals.nodes - truth, offsets))
    return smoothed.value - scores.nodes[rows], gradient, smoothed


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("smoothing", SMOOTHINGS)
@pytest.mark.parametrize("mu", [0.2, 3.0])
def test_full_pass_equals_composed(dtype: Any, smoothing: Any, mu: float) -> None:
    data = instance(dtype=dtype)
    problem = core.linear_candidates(**data)
    w = np.random.default_rng(1).normal(size=45) * 0.3
    parts, gradient = np.empty(problem.n_marginals), np.empty(problem.n_params)
    value, max_value, cost, upper, exact = problem.full_pass(w, core_smoothing(smoothing, mu), 2, parts, gradient)
    expected, expected_gradient, smoothed = composed(data, w, smoothing, mu)
    np.testing.assert_allclose(value, expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=0, atol=1e-11)
    np.testing.assert_allclose(parts, smoothed.marginals.nodes, rtol=0, atol=1e-13)
    np.testing.assert_allclose(cost, np.add.reduceat(parts * data["cost"], data["offsets"][:-1]), atol=1e-13)
    np.testing.assert_array_equal(exact.astype(bool), smoothed.exact)
    np.testing.assert_array_equal(upper == value, exact.astype(bool))
    if isinstance(smoothing, Entropy):
        assert np.isnan(max_value).all()
    else:
        np.testing.assert_allclose(max_value - value, smoothed.max_value - smoothed.value, atol=1e-12)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_equals_at_the_end_of_a_capped_list_go_to_the_lowest(k: int) -> None:
    """With w = 0 all wrong candidates have the score of their cost, and there is room for k of them."""
    data = instance()
    data["cost"] = np.where(data["cost"] > 0.0, 1.0, 0.0)
    problem, w = core.linear_candidates(**data), np.zeros(45)
    parts = np.empty(problem.n_marginals)
    problem.full_pass(w, core_smoothing(L2(k), 5.0), 1, parts, None)
    smoothed = composed(data, w, L2(k), 5.0)[2]
    assert not smoothed.exact.all()
    np.testing.assert_allclose(parts, smoothed.marginals.nodes, rtol=0, atol=1e-13)


def test_full_pass_gives_the_same_bits_on_any_number_of_threads() -> None:
    problem = core.linear_candidates(**instance(n=40, dim=101))
    w = np.random.default_rng(1).normal(size=101)
    results = []
    for threads in (1, 2, 3, 7):
        gradient = np.empty(problem.n_params)
        results.append((problem.full_pass(w, core_smoothing(Entropy(), 1.0), threads, None, gradient)[0], gradient))
    for value, gradient in results[1:]:
        np.testing.assert_array_equal(value, results[0][0])
        np.testing.assert_array_equal(gradient, results[0][1])


def test_svrg_and_sgd_epochs_follow_dense_steps() -> None:
    data, lam, gamma, mu = instance(n=15, dim=9), 0.1, 0.05, 0.7
    problem, n = core.linear_candidates(**data), 15
    rng = np.random.default_rng(3)
    order = rng.integers(n, size=40)
    w0 = rng.normal(size=9)

    def gradient_of(i: int, w: np.ndarray) -> np.ndarray:
        rows = slice(data["offsets"][i], data["offsets"][i + 1])
        one = {"offsets": np.array([0, rows.stop - rows.start]), "y": data["y"][i : i + 1]}
        return composed(one | {key: data[key][rows] for key in ("features", "cost")}, w, L2(2), mu)[1]

    w, average = w0.copy(), np.empty(9)
    snapshot, full = np.empty(problem.n_marginals), np.empty(9)
    l2, ridge = core.Smoothing("l2", 2, mu), core.Penalty(0.0, lam, None, None, 0.0, None)
    problem.full_pass(w0, l2, 1, snapshot, full)
    core.svrg_epoch(problem, order, gamma, ridge, full / n, snapshot, l2, w, average)
    dense, total = w0.copy(), np.zeros(9)
    for i in order.tolist():
        dense = dense - gamma * (gradient_of(i, dense) - gradient_of(i, w0) + full / n + lam * dense)
        total += dense
    np.testing.assert_allclose(w, dense, atol=1e-10)
    np.testing.assert_allclose(average, total / len(order), atol=1e-10)

    w, dense = w0.copy(), w0.copy()
    steps = gamma / np.sqrt(np.arange(1.0, 41.0))
    core.sgd_epoch(problem, order, steps, None, ridge, l2, w, core.IterateSum(None, 0.0))
    for step, i in zip(steps.tolist(), order.tolist(), strict=True):
        dense = (1.0 - step * lam) * dense - step * gradient_of(i, dense)
    np.testing.assert_allclose(w, dense, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("pairwise", [False, True])
def test_dual_ascends_and_its_gap_is_the_duality_gap(dtype: Any, pairwise: bool) -> None:
    data, lam = instance(n=30, dim=8, dtype=dtype), 0.05
    problem, n = core.linear_candidates(**data), 30
    dual, w = problem.dual_blocks(), np.zeros(8)
    ridge = core.Penalty(0.0, lam, None, None, 0.0, None)
    rng = np.random.default_rng(0)
    values = [0.0]
    for _ in range(200):
        dual.exact_pass(rng.permutation(n), pairwise, 2, 0.0, ridge, lam, w, None, None)
        values.append(dual.ell - 0.5 * lam * (w @ w))
        if pairwise:
            dual.cached_pass(rng.permutation(n), 2, 0.5, ridge, lam, w, None)
            values.append(dual.ell - 0.5 * lam * (w @ w))
    assert np.all(np.diff(values) >= -1e-12)
    hard = core_smoothing(Hard(), 0.0)
    primal = np.mean(problem.full_pass(w, hard, 1, None, None)[0]) + 0.5 * lam * (w @ w)
    assert -1e-12 <= primal - values[-1] <= (1e-4 if pairwise else 1e-2) * primal
    assert n <= dual.active_outputs <= dual.cached_outputs <= problem.n_marginals


@pytest.mark.parametrize("pairwise", [False, True])
@pytest.mark.parametrize("averaged", [False, True])
def test_dual_follows_the_composed_path(pairwise: bool, averaged: bool) -> None:
    data, lam, n = instance(n=12, dim=7), 0.05, 12
    data["features"][4] = data["features"][5]  # a tie
    costs = Scores(data["cost"], data["offsets"])

    class Given:
        def parts(self, structure: Any, s: Any, y: Any) -> Scores:
            return costs

    model = LinearCandidateModel(np.split(data["features"], data["offsets"][1:-1]))
    slow = ComposedProblem(model, Candidates(), Given(), list(data["y"].astype(np.int64)[:, None]))
    runs = []
    for problem in (slow, FusedProblem(core.linear_candidates(**data), 1)):
        blocks, iterate, rng = problem.dual_blocks(), dual_start(cs.Ridge(lam), 7), np.random.default_rng(4)
        iterate.average = blocks.new_average(7) if averaged else None
        trace = []
        for _ in range(12):
            gap, calls = blocks.exact_pass(rng.permutation(n), pairwise, 3, 0.5 * (len(trace) % 3), iterate)
            trace.append([gap + calls, blocks.ell, blocks.cached_outputs, *iterate.w])
            if pairwise and not averaged:
                gap = blocks.cached_pass(rng.permutation(n), 2, 0.5, iterate)
                trace.append([gap, blocks.ell, blocks.cached_outputs, *iterate.w])
        if averaged:
            sums = iterate.average
            trace.append([sums.ell_sum, sums.mass, 0.0, *(sums.mass * iterate.w - sums.q)])
        runs.append(np.array(trace))
    np.testing.assert_allclose(runs[1], runs[0], rtol=1e-10, atol=1e-10)


def test_what_a_state_brings_back_leaves_out_the_same_examples() -> None:
    """Passes leave out examples by the gaps of their last visits, which belong to the state."""
    problem, n = FusedProblem(core.linear_candidates(**instance(n=12, dim=7)), 1), 12
    first, iterate, rng = problem.dual_blocks(), dual_start(cs.Ridge(0.05), 7), np.random.default_rng(4)
    for _ in range(3):
        first.exact_pass(rng.permutation(n), True, 3, 0.0, iterate)
    second, other = problem.dual_blocks(), dual_start(cs.Ridge(0.05), 7)
    second.restore(first.state())
    other.w[:] = iterate.w
    order = rng.permutation(n)
    runs = (first, iterate), (second, other)
    calls = [blocks.exact_pass(order, True, 3, 1.0, at).oracle_calls for blocks, at in runs]
    assert 0 < calls[0] == calls[1] < n
    np.testing.assert_array_equal(other.w, iterate.w)


def test_decode_gives_the_lowest_best_candidate_without_cost() -> None:
    data = instance()
    data["features"][1] = data["features"][0]
    problem = core.linear_candidates(**(data | {"cost": None}))
    w = np.random.default_rng(5).normal(size=45)
    value, index = problem.decode(w, 2)
    best = Candidates().max(Scores(data["features"] @ w, data["offsets"]))
    np.testing.assert_allclose(value, best.value, atol=1e-12)
    np.testing.assert_array_equal(index, np.concatenate(best.outputs))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"offsets": np.array([0, 3, 3, 5])}, "an example has no items"),
        ({"offsets": np.array([0, 3])}, "end at the number of items"),
        ({"y": np.array([0, 9], dtype=np.int32)}, r"y\[1\] is not a candidate"),
        ({"y": np.array([0], dtype=np.int32)}, "1 entries for 2 examples"),
        ({"cost": np.zeros(4)}, "4 entries for 5 candidates"),
        ({"features": np.zeros((5, 0))}, "at least one column"),
    ],
)
def test_wrong_shapes_are_refused(change: dict[str, Any], message: str) -> None:
    data = {
        "offsets": np.array([0, 3, 5]),
        "features": np.zeros((5, 2)),
        "y": np.array([0, 1], dtype=np.int32),
        "cost": np.zeros(5),
    }
    with pytest.raises(ValueError, match=message):
        core.linear_candidates(**(data | change))


def test_arrays_of_another_type_are_never_converted() -> None:
    data = instance()
    for name, dtype in (("offsets", np.int32), ("features", np.longdouble), ("y", np.int64), ("cost", np.float32)):
        with pytest.raises(TypeError):
            core.linear_candidates(**(data | {name: data[name].astype(dtype)}))
