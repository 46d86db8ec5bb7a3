"""The length of an example's gradient, from the rows that it touches alone."""

from __future__ import annotations

import numpy as np
import pytest
from fused_cases import PROBLEMS, both

from casimir._arrays import aligned_zeros


@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_squared_norm_is_that_of_the_dense_gradient(problem: str) -> None:
    rng = np.random.default_rng(0)
    for objective in both(PROBLEMS[problem]()):
        smoothing, zeros = objective.loss.smoothing, aligned_zeros(objective.n_params)
        oracles = objective.problem(smoothing)
        for i in objective.examples.tolist():
            marginals = oracles.oracle(i, zeros, smoothing, 0.0).marginals
            direction = np.where(marginals == 0.0, 0.0, rng.normal(size=len(marginals))) - oracles.truth(i)
            dense = np.zeros(objective.n_params)
            oracles.scatter(i, direction, 1.0, dense)
            np.testing.assert_allclose(oracles.squared_norm(i, direction, zeros), dense @ dense, rtol=1e-12)
            assert not zeros.any()
