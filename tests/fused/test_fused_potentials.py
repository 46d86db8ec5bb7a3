"""Fused passes over potential blocks equal the composed ones, and climb."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fused_cases import (
    KINDS,
    PROBLEMS,
    STRONG,
    assert_all_close,
    both,
    constrained,
    own_cost,
    penalty_of,
    some_weights,
)
from problems import Parts, candidate_parts

import casimir as cs
from casimir.duality import DualPoint
from casimir.solvers.bcfw import dual_start


def passes(objective: cs.Objective, rounds: int = 4, skip_below: float = 0.9, eta: float | None = None) -> list[Any]:
    """What a few passes of the potential blocks leave behind, pass by pass; at w = 0 all gaps may be the mean.

    At the optimum of a hinge loss rounding decides whether a step is taken: fewer rounds end before it.
    """
    order = objective.permutation(np.random.default_rng(8))
    blocks, iterate = objective.potential_blocks(eta), dual_start(objective.penalty, objective.n_params)
    record: list[Any] = [blocks.ell]
    for _ in range(rounds):
        for below in (0.0, skip_below):
            record += [*blocks.step_pass(order, below, iterate), blocks.ell]
        record += [iterate.w.copy(), iterate.gradient().copy()]
    return record


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("mu", [1.0, 0.3])
def test_passes_agree(problem: str, mu: float) -> None:
    parts = PROBLEMS[problem]()
    for loss in (cs.FenchelYoung(cs.Entropy(), mu), cs.FenchelYoung(cs.Entropy(), mu, parts.cost)):
        assert_all_close(*(passes(o) for o in both(parts, 0.3, loss)))


@pytest.mark.parametrize("problem", PROBLEMS)
def test_passes_over_a_hinge_loss_agree(problem: str) -> None:
    parts = PROBLEMS[problem]()
    assert_all_close(*(passes(o) for o in both(parts, 0.3, cs.Hinge(parts.cost))))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("eta", [0.2, 1.0])
def test_steps_of_one_length_agree(kind: str, eta: float) -> None:
    parts = KINDS[kind]()
    for loss in (cs.Hinge(parts.cost), cs.SoftmaxMargin(parts.cost)):
        fused, slow = (passes(o, eta=eta) for o in both(parts, 0.3, loss))
        assert_all_close(fused, slow)
        assert fused[2] == len(parts.y)  # an oracle call each


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("penalty", STRONG)
def test_passes_agree_under_every_strongly_convex_penalty(kind: str, penalty: str) -> None:
    parts, turn = KINDS[kind](), STRONG.index(penalty) + list(KINDS).index(kind)
    own = penalty_of(penalty, parts.model.n_params, turn)
    weights = some_weights(len(parts.y), turn) if turn % 2 else None
    for loss in (cs.SoftmaxMargin(parts.cost), cs.Hinge(parts.cost)):
        assert_all_close(*(passes(o, rounds=3) for o in both(parts, own, loss, sample_weight=weights)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", ["own", "own-pairs", "allowed"])
def test_passes_agree_with_own_costs_and_allowed_outputs(kind: str, case: str) -> None:
    parts = KINDS[kind]()
    if case == "allowed":
        parts = parts if isinstance(parts.structure, cs.Candidates) else constrained(parts)
    else:
        parts = own_cost(parts, pairs=case == "own-pairs")
    for penalty in ("ridge", "mixture"):
        own, weights = penalty_of(penalty, parts.model.n_params), some_weights(len(parts.y))
        for loss in (cs.Log(), cs.SoftmaxMargin(parts.cost), cs.Hinge(parts.cost)):
            assert_all_close(*(passes(o) for o in both(parts, own, loss, sample_weight=weights)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", [cs.SoftmaxMargin, cs.Hinge])
def test_a_step_never_lowers_the_dual_and_keeps_w_and_g_together(kind: str, loss: Any) -> None:
    """w = argmin R(w) + <g, w> after every single step."""
    parts = KINDS[kind]()
    for penalty in ("ridge", "elastic", "mixture", "proximal-nonnegative"):
        for weights in (None, some_weights(len(parts.y))):
            own = penalty_of(penalty, parts.model.n_params)
            objective = parts.objective(own, loss(parts.cost), sample_weight=weights)
            blocks, iterate, last = objective.potential_blocks(), dual_start(own, objective.n_params), 0.0
            for i in np.tile(objective.examples, 8):
                blocks.step_pass(np.array([i]), 0.0, iterate)
                np.testing.assert_allclose(own.primal(-iterate.gradient()), iterate.w, rtol=0, atol=1e-12)
                value = DualPoint(iterate.gradient(), blocks.ell).value(own)
                assert value >= last - 1e-12
                last = value
            assert last <= objective.value(iterate.w) + 1e-12


def test_ell_is_the_entropy_and_the_cost_of_the_distribution() -> None:
    """Under a penalty so strong that w stays 0, the dual variables end at softmax(cost), where ell is F(0)."""
    parts = candidate_parts()
    stiff = cs.Ridge(1e9)
    objective = parts.objective(stiff, cs.SoftmaxMargin(parts.cost))
    blocks, iterate = objective.potential_blocks(), dual_start(stiff, objective.n_params)
    for _ in range(30):
        found = blocks.step_pass(objective.examples, 0.0, iterate)
    assert blocks.ell == pytest.approx(objective.value(np.zeros(objective.n_params)), abs=1e-6)
    assert found.gap == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("penalty", [cs.Ridge(0.1), cs.ElasticNet(0.2, 0.5)], ids=["ridge", "elastic"])
def test_chains_too_long_for_a_table_agree(penalty: Any) -> None:
    """Beyond 512 tokens norms come from the features themselves."""
    rng = np.random.default_rng(5)
    X = cs.pack([[[f"w{rng.integers(40)}", "bias"] for _ in range(p)] for p in (530, 3)], n_features=64)
    y = [rng.integers(3, size=p) for p in (530, 3)]
    parts = Parts(cs.LinearChainModel(X, 3), cs.Chain(3), cs.Hamming(), y)
    fused, slow = (passes(o, rounds=2) for o in both(parts, penalty, cs.Log()))
    for a, b in zip(fused, slow, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)  # entropies of 530 tokens are sums of many terms
