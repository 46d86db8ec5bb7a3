"""ProxLinear: never up, the convex optimum on convex problems, honest counts, and the variants of the paper."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from nonlinear import elu_parts, start, tanh_parts
from problems import Counting, candidate_parts, hinge_optimum, tiny_parts

import casimir as cs
from casimir.scores import FloatArray
from casimir.solvers.prox_linear import _Levels

LAM = 0.05
CASIMIR_SVRG = cs.Casimir.paper("const", cs.SVRG(cs.L2(10), mu=0.2))
INNER = {
    "casimir-svrg": CASIMIR_SVRG,
    "svrg": cs.SVRG(cs.L2(10), mu=0.2),
    "dual": cs.DualProximal(),
    "bcfw": cs.BCFW(),
    "entropy": cs.Casimir.paper("adapt", cs.SVRG(cs.Entropy(), mu=0.2)),
}


def run(parts: Any, solver: Any, epochs: int = 8, **options: Any) -> cs.Result:
    return cs.minimize(parts.objective(LAM), solver, epochs, 0.0, w0=start(parts), **options)


@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("make", [elu_parts, tanh_parts], ids=["elu", "tanh"])
def test_the_objective_never_rises(make: Any, inner: str) -> None:
    parts = make(n=12)
    result = run(parts, cs.ProxLinear(INNER[inner]))
    values = result.trace["objective"]
    assert np.all(np.diff(values) <= 0.0)
    first = parts.objective(LAM).value(start(parts))
    assert values[-1] < first
    assert result.objective == pytest.approx(parts.objective(LAM).value(result.w))


@pytest.mark.parametrize("inner", ["casimir-svrg", "dual"])
def test_on_a_convex_problem_it_ends_at_the_optimum(inner: str) -> None:
    for parts, lam in ((tiny_parts(), 0.3), (candidate_parts(), 0.3)):
        best = cs.minimize(parts.objective(lam), cs.DualProximal(), 500, 1e-6)
        assert best.converged
        solver = cs.ProxLinear(INNER[inner], inner_epochs=20)
        result = cs.minimize(parts.objective(lam), solver, 40, 1e-3, w0=start(parts))
        assert result.objective == pytest.approx(best.objective, rel=5e-3)
        assert result.objective >= best.dual - 1e-9
        assert result.dual <= best.objective + 1e-9  # of F itself, not of its model
    assert hinge_optimum(tiny_parts(), 0.3) == pytest.approx(
        cs.minimize(tiny_parts().objective(0.3), cs.ProxLinear(cs.DualProximal(), inner_epochs=50), 60, 1e-4).objective,
        rel=1e-3,
    )


def test_a_dual_solver_has_one_epoch_more_in_every_step() -> None:
    parts = elu_parts(n=12)
    steps = run(parts, cs.ProxLinear(cs.BCFW()), 4).trace["steps"]
    assert np.diff(steps, prepend=0).tolist() == [4 * 12, 5 * 12, 6 * 12, 7 * 12]
    fixed = run(parts, cs.ProxLinear(cs.BCFW(), inner_epochs=6), 3).trace["steps"]
    assert np.diff(fixed, prepend=0).tolist() == [6 * 12] * 3


def test_it_finds_a_point_where_all_slopes_are_nearly_zero() -> None:
    parts = tanh_parts(n=12)
    objective = parts.objective(LAM, loss="crf")  # smooth, so that a stationary point shows in the gradient
    solver = cs.ProxLinear(cs.LBFGS(), inner_epochs=50)
    result = cs.minimize(objective, solver, 60, 1e-9, w0=start(parts))
    gradient = objective.evaluate(result.w).gradient
    assert gradient is not None
    assert np.linalg.norm(gradient + LAM * result.w) < 1e-3
    assert result.trace["prox_gradient"][-1] < 1e-2


class PlainRidge:
    """A ridge that tells no more than every penalty must."""

    quadratic = None

    def __init__(self, lam: float) -> None:
        self._ridge = cs.Ridge(lam)

    def __getattr__(self, name: str) -> Any:
        if name in ("separable", "l1"):
            raise AttributeError(name)
        return getattr(self._ridge, name)


@pytest.mark.parametrize(
    ("loss", "penalty", "inner"),
    [
        ("hinge", LAM, cs.DualProximal()),
        ("hinge", PlainRidge(LAM), cs.DualProximal()),
        ("crf", LAM, cs.LBFGS()),
        ("crf", cs.ElasticNet(LAM, 0.3), cs.LBFGS()),
        (cs.FenchelYoung(cs.L2(), 0.5), LAM, cs.LBFGS()),
        ("crf", PlainRidge(LAM), cs.Casimir()),  # L-BFGS needs penalties that are separable
    ],
    ids=["hinge", "hinge, any penalty", "log", "log, elastic net", "l2", "log, any penalty"],
)
def test_the_solver_inside_fits_the_loss_and_the_penalty(loss: Any, penalty: Any, inner: Any) -> None:
    parts = elu_parts(n=12)
    default, named = (
        cs.minimize(parts.objective(penalty, loss=loss), cs.ProxLinear(solver), 3, 0.0, w0=start(parts))
        for solver in (None, inner)
    )
    np.testing.assert_array_equal(default.w, named.w)
    assert default.objective < parts.objective(penalty, loss=loss).value(start(parts))


def test_a_dual_solver_inside_is_evaluated_once_per_step() -> None:
    parts = elu_parts(n=12)
    evaluations = run(parts, cs.ProxLinear(inner_epochs=30), 5).trace["evaluations"]
    # its last point, the average, and w = 0; then F at the end of the step
    assert np.all(np.diff(evaluations) <= 4 * 12)
    certified = run(parts, cs.ProxLinear(inner_epochs=30, eps0=1e-9), 5).trace["evaluations"]
    assert np.all(np.diff(certified) > 4 * 12)  # a tolerance has to be looked at


def exact_steps(parts: Any, points: list[FloatArray], eta: float) -> FloatArray:
    """|w - w'| / eta, w' the minimiser of the model around w, for every point w."""
    norms = []
    for w in points:
        best = cs.minimize(cs.Linearized(parts.objective(LAM), w, eta), cs.DualProximal(), 3000, 1e-9)
        assert best.converged
        norms.append(np.linalg.norm(best.w - w) / eta)
    return np.array(norms)


@pytest.mark.parametrize("inner", ["casimir-svrg", "dual", "bcfw"])
@pytest.mark.parametrize("inner_epochs", [1, 3])
def test_prox_gradient_bounds_that_of_exact_steps(inner: str, inner_epochs: int) -> None:
    parts, seen, eta = elu_parts(), [start(elu_parts())], 0.5
    solver = cs.ProxLinear(INNER[inner], eta, inner_epochs=inner_epochs, accept="always")
    result = run(parts, solver, 4, callbacks=[lambda row, w: seen.append(w.copy())])
    assert np.all(result.trace["prox_gradient"] >= exact_steps(parts, seen[:-1], eta) - 1e-6)
    np.testing.assert_allclose(result.trace["kappa"], 1.0 / eta)


def test_prox_gradient_is_that_of_the_exact_step_when_the_step_is_exact() -> None:
    parts, seen, eta = elu_parts(), [start(elu_parts())], 0.5
    solver = cs.ProxLinear(cs.DualProximal(), eta, inner_epochs=2000, eps0=1e-8, accept="always")
    result = run(parts, solver, 3, callbacks=[lambda row, w: seen.append(w.copy())])
    steps = [np.linalg.norm(b - a) / eta for a, b in itertools.pairwise(seen)]
    np.testing.assert_allclose(result.trace["prox_gradient"], steps, atol=1e-3)
    np.testing.assert_allclose(result.trace["prox_gradient"], exact_steps(parts, seen[:-1], eta), atol=1e-3)


def test_one_exact_step_is_the_minimiser_of_the_model() -> None:
    parts, eta = elu_parts(), 0.5
    model = cs.Linearized(parts.objective(LAM), start(parts), eta)
    best = cs.minimize(model, cs.DualProximal(), 1000, 1e-8)
    after: list[FloatArray] = []
    solver = cs.ProxLinear(cs.DualProximal(), eta, inner_epochs=1000, eps0=1e-7, accept="always")
    run(parts, solver, 1, callbacks=[lambda row, w: after.append(w.copy())])
    np.testing.assert_allclose(after[0], best.w, atol=1e-3)


def test_steps_that_would_raise_the_objective_are_refused_or_always_taken() -> None:
    parts = tanh_parts(n=12)
    long = 1e4  # far beyond 1/L
    kept = run(parts, cs.ProxLinear(cs.DualProximal(), long), 12)
    taken = run(parts, cs.ProxLinear(cs.DualProximal(), long, accept="always"), 12)
    assert np.all(np.diff(kept.trace["objective"]) <= 0.0)
    assert np.any(np.diff(taken.trace["objective"]) > 0.0)
    assert taken.objective == pytest.approx(taken.trace["objective"].min())


def test_smoothing_is_mu_over_k_or_constant() -> None:
    parts = elu_parts()
    adaptive = run(parts, cs.ProxLinear(CASIMIR_SVRG), 4)
    np.testing.assert_allclose(adaptive.trace["mu"], 0.2 / np.arange(1, 5))
    constant = run(parts, cs.ProxLinear(CASIMIR_SVRG, smoothing="constant"), 4)
    np.testing.assert_allclose(constant.trace["mu"], 0.2)
    assert np.isnan(run(parts, cs.ProxLinear(cs.DualProximal()), 2).trace["mu"]).all()


def test_l_rises_with_k_where_something_is_smoothed_and_stays_elsewhere() -> None:
    """L_k = k L_0 follows mu_k = mu / k; without smoothing there is no reason for shorter steps."""
    inner = cs.Casimir.paper("const", cs.SVRG(cs.L2(10), lipschitz=7.0))
    solver, mu = _Levels(0.2, 7.0).solver(inner, 3)
    assert (solver.inner.lipschitz, solver.inner.mu) == (21.0, pytest.approx(0.2 / 3))  # type: ignore[attr-defined]
    assert mu == pytest.approx(0.2 / 3)
    solver, mu = _Levels(None, 7.0).solver(inner, 3)
    assert (solver.inner.lipschitz, solver.inner.mu, mu) == (7.0, None, None)  # type: ignore[attr-defined]


def test_tolerances_decide_how_long_the_inner_solver_runs() -> None:
    calls = [
        run(elu_parts(), cs.ProxLinear(cs.DualProximal(), 1.0, eps0=eps0), 3).trace["oracle_calls"][-1]
        for eps0 in (1.0, 1e-4)
    ]
    assert calls[0] < calls[1]


def test_smoothing_follows_from_the_tolerances() -> None:
    solver = cs.ProxLinear(cs.Casimir.paper("const", cs.SVRG(cs.L2(10))), 1.0, eps0=0.3, inner_epochs=2)
    np.testing.assert_allclose(run(elu_parts(), solver, 3).trace["mu"], 0.3 / (10 * 0.5) / np.arange(1, 4))


@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_step_sizes_are_found_when_the_truth_is_always_the_first_output(scale: float) -> None:
    rng = np.random.default_rng(1)
    features = [rng.normal(size=(5, 4)) * scale for _ in range(40)]
    for rows in features:
        rows[0] += 0.7 * scale
    model = cs.LinearCandidateModel(features)
    objective = cs.Objective(model, cs.Candidates(), cs.Hamming(), [np.array([0])] * 40, 0.05 * scale**2)
    assert cs.minimize(objective, cs.Casimir(cs.SVRG(cs.L2(5))), epochs=60, tol=2e-2).converged


def test_stored_jacobians_and_products_give_the_same_steps() -> None:
    parts = elu_parts()
    short = cs.Casimir.paper("const", cs.SVRG(cs.L2(10), mu=0.2, lipschitz=50.0))  # long steps would magnify rounding
    a, b = (run(parts, cs.ProxLinear(short, jacobian=kind), 4) for kind in ("stored", "products"))
    np.testing.assert_allclose(a.trace["objective"], b.trace["objective"], rtol=1e-6)
    assert a.trace["oracle_calls"].tolist() == b.trace["oracle_calls"].tolist()


@pytest.mark.parametrize("inner", ["casimir-svrg", "dual"])
def test_reported_oracle_calls_are_those_made(inner: str) -> None:
    parts = tanh_parts()
    structure = Counting(parts.structure)
    objective = cs.Objective(parts.model, structure, parts.cost, parts.y, LAM)
    seen: list[int] = []
    solver = cs.ProxLinear(INNER[inner], jacobian="products")
    result = cs.minimize(
        objective, solver, 3, 0.0, w0=start(parts), callbacks=[lambda *_: seen.append(structure.calls[0])]
    )
    assert result.trace["oracle_calls"].tolist() == seen
    assert objective.oracle_calls == structure.calls[0]


def test_the_same_seed_gives_the_same_weights() -> None:
    a, b, c = (run(elu_parts(), cs.ProxLinear(CASIMIR_SVRG), 3, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(a.w, b.w)
    assert not np.array_equal(a.w, c.w)


def test_it_ends_as_stationary_when_no_step_can_gain() -> None:
    result = cs.minimize(elu_parts().objective(LAM), cs.ProxLinear(cs.DualProximal(), inner_epochs=50), 100, 1e-2)
    assert result.status == "stationary"  # w = 0 is: both derivatives vanish there
    assert len(result.trace) == 1


@pytest.mark.parametrize(
    "schedule", [cs.Constant(0.05), cs.InverseRoot(0.3), cs.Inverse(0.5)], ids=lambda s: type(s).__name__
)
def test_sgd_lowers_nonconvex_objectives(schedule: Any) -> None:
    for parts in (elu_parts(n=12), tanh_parts(n=12)):
        first = parts.objective(LAM).value(start(parts))
        result = run(parts, cs.SGD(schedule, averaging="none"), 30)
        assert result.objective < 0.95 * first
        assert result.dual == 0.0  # there is no dual, but no loss is negative


def test_lbfgs_minimises_a_nonconvex_crf() -> None:
    parts = tanh_parts(n=12)
    objective = parts.objective(LAM, loss="crf")
    result = cs.minimize(objective, cs.LBFGS(), 200, 0.0, w0=start(parts))
    assert result.objective < objective.value(start(parts))


def test_ctrl_c_inside_a_step_keeps_what_was_found() -> None:
    parts, calls = elu_parts(), 0

    class Interrupting:
        def run(self, objective: Any, w0: Any, monitor: Any, rng: Any) -> None:
            nonlocal calls
            calls += 1
            cs.DualProximal().run(objective, np.zeros_like(w0), _Stops(monitor) if calls == 2 else monitor, rng)

    result = run(parts, cs.ProxLinear(Interrupting()), 5)
    assert result.status == "interrupted"
    assert len(result.trace) == 2


class _Stops:
    """A monitor that acts like Ctrl-C after one epoch."""

    def __init__(self, monitor: Any) -> None:
        self._monitor = monitor

    def __getattr__(self, name: str) -> Any:
        return getattr(self._monitor, name)

    def epoch(self, *args: Any, **kwargs: Any) -> bool:
        self._monitor.epoch(*args, **kwargs)
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eta": 0.0}, "eta"),
        ({"eps0": -1.0}, "eps0"),
        ({"inner_epochs": 0}, "inner_epochs"),
        ({"accept": "sometimes"}, "'decrease' or 'always'"),
        ({"smoothing": "none"}, "'adaptive' or 'constant'"),
        ({"jacobian": "none"}, "'auto' or 'stored' or 'products'"),
    ],
)
def test_bad_parameters_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        cs.ProxLinear(**options)


def test_it_wants_a_convex_solver_inside() -> None:
    with pytest.raises(TypeError, match="convex"):
        cs.ProxLinear(cs.ProxLinear())
    with pytest.raises(TypeError, match="SGD"):
        cs.ProxLinear(cs.SGD)  # type: ignore[arg-type]


def test_steps_of_the_inner_solver_are_shortened_only_where_they_made_the_model_worse(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shortened: list[Any] = []
    monkeypatch.setattr(_Levels, "with_shorter_steps", lambda self: shortened.append(self) or self)
    result = run(elu_parts(), cs.ProxLinear())
    assert result.objective < result.trace[0].objective
    assert shortened == []
