"""Chains of many labels of whose pairs few are allowed run on these alone: brute force over allowed outputs judges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import casimir as cs
from casimir.scores import Scores

_checked = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def outputs(allowed: np.ndarray, rows: np.ndarray) -> Iterator[list[int]]:
    """All allowed outputs in lexicographic order; rows bool[p, L]."""

    def extend(y: list[int]) -> Iterator[list[int]]:
        if len(y) == len(rows):
            yield y
            return
        following = rows[len(y)] & (allowed[y[-1]] if y else True)
        for label in np.flatnonzero(following).tolist():
            yield from extend([*y, label])

    return extend([])


class Batch:
    """Random masks that leave few pairs, few labels a token, and one output per example at least."""

    def __init__(self, labels: int, share: float, lengths: list[int], seed: int, ties: bool) -> None:
        rng = np.random.default_rng(seed)
        self.allowed = rng.random((labels, labels)) < share
        self.rows = [rng.random((p, labels)) < 0.3 for p in lengths]
        for rows in self.rows:
            y = rng.integers(0, labels, len(rows))
            self.allowed[y[:-1], y[1:]] = rows[np.arange(len(rows)), y] = True
        draw = (lambda *shape: rng.integers(-2, 3, shape)) if ties else (lambda *shape: rng.normal(size=shape))
        self.unary, self.pairwise = [draw(p, labels) for p in lengths], draw(labels, labels)
        self.chain = cs.Chain(labels, self.allowed, labels=self.rows)
        self.scores = self.chain.scores(self.unary, self.pairwise)

    def ranked(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        """Scores and outputs of example i, best first, ties in lexicographic order."""
        y = np.array(list(outputs(self.allowed, self.rows[i])))
        z = self.unary[i][np.arange(y.shape[1]), y].sum(axis=1) + self.pairwise[y[:, :-1], y[:, 1:]].sum(axis=1)
        order = np.argsort(-z, kind="stable")
        return z[order], y[order]


batches = st.builds(
    Batch,
    labels=st.sampled_from([33, 34, 37, 40, 61]),
    share=st.sampled_from([0.01, 0.05, 0.08, 0.2]),
    lengths=st.lists(st.integers(1, 4), min_size=1, max_size=12),
    seed=st.integers(0, 2**32 - 1),
    ties=st.booleans(),
)


@_checked
@given(batches)
def test_max_and_topk_are_those_of_all_allowed_outputs(batch: Batch) -> None:
    best, top = batch.chain.max(batch.scores), batch.chain.topk(batch.scores, 7)
    table = batch.chain.max_marginals(batch.scores)
    for i, rows in enumerate(batch.rows):
        z, y = batch.ranked(i)
        assert best.value[i] == pytest.approx(z[0], abs=1e-12)
        np.testing.assert_array_equal(best.outputs[i], y[0])
        np.testing.assert_allclose(top.value[i][: len(z)], z[:7], atol=1e-12)
        np.testing.assert_array_equal(top.outputs[i], y[:7])
        expected = np.full(rows.shape, -np.inf)
        for t in range(len(rows)):
            np.maximum.at(expected[t], y[:, t], z)
        np.testing.assert_allclose(table[i], expected, atol=1e-12)


@_checked
@given(batches, st.sampled_from([1.0, 0.3, 0.004]))
def test_expect_and_soft_loss_are_those_of_all_allowed_outputs(batch: Batch, mu: float) -> None:
    """At the smallest mu scores are too far apart for messages in doubles, and logs take their place."""
    soft, labels = batch.chain.expect(batch.scores, mu), batch.chain.n_labels
    truth, by_pairs, values = [], [], []
    for i, rows in enumerate(batch.rows):
        z, y = batch.ranked(i)
        p = np.exp((z - z[0]) / mu)
        values.append(z[0] + mu * np.log(p.sum()))
        p /= p.sum()
        nodes, pairs = np.zeros(rows.shape), np.zeros((len(rows) - 1, labels, labels))
        for t in range(len(rows)):
            np.add.at(nodes[t], y[:, t], p)
            if t:
                np.add.at(pairs[t - 1], (y[:, t - 1], y[:, t]), p)
        np.testing.assert_allclose(soft.marginals.unary(i), nodes, atol=1e-9)
        np.testing.assert_allclose(soft.marginals.pairwise(i), pairs, atol=1e-9)
        truth.append(y[len(y) // 2])
        np.subtract.at(pairs, (np.arange(len(rows) - 1), truth[-1][:-1], truth[-1][1:]), 1.0)
        by_pairs.append(pairs.sum(axis=0))
    np.testing.assert_allclose(soft.value, values, atol=1e-10)
    losses, gradient = batch.chain.soft_loss(batch.scores, np.concatenate(truth), mu)
    np.testing.assert_allclose(losses, soft.value - batch.chain.score_of(batch.scores, truth), atol=1e-10)
    weights = np.random.default_rng(0).normal(size=len(truth))
    for given_weights in (weights, np.ones(len(truth))):
        wanted = np.tensordot(given_weights, np.stack(by_pairs), 1)
        np.testing.assert_allclose(gradient.pairs.weighted(given_weights), wanted, atol=1e-9)


def reached(chain: cs.Chain, s: Scores) -> list[Any]:
    best, soft = chain.max(s), chain.expect(s, 1.0)
    losses, gradient = chain.soft_loss(s, np.concatenate(best.outputs), 1.0)
    pairs = gradient.pairs.weighted(np.ones(len(s)))
    return [best.value, np.concatenate(best.outputs), soft.value, soft.marginals.nodes, losses, pairs]


@pytest.mark.parametrize("labels", [40, 201])
def test_pairs_that_no_token_can_have_change_nothing(labels: int) -> None:
    """Tokens have labels of the second half only; allowing pairs of the first half makes the mask dense."""
    rng, half = np.random.default_rng(labels), labels // 2
    few = rng.random((labels, labels)) < 0.05
    np.fill_diagonal(few, True)
    many = few.copy()
    many[:half, :half] = True
    assert few.mean() < 0.1 < 0.2 < many.mean()
    lengths = rng.integers(1, 9, 30)
    unary, pairwise = [rng.normal(size=(p, labels)) for p in lengths], rng.normal(size=(labels, labels))
    rows = [np.broadcast_to(np.arange(labels) >= half, (p, labels)) for p in lengths]
    chains = [cs.Chain(labels, mask, labels=rows) for mask in (few, many)]
    lists, tables = (reached(chain, chain.scores(unary, pairwise)) for chain in chains)
    for a, b in zip(lists, tables, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-10)
    for a, b in zip(lists[:2], tables[:2], strict=True):
        np.testing.assert_array_equal(a, b)


def test_labels_that_no_output_joins_need_logs() -> None:
    """Two halves of the labels, each preferred by one half of the tokens, whose messages drift apart."""
    labels, p, slope = 34, 200, 40.0
    half = np.arange(labels) % 2
    allowed = (half[:, None] == half) & ((np.arange(labels)[:, None] + np.arange(labels)) % 9 == 0)
    np.fill_diagonal(allowed, True)
    assert allowed.mean() < 0.1
    unary = slope * (half == (np.arange(p)[:, None] < p // 2)).astype(float)
    chain = cs.Chain(labels, allowed)
    soft = chain.expect(chain.scores([unary], np.zeros((labels, labels))), 1.0)
    count = np.array([half == side for side in (0, 1)], dtype=float)
    logs = 0.0
    for _ in range(p - 1):
        count = count @ allowed
        logs += np.log(count.sum())
        count /= count.sum()
    assert soft.value[0] == pytest.approx(slope * (p // 2) + logs, rel=1e-12)
    np.testing.assert_allclose(soft.marginals.nodes.sum(axis=1), 1.0, atol=1e-9)


def test_runs_of_labels_and_single_ones_together_are_brute_force() -> None:
    """Labels that follow one another are read as vectors: runs of all lengths, from any place, between single ones."""
    labels = 70
    for seed in range(20):
        rng = np.random.default_rng(seed)
        allowed = np.zeros((labels, labels), dtype=bool)
        for row in allowed:
            for first in rng.integers(0, labels, 2):
                row[first : first + rng.integers(0, 14) // 2 * rng.integers(0, 2)] = True
        row_sums = allowed.sum(axis=1)
        allowed[row_sums == 0, 0] = True
        assert allowed.mean() < 0.1
        unary, pairwise = rng.integers(-2, 3, (2, labels)), rng.integers(-2, 3, (labels, labels))
        chain = cs.Chain(labels, allowed)
        z = np.where(allowed, unary[0][:, None] + pairwise + unary[1], -np.inf)
        best = chain.max(chain.scores([unary], pairwise))
        assert best.value[0] == z.max()
        np.testing.assert_array_equal(best.outputs[0], np.unravel_index(z.argmax(), z.shape))
        several = chain.max(chain.scores([unary] * 9, pairwise))
        np.testing.assert_array_equal(np.stack(several.outputs), np.tile(best.outputs[0], (9, 1)))
