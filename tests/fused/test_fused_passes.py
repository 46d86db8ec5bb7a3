"""Fused full passes equal the composed ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fused_cases import CLOSE, PROBLEMS, SMOOTHINGS, both, constrained, loss_of, own_cost, some_weights, start
from problems import Parts, candidate_parts, chain_parts, tree_parts

import casimir as cs

smoothings = pytest.mark.parametrize("smoothing", SMOOTHINGS.values(), ids=SMOOTHINGS)
OWN = {
    "chain-nodes": lambda: own_cost(chain_parts(n_labels=4, lengths=(1, 4))),
    "chain-pairs": lambda: own_cost(chain_parts(n_labels=5, lengths=(1, 4), valued=True), pairs=True),
    "tree-nodes": lambda: own_cost(tree_parts(n_labels=3, lengths=(1, 4))),
    "tree-pairs": lambda: own_cost(tree_parts(n_labels=4, lengths=(1, 4), valued=True), pairs=True),
    "candidates": lambda: own_cost(candidate_parts()),
}


def assert_equal_passes(parts: Parts, w: Any, smoothing: Any, mu: float, **options: Any) -> tuple[Any, Any]:
    """The passes of both paths, after a look at everything they tell but the marginals, which have layouts of their
    own."""
    problems = [o.problem(smoothing) for o in both(parts, **options)]
    before = w.copy()
    fused, composed = (p.full_pass(w, smoothing, mu, gradient=True, keep=True) for p in problems)
    np.testing.assert_array_equal(w, before)
    assert (fused.max_value is None) == (composed.max_value is None) == isinstance(smoothing, cs.Entropy)
    for name in ("value", "upper", "cost", "gradient", *([] if fused.max_value is None else ["max_value"])):
        np.testing.assert_allclose(getattr(fused, name), getattr(composed, name), err_msg=name, **CLOSE)
    np.testing.assert_array_equal(fused.exact, composed.exact)
    assert fused.exact.dtype == np.bool_
    assert np.isfinite(fused.upper).all()
    return fused, composed


@pytest.mark.parametrize("problem", [*PROBLEMS, "hamming"])
@smoothings
@pytest.mark.parametrize("mu", [0.1, 2.0])
def test_full_passes_agree(problem: str, smoothing: Any, mu: float) -> None:
    parts = PROBLEMS.get(problem, lambda: chain_parts(n_labels=4, lengths=(1, 3)))()
    for w in (parts.model.zeros(), start(parts)):
        assert_equal_passes(parts, w, smoothing, mu)


@pytest.mark.parametrize("problem", [*PROBLEMS, "long-chain", "long-tree", "allowed-chain", "allowed-tree"])
@pytest.mark.parametrize("loss", ["log", "softmax-margin"])
@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0, 1000.0])
def test_values_without_marginals_are_those_with_them(problem: str, loss: str, scale: float) -> None:
    """A log loss without costs needs messages in one direction only; at wide scores they are in logs."""
    made = {"chain": chain_parts, "tree": tree_parts}
    kind, _, family = problem.partition("-")
    parts = PROBLEMS[problem]() if problem in PROBLEMS else made[family](n_labels=5, lengths=(1, 40))
    parts = constrained(parts) if kind == "allowed" else parts
    own = cs.Log() if loss == "log" else cs.SoftmaxMargin(parts.cost)
    w = scale * start(parts)
    for objective in both(parts, 0.3, own):
        found = objective.problem(own.smoothing)
        full, value = (found.full_pass(w, own.smoothing, own.mu, gradient=k, keep=False) for k in (True, False))
        np.testing.assert_allclose(value.value, full.value, rtol=1e-12, atol=1e-12 * max(1.0, scale))
        np.testing.assert_array_equal(value.cost, full.cost)


@pytest.mark.parametrize("problem", ["binary-5", "tree-5", "candidates"])
@smoothings
def test_examples_of_weight_0_are_left_out(problem: str, smoothing: Any) -> None:
    parts = PROBLEMS[problem]()
    weights = some_weights(len(parts.y))
    assert (weights == 0.0).any()
    w = start(parts)
    fused, _ = assert_equal_passes(parts, w, smoothing, 0.7, sample_weight=weights)
    assert not fused.value[weights == 0.0].any()
    alone = [parts.objective(0.1).problem(smoothing).oracle(i, w, smoothing, 0.7) for i in range(len(weights))]
    np.testing.assert_allclose(fused.value, [(s > 0.0) * a.value for s, a in zip(weights, alone, strict=True)], **CLOSE)


@pytest.mark.parametrize("problem", OWN)
@smoothings
def test_costs_of_the_users_own_run_on_the_core(problem: str, smoothing: Any) -> None:
    parts = OWN[problem]()
    _, composed = assert_equal_passes(parts, start(parts), smoothing, 0.7)
    assert (composed.cost != 0.0).any()


def test_the_losses_of_an_own_cost_are_those_of_its_formula() -> None:
    """By brute force: f_i(w) = max_y score(y) + cost(y_i, y) - score(y_i)."""
    parts = own_cost(chain_parts(n_labels=3, lengths=(1, 3)))
    w = start(parts)
    s, found = parts.model.scores(w), parts.objective(0.1).problem(cs.Hard())
    value = found.full_pass(w, cs.Hard(), 0.0, gradient=False, keep=False).value
    for i, y in enumerate(parts.y):
        outputs = [np.array(o) for o in np.ndindex(*[3] * len(y))]
        scores = [parts.structure.score_of(s.select([i]), [o])[0] + parts.cost(y, o, example=i) for o in outputs]
        assert value[i] == pytest.approx(max(scores) - parts.structure.score_of(s.select([i]), [y])[0], abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("make", [chain_parts, tree_parts], ids=["chain", "tree"])
@pytest.mark.parametrize("own", [False, True], ids=["hamming", "own-pairs"])
def test_allowed_outputs_agree(make: Any, seed: int, own: bool) -> None:
    parts = make(seed=seed, n_labels=4, lengths=(1, 5), weighted_cost=True)
    parts = constrained(own_cost(parts, pairs=True, seed=seed) if own else parts, seed)
    w = start(parts, seed)
    for smoothing in SMOOTHINGS.values():
        assert_equal_passes(parts, w, smoothing, 0.7, sample_weight=some_weights(len(parts.y), seed))
    fused, composed = (o.evaluate(w) for o in both(parts, 0.1, cs.Log()))
    assert fused.objective == pytest.approx(composed.objective, abs=1e-10)
    np.testing.assert_allclose(fused.gradient, composed.gradient, **CLOSE)


@smoothings
def test_problems_without_a_cost_agree(smoothing: Any) -> None:
    for parts in (chain_parts(n_labels=4, valued=True), tree_parts(n_labels=4, valued=True), candidate_parts()):
        fused, _ = assert_equal_passes(parts, start(parts), smoothing, 1.0, loss=cs.Hinge(None))
        np.testing.assert_array_equal(fused.cost, 0.0)


@pytest.mark.parametrize("problem", ["real-3", "tree-real", "candidates"])
def test_upper_bounds_hold_where_k_outputs_are_not_enough(problem: str) -> None:
    parts = PROBLEMS[problem]()
    w, mu = start(parts, scale=0.1), 3.0
    rough, _ = assert_equal_passes(parts, w, cs.L2(1), mu)
    exact, _ = assert_equal_passes(parts, w, cs.L2(), mu)
    assert not rough.exact.all()
    assert exact.exact.all()
    assert (rough.upper[~rough.exact] > rough.value[~rough.exact]).all()
    assert (rough.upper >= exact.value - 1e-12).all()
    np.testing.assert_array_equal(exact.upper, exact.value)


def test_a_pass_computes_only_what_is_asked_for() -> None:
    parts = PROBLEMS["binary-5"]()
    for objective in both(parts):
        result = objective.problem(cs.Hard()).full_pass(start(parts), cs.Hard(), 0.0, gradient=False, keep=False)
        assert result.gradient is None
        assert result.marginals is None


@pytest.mark.parametrize("problem", ["real-3", "tree-real", "candidates"])
@smoothings
def test_the_answers_about_one_example_are_those_of_the_pass(problem: str, smoothing: Any) -> None:
    """gradient = (1/active) sum_i scale_i J_i^T (marginals_i - truth_i), on both paths, and from the kept marginals."""
    parts, w = PROBLEMS[problem](), start(PROBLEMS[problem]())
    loss, weights = loss_of(parts, smoothing), some_weights(len(parts.y))
    for objective in both(parts, sample_weight=weights):
        p = objective.problem(smoothing)
        found = p.full_pass(w, loss.smoothing, loss.mu, gradient=True, keep=True)
        total = np.zeros_like(w)
        for i in objective.examples.tolist():
            answer = p.oracle(i, w, loss.smoothing, loss.mu)
            assert answer.value == pytest.approx(found.value[i], abs=1e-12)
            assert answer.cost == pytest.approx(found.cost[i], abs=1e-12)
            kept = found.marginals[p.marginal_offset(i) : p.marginal_offset(i + 1)]
            np.testing.assert_allclose(answer.marginals, kept, rtol=0.0, atol=1e-12)
            p.scatter(i, answer.marginals - p.truth(i), p.scale(i) / objective.n_active, total)
        np.testing.assert_allclose(total, found.gradient, rtol=0.0, atol=1e-12)
