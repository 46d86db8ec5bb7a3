"""What the estimators share: penalties, seeds and threads from their parameters."""

from __future__ import annotations

import os

import numpy as np
import pytest

import casimir as cs
from casimir.estimators.training import penalty_of, seed_of, strength_of, threads_of


def test_threads_are_counted_as_scikit_learn_counts() -> None:
    cpus = os.cpu_count() or 1
    assert threads_of(None) is threads_of(-1) is None
    assert threads_of(3) == 3
    assert threads_of(-2) == max(1, cpus - 1)
    assert threads_of(-1000) == 1
    with pytest.raises(ValueError, match="n_jobs"):
        threads_of(0)


def test_the_default_penalty_is_one_over_the_total_weight() -> None:
    assert strength_of(None, 8.0) == 1 / 8
    assert strength_of(0.3, 8.0) == 0.3
    assert repr(penalty_of(0.3, 0.0)) == repr(cs.Ridge(0.3))
    assert repr(penalty_of(0.3, 0.5)) == repr(cs.ElasticNet(0.3, 0.5))
    with pytest.raises(TypeError, match="lam='much'; it must be a number"):
        strength_of("much", 8.0)


def test_seeds_are_what_scikit_learn_takes() -> None:
    generator = np.random.default_rng(0)
    assert seed_of(3) == 3
    assert seed_of(generator) is generator
    assert isinstance(seed_of(None), np.random.Generator)
    assert seed_of(np.random.RandomState(0)) == seed_of(np.random.RandomState(0))
    with pytest.raises(ValueError, match="random_state='x'"):
        seed_of("x")
