"""What minimize promises: traces, counts, seeds, callbacks, interruption and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from problems import chain_parts, tiny_parts

import casimir as cs
from casimir.solvers.choose import choose
from casimir.solvers.kept import Kept
from casimir.solvers.names import SOLVER_NAMES

LAM = 0.3
COUNTS = ("steps", "full_gradients", "evaluations", "searches")
CLOCKS = ("seconds", "cpu_seconds", "evaluation_seconds")
COLUMNS = {
    *("epoch", "oracle_calls", "objective", "smoothed", "dual", "gap", "mu", "kappa", "prox_gradient", "lipschitz"),
    *("gamma", "restarts", *COUNTS, *CLOCKS),
}
SOLVERS = {
    "sgd": cs.SGD(),
    "bcfw": cs.BCFW(),
    "bcfw-pairwise": cs.BCFW(pairwise=True, cached_passes=2),
    "svrg": cs.SVRG(mu=0.1),
    "svrg-entropy": cs.SVRG(cs.Entropy(), mu=0.1),
    "svrg-hard": cs.SVRG(cs.Hard()),
    "casimir": cs.Casimir(cs.SVRG(mu=0.1)),
    "casimir-default": cs.Casimir(cs.SVRG()),
    "casimir-accuracy": cs.Casimir.paper("adapt", cs.SVRG(cs.L2(), mu=0.1), kappa=2.0, stopping="accuracy"),
    "casimir-saga": cs.Casimir(cs.SAGA(mu=0.1)),
    "casimir-lbfgs": cs.Casimir(cs.LBFGS(mu=0.1)),
    "casimir-descent": cs.Casimir(cs.GradientDescent(mu=0.1)),
    "dual": cs.DualProximal(),
    "saga": cs.SAGA(mu=0.1),
    "lbfgs": cs.LBFGS(mu=0.1),
    "lbfgs-l2": cs.LBFGS(cs.L2(4), mu=0.1),
    "descent": cs.GradientDescent(mu=0.1),
}
every_solver = pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)


@every_solver
def test_traces_are_complete_and_monotone(solver: Any) -> None:
    result = cs.minimize(tiny_parts().objective(LAM), solver, epochs=12, tol=0.0)
    trace = result.trace
    assert set(trace.columns) == COLUMNS
    assert len(trace) >= 1
    for row in trace:
        assert set(row.as_dict()) == {*COLUMNS, "metrics"}
    for column in ("epoch", "oracle_calls"):
        assert np.all(np.diff(trace[column]) > 0)
    for column in (*COUNTS, *CLOCKS):
        assert np.all(np.diff(trace[column]) >= 0)
    assert np.all(np.diff(trace["dual"]) >= 0)
    assert np.all(np.diff(trace["gap"]) <= 0)
    assert np.all(trace["gap"] >= 0)
    assert result.objective == trace["objective"].min()  # on this problem no epoch is worse than the start
    assert result.dual == trace["dual"][-1]
    assert result.gap == trace["gap"][-1] == pytest.approx((result.objective - result.dual) / result.objective)
    assert trace[-1].epoch <= 12


@pytest.mark.parametrize(
    "name",
    ["svrg", "svrg-entropy", "saga", "casimir", "casimir-accuracy", "casimir-saga", "lbfgs", "lbfgs-l2", "descent"],
)
def test_smoothed_solvers_report_values_within_the_bound(name: str) -> None:
    solver = SOLVERS[name]
    smoothing = solver.inner.smoothing if isinstance(solver, cs.Casimir) else solver.smoothing
    trace = cs.minimize(tiny_parts().objective(LAM), solver, epochs=12, tol=0.0).trace
    assert not np.isnan(trace["mu"]).any()
    assert np.all(trace["objective"] <= trace["smoothed"] + 1e-12)
    bound = smoothing.bound(np.log(4.0))
    assert np.all(trace["smoothed"] <= trace["objective"] + trace["mu"] * bound + 1e-12)


@every_solver
def test_the_same_seed_gives_the_same_run(solver: Any) -> None:
    parts = chain_parts()
    first, again, generator = (
        cs.minimize(parts.objective(LAM), solver, epochs=4, tol=0.0, seed=seed)
        for seed in (7, 7, np.random.default_rng(7))
    )
    for other in (again, generator):
        np.testing.assert_array_equal(first.w, other.w)
        for column in COLUMNS - set(CLOCKS):
            np.testing.assert_array_equal(first.trace[column], other.trace[column])


def test_another_seed_gives_another_run() -> None:
    first, other = (cs.minimize(chain_parts().objective(LAM), cs.SGD(), epochs=3, seed=seed) for seed in (0, 1))
    assert not np.array_equal(first.w, other.w)


def test_the_number_of_threads_does_not_change_a_run() -> None:
    parts = chain_parts(n=12)
    for solver in SOLVERS.values():
        one, three = (cs.minimize(parts.objective(LAM, n_threads=k), solver, epochs=3, tol=0.0) for k in (1, 3))
        np.testing.assert_array_equal(one.w, three.w)


@every_solver
def test_a_run_ends_at_its_tolerance(solver: Any) -> None:
    result = cs.minimize(tiny_parts().objective(LAM), solver, epochs=500, tol=0.5)
    assert result.status == "converged"
    assert result.converged
    assert result.gap <= 0.5
    assert np.all(result.trace["gap"][:-1] > 0.5)


@every_solver
def test_a_run_ends_with_its_epochs(solver: Any) -> None:
    result = cs.minimize(chain_parts(n=12, n_labels=5).objective(1e-3), solver, epochs=3, tol=0.0)
    assert result.status == "epochs"
    assert result.trace[-1].epoch == 3


@every_solver
def test_callbacks_see_every_row_and_end_the_run(solver: Any) -> None:
    seen = []

    def stop_at_two(row: cs.TraceRow, w: np.ndarray) -> Any:
        seen.append((row, w.copy()))
        return np.bool_(len(seen) == 2)

    objective = chain_parts(n=12, n_labels=5).objective(0.01)
    result = cs.minimize(objective, solver, epochs=300, tol=0.0, callbacks=[stop_at_two])
    assert result.status == "callback"
    assert [row for row, _ in seen] == list(result.trace)
    assert len(seen) == 2
    for row, w in seen:
        assert objective.value(w) == pytest.approx(row.objective, abs=1e-12)


def test_a_callback_ends_a_run_only_with_true() -> None:
    result = cs.minimize(tiny_parts().objective(LAM), cs.SGD(), epochs=3, tol=0.0, callbacks=[lambda row, w: row])
    assert result.status == "epochs"


@every_solver
def test_an_interrupt_keeps_the_best_point(solver: Any) -> None:
    def interrupt(row: cs.TraceRow, w: np.ndarray) -> None:
        if row.epoch >= 3:
            raise KeyboardInterrupt

    objective = chain_parts(n=12, n_labels=5).objective(0.01)
    result = cs.minimize(objective, solver, epochs=300, tol=0.0, callbacks=[interrupt])
    assert result.status == "interrupted"
    at_start = objective.value(np.zeros(objective.n_params))
    assert result.objective == min(at_start, result.trace["objective"].min())
    assert objective.value(result.w) == pytest.approx(result.objective, abs=1e-12)


def test_an_interrupt_while_the_best_point_is_kept_loses_none(monkeypatch: pytest.MonkeyPatch) -> None:
    of, calls = Kept.of, []

    def interrupted(w: np.ndarray) -> Kept:
        calls.append(w.copy())
        if len(calls) == 3:
            raise KeyboardInterrupt
        return of(w)

    monkeypatch.setattr(Kept, "of", interrupted)
    objective = chain_parts(n=12, n_labels=5).objective(0.01)
    result = cs.minimize(objective, cs.LBFGS(mu=1e-3), epochs=300, tol=0.0)
    assert result.status == "interrupted"
    np.testing.assert_array_equal(result.w, calls[2])
    assert result.objective == pytest.approx(objective.value(result.w), rel=1e-12)


def test_an_interrupt_before_the_first_epoch_is_passed_on() -> None:
    class Interrupted:
        def run(self, objective: Any, w0: Any, monitor: Any, rng: Any) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cs.minimize(tiny_parts().objective(LAM), Interrupted())


@every_solver
def test_one_label_is_solved_at_once(solver: Any) -> None:
    result = cs.minimize(chain_parts(n_labels=1).objective(LAM), solver, epochs=3, tol=0.0)
    assert result.objective == result.dual == result.gap == 0.0
    assert result.status in ("converged", "stalled")


@pytest.mark.parametrize(
    "solver", [cs.SGD(), cs.BCFW(), cs.SVRG(), cs.SAGA(), cs.Casimir(), cs.DualProximal(), cs.LBFGS()]
)
def test_one_example_is_enough(solver: Any) -> None:
    objective = chain_parts(n=1, lengths=(3, 3)).objective(LAM)
    best = cs.minimize(objective, cs.BCFW(pairwise=True), epochs=200, tol=1e-3)
    result = cs.minimize(objective, solver, epochs=100, tol=1e-2)
    start = objective.value(np.zeros(objective.n_params))
    assert best.dual <= result.objective <= best.objective + 0.05 * start


def test_a_start_may_be_any_array_of_numbers() -> None:
    objective = tiny_parts().objective(LAM)
    wide = np.zeros(2 * objective.n_params, dtype=np.float32)
    for solver in (cs.SGD(), cs.SVRG(), cs.Casimir(cs.SVRG()), cs.LBFGS()):
        assert np.isfinite(cs.minimize(objective, solver, epochs=1, w0=wide[::2]).objective)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"epochs": 0}, ValueError, "epochs=0; it must be a whole number, 1 or larger"),
        ({"epochs": -3}, ValueError, "epochs=-3"),
        ({"tol": -0.1}, ValueError, "tol=-0.1; it must be 0 or larger"),
        ({"tol": np.nan}, ValueError, "tol=nan"),
        ({"w0": np.zeros(3)}, ValueError, r"w0 has shape \[3\]; it must be 28 numbers"),
        ({"w0": np.zeros((28, 1))}, ValueError, r"w0 has shape \[28, 1\]"),
        ({"w0": np.full(28, np.nan)}, ValueError, "w0 has entries that are NaN or infinite"),
        ({"w0": np.full(28, np.inf)}, ValueError, "w0 has entries that are NaN or infinite"),
        ({"solver": cs.SGD}, TypeError, r"solver=SGD is a class; .* write SGD\(\)"),
        ({"tol": "1e-2"}, TypeError, "tol='1e-2'; it must be a number"),
        ({"tol": None}, TypeError, "tol=None; it must be a number"),
        ({"solver": "auto"}, TypeError, r"solver='auto'; it must be a solver such as BCFW\(\)"),
        ({"solver": cs.BCFW(), "w0": np.ones(28)}, ValueError, "BCFW starts at w = 0"),
        ({"solver": cs.SDCA(), "w0": np.ones(28)}, ValueError, "SDCA starts at w = 0"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        cs.minimize(tiny_parts().objective(LAM), **({"solver": cs.SGD()} | arguments))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: cs.SGD(averaging="last"), "averaging='last'; it must be 'weighted', 'uniform' or 'none'"),
        (lambda: cs.BCFW(steps=0), "steps >= 1"),
        (lambda: cs.BCFW(cached_passes=-1), "cached_passes >= 0"),
        (lambda: cs.BCFW(light_passes=-1), "light_passes >= 0"),
        (lambda: cs.BCFW(skip_below=-1.0), "skip_below >= 0"),
        (lambda: cs.BCFW(cached_passes=2), "need pairwise=True"),
        (lambda: cs.BCFW(steps=5), "steps=5 counts pairwise steps; it needs pairwise=True"),
        (lambda: cs.BCFW(skip_below=3.0), "skip_below=3.0 is for light and cached passes"),
        (lambda: cs.BCFW(pairwise=True, skip_below=3.0), "it needs light_passes or cached_passes"),
        (lambda: cs.SDCA(light_passes=0, skip_below=0.5), "skip_below=0.5 is for light passes; it needs light_passes"),
        (lambda: cs.ProxLinear(smoothing="constant"), "smoothing='constant' does nothing without an SVRG inside"),
        (lambda: cs.ProxLinear(cs.Casimir(), smoothing="constant"), "does nothing without an SVRG inside"),
        (lambda: cs.SGD(sampling="all"), "SGD: sampling='all'; it must be 'permutation' or 'replacement'"),
        (lambda: cs.BCFW(sampling="all"), "BCFW: sampling='all'; it must be 'permutation' or 'replacement'"),
        (lambda: cs.BCFW(averaging="last"), "averaging='last'; it must be 'better', 'weighted' or 'none'"),
        (lambda: cs.BCFW(averaging="weighted", pairwise=True), "pairwise steps have no average"),
        (lambda: cs.SVRG(mu=0.0), "mu=0.0; it must be positive"),
        (lambda: cs.SVRG(lipschitz=-1.0), "lipschitz=-1.0"),
        (lambda: cs.SVRG(steps=0), "steps=0"),
        (lambda: cs.SVRG(mu=np.nan), "mu=nan"),
        (lambda: cs.Casimir(warm_start="zero"), "warm_start='zero'; it must be one of prox-center, extrapolation"),
        (lambda: cs.Casimir(stopping="never"), "stopping='never'; it must be one of budget, accuracy"),
        (lambda: cs.Casimir(kappa=0.0), "kappa=0.0; it must be positive"),
        (lambda: cs.DualProximal(kappa=-1.0), "kappa=-1.0; it must be positive"),
        (lambda: cs.DualProximal(cs.BCFW()), r"BCFW\(pairwise=True, ...\)"),
        (lambda: cs.DualProximal(cs.SVRG()), r"BCFW\(pairwise=True, ...\)"),
        (lambda: cs.SAGA(mu=-1.0), "mu=-1.0; it must be positive"),
        (lambda: cs.SAGA(lipschitz=0.0), "lipschitz=0.0"),
        (lambda: cs.GradientDescent(mu=0.0), "mu=0.0; it must be positive"),
        (lambda: cs.GradientDescent(lipschitz=-2.0), "lipschitz=-2.0"),
        (lambda: cs.LBFGS(mu=0.0), "mu=0.0"),
        (lambda: cs.LBFGS(memory=0), "memory=0"),
        (lambda: cs.SGD(mu=0.5), r"mu=0.5 does nothing without a smoothing. Give one, such as L2\(k=5\)"),
    ],
)
def test_bad_hyperparameters_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("solver", [cs.BCFW(), cs.BCFW(pairwise=True), cs.DualProximal(cs.BCFW(pairwise=True))])
def test_dual_solvers_over_outputs_say_that_they_need_a_hinge_loss(solver: Any) -> None:
    message = r"needs Hinge\(cost\): the dual variables of Log are not a few outputs.*Use DualProximal\(\), LBFGS\(\)"
    with pytest.raises(TypeError, match=message):
        cs.minimize(tiny_parts().objective(LAM, loss="crf"), solver)


@pytest.mark.parametrize("solver", [cs.BCFW(), cs.BCFW(pairwise=True)])
@pytest.mark.parametrize("penalty", [0.0, cs.ElasticNet(0.3, 1.0)], ids=repr)
def test_bcfw_says_that_it_needs_strong_convexity(solver: Any, penalty: Any) -> None:
    with pytest.raises(TypeError, match=r"needs Penalty.strong_convexity > 0, and that of \w+ is 0. Use lam > 0"):
        cs.minimize(tiny_parts().objective(penalty), solver)


@pytest.mark.parametrize("solver", [cs.SVRG(mu=0.1), cs.SAGA(mu=0.1), cs.LBFGS(mu=0.1), cs.GradientDescent(mu=0.1)])
def test_a_level_of_smoothing_that_does_nothing_is_refused(solver: Any) -> None:
    objective = tiny_parts().objective(LAM, loss="crf")
    for given in (solver, cs.Casimir(solver)):
        with pytest.raises(ValueError, match=r"mu=0.1 does nothing, because Log is smooth itself. Leave it out"):
            cs.minimize(objective, given)


@pytest.mark.parametrize("make", [cs.SVRG, cs.SAGA, cs.LBFGS, cs.GradientDescent])
def test_a_level_without_a_smoothing_is_refused(make: Any) -> None:
    solver = make(cs.Hard(), mu=0.1)
    for given in (solver, cs.Casimir(solver)):
        with pytest.raises(ValueError, match=r"mu=0.1 does nothing without a smoothing. Give one, such as L2\(k=5\)"):
            cs.minimize(tiny_parts().objective(LAM), given)


@pytest.mark.parametrize(("loss", "inner"), [("crf", cs.SVRG()), ("hinge", cs.SVRG(cs.Hard()))])
def test_decreasing_smoothing_that_does_nothing_is_refused(loss: str, inner: Any) -> None:
    with pytest.raises(ValueError, match="the adaptive regime does nothing here"):
        cs.minimize(tiny_parts().objective(LAM, loss=loss), cs.Casimir.paper("adapt", inner))


def test_pegasos_without_regularisation_says_what_to_use() -> None:
    with pytest.raises(ValueError, match=r"needs lam > 0\. Use Constant"):
        cs.minimize(tiny_parts().objective(0.0), cs.SGD())


@pytest.mark.parametrize(
    ("solver", "lam"),
    [
        (cs.SGD(cs.Constant(1e200)), 0.3),
        (cs.SGD(cs.Constant(1e3)), 0.3),
        (cs.SGD(cs.Constant(1e200), smoothing=cs.L2(3), mu=1.0), 0.0),
        (cs.SGD(cs.Constant(1e200), smoothing=cs.Entropy(), mu=1.0), 0.3),
        (cs.SVRG(lipschitz=1e-200), 0.0),
        (cs.SVRG(cs.Entropy(), lipschitz=1e-200), 0.0),
        (cs.Casimir.paper("const", cs.SVRG(lipschitz=1e-200), kappa=1e-200), 0.0),
    ],
)
@pytest.mark.parametrize("native", [True, False])
def test_a_step_size_that_is_too_large_is_named(solver: Any, lam: float, native: bool) -> None:
    with pytest.raises(FloatingPointError, match=r"the step size is too large\. Leave it at its default"):
        cs.minimize(tiny_parts().objective(lam, native=native), solver, epochs=200, tol=0.0)


def test_a_trace_has_columns_rows_and_no_others() -> None:
    trace = cs.minimize(tiny_parts().objective(LAM), cs.SGD(), epochs=3, tol=0.0).trace
    assert len(trace) == len(list(trace)) == len(trace.as_dicts()) == 3
    assert trace["epoch"].tolist() == [1.0, 2.0, 3.0]
    assert np.isnan(trace["kappa"]).all()
    assert trace[1]["epoch"] == trace[1].epoch == 2
    with pytest.raises(KeyError, match="no column 'loss' in a trace; it has epoch, oracle_calls"):
        trace["loss"]


@pytest.mark.parametrize("name", SOLVER_NAMES)
def test_every_solver_name_runs(name: str) -> None:
    objective = tiny_parts().objective(LAM, "crf" if name == "sdca" else "hinge")
    assert cs.minimize(objective, choose(name, objective), epochs=2).objective > 0.0


def test_every_solver_that_can_be_chosen_by_name_is_listed() -> None:
    from casimir.solvers.choose import _MAKERS

    assert tuple(SOLVER_NAMES) == ("auto", *_MAKERS)


def test_auto_suits_the_objective() -> None:
    parts = tiny_parts()
    for penalty in (LAM, cs.ElasticNet(LAM, 0.5), cs.ElasticNet(LAM, 1.0)):
        assert choose("auto", parts.objective(penalty)) == cs.DualProximal()
    assert choose("auto", parts.objective(0.0)) == cs.Casimir(cs.SVRG())
    assert choose("auto", parts.objective(LAM, loss="crf")) == cs.DualProximal()
    assert choose("auto", parts.objective(0.0, loss="crf")) == cs.Casimir(cs.SVRG())
    assert choose("auto", parts.objective(LAM, loss=cs.FenchelYoung(cs.L2()))) == cs.Casimir(cs.SVRG())
    assert choose("casimir", parts.objective(LAM)) == cs.Casimir(cs.SVRG())
    assert choose("dual", parts.objective(LAM)) == cs.DualProximal()
    solver = cs.BCFW()
    assert choose(solver, parts.objective(LAM)) is solver


def test_unknown_solvers_are_refused() -> None:
    objective = tiny_parts().objective(LAM)
    with pytest.raises(ValueError, match="solver='adam'; it must be one of 'auto', 'bcfw'"):
        choose("adam", objective)
    with pytest.raises(TypeError, match=r"solver=3; it must be a solver such as BCFW"):
        choose(3, objective)  # type: ignore[arg-type]


def test_a_lucky_prediction_does_not_end_the_evaluations() -> None:
    """The second epoch of this run predicts a gap of 1e-30, which is far off."""
    words = [["bias", "w=Zürich", "case=T"], ["bias", "w=is", "case=l", "w[-1]=Zürich"]]
    names = [[f"{name}|{i}" for name in token for i in range(8)] for token in words]
    model = cs.LinearChainModel(cs.pack([names]), 2)
    objective = cs.Objective(model, cs.Chain(2), cs.Hamming(), [np.array([0, 1])], 1.0)
    result = cs.minimize(objective, cs.DualProximal(), epochs=500, tol=1e-6)
    assert result.converged
    assert result.trace[-1].epoch <= 60
    assert max(np.diff([0, *(row.epoch for row in result.trace)])) <= 25


def test_metrics_are_columns_and_their_time_is_not_counted() -> None:
    objective = tiny_parts().objective(LAM)

    def slow(w: Any) -> float:
        return float(np.linalg.norm(w)) + 0.0 * sum(objective.value(w) for _ in range(200))

    trace = cs.minimize(objective, cs.SGD(), epochs=3, tol=0.0, metrics={"norm": slow, "ones": lambda w: 1}).trace
    assert trace.columns[-2:] == ("norm", "ones")
    assert trace["ones"].tolist() == [1.0, 1.0, 1.0]
    assert (trace["norm"] > 0.0).all()
    assert trace[-1]["norm"] == trace[-1].metrics["norm"]
    assert (trace["evaluation_seconds"] >= 0.0).all()
    assert (trace["cpu_seconds"] >= 0.0).all()


@pytest.mark.parametrize(
    ("metrics", "error", "message"),
    [({"gap": len}, ValueError, "'gap', which is a column"), ({"f1": 0.5}, TypeError, "must be a function of w")],
)
def test_metrics_that_cannot_be_columns_are_refused(metrics: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        cs.minimize(tiny_parts().objective(LAM), cs.SGD(), metrics=metrics)


@pytest.mark.parametrize("solver", [cs.SGD(), cs.BCFW(), cs.SDCA(), cs.SVRG(), cs.LBFGS(), cs.DualProximal()], ids=repr)
def test_evaluations_are_thinned_and_the_run_is_the_same(solver: Any) -> None:
    loss = "crf" if isinstance(solver, cs.SDCA | cs.SVRG | cs.LBFGS) else "hinge"
    objective = tiny_parts().objective(LAM, loss)
    often = cs.minimize(objective, solver, epochs=8, tol=0.0).trace
    seldom = cs.minimize(objective, solver, epochs=8, tol=0.0, evaluate_every=3).trace
    at = {row.epoch: row for row in often}
    assert seldom["epoch"].tolist()[-1] == 8
    assert (np.diff(seldom["epoch"])[:-1] >= 3).all()
    assert seldom["evaluations"][-1] <= often["evaluations"][-1]
    if not isinstance(solver, cs.DualProximal):
        assert seldom["epoch"].tolist() == [3, 6, 8]
        assert [row.objective for row in seldom] == [at[row.epoch].objective for row in seldom]
    with pytest.raises(ValueError, match="evaluate_every=0"):
        cs.minimize(objective, solver, evaluate_every=0)
