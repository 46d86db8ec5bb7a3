"""Dual steps on answers from elsewhere are those on the oracle's own."""

from __future__ import annotations

import numpy as np
import pytest
from dask_problems import chain_pieces

from casimir.penalties import Ridge
from casimir.problems import DualIterate


def test_answers_at_the_iterate_give_an_exact_pass() -> None:
    objective, _ = chain_pieces(25, 1, weights=True)
    fused = objective.term.fused
    assert fused is not None
    one, other = fused.dual_blocks(), fused.dual_blocks()
    a, b = (DualIterate(Ridge(0.1), np.zeros(objective.n_params), None) for _ in range(2))
    for _ in range(3):
        for i in range(25):
            order, labels = np.array([i]), fused.decode(b.w)[i].astype(np.int32)
            gap = one.exact_pass(order, True, 2, 0.0, a).gap
            assert other.answered_pass(order, labels, 2, b) == gap
            assert np.array_equal(a.w, b.w)
    assert one.ell == other.ell > 0.0


def test_without_steps_the_gap_of_all_answers_is_that_of_the_objective() -> None:
    objective, _ = chain_pieces(25, 1)
    fused, lam = objective.term.fused, objective.penalty.strong_convexity
    assert fused is not None
    blocks, at = fused.dual_blocks(), DualIterate(Ridge(lam), np.zeros(objective.n_params), None)
    for _ in range(4):
        blocks.exact_pass(np.arange(25), True, 2, 0.0, at)
    before, labels = at.w.copy(), np.concatenate(fused.decode(at.w)).astype(np.int32)
    gap = blocks.answered_pass(np.arange(25), labels, 0, at)
    dual = blocks.ell - 0.5 * lam * float(at.w @ at.w)
    assert np.array_equal(at.w, before)
    assert gap == pytest.approx(objective.value(at.w) - dual, rel=1e-10)


def test_answers_that_are_no_outputs_are_refused() -> None:
    objective, _ = chain_pieces(5, 1)
    fused = objective.term.fused
    assert fused is not None
    blocks, at = fused.dual_blocks(), DualIterate(Ridge(0.1), np.zeros(objective.n_params), None)
    labels = np.concatenate(fused.decode(at.w)).astype(np.int32)
    for wrong, message in ((labels[:-1], "too few"), (np.append(labels, 0), "too many"), (labels + 4, "that is none")):
        with pytest.raises(ValueError, match=message):
            blocks.answered_pass(np.arange(5), wrong.astype(np.int32), 2, at)
    assert blocks.cached_outputs == 5
