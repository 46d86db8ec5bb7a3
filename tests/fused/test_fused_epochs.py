"""Fused stochastic epochs equal the composed ones on the same random order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fused_cases import (
    PENALTIES,
    PROBLEMS,
    SMOOTHINGS,
    assert_all_close,
    both,
    constrained,
    loss_of,
    own_cost,
    penalty_of,
    some_weights,
    start,
)
from problems import Parts, candidate_parts, chain_parts, tree_parts

import casimir as cs
from casimir.solvers.saga import Table, saga_epoch
from casimir.solvers.sgd import sgd_epoch
from casimir.solvers.steps import Averaged
from casimir.solvers.svrg import svrg_epoch

smoothings = pytest.mark.parametrize("smoothing", SMOOTHINGS.values(), ids=SMOOTHINGS)


def sgd(objective: cs.Objective, loss: Any, w0: Any, averaging: str = "weighted", epochs: int = 2) -> list[Any]:
    """w, the mean iterate and what was seen, after every epoch. With lam > 0 the first step has 1 - gamma lam = 0."""
    rng, n = np.random.default_rng(5), objective.n_active
    w, lam, record = w0.copy(), objective.penalty.strong_convexity, []
    averaged = None if averaging == "none" else Averaged(np.zeros_like(w))
    problem = objective.problem(loss.smoothing)
    for epoch in range(epochs):
        t = np.arange(1, n + 1) + epoch * n
        gamma = cs.Pegasos().steps(t, lam) if lam > 0.0 else 0.3 / np.sqrt(t)
        a = {"none": None, "uniform": np.ones(n), "weighted": t.astype(np.float64)}[averaging]
        order = objective.permutation(rng)
        seen = sgd_epoch(problem, order, gamma, objective.penalty, loss, w, averaged, a)
        record += [w.copy(), w if averaged is None else averaged.mean(w), np.array(seen)]
    return record


def svrg(objective: cs.Objective, loss: Any, w0: Any, gamma: float = 0.15, steps: int = 12) -> list[Any]:
    """w and the mean iterate."""
    w, order = w0.copy(), objective.draw(np.random.default_rng(3), steps)
    at = objective.evaluate(w0, loss, keep=True)
    problem, penalty = objective.problem(loss.smoothing), objective.penalty
    mean = svrg_epoch(problem, order, gamma, penalty, loss, at.gradient, at.marginals, w)
    return [w, mean]


def saga(objective: cs.Objective, loss: Any, w0: Any, gamma: float = 0.1, steps: int = 25) -> list[Any]:
    """w and the mean of the table, after each of two epochs; an example may come twice within one."""
    w, rng = w0.copy(), np.random.default_rng(3)
    at = objective.evaluate(w0, loss, keep=True)
    table, problem, record = Table(at.marginals, np.array(at.gradient)), objective.problem(loss.smoothing), []
    for _ in range(2):
        order = objective.draw(rng, steps)
        saga_epoch(problem, order, gamma, objective.penalty, loss, table, objective.n_active, w)
        record += [w.copy(), table.mean.copy()]
    return record


@pytest.mark.parametrize("problem", PROBLEMS)
@smoothings
def test_epochs_agree(problem: str, smoothing: Any) -> None:
    """With lam = 0 and with lam > 0 in turn."""
    parts = PROBLEMS[problem]()
    loss, w0 = loss_of(parts, smoothing), start(parts)
    lam = 0.1 * ((list(PROBLEMS).index(problem) + list(SMOOTHINGS.values()).index(smoothing)) % 2)
    for epoch in (sgd, svrg, saga):
        assert_all_close(*(epoch(o, loss, w0) for o in both(parts, lam)))


KINDS = {
    "chain": lambda seed: chain_parts(seed=seed, n_labels=3, lengths=(1, 5), weighted_cost=True, valued=True),
    "tree": lambda seed: tree_parts(seed=seed, n_labels=3, lengths=(1, 5), weighted_cost=True),
    "candidates": lambda seed: candidate_parts(seed=seed),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("penalty", PENALTIES)
def test_epochs_agree_under_every_penalty(kind: str, penalty: str) -> None:
    """Weighted or not, with one smoothing and another in turn."""
    turn = PENALTIES.index(penalty) + list(KINDS).index(kind)
    parts = KINDS[kind](turn)
    own = penalty_of(penalty, parts.model.n_params, turn)
    weights = some_weights(len(parts.y), turn) if turn % 2 else None
    w0 = start(parts, penalty=own)
    names = ["hard", list(SMOOTHINGS)[1 + turn % 3]]
    for loss in [loss_of(parts, SMOOTHINGS[name]) for name in names]:
        for epoch in (sgd, svrg, saga):
            assert_all_close(*(epoch(o, loss, w0) for o in both(parts, own, sample_weight=weights)))


def odd(kind: str, case: str) -> Parts:
    parts = KINDS[kind](4)
    own = own_cost(parts, pairs=case == "own-pairs")  # without ties, which rounding would break in two ways
    return constrained(own) if case == "allowed" else own


@pytest.mark.parametrize(
    ("kind", "case"),
    [(k, c) for k in KINDS for c in ("own", "own-pairs", "allowed") if (k, c) != ("candidates", "allowed")],
)
@pytest.mark.parametrize("penalty", ["ridge", "mixture", "proximal-l1"])
def test_epochs_agree_with_own_costs_and_allowed_outputs(kind: str, case: str, penalty: str) -> None:
    parts = odd(kind, case)
    own = penalty_of(penalty, parts.model.n_params)
    w0, loss, weights = start(parts, penalty=own), loss_of(parts, cs.L2(3)), some_weights(len(parts.y))
    for epoch in (sgd, svrg, saga):
        assert_all_close(*(epoch(o, loss, w0) for o in both(parts, own, sample_weight=weights)))


@pytest.mark.parametrize("loss", [cs.Log(), cs.SoftmaxMargin(cs.Hamming()), cs.FenchelYoung(cs.L2(), 0.5)])
def test_epochs_of_smooth_losses_agree(loss: Any) -> None:
    parts = chain_parts(n_labels=4, lengths=(1, 4), valued=True)
    for epoch in (sgd, svrg, saga):
        assert_all_close(*(epoch(o, loss, start(parts)) for o in both(parts, 0.1, loss)))


@pytest.mark.parametrize("penalty", ["none", "ridge", "elastic"])
@pytest.mark.parametrize("averaging", ["none", "uniform", "weighted"])
def test_every_averaging_of_sgd_agrees(penalty: str, averaging: str) -> None:
    parts = PROBLEMS["real-3"]()
    own, loss = penalty_of(penalty, parts.model.n_params), cs.Hinge(parts.cost)
    assert_all_close(*(sgd(o, loss, start(parts), averaging, epochs=4) for o in both(parts, own)))


def test_uniform_averages_are_means_of_the_iterates() -> None:
    parts = PROBLEMS["binary-5"]()
    for penalty in (cs.Ridge(0.1), cs.ElasticNet(0.1, 0.5)):
        objective, loss = parts.objective(penalty), cs.Hinge(parts.cost)
        problem, n = objective.problem(loss.smoothing), objective.n_active
        w, whole, total = start(parts), start(parts), 0.0
        averaged, order, gamma = Averaged(np.zeros_like(w)), np.arange(n), np.full(n, 0.2)
        for t in range(n):
            sgd_epoch(problem, order[t : t + 1], gamma[t : t + 1], penalty, loss, w)
            total = total + w
        sgd_epoch(problem, order, gamma, penalty, loss, whole, averaged, np.ones(n))
        assert_all_close([whole, averaged.mean(whole)], [w, total / n])


def test_a_first_svrg_step_is_a_full_gradient_step() -> None:
    """At the snapshot itself the stochastic part cancels."""
    parts = PROBLEMS["binary-5"]()
    loss, w0 = cs.FenchelYoung(cs.L2(3), 1.0, parts.cost), start(parts)
    for objective in both(parts, 0.5):
        w, mean = svrg(objective, loss, w0, gamma=0.1, steps=1)
        expected = w0 - 0.1 * (objective.evaluate(w0, loss).gradient + 0.5 * w0)
        assert_all_close([w, mean], [expected, expected])


def test_the_mean_of_the_table_is_that_of_its_marginals() -> None:
    parts = PROBLEMS["tree-5"]()
    loss, weights = cs.FenchelYoung(cs.Entropy(), 1.0, parts.cost), some_weights(len(parts.y))
    for objective in both(parts, cs.ElasticNet(0.1, 0.5), sample_weight=weights):
        w, p = start(parts), objective.problem(loss.smoothing)
        at = objective.evaluate(w, loss, keep=True)
        table = Table(at.marginals, np.array(at.gradient))
        order = objective.permutation(np.random.default_rng(0))
        saga_epoch(p, order, 0.2, objective.penalty, loss, table, objective.n_active, w)
        mean = np.zeros_like(w)
        for i in objective.examples.tolist():
            kept = table.marginals[p.marginal_offset(i) : p.marginal_offset(i + 1)]
            p.scatter(i, kept - p.truth(i), p.scale(i) / objective.n_active, mean)
        assert_all_close([table.mean], [mean])
