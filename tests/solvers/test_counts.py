"""Reported oracle calls are real calls, and what they were for adds up to them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from problems import Counting, Parts, chain_parts, tiny_parts

import casimir as cs
from casimir.solvers.at_zero import Scale

LAM = 0.3
COUNTS = ("steps", "full_gradients", "evaluations", "searches")
SOLVERS: dict[str, Any] = {
    "sgd": cs.SGD(),
    "sgd-smoothed": cs.SGD(smoothing=cs.L2(3), mu=0.1),
    "bcfw": cs.BCFW(),
    "bcfw-pairwise": cs.BCFW(pairwise=True, cached_passes=2),
    "bcfw-light": cs.BCFW(pairwise=True, light_passes=2, cached_passes=1, skip_below=1.0),
    "dual": cs.DualProximal(),
    "eg": cs.ExponentiatedGradient(),
    "cuts": cs.CuttingPlanes(),
    "excessive-gap": cs.ExcessiveGap(),
    "excessive-gap-fixed": cs.ExcessiveGap(lipschitz=100.0),
    "svrg": cs.SVRG(mu=0.1),
    "svrg-default": cs.SVRG(),
    "svrg-entropy": cs.SVRG(cs.Entropy(), mu=0.1),
    "svrg-hard": cs.SVRG(cs.Hard()),
    "svrg-lipschitz": cs.SVRG(mu=0.1, lipschitz=50.0, steps=7),
    "saga": cs.SAGA(mu=0.1),
    "saga-lipschitz": cs.SAGA(mu=0.1, lipschitz=50.0),
    "lbfgs": cs.LBFGS(mu=0.1),
    "lbfgs-l2": cs.LBFGS(cs.L2(4), mu=0.1),
    "descent": cs.GradientDescent(mu=0.1),
    "casimir": cs.Casimir(cs.SVRG(mu=0.1)),
    "casimir-default": cs.Casimir(),
    "casimir-accuracy": cs.Casimir.paper("adapt", cs.SVRG(cs.L2(), mu=0.1), kappa=2.0, stopping="accuracy"),
    "casimir-paper": cs.Casimir.paper("adapt", cs.SVRG(lipschitz=50.0), mu=0.1),
    "casimir-saga": cs.Casimir(cs.SAGA(mu=0.1)),
    "casimir-lbfgs": cs.Casimir(cs.LBFGS(mu=0.1)),
    "casimir-descent": cs.Casimir(cs.GradientDescent(mu=0.1)),
    "prox-linear": cs.ProxLinear(cs.Casimir(cs.SVRG(mu=0.1)), inner_epochs=2),
    "prox-linear-dual": cs.ProxLinear(cs.DualProximal(), inner_epochs=2),
}
SMOOTH: dict[str, Any] = {
    "sgd": cs.SGD(),
    "sdca": cs.SDCA(),
    "eg": cs.ExponentiatedGradient(),
    "eg-fixed": cs.ExponentiatedGradient(eta=0.3),
    "cuts": cs.CuttingPlanes(),
    "dual": cs.DualProximal(),
    "svrg": cs.SVRG(),
    "saga": cs.SAGA(),
    "lbfgs": cs.LBFGS(),
    "descent": cs.GradientDescent(),
    "casimir": cs.Casimir(),
    "casimir-saga": cs.Casimir.paper("const", cs.SAGA(), stopping="accuracy"),
    "casimir-lbfgs": cs.Casimir(cs.LBFGS()),
    "prox-linear": cs.ProxLinear(cs.Casimir(), inner_epochs=2),
}
CASES = [("hinge", name, solver) for name, solver in SOLVERS.items()]
CASES += [("crf", name, solver) for name, solver in SMOOTH.items()]
every_case = pytest.mark.parametrize(
    ("loss", "solver"), [(loss, s) for loss, _, s in CASES], ids=[f"{a}-{b}" for a, b, _ in CASES]
)


def counted(penalty: Any = LAM, loss: str = "hinge", **options: Any) -> tuple[cs.Objective, list[int]]:
    """An objective, and the number of examples that its structure's oracles were asked about."""
    parts = tiny_parts()
    counting = Counting(parts.structure)
    return Parts(parts.model, counting, parts.cost, parts.y).objective(penalty, loss, **options), counting.calls


@every_case
@pytest.mark.parametrize("penalty", [LAM, cs.ElasticNet(LAM, 0.5)], ids=["ridge", "elastic"])
def test_reported_calls_are_real_calls(loss: str, solver: Any, penalty: Any) -> None:
    objective, calls = counted(penalty, loss)
    before, seen = calls[0], []
    result = cs.minimize(objective, solver, epochs=3, tol=0.0, callbacks=[lambda *_: seen.append(calls[0] - before)])
    assert result.trace["oracle_calls"].tolist() == seen
    assert objective.oracle_calls == calls[0] - before  # with what minimize asked after the last row
    for row in result.trace:
        assert sum(row[name] for name in COUNTS) == row.oracle_calls
    assert sum(vars(objective.counts).values()) == objective.oracle_calls


@pytest.mark.parametrize(
    "name", ["sgd", "bcfw", "dual", "eg", "cuts", "excessive-gap", "svrg", "saga", "lbfgs", "casimir"]
)
def test_examples_of_weight_0_are_not_asked_about(name: str) -> None:
    objective, calls = counted(sample_weight=[1.0, 0.0, 2.0, 1.0])
    before = calls[0]
    cs.minimize(objective, SOLVERS[name], epochs=3, tol=0.0)
    assert objective.oracle_calls == calls[0] - before
    assert objective.n_active == 3


@every_case
def test_a_second_run_counts_from_0(loss: str, solver: Any) -> None:
    """It asks for all but the scale of the gradients at w = 0, which belongs to the losses and is known by then."""
    objective = tiny_parts().objective(LAM, loss)
    first, again = (cs.minimize(objective, solver, epochs=3, tol=0.0) for _ in range(2))
    known = objective.n_examples * sum(isinstance(found, Scale) for found in objective.known_of_losses.values())
    assert known in (0, objective.n_examples)
    for column in COUNTS:
        less = known if column == "searches" else 0
        assert (first.trace[column] - again.trace[column]).tolist() == [less] * len(first.trace)
    assert (first.trace["oracle_calls"] - again.trace["oracle_calls"]).tolist() == [known] * len(first.trace)


@pytest.mark.parametrize("name", [name for name in SOLVERS if not name.startswith("prox")])
def test_fused_and_composed_runs_count_the_same(name: str) -> None:
    parts = chain_parts(n=5)
    a, b = (cs.minimize(parts.objective(LAM, native=k), SOLVERS[name], epochs=2, tol=0.0).trace for k in (True, False))
    for column in ("oracle_calls", *COUNTS):
        assert a[column].tolist() == b[column].tolist()


def test_what_calls_were_for() -> None:
    parts, n = chain_parts(n=5), 5

    def counts(solver: Any, epochs: int = 3) -> list[int]:
        row = cs.minimize(parts.objective(LAM), solver, epochs=epochs, tol=0.0).trace[-1]
        return [row[name] for name in COUNTS]

    assert counts(cs.SGD()) == [3 * n, 0, 3 * n, 0]
    assert counts(cs.BCFW()) == [3 * n, 0, 6 * n, 0]  # the last iterate and the average
    assert counts(cs.BCFW(averaging="weighted")) == [3 * n, 0, 3 * n, 0]
    assert counts(cs.BCFW(pairwise=True, cached_passes=4)) == [3 * n, 0, 3 * n, 0]
    assert counts(cs.BCFW(pairwise=True, light_passes=2, skip_below=0.0)) == [9 * n, 0, 3 * n, 0]
    light = counts(cs.BCFW(pairwise=True, light_passes=2, skip_below=1.0))[0]
    assert 3 * n < light < 9 * n  # some examples are left out, never all
    assert counts(cs.SVRG(mu=0.1, lipschitz=90.0)) == [3 * n, 4 * n, 0, 0]
    assert counts(cs.SVRG(mu=0.1, lipschitz=90.0, steps=7)) == [3 * 7, 4 * n, 0, 0]
    paper = cs.Casimir.paper("const", cs.SVRG(mu=0.1, lipschitz=90.0))
    assert counts(paper) == [3 * n, 3 * n, 3 * n, 0]  # F at the end of an outer step is for the report alone
    assert counts(replace(paper, inner_epochs=2)) == [6 * n, 6 * n, 3 * n, 0]
    assert counts(cs.SAGA(mu=0.1, lipschitz=90.0)) == [3 * n, n, 3 * n, 0]
    assert counts(cs.CuttingPlanes()) == [0, 3 * n, 0, 0]
    assert counts(cs.ExcessiveGap(lipschitz=90.0)) == [0, 4 * n, 3 * n, n]  # the last for the first mu


def test_the_papers_casimir_goes_the_same_way_with_fewer_reports() -> None:
    """Rows of every third epoch are those of a run that reports all, but for the passes that report."""
    solver, parts = cs.Casimir.paper("adapt", cs.SVRG(lipschitz=50.0), mu=0.1), chain_parts(n=5)
    often, seldom = (
        cs.minimize(parts.objective(LAM), solver, epochs=9, tol=0.0, evaluate_every=k).trace for k in (1, 3)
    )
    for column in ("epoch", "objective", "steps", "full_gradients", "gamma"):
        assert seldom[column].tolist() == often[column].tolist()[2::3]
    assert seldom["evaluations"].tolist() == [5, 10, 15]


@pytest.mark.parametrize("loss", ["hinge", "crf"])
@pytest.mark.parametrize("epochs", [1, 10, 40])
def test_saga_makes_one_full_gradient_pass_only(loss: str, epochs: int) -> None:
    solver = cs.SAGA(mu=0.1) if loss == "hinge" else cs.SAGA()
    trace = cs.minimize(chain_parts(n=5).objective(LAM, loss), solver, epochs=epochs, tol=0.0).trace
    assert np.all(trace["full_gradients"] == 5)
    assert trace["steps"].tolist() == [5 * k for k in range(1, epochs + 1)]
