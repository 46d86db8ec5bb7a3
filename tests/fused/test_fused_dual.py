"""Fused passes of block-coordinate dual ascent equal the composed ones, and climb."""

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
from problems import Parts

import casimir as cs
from casimir.duality import DualPoint
from casimir.penalties import Proximal
from casimir.solvers.bcfw import averaged_iterate, dual_start

MODES = {
    "frank-wolfe": (False, 0, False),
    "frank-wolfe-averaged": (False, 0, True),
    "pairwise": (True, 0, False),
    "pairwise-averaged": (True, 0, True),
    "cached": (True, 2, False),
}


def dual_run(
    objective: cs.Objective,
    pairwise: bool,
    cached: int,
    averaging: bool,
    steps: int = 1,
    skip_below: float = 0.0,
) -> list[Any]:
    """What a few passes of the dual blocks leave behind, pass by pass.

    A step with an exact line search leaves two scores equal; the others visited in between tell them apart again.
    """
    order = objective.permutation(np.random.default_rng(8))
    blocks, iterate = objective.dual_blocks(), dual_start(objective.penalty, objective.n_params)
    if averaging:
        iterate.average = blocks.new_average(objective.n_params)
    record: list[Any] = [blocks.ell, blocks.cached_outputs]
    for _ in range(2 if cached else 4):
        record += blocks.exact_pass(order, pairwise, steps, 0.0, iterate)
        if skip_below > 0.0:
            record += blocks.exact_pass(order, pairwise, steps, skip_below, iterate)  # a light pass
        for _ in range(cached):
            record.append(blocks.cached_pass(order, steps, skip_below, iterate))
        record += [iterate.w.copy(), iterate.gradient().copy(), blocks.ell, blocks.cached_outputs]
        if averaging:
            mean = averaged_iterate(iterate)
            record += [mean.w, mean.gradient(), iterate.average.ell_sum / iterate.average.mass, iterate.average.mass]
    return record


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("mode", MODES)
def test_dual_passes_agree(problem: str, mode: str) -> None:
    parts = PROBLEMS[problem]()
    assert_all_close(*(dual_run(o, *MODES[mode]) for o in both(parts, 0.3)))


@pytest.mark.parametrize("problem", ["binary-2", "real-3", "tree-real", "candidates"])
def test_several_pairwise_steps_agree(problem: str) -> None:
    assert_all_close(*(dual_run(o, True, 2, False, 3, 0.5) for o in both(PROBLEMS[problem](), 0.05)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("penalty", STRONG)
def test_dual_passes_agree_under_every_strongly_convex_penalty(kind: str, penalty: str) -> None:
    parts, turn = KINDS[kind](), STRONG.index(penalty) + list(KINDS).index(kind)
    own = penalty_of(penalty, parts.model.n_params, turn)
    weights = some_weights(len(parts.y), turn) if turn % 2 else None
    for mode in ("frank-wolfe-averaged", "pairwise", "cached"):
        assert_all_close(*(dual_run(o, *MODES[mode]) for o in both(parts, own, sample_weight=weights)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", ["own", "own-pairs", "allowed"])
def test_dual_passes_agree_with_own_costs_and_allowed_outputs(kind: str, case: str) -> None:
    parts = KINDS[kind]()
    if case == "allowed":
        parts = parts if isinstance(parts.structure, cs.Candidates) else constrained(parts)
    else:
        parts = own_cost(parts, pairs=case == "own-pairs")
    for penalty in ("ridge", "mixture"):
        own = penalty_of(penalty, parts.model.n_params)
        for mode in ("frank-wolfe-averaged", "cached"):
            pair = both(parts, own, sample_weight=some_weights(len(parts.y)))
            assert_all_close(*(dual_run(o, *MODES[mode]) for o in pair))


def climb(parts: Parts, penalty: Any, pairwise: bool, weights: Any = None) -> tuple[float, float, float]:
    """(F(w), D, the mean block gap at w) after 15 passes in which D never falls."""
    objective = parts.objective(penalty, sample_weight=weights)
    rng, blocks = np.random.default_rng(0), objective.dual_blocks()
    iterate, last = dual_start(objective.penalty, objective.n_params), 0.0
    for _ in range(15):
        blocks.exact_pass(objective.permutation(rng), pairwise, 2, 0.0, iterate)
        if pairwise:
            blocks.cached_pass(objective.permutation(rng), 2, 0.0, iterate)
        np.testing.assert_allclose(objective.penalty.primal(-iterate.gradient()), iterate.w, rtol=0, atol=1e-12)
        value = DualPoint(iterate.gradient(), blocks.ell).value(objective.penalty)
        assert value >= last - 1e-12
        last = value
    slow = parts.objective(penalty, sample_weight=weights, native=False)
    stiff = cs.Ridge(1e12)  # steps so short that nothing moves: the gaps are those at w
    still = dual_start(stiff, objective.n_params)
    still.w[:] = iterate.w
    gap = blocks.exact_pass(objective.examples, pairwise, 1, 0.0, still).gap
    return slow.value(iterate.w), last, gap


@pytest.mark.parametrize("problem", ["binary-5", "real-8", "tree-5", "candidates"])
@pytest.mark.parametrize("pairwise", [False, True])
def test_dual_passes_climb_and_keep_w_and_g_together(problem: str, pairwise: bool) -> None:
    """w = argmin R(w) + <g, w> throughout, D never falls, and F(w) - D is the mean of the block gaps at w."""
    parts = PROBLEMS[problem]()
    for penalty in ("ridge", "elastic", "mixture", "proximal-nonnegative"):
        for weights in (None, some_weights(len(parts.y))):
            primal, dual, gap = climb(parts, penalty_of(penalty, parts.model.n_params), pairwise, weights)
            assert primal >= dual - 1e-12
            np.testing.assert_allclose(gap, primal - dual, rtol=0, atol=1e-8)


@pytest.mark.parametrize("pairwise", [True, False])
@pytest.mark.parametrize("penalty", [cs.Ridge(0.1), cs.ElasticNet(0.2, 0.5)], ids=["ridge", "elastic"])
def test_dual_steps_of_a_chain_too_long_for_a_table_agree(pairwise: bool, penalty: Any) -> None:
    """Beyond 512 tokens norms and scores come from the features themselves, in linear time."""
    rng = np.random.default_rng(5)
    X = cs.pack([[[f"w{rng.integers(40)}", "bias"] for _ in range(p)] for p in (530, 3)], n_features=64)
    y = [rng.integers(3, size=p) for p in (530, 3)]
    parts = Parts(cs.LinearChainModel(X, 3), cs.Chain(3), cs.Hamming(), y)
    runs = []
    for objective in both(parts, penalty):
        blocks, iterate = objective.dual_blocks(), dual_start(penalty, objective.n_params)
        for _ in range(3):
            blocks.exact_pass(np.array([0, 1]), pairwise, 2, 0.0, iterate)
            blocks.cached_pass(np.array([1, 0]), 2, 0.0, iterate)
        runs.append([iterate.w, blocks.ell])
    assert_all_close(*runs)


@pytest.mark.parametrize("own", [cs.Ridge(0.3), cs.ElasticNet(0.6, 0.3)], ids=["ridge", "elastic"])
def test_dual_steps_between_more_outputs_than_a_table_holds_agree(own: Any) -> None:
    """Up to 64 outputs of a chain know their inner products; with more, norms come from the tokens."""
    rng = np.random.default_rng(6)
    X = cs.pack([[[f"w{rng.integers(20)}", "bias"] for _ in range(6)]], n_features=32)
    parts = Parts(cs.LinearChainModel(X, 4), cs.Chain(4), cs.Hamming(), [rng.integers(4, size=6)])
    away = rng.normal(size=(90, parts.model.n_params))
    penalty = Proximal(own, 0.2, 0.3 * away[0])  # at w = 0 many outputs would tie
    runs = []
    for objective in both(parts, penalty):
        blocks, only, record = objective.dual_blocks(), np.array([0]), []
        for w in away:  # every w has an output of its own; under so weak a penalty a step moves next to no weight
            elsewhere = dual_start(cs.Ridge(1e-12), objective.n_params)
            elsewhere.w[:] = w
            blocks.exact_pass(only, True, 1, 0.0, elsewhere)
        iterate = dual_start(penalty, objective.n_params)
        for _ in range(3):
            blocks.exact_pass(only, True, 3, 0.0, iterate)
            blocks.cached_pass(only, 3, 0.0, iterate)
            record += [iterate.w.copy(), blocks.ell, blocks.cached_outputs]
        assert blocks.cached_outputs > 64
        runs.append(record)
    assert_all_close(*runs)
