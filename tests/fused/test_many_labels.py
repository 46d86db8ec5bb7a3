"""Passes over chains of many labels, which run in groups, equal those of the composed path."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from fused_cases import CLOSE, both, constrained, own_cost, some_weights, start
from problems import Parts, chain_parts

import casimir as cs


def few_pairs(parts: Parts, rows: bool = False, share: float = 0.05) -> Parts:
    """With the usual share so few that passes run on lists of them; the truth is always allowed."""
    rng, labels = np.random.default_rng(0), parts.structure.n_labels
    pairs = rng.random((labels, labels)) < share
    masks = [(rng.random((len(y), labels)) < 0.5) | (np.arange(labels) == y[:, None]) for y in parts.y]
    for y in parts.y:
        pairs[y[:-1], y[1:]] = True
    assert pairs.mean() < share + 0.05
    return replace(parts, structure=cs.Chain(labels, pairs, labels=masks if rows else None))


CASES = {
    "33 labels": lambda: chain_parts(n=60, n_labels=33, lengths=(1, 9)),
    "40 labels, values": lambda: chain_parts(n=9, n_labels=40, lengths=(1, 30), valued=True, weighted_cost=True),
    "50 labels, two chains": lambda: chain_parts(n=2, n_labels=50, lengths=(1, 5)),
    "71 labels, single tokens": lambda: chain_parts(n=30, n_labels=71, lengths=(1, 1)),
    "forbidden labels and pairs": lambda: constrained(chain_parts(n=40, n_labels=35, lengths=(1, 6))),
    "few pairs allowed": lambda: few_pairs(chain_parts(n=12, n_labels=60, lengths=(1, 6))),
    "few pairs allowed, and labels": lambda: few_pairs(chain_parts(n=9, n_labels=60, lengths=(1, 30)), rows=True),
    "a quarter of the pairs": lambda: few_pairs(chain_parts(n=30, n_labels=50, lengths=(1, 9)), share=0.2),
    "costs of pairs": lambda: own_cost(chain_parts(n=10, n_labels=34, lengths=(1, 6)), pairs=True),
}
cases = pytest.mark.parametrize("case", CASES)


def passes(parts: Parts, loss: Any, w: Any, mu: float = 1.0, **options: Any) -> list[Any]:
    """Fused and composed, with the gradient and without marginals."""
    found = [o.problem(loss.smoothing) for o in both(parts, 0.3, loss, **options)]
    return [p.full_pass(w, loss.smoothing, mu, gradient=True, keep=False) for p in found]


def assert_equal(fused: Any, composed: Any, size: float = 1.0) -> None:
    for name in ("value", "upper", "cost", "gradient"):
        atol = CLOSE["atol"] * size
        np.testing.assert_allclose(getattr(fused, name), getattr(composed, name), err_msg=name, rtol=0.0, atol=atol)


@cases
@pytest.mark.parametrize("loss", ["log", "margin", "hinge"])
def test_full_passes_agree(case: str, loss: str) -> None:
    parts = CASES[case]()
    own = {"log": cs.Log(), "margin": cs.SoftmaxMargin(parts.cost), "hinge": cs.Hinge(parts.cost)}[loss]
    for scale, mu in ((0.0, 1.0), (1.0, 0.3), (5.0, 1.0)):
        assert_equal(*passes(parts, own, scale * start(parts), mu))


@pytest.mark.parametrize("scale", [50.0, 300.0, 3000.0])
def test_chains_that_need_logs_leave_their_group(scale: float) -> None:
    """Scores of some chains are too wide for messages in doubles, and those of others are not."""
    parts = chain_parts(n=40, n_labels=33, lengths=(1, 5))
    assert_equal(*passes(parts, cs.Log(), scale * start(parts)), size=scale)


@cases
def test_ties_go_to_the_lowest_labels_as_they_do_one_by_one(case: str) -> None:
    """Marginals are kept for chains one by one, and whole numbers tie often; all bits are the same."""
    parts = CASES[case]()
    problem, w = parts.objective(0.3, cs.Hinge(cs.Hamming())).problem(cs.Hard()), np.round(start(parts))
    together, alone = (problem.full_pass(w, cs.Hard(), 0.0, gradient=True, keep=k) for k in (False, True))
    for name in ("value", "max_value", "upper", "cost", "gradient"):
        np.testing.assert_array_equal(getattr(together, name), getattr(alone, name), err_msg=name)


@pytest.mark.parametrize("loss", [cs.Log(), cs.Hinge(cs.Hamming())])
def test_groups_count_examples_by_their_weights(loss: Any) -> None:
    parts = chain_parts(n=40, n_labels=33, lengths=(1, 6))
    weights = some_weights(40)
    assert (weights == 0.0).any()
    fused, composed = passes(parts, loss, start(parts), sample_weight=weights)
    assert_equal(fused, composed)
    assert not fused.value[weights == 0.0].any()


@cases
@pytest.mark.parametrize("smoothing", [cs.Hard(), cs.Entropy()])
def test_groups_give_the_same_bits_on_any_number_of_threads(case: str, smoothing: Any) -> None:
    parts = CASES[case]()
    w, loss = start(parts), cs.Hinge(parts.cost) if isinstance(smoothing, cs.Hard) else cs.Log()
    problems = [parts.objective(0.3, loss, n_threads=threads).problem(smoothing) for threads in (1, 2, 3, 7)]
    first, *others = [p.full_pass(w, smoothing, 1.0, gradient=True, keep=False) for p in problems]
    for other in others:
        for name in ("value", "cost", "gradient"):
            np.testing.assert_array_equal(getattr(first, name), getattr(other, name))


@cases
def test_values_alone_are_those_with_a_gradient(case: str) -> None:
    parts = CASES[case]()
    problem, w, entropy = parts.objective(0.3, cs.Log()).problem(cs.Entropy()), start(parts), cs.Entropy()
    full, value = (problem.full_pass(w, entropy, 1.0, gradient=k, keep=False) for k in (True, False))
    np.testing.assert_allclose(value.value, full.value, rtol=1e-13)


@pytest.mark.parametrize("few", [False, True])
def test_a_chain_has_the_same_bits_in_any_group(few: bool) -> None:
    parts = chain_parts(n=40, n_labels=67, lengths=(2, 6))
    parts = few_pairs(parts) if few else parts
    w = start(parts)
    problem = parts.objective(0.3, cs.Log()).problem(cs.Entropy())
    value = problem.full_pass(w, cs.Entropy(), 1.0, gradient=True, keep=False).value
    some = [3, 17, 18, 39]
    model = cs.LinearChainModel(parts.model.X.select(some), 67)
    fewer = replace(parts, model=model, y=[parts.y[i] for i in some]).objective(0.3, cs.Log()).problem(cs.Entropy())
    np.testing.assert_array_equal(fewer.full_pass(w, cs.Entropy(), 1.0, gradient=True, keep=False).value, value[some])
