"""The CRF loss of chains of many labels, which run in groups, is that of the exp oracle, which runs them one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import casimir as cs
from casimir._native import core
from casimir.scores import Scores
from casimir.structures.base import indicator


def batch(n_labels: int, width: float, seed: int = 0, n: int = 40) -> tuple[cs.Chain, Scores, Any]:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 9, n)
    unary = [width * rng.normal(size=(p, n_labels)) for p in lengths]
    chain = cs.Chain(n_labels)
    return chain, chain.scores(unary, rng.normal(size=(n_labels, n_labels))), rng.integers(n_labels, size=sum(lengths))


@pytest.mark.parametrize("n_labels", [33, 40, 64, 77])
@pytest.mark.parametrize("width", [0.0, 1.0, 60.0, 2000.0])
@pytest.mark.parametrize("mu", [0.3, 1.0])
def test_soft_loss_is_that_of_the_exp_oracle(n_labels: int, width: float, mu: float) -> None:
    """At wide scores some chains leave their group for messages in logs."""
    chain, s, y = batch(n_labels, width)
    losses, gradient = chain.soft_loss(s, y, mu)
    outputs, soft = np.split(y, s.offsets[1:-1]), chain.expect(s, mu)
    atol = 1e-11 * (1.0 + width)
    np.testing.assert_allclose(losses, soft.value - chain.score_of(s, outputs), rtol=0, atol=atol)
    expected = soft.marginals - indicator(chain, s, outputs)
    np.testing.assert_allclose(gradient.nodes.nodes, expected.nodes, rtol=0, atol=1e-10)
    assert expected.edges is not None
    for weights in (np.full(len(losses), -0.7), np.random.default_rng(1).normal(size=len(losses))):
        wanted = np.tensordot(np.repeat(weights, np.diff(s.offsets) - 1), expected.edges, 1)
        np.testing.assert_allclose(gradient.pairs.weighted(weights), wanted, rtol=0, atol=1e-9)


def test_soft_loss_has_the_same_bits_on_any_number_of_threads() -> None:
    _, s, y = batch(50, 1.0, n=300)
    weights = np.random.default_rng(1).normal(size=300)

    def found(threads: int) -> list[Any]:
        losses, nodes, pairs = core.chain_shared_soft_loss(s.nodes, s.offsets, s.edges, y, 1.0, threads)
        return [losses, nodes, pairs.weighted(weights, threads), pairs.weighted(np.ones(300), threads)]

    first = found(1)
    for threads in (2, 3, 11):
        for a, b in zip(first, found(threads), strict=True):
            np.testing.assert_array_equal(a, b)
