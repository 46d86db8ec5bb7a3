"""Weights of examples: a whole number is as many copies, 0 leaves an example out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from problems import Parts, candidate_parts, chain_parts, tree_parts

import casimir as cs
from casimir.losses import smoothed
from casimir.scores import FloatArray

LAM = 0.3
PATHS = pytest.mark.parametrize("native", [True, False], ids=["native", "composed"])
WEIGHTS = np.array([2, 0, 1, 3, 1, 0])
ROWS = np.repeat(np.arange(6), WEIGHTS)
SMOOTHINGS = [cs.Hard(), cs.L2(3), cs.L2(), cs.Entropy()]


def copies(parts: Parts, rows: Any) -> Parts:
    """The chains of the given rows, some of them twice."""
    X = parts.model.X
    tokens = [t for i in rows for t in range(X.offsets[i], X.offsets[i + 1])]
    entries = [np.arange(X.indptr[t], X.indptr[t + 1]) for t in tokens]
    flat = np.concatenate(entries)
    offsets = np.concatenate([[0], np.cumsum([X.offsets[i + 1] - X.offsets[i] for i in rows])])
    indptr = np.concatenate([[0], np.cumsum([len(e) for e in entries])])
    values = None if X.values is None else X.values[flat]
    again = cs.PackedSequences(offsets, indptr, X.indices[flat], values, X.n_features)
    y = [parts.y[i] for i in rows]
    return Parts(cs.LinearChainModel(again, parts.model.n_labels), parts.structure, parts.cost, y)


def pair(native: bool, loss: Any, penalty: Any = LAM) -> tuple[cs.Objective, cs.Objective]:
    """An objective with weights, and the same with copies."""
    parts = chain_parts(valued=True, weighted_cost=True)
    weighted = parts.objective(penalty, loss, native=native, sample_weight=WEIGHTS)
    return weighted, copies(parts, ROWS).objective(penalty, loss, native=native)


@PATHS
@pytest.mark.parametrize("loss", ["hinge", "crf"])
def test_whole_weights_are_copies(native: bool, loss: str) -> None:
    weighted, copied = pair(native, loss)
    assert weighted.is_native == copied.is_native == native
    assert (weighted.n_active, weighted.examples.tolist()) == (4, [0, 2, 3, 4])
    rng = np.random.default_rng(0)
    for scale in (0.0, 0.5, 3.0):
        w = rng.normal(size=weighted.n_params) * scale
        assert weighted.value(w) == pytest.approx(copied.value(w), abs=1e-10)
        for smoothing in SMOOTHINGS:
            mu = 0.0 if smoothing == cs.Hard() else 0.4
            a, b = (each.evaluate(w, smoothed(each.loss, smoothing, mu)) for each in (weighted, copied))
            assert a.smoothed == pytest.approx(b.smoothed, abs=1e-10)
            assert (a.objective is None) == (b.objective is None)
            assert a.objective is None or a.objective == pytest.approx(b.objective, abs=1e-10)
            np.testing.assert_allclose(a.gradient, b.gradient, rtol=0, atol=1e-10)
            assert a.dual is not None
            assert b.dual is not None
            assert a.dual.ell == pytest.approx(b.dual.ell, abs=1e-10)
            assert a.dual.value(weighted.penalty) == pytest.approx(b.dual.value(copied.penalty), abs=1e-10)


@PATHS
@pytest.mark.parametrize("make", [chain_parts, tree_parts, candidate_parts], ids=["chain", "tree", "candidates"])
def test_any_weights_make_a_weighted_mean(native: bool, make: Any) -> None:
    parts = make()
    n = len(parts.y)
    weight = np.random.default_rng(1).uniform(0.1, 3.0, n)
    w = np.random.default_rng(2).normal(size=parts.model.n_params)
    single = [
        parts.objective(0.0, native=native, sample_weight=np.eye(n)[i]).evaluate(w)  # the other examples weigh 0
        for i in range(n)
    ]
    found = parts.objective(0.0, native=native, sample_weight=weight).evaluate(w)
    share = weight / weight.sum()
    assert found.objective == pytest.approx(sum(p * one.objective for p, one in zip(share, single, strict=True)))
    wanted = sum(p * one.gradient for p, one in zip(share, single, strict=True))
    np.testing.assert_allclose(found.gradient, wanted, atol=1e-10)


@PATHS
def test_equal_weights_change_nothing(native: bool) -> None:
    parts = chain_parts()
    w = np.random.default_rng(0).normal(size=parts.model.n_params)
    plain = parts.objective(LAM, native=native)
    for weight in (np.ones(6), np.full(6, 0.125), [3] * 6, np.ones(6, dtype=bool)):
        equal = parts.objective(LAM, native=native, sample_weight=weight)
        assert equal.value(w) == plain.value(w)
        np.testing.assert_array_equal(equal.evaluate(w).gradient, plain.evaluate(w).gradient)


def test_the_scale_of_the_weights_does_not_matter() -> None:
    parts = chain_parts()
    w = np.random.default_rng(0).normal(size=parts.model.n_params)
    a, b = (parts.objective(LAM, sample_weight=WEIGHTS * scale) for scale in (1.0, 1e-3))
    assert a.value(w) == pytest.approx(b.value(w), abs=1e-12)
    runs = [cs.minimize(objective, cs.SGD(), epochs=3, tol=0.0).w for objective in (a, b)]
    np.testing.assert_allclose(runs[0], runs[1], atol=1e-9)


@PATHS
def test_weight_0_leaves_an_example_out(native: bool) -> None:
    """Whatever its features are: its oracle is never asked, by no solver."""
    parts = chain_parts()
    weight = np.array([1.0, 2.0, 0.0, 1.0, 1.0, 3.0])
    kept = np.flatnonzero(weight)
    less = copies(parts, kept)
    a = parts.objective(LAM, native=native, sample_weight=weight)
    b = less.objective(LAM, native=native, sample_weight=weight[kept])
    for solver in (cs.SGD(), cs.BCFW(), cs.BCFW(pairwise=True), cs.SVRG(mu=0.3), cs.SAGA(mu=0.3), cs.LBFGS(mu=0.3)):
        with_it, without = (cs.minimize(objective, solver, epochs=4, tol=0.0) for objective in (a, b))
        np.testing.assert_allclose(with_it.w, without.w, atol=1e-9)
        assert with_it.trace["oracle_calls"].tolist() == without.trace["oracle_calls"].tolist()


SOLVERS: dict[str, tuple[Any, int]] = {
    "sgd": (cs.SGD(), 300),
    "bcfw": (cs.BCFW(), 300),
    "bcfw-pairwise": (cs.BCFW(pairwise=True, cached_passes=2), 200),
    "dual": (cs.DualProximal(), 200),
    "svrg": (cs.SVRG(cs.L2(), mu=0.05), 800),
    "saga": (cs.SAGA(cs.L2(), mu=0.05), 1500),
    "lbfgs": (cs.LBFGS(mu=0.02), 200),
    "descent": (cs.GradientDescent(mu=0.02), 600),
    "casimir": (cs.Casimir(cs.SVRG(cs.L2())), 200),
    "casimir-saga": (cs.Casimir(cs.SAGA(cs.L2(), mu=0.05)), 600),
}


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("penalty", [cs.Ridge(LAM), cs.ElasticNet(LAM, 0.4)], ids=repr)
def test_every_solver_ends_within_its_gap_of_the_same_optimum(name: str, penalty: Any) -> None:
    solver, epochs = SOLVERS[name]
    weighted, copied = pair(True, "hinge", penalty)
    best = cs.minimize(copied, cs.DualProximal(), epochs=3000, tol=1e-7)
    assert best.converged
    result = cs.minimize(weighted, solver, epochs=epochs, tol=2e-2)
    assert result.objective <= 1.03 * best.objective
    assert result.dual <= best.objective + 1e-9
    assert best.dual - 1e-9 <= result.objective <= best.objective + result.gap * result.objective + 1e-9
    assert result.objective == pytest.approx(copied.value(result.w), abs=1e-9)


@pytest.mark.parametrize("name", ["dual", "bcfw", "bcfw-pairwise", "sgd", "svrg", "saga", "lbfgs"])
def test_fused_and_composed_runs_with_weights_are_the_same(name: str) -> None:
    solver, _ = SOLVERS[name]
    solver = cs.DualProximal(cs.BCFW(pairwise=True, cached_passes=1)) if name == "dual" else solver
    fused, composed = (
        cs.minimize(pair(native, "hinge")[0], solver, epochs=4, tol=0.0, seed=2)
        for native in (True, False)  # at seed 0 SVRG's steps are so long that 1e-16 becomes 1e-7
    )
    np.testing.assert_allclose(fused.w, composed.w, rtol=0, atol=1e-9)
    for column in ("oracle_calls", "objective", "dual"):
        np.testing.assert_allclose(fused.trace[column], composed.trace[column], rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    "solver", [cs.LBFGS(), cs.SVRG(), cs.SAGA(), cs.SGD(), cs.Casimir()], ids=lambda s: type(s).__name__
)
def test_crfs_with_weights_are_those_of_copies(solver: Any) -> None:
    weighted, copied = pair(True, "crf")
    best = cs.minimize(copied, cs.LBFGS(), epochs=500, tol=1e-8)
    result = cs.minimize(weighted, solver, epochs=300, tol=1e-3)
    assert result.converged
    assert best.dual - 1e-9 <= result.objective <= best.objective * (1.0 + 2e-3)
    assert result.dual <= best.objective + 1e-9


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1.0, -0.5, 1, 1, 1, 1], r"sample_weight\[1\] is -0.5; weights must be finite, 0 or larger"),
        ([1.0, 1, np.nan, 1, 1, 1], r"sample_weight\[2\] is nan"),
        ([1.0, 1, 1, 1, 1, np.inf], r"sample_weight\[5\] is inf"),
        (np.zeros(6), "sample_weight is zero everywhere"),
        (np.ones(5), r"sample_weight has shape \[5\]; it must be 6 numbers"),
        (np.ones((6, 1)), r"sample_weight has shape \[6, 1\]"),
        (2.0, r"sample_weight has shape \[\]"),
        (["1"] * 6, "it must be 6 numbers"),
    ],
)
@PATHS
def test_bad_weights_are_refused(native: bool, weight: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        chain_parts().objective(LAM, native=native, sample_weight=weight)


def test_weights_are_left_alone_and_later_changes_do_not_count() -> None:
    parts = chain_parts()
    weight: FloatArray = WEIGHTS.astype(np.float64)
    objective = parts.objective(LAM, sample_weight=weight)
    w = np.random.default_rng(0).normal(size=objective.n_params)
    before = objective.value(w)
    np.testing.assert_array_equal(weight, WEIGHTS)
    weight[:] = 1.0
    assert objective.value(w) == before
    assert parts.objective(LAM, sample_weight=weight).value(w) != pytest.approx(before)
