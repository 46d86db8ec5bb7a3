"""Every solver ends at the one optimum, which SciPy finds by listing all outputs, within its certified gap."""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import numpy as np
import pytest
from problems import candidate_parts, chain_parts, crf_optimum, hinge_optimum, tiny_parts

import casimir as cs

LAM = 0.3


@cache
def optimum(lam: float, loss: str = "hinge") -> float:
    return crf_optimum(tiny_parts(), lam) if loss == "crf" else hinge_optimum(tiny_parts(), lam)


def check(result: cs.Result, best: float, within: float) -> None:
    """The certificate holds, and the result is as good as it should be."""
    suboptimality = result.objective - best
    assert suboptimality >= -1e-6
    assert result.dual <= best + 1e-6
    assert result.objective - result.dual >= suboptimality - 1e-6
    assert suboptimality <= within * best


# solver, epochs, and how close it comes to min F, as a share of it
HINGE = {
    "sgd": (cs.SGD(), 150, 1e-2),
    "sgd-uniform": (cs.SGD(averaging="uniform"), 300, 2e-2),
    "sgd-last": (cs.SGD(averaging="none"), 150, 1e-2),
    "sgd-replacement": (cs.SGD(sampling="replacement"), 300, 2e-2),
    "sgd-step-decay": (cs.SGD(cs.StepDecay(0.5, 50)), 200, 3e-2),
    "sgd-inverse-root": (cs.SGD(cs.InverseRoot(0.5)), 200, 2e-2),
    "sgd-inverse": (cs.SGD(cs.Inverse(2.0)), 200, 1e-2),
    "sgd-constant": (cs.SGD(cs.Constant(0.05)), 200, 2e-2),
    "sgd-smoothed": (cs.SGD(smoothing=cs.L2(), mu=0.1), 200, 2e-2),
    "bcfw": (cs.BCFW(averaging="none"), 200, 1e-3),
    "bcfw-better": (cs.BCFW(), 200, 1e-3),
    "bcfw-averaged": (cs.BCFW(averaging="weighted"), 200, 2e-3),
    "bcfw-replacement": (cs.BCFW(sampling="replacement"), 200, 1e-3),
    "bcfw-pairwise": (cs.BCFW(pairwise=True), 50, 1e-3),
    "bcfw-cached": (cs.BCFW(pairwise=True, cached_passes=3), 20, 1e-3),
    "dual": (cs.DualProximal(), 60, 1e-3),
    "dual-kappa": (cs.DualProximal(cs.BCFW(pairwise=True, cached_passes=2, steps=1), kappa=1.0), 60, 1e-3),
    "svrg-topk": (cs.SVRG(cs.L2(4), mu=0.02), 300, 1e-2),
    "svrg-l2": (cs.SVRG(cs.L2(), mu=0.02, steps=50), 100, 1e-2),
    "svrg-entropy": (cs.SVRG(cs.Entropy(), mu=0.01), 300, 2e-2),
    "svrg-default": (cs.SVRG(steps=50), 200, 2e-2),
    "saga-topk": (cs.SAGA(cs.L2(4), mu=0.02), 300, 1e-2),
    "saga-l2": (cs.SAGA(cs.L2(), mu=0.02), 300, 1e-2),
    "saga-entropy": (cs.SAGA(cs.Entropy(), mu=0.01), 300, 2e-2),
    "descent-entropy": (cs.GradientDescent(cs.Entropy(), mu=0.01), 300, 2e-2),
    "descent-l2": (cs.GradientDescent(cs.L2(), mu=0.02), 300, 1e-2),
    "lbfgs-entropy": (cs.LBFGS(cs.Entropy(), mu=0.005), 100, 1e-2),
    "lbfgs-l2": (cs.LBFGS(cs.L2(), mu=0.02), 100, 1e-2),
    "lbfgs-default": (cs.LBFGS(), 100, 1e-2),
}


@pytest.mark.parametrize("name", HINGE)
def test_solvers_reach_the_optimum(name: str) -> None:
    solver, epochs, within = HINGE[name]
    result = cs.minimize(tiny_parts().objective(LAM), solver, epochs=epochs, tol=1e-3)
    check(result, optimum(LAM), within)
    assert result.objective == pytest.approx(tiny_parts().objective(LAM).value(result.w), abs=1e-12)


CERTIFYING = ["bcfw", "bcfw-better", "bcfw-replacement", "bcfw-pairwise", "bcfw-cached", "dual", "dual-kappa"]


@pytest.mark.parametrize("name", CERTIFYING)
def test_dual_solvers_certify_what_they_reach(name: str) -> None:
    solver, epochs, _ = HINGE[name]
    result = cs.minimize(tiny_parts().objective(LAM), solver, epochs=epochs, tol=1e-3)
    assert result.converged
    assert result.gap <= 1e-3


@pytest.mark.parametrize(
    "name",
    ["svrg-topk", "svrg-l2", "svrg-entropy", "saga-topk", "saga-l2", "descent-l2", "lbfgs-entropy", "lbfgs-l2"],
)
def test_smoothed_solvers_certify_what_their_smoothing_allows(name: str) -> None:
    solver, epochs, _ = HINGE[name]
    result = cs.minimize(tiny_parts().objective(LAM), solver, epochs=epochs, tol=0.0)
    assert result.gap <= 3e-2


def test_the_defaults_of_saga_certify_a_gap() -> None:
    result = cs.minimize(tiny_parts().objective(LAM), cs.SAGA(), epochs=1000, tol=2e-2)
    assert result.converged
    check(result, optimum(LAM), 2.1e-2)  # the gap is relative to F(w), which is larger


REGIMES = list(
    itertools.product(
        [LAM, 0.0], [False, True], ["prox-center", "extrapolation", "prev-iterate"], ["budget", "accuracy"]
    )
)


@pytest.mark.filterwarnings("ignore:Casimir's inner solver did not reach")  # with lam = 0, once z is nearly optimal
@pytest.mark.parametrize(("lam", "decreasing", "warm_start", "stopping"), REGIMES)
def test_casimir_reaches_the_optimum(lam: float, decreasing: bool, warm_start: str, stopping: str) -> None:
    inner = cs.SVRG(cs.L2(), mu=0.5 if decreasing else 0.02, steps=20)
    solver = cs.Casimir.paper("adapt" if decreasing else "const", inner, warm_start=warm_start, stopping=stopping)
    epochs = 80 if stopping == "budget" else 10
    result = cs.minimize(tiny_parts().objective(lam), solver, epochs=epochs, tol=1e-3)
    check(result, optimum(lam), 2e-2)


@pytest.mark.parametrize("inner", [cs.SVRG(cs.L2(4), mu=0.02), cs.SVRG(cs.Entropy(), mu=0.01), cs.SVRG()], ids=repr)
def test_casimir_reaches_the_optimum_with_any_smoothing(inner: cs.SVRG) -> None:
    result = cs.minimize(tiny_parts().objective(LAM), cs.Casimir(inner), epochs=300, tol=1e-3)
    check(result, optimum(LAM), 3e-2)


INNER = {
    "saga": cs.SAGA(cs.L2(), mu=0.02),
    "saga-entropy": cs.SAGA(cs.Entropy(), mu=0.01),
    "lbfgs": cs.LBFGS(mu=0.01),
    "descent": cs.GradientDescent(mu=0.01),
}


@pytest.mark.parametrize("warm_start", ["prox-center", "extrapolation", "prev-iterate"])
@pytest.mark.parametrize("inner", INNER)
def test_casimir_reaches_the_optimum_around_any_inner_solver(inner: str, warm_start: str) -> None:
    solver = cs.Casimir.paper("const", INNER[inner], warm_start=warm_start)
    result = cs.minimize(tiny_parts().objective(LAM), solver, epochs=400, tol=1e-3)
    check(result, optimum(LAM), 2e-2)


@pytest.mark.parametrize("inner", [cs.SAGA(), cs.LBFGS(), cs.GradientDescent()], ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("stopping", ["budget", "accuracy"])
def test_casimir_certifies_the_optimum_of_a_crf_around_any_inner_solver(inner: Any, stopping: str) -> None:
    solver = cs.Casimir.paper("const", inner, stopping=stopping)
    result = cs.minimize(tiny_parts().objective(LAM, loss="crf"), solver, epochs=300, tol=1e-6)
    assert result.converged
    check(result, optimum(LAM, "crf"), 1e-6)


@pytest.mark.parametrize(
    "solver", [cs.SVRG(cs.Hard()), cs.Casimir(cs.SVRG(cs.Hard())), cs.Casimir(cs.SVRG(cs.Hard()), kappa=1.0)]
)
def test_steps_without_smoothing_come_close(solver: Any) -> None:
    """The paper's heuristic comparison: nothing is proved, the certificate still holds."""
    result = cs.minimize(tiny_parts().objective(LAM), solver, epochs=200, tol=1e-3)
    check(result, optimum(LAM), 0.15)


@pytest.mark.parametrize(
    "solver",
    [
        cs.SGD(),
        cs.SGD(cs.InverseRoot(0.5), averaging="uniform"),
        cs.SVRG(),
        cs.Casimir(cs.SVRG()),
        cs.Casimir.paper("const", cs.SVRG(), stopping="accuracy"),
        cs.LBFGS(),
        cs.SAGA(),
        cs.GradientDescent(),
    ],
    ids=["sgd", "sgd-uniform", "svrg", "casimir", "casimir-accuracy", "lbfgs", "saga", "descent"],
)
def test_solvers_reach_the_optimum_of_a_crf(solver: Any) -> None:
    result = cs.minimize(tiny_parts().objective(LAM, loss="crf"), solver, epochs=100, tol=1e-3)
    assert result.converged
    check(result, optimum(LAM, "crf"), 1e-3)


@pytest.mark.parametrize(
    "solver",
    [
        cs.SGD(cs.InverseRoot(0.5)),
        cs.SVRG(cs.L2(), mu=0.02),
        cs.SAGA(cs.L2(), mu=0.1),
        cs.LBFGS(cs.Entropy(), mu=0.005),
    ],
    ids=["sgd", "svrg", "saga", "lbfgs"],
)
def test_solvers_reach_the_optimum_without_regularisation(solver: Any) -> None:
    result = cs.minimize(tiny_parts().objective(0.0), solver, epochs=200, tol=1e-3)
    check(result, optimum(0.0), 2e-2)


@pytest.mark.parametrize("make", [chain_parts, candidate_parts])
def test_solvers_agree_on_the_composed_path(make: Any) -> None:
    parts = make(n=4)
    results = [
        cs.minimize(parts.objective(0.5, native=native), solver, epochs=60, tol=2e-3)
        for native in (True, False)
        for solver in (cs.BCFW(pairwise=True), cs.DualProximal(), cs.LBFGS(cs.Entropy(), mu=0.003))
    ]
    lower, upper = max(r.dual for r in results), min(r.objective for r in results)
    assert lower <= upper + 1e-12
    for result in results:
        assert result.gap <= 2e-2
        assert result.objective <= upper + 2e-2 * upper


def test_the_same_order_gives_the_same_run_on_both_paths() -> None:
    parts = chain_parts(n=5, weighted_cost=True)
    dual = cs.DualProximal(cs.BCFW(pairwise=True, cached_passes=2))  # more, and gaps of 1e-16 choose what is visited
    for solver in (cs.SGD(), cs.BCFW(), dual, cs.SVRG(mu=0.5), cs.SAGA(mu=0.5), cs.Casimir(cs.SVRG(mu=0.5))):
        fused, composed = (
            cs.minimize(parts.objective(0.2, native=k), solver, epochs=4, tol=0.0) for k in (True, False)
        )
        np.testing.assert_allclose(fused.w, composed.w, rtol=0, atol=1e-9)
        for column in ("epoch", "oracle_calls", "objective", "smoothed", "dual", "gap"):
            np.testing.assert_allclose(fused.trace[column], composed.trace[column], rtol=0, atol=1e-9)


def test_a_start_near_the_optimum_is_used() -> None:
    objective = tiny_parts().objective(LAM)
    good = cs.minimize(objective, cs.DualProximal(), epochs=60, tol=1e-4).w
    smoothings = {"smoothing": cs.L2(), "mu": 0.02}
    for solver in (
        cs.SVRG(**smoothings),
        cs.SAGA(**smoothings),
        cs.LBFGS(**smoothings),
        cs.GradientDescent(**smoothings),
    ):
        for given in (solver, cs.Casimir(solver)):
            before = good.copy()
            for seed in range(8):
                result = cs.minimize(objective, given, epochs=1, tol=0.0, w0=good, seed=seed)
                assert result.trace["objective"][0] <= 1.03 * optimum(LAM)
            np.testing.assert_array_equal(good, before)
