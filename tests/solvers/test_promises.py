"""What a run never does: end worse than it began, lose its trace, or certify what is not so."""

from __future__ import annotations

import warnings
from dataclasses import is_dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from nonlinear import elu_parts, start
from problems import Counting, Parts, chain_parts, crf_optimum, hinge_optimum, tiny_parts

import casimir as cs
from casimir.penalties import Proximal
from casimir.structures.base import Best

LAM = 0.3
SOLVERS: dict[str, Any] = {
    "sgd": cs.SGD(),
    "sgd-constant": cs.SGD(cs.Constant(2.0), averaging="none"),
    "cuts": cs.CuttingPlanes(),
    "excessive-gap": cs.ExcessiveGap(),
    "svrg": cs.SVRG(mu=0.1),
    "saga": cs.SAGA(mu=0.1),
    "saga-long": cs.SAGA(mu=0.1, lipschitz=1.0),
    "lbfgs": cs.LBFGS(mu=0.1),
    "descent": cs.GradientDescent(mu=0.1),
    "casimir": cs.Casimir(cs.SVRG(mu=0.1)),
    "casimir-saga": cs.Casimir.paper("const", cs.SAGA(mu=0.1), warm_start="extrapolation", stopping="accuracy"),
    "casimir-saga-prev": cs.Casimir.paper("const", cs.SAGA(mu=0.1), warm_start="prev-iterate", stopping="accuracy"),
    "casimir-lbfgs": cs.Casimir.paper("const", cs.LBFGS(mu=0.1), stopping="accuracy"),
    "casimir-descent": cs.Casimir.paper("adapt", cs.GradientDescent(mu=0.1)),
}
DUAL: dict[str, Any] = {
    "bcfw": cs.BCFW(),
    "bcfw-pairwise": cs.BCFW(pairwise=True, cached_passes=1),
    "dual": cs.DualProximal(),
}


@pytest.mark.filterwarnings("ignore:Casimir's inner solver did not reach")
@pytest.mark.parametrize("penalty", [cs.Ridge(LAM), cs.ElasticNet(LAM, 0.5)], ids=repr)
@pytest.mark.parametrize("name", [*SOLVERS, *DUAL])
def test_reported_objectives_are_those_of_the_reported_points(name: str, penalty: Any) -> None:
    objective = chain_parts(n=8).objective(penalty)
    seen: list[tuple[float, float]] = []
    solver = (SOLVERS | DUAL)[name]
    cs.minimize(
        objective,
        solver,
        epochs=6,
        tol=0.0,
        callbacks=[lambda row, w: seen.append((row.objective, objective.value(w)))],
    )
    for reported, true in seen:
        assert reported == pytest.approx(true, rel=1e-10)


@pytest.mark.filterwarnings("ignore:Casimir's inner solver did not reach")
@pytest.mark.parametrize("epochs", [1, 2])
@pytest.mark.parametrize("name", SOLVERS)
def test_a_result_is_never_worse_than_the_start(name: str, epochs: int) -> None:
    """From a point that is optimal but for 1e-6, where most first epochs only do harm."""
    objective = chain_parts(n=12, n_labels=4).objective(0.05)
    best = cs.minimize(objective, cs.DualProximal(), epochs=2000, tol=1e-6)
    assert best.converged
    result = cs.minimize(objective, SOLVERS[name], epochs=epochs, tol=0.0, w0=best.w)
    assert result.objective <= best.objective
    assert result.objective == pytest.approx(objective.value(result.w), rel=1e-12)


@pytest.mark.parametrize(
    "solver", [cs.BCFW(averaging="none"), cs.BCFW(pairwise=True), cs.DualProximal(kappa=1e-3)], ids=repr
)
def test_a_result_of_a_dual_solver_is_never_worse_than_zero(solver: Any) -> None:
    objective = chain_parts(n=12, n_labels=5).objective(1e-3)
    result = cs.minimize(objective, solver, epochs=1, tol=0.0)
    zero = objective.value(np.zeros(objective.n_params))
    assert result.trace[0].objective > zero  # this first epoch is worse
    assert result.objective == zero
    np.testing.assert_array_equal(result.w, 0.0)
    assert result.gap == pytest.approx((zero - result.dual) / zero)


@pytest.mark.parametrize("loss", ["hinge", "crf"])
def test_saga_converges_to_the_optimum(loss: str) -> None:
    best = crf_optimum(tiny_parts(), LAM) if loss == "crf" else hinge_optimum(tiny_parts(), LAM)
    solver = cs.SAGA() if loss == "crf" else cs.SAGA(cs.L2(), mu=0.005)
    result = cs.minimize(tiny_parts().objective(LAM, loss), solver, epochs=4000, tol=1e-9)
    within = 1e-8 if loss == "crf" else 3e-3
    assert -1e-9 <= result.objective - best <= within
    assert result.dual <= best + 1e-9


@pytest.mark.parametrize(
    "solver",
    [
        cs.SGD(cs.Constant(1e3), averaging="none"),
        cs.SGD(cs.Constant(1e3)),
        cs.SGD(cs.Constant(1e3), smoothing=cs.L2(3), mu=1.0),
    ],
    ids=["last", "average", "smoothed"],
)
@pytest.mark.parametrize("native", [True, False])
def test_a_run_that_diverges_keeps_its_trace(solver: Any, native: bool) -> None:
    objective = tiny_parts().objective(LAM, native=native)
    with pytest.raises(cs.Diverged, match="the step size is too large") as caught:
        cs.minimize(objective, solver, epochs=500, tol=0.0)
    assert isinstance(caught.value, FloatingPointError)
    result = caught.value.result
    assert result.status == "diverged"
    assert len(result.trace) >= 1
    assert np.isfinite(result.w).all()
    assert result.objective <= objective.value(np.zeros(objective.n_params))
    assert result.objective == pytest.approx(objective.value(result.w))


@pytest.mark.parametrize(
    "solver",
    [cs.SGD(cs.Constant(1e308)), cs.SVRG(mu=0.1, lipschitz=1e-306), cs.SAGA(mu=0.1, lipschitz=1e-306)],
    ids=lambda solver: type(solver).__name__,
)
def test_a_run_that_diverges_at_once_has_no_result(solver: Any) -> None:
    with pytest.raises(cs.Diverged, match="the step size is too large") as caught:
        cs.minimize(tiny_parts().objective(0.0), solver, epochs=3, tol=0.0)
    assert caught.value.result is None


class Lying(Counting):
    """A structure whose max oracle finds the truth of no example, but says that it did: the first output of all."""

    def max(self, s: Any) -> Best:
        best = self._structure.max(s)
        outputs = [np.zeros_like(y) for y in best.outputs]
        return Best(self._structure.score_of(s, outputs), outputs)

    def select(self, examples: Any) -> Lying:
        return Lying(self._structure.select(examples), self.calls)


class Exaggerating:
    """A penalty that forgets part of its conjugate, so that its lower bounds are too large."""

    def __init__(self, penalty: Any) -> None:
        self._penalty = penalty

    def conjugate(self, g: Any) -> float:
        return 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._penalty, name)


@pytest.mark.parametrize("solver", [cs.SVRG(cs.Entropy(), mu=0.05), cs.LBFGS(mu=0.05), cs.SGD(), cs.BCFW()], ids=repr)
def test_an_oracle_that_lies_breaks_the_certificate(solver: Any) -> None:
    parts = chain_parts(n=8)
    objective = Parts(parts.model, Lying(parts.structure), parts.cost, parts.y).objective(0.05)
    with pytest.raises(
        cs.BrokenCertificate, match=r"lower bound .* exceeds the objective .* An oracle of the structure"
    ):
        cs.minimize(objective, solver, epochs=200, tol=0.0)
    assert issubclass(cs.BrokenCertificate, ArithmeticError)


@pytest.mark.parametrize("solver", [cs.LBFGS(), cs.SVRG(), cs.SAGA()], ids=lambda s: type(s).__name__)
def test_a_penalty_that_lies_breaks_the_certificate(solver: Any) -> None:
    objective = chain_parts(n=8).objective(Exaggerating(cs.Ridge(0.05)), "crf")
    with pytest.raises(cs.BrokenCertificate, match="or a smoothing, cost or penalty of your own"):
        cs.minimize(objective, solver, epochs=200, tol=0.0)


@pytest.mark.parametrize(
    ("inner", "missing"),
    [
        (cs.SGD(), "start, epoch"),
        (cs.BCFW(), "smoothing, mu, start, epoch"),
        (cs.DualProximal(), "smoothing, mu, start, epoch"),
        (cs.Casimir(), "smoothing, start, epoch"),
        (cs.SVRG, "start"),
        (None, "smoothing, mu, start, epoch"),
    ],
    ids=repr,
)
def test_casimir_names_what_an_inner_solver_lacks(inner: Any, missing: str) -> None:
    message = rf"Casimir needs an inner solver with {missing}, such as SVRG\(\).*For dual steps use DualProximal\(\)"
    with pytest.raises(TypeError, match=message):
        cs.Casimir(inner)


class OwnInner:
    """Gradient steps of length 1/L, L given: all that an inner solver needs."""

    smoothing, mu = cs.Entropy(), 0.05

    def start(self, objective: Any, loss: Any, w: Any, rng: Any, before: Any) -> Any:
        from casimir.solvers.base import InnerState

        return InnerState(w, objective.evaluate(w, loss))

    def epoch(self, objective: Any, loss: Any, state: Any, rng: Any) -> Any:
        w = objective.penalty.prox(state.w - state.evaluation.gradient / 40.0, 1.0 / 40.0)
        return self.start(objective, loss, w, rng, state)


def test_casimir_runs_around_an_inner_solver_of_a_user() -> None:
    result = cs.minimize(tiny_parts().objective(LAM), cs.Casimir(OwnInner()), epochs=500, tol=0.0)
    assert result.objective <= 1.05 * hinge_optimum(tiny_parts(), LAM)
    assert np.isnan(result.trace["lipschitz"]).all()


class Watched(OwnInner):
    """Ten such steps; remembers the centres of the subproblems that it was given, and where it led."""

    def __init__(self, lost: int = 0) -> None:
        self.way: list[tuple[Any, Any]] = []
        self.lost = lost

    def epoch(self, objective: Any, loss: Any, state: Any, rng: Any) -> Any:
        if self.lost:
            self.lost -= 1
            raise FloatingPointError("the steps are too long")
        z = state.w.copy()
        for _ in range(10):
            state = super().epoch(objective, loss, state, rng)
        self.way.append((z, state.w.copy()))
        return state


def test_casimir_goes_beyond_what_the_inner_solver_found_along_the_last_move() -> None:
    """z = t + beta (t - t before), 0 < beta < 1."""
    inner, betas = Watched(), []
    result = cs.minimize(tiny_parts().objective(LAM), cs.Casimir(inner, kappa=0.5), epochs=40, tol=0.0)
    for (_, before), (_, t), (z, _) in zip(inner.way, inner.way[1:], inner.way[2:], strict=False):
        move = t - before
        beta = float((z - t) @ move) / float(move @ move)
        if np.allclose(z, t + beta * move, rtol=0.0, atol=1e-12):
            betas.append(beta)
    assert len(betas) >= 20
    assert all(0.05 < beta < 1.0 for beta in betas)
    assert result.objective <= 1.05 * hinge_optimum(tiny_parts(), LAM)


def test_casimir_goes_on_from_what_was_found_where_to_go_beyond_is_worse() -> None:
    inner = Watched()
    result = cs.minimize(tiny_parts().objective(0.1 * LAM), cs.Casimir(inner, kappa=2.0), epochs=60, tol=0.0)
    stays = [np.array_equal(z, t) for (_, t), (z, _) in pairwise(inner.way)]
    assert 0 < sum(stays) == result.trace["restarts"][-1]
    values = result.trace["smoothed"]
    assert all(after <= before for before, after in pairwise(values))


def test_casimir_survives_subproblems_that_lead_nowhere() -> None:
    whole, lost = (
        cs.minimize(tiny_parts().objective(LAM), cs.Casimir(Watched(count), kappa=0.5), epochs=epochs, tol=0.0)
        for count, epochs in ((0, 60), (3, 63))
    )
    assert len(set(lost.trace["smoothed"][:4])) == 1  # it stays where it is
    assert lost.objective <= 1.05 * hinge_optimum(tiny_parts(), LAM)
    assert lost.trace["smoothed"][-1] == pytest.approx(whole.trace["smoothed"][-1], rel=1e-3)


@pytest.mark.parametrize("sampling", ["replacement", "permutation"])
def test_answers_of_examples_drawn_anew_are_no_dual_point(sampling: Any) -> None:
    """Some come more often than others, so that their mean is of another objective."""
    parts = chain_parts(n=3, weighted_cost=True)
    objective, best = parts.objective(1.0), hinge_optimum(parts, 1.0)
    for seed in range(12):
        result = cs.minimize(objective, cs.SGD(sampling=sampling), 12, 0.0, seed)
        assert max(result.trace["dual"]) <= best * (1 + 1e-9)


@pytest.mark.parametrize("inner", [cs.SVRG(cs.L2(), mu=1.0), cs.SVRG(cs.Entropy()), cs.LBFGS(mu=1.0)], ids=repr)
@pytest.mark.parametrize("penalty", [LAM, 0.0], ids=["ridge", "none"])
def test_decreasing_smoothing_never_becomes_none(inner: Any, penalty: float) -> None:
    """Under a ridge mu_k would fall by a fifth per epoch, to 0 in the end, were it not kept above."""
    objective = tiny_parts().objective(penalty)
    result = cs.minimize(objective, cs.Casimir.paper("adapt", inner), epochs=500 if penalty else 5000, tol=0.0)
    assert result.status in ("epochs", "converged", "stalled")
    mu = result.trace["mu"]
    assert np.all(mu > 1e-8)
    assert np.all(np.diff(mu) <= 0.0)
    assert np.isfinite(result.trace["smoothed"]).all()
    assert result.objective <= 1.02 * hinge_optimum(tiny_parts(), penalty)


def test_the_accuracy_rule_warns_once_when_it_hits_its_cap() -> None:
    """Without smoothing gradients do not vanish, so no accuracy is ever shown."""
    solver = cs.Casimir.paper("const", cs.SVRG(cs.Hard(), lipschitz=20.0), stopping="accuracy")
    objective = chain_parts(n=8).objective(0.1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = cs.minimize(objective, solver, epochs=3, tol=0.0)
    assert len(caught) == 1
    assert "did not reach the relative accuracy" in str(caught[0].message)
    assert "in 100 epochs" in str(caught[0].message)
    assert caught[0].category is RuntimeWarning
    assert caught[0].filename == __file__
    assert result.trace[0].steps == 100 * 8


@pytest.mark.parametrize("warm_start", ["prox-center", "extrapolation", "prev-iterate"])
@pytest.mark.parametrize(
    "inner", [cs.SVRG(), cs.SAGA(), cs.LBFGS(), cs.GradientDescent()], ids=lambda s: type(s).__name__
)
def test_the_accuracy_rule_does_not_warn_on_a_smooth_loss(inner: Any, warm_start: str) -> None:
    solver = cs.Casimir.paper("const", inner, stopping="accuracy", warm_start=warm_start)
    for penalty in (LAM, cs.ElasticNet(LAM, 0.5)):
        result = cs.minimize(tiny_parts().objective(penalty, "crf"), solver, epochs=60, tol=1e-10)
        assert result.gap <= 1e-6


def test_prox_gradient_is_none_for_other_solvers() -> None:
    for solver in (cs.SGD(), cs.DualProximal(), cs.LBFGS()):
        assert cs.minimize(tiny_parts().objective(LAM), solver, epochs=1).trace[0].prox_gradient is None


def test_a_proximal_penalty_is_minimised_like_any_other() -> None:
    """min F + kappa/2 |w - z|^2: where z is the minimiser of F itself, w = z."""
    parts = tiny_parts()
    z = cs.minimize(parts.objective(LAM, "crf"), cs.LBFGS(), epochs=500, tol=1e-10).w
    objective = parts.objective(Proximal(cs.Ridge(LAM), 0.7, z), "crf")
    for solver in (cs.LBFGS(), cs.SVRG(), cs.SAGA(), cs.GradientDescent(), cs.Casimir()):
        result = cs.minimize(objective, solver, epochs=500, tol=1e-8)
        assert result.converged
        np.testing.assert_allclose(result.w, z, atol=1e-3)


def test_a_nonlinear_objective_has_no_certificate_but_zero() -> None:
    parts = elu_parts()
    result = cs.minimize(parts.objective(0.05), cs.SGD(cs.Constant(0.01), averaging="none"), 3, w0=start(parts))
    assert result.dual == 0.0
    assert result.gap == 1.0


def test_hyperparameters_cannot_be_changed_and_solvers_may_be_keys() -> None:
    """They are shared, and what a checkpoint was made with must stay what it was."""
    from casimir import losses, penalties, smoothing, solvers

    found = [one for module in (losses, penalties, smoothing, solvers) for one in vars(module).values()]
    found += [getattr(module, name) for module in (losses, penalties, solvers) for name in module.__all__]
    kinds = {one for one in found if isinstance(one, type) and is_dataclass(one)}
    assert {cs.SGD, cs.Constant, cs.Casimir, cs.DualProximal, cs.ElasticNet, cs.Hinge, cs.L2, cs.Entropy} <= kinds
    assert {kind.__name__ for kind in kinds if not kind.__dataclass_params__.frozen} == set()
