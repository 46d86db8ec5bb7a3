"""The quasi-Newton memory, which works on inner products, against the recursion as it is written in books."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from problems import chain_parts

import casimir as cs
from casimir.scores import FloatArray
from casimir.solvers.orthantwise import Memory
from casimir.solvers.smoothness import guess_lipschitz, search_lipschitz

Pairs = list[tuple[FloatArray, FloatArray]]


def two_loops(pairs: Pairs, gradient: FloatArray) -> FloatArray:
    """Algorithm 7.4 of Nocedal & Wright (2006); pairs (s, y), the newest last."""
    q, shares = gradient.copy(), []
    for s, y in reversed(pairs):
        shares.append(s @ q / (s @ y))
        q -= shares[-1] * y
    s, y = pairs[-1]
    q *= (s @ y) / (y @ y)
    for (s, y), share in zip(pairs, reversed(shares), strict=True):
        q += (share - y @ q / (s @ y)) * s
    return q


@pytest.mark.parametrize("size", [1, 3, 10])
@pytest.mark.parametrize("asked_every", [1, 3])
def test_the_memory_is_the_two_loop_recursion(size: int, asked_every: int) -> None:
    """Longer than a stretch; the oldest pairs fall out; several pairs may be new when it is asked."""
    rng, d = np.random.default_rng(size), 9000
    curvature, memory, pairs = rng.uniform(0.5, 3.0, d), Memory(size), []
    for k in range(1, 15):
        step = rng.normal(size=d)
        pairs.append((step, curvature * step + 0.1 * rng.normal(size=d)))
        memory.remember(*pairs[-1])
        if k % asked_every == 0:
            gradient = rng.normal(size=d)
            np.testing.assert_allclose(memory.times(gradient), two_loops(pairs[-size:], gradient), rtol=0, atol=1e-10)
            assert len(memory) == min(k, size)


def test_pairs_without_curvature_are_left_out() -> None:
    memory, gradient = Memory(4), np.array([1.0, -2.0])
    memory.remember(np.array([1.0, 1.0]), np.array([-1.0, 0.5]))
    assert len(memory) == 0
    np.testing.assert_array_equal(memory.times(gradient), gradient)


class Squares:
    """A ridge of a user, which says no more of itself than that it is a square."""

    def __init__(self, lam: float) -> None:
        self._ridge = cs.Ridge(lam)

    def __getattr__(self, name: str) -> Any:
        if name in ("separable", "_ridge"):
            raise AttributeError(name)
        return getattr(self._ridge, name)


def test_a_square_of_a_user_is_minimised_as_a_ridge_is() -> None:
    parts = chain_parts(n=6, valued=True)
    own, ridge = (
        cs.minimize(parts.objective(penalty, "crf"), cs.LBFGS(), 200, 1e-9) for penalty in (Squares(0.2), cs.Ridge(0.2))
    )
    assert own.converged
    np.testing.assert_allclose(own.w, ridge.w, rtol=0.0, atol=1e-7)


def test_trial_steps_that_overflow_are_too_long() -> None:
    """The L that is found is the least of those whose steps do not, where these lower the objective the more."""
    objective = chain_parts(n=6, valued=True).objective(0.2, "crf")
    w, rng = np.zeros(objective.n_params), np.random.default_rng(0)
    best = cs.minimize(objective, cs.LBFGS(), 200, 1e-9).w
    start, edge = objective.evaluate(w, objective.loss).smoothed, guess_lipschitz(objective, objective.loss, w, rng)

    def found(edge: float) -> float:
        def trial(lipschitz: float, rng: Any, steps: int) -> Any:
            if lipschitz < edge:
                raise FloatingPointError("overflow")
            return best / (1.0 + lipschitz / edge)  # the nearer to the edge the better

        return search_lipschitz(objective, objective.loss, w, start, trial, np.random.default_rng(0))

    for factor in (1 / 16, 1.0, 4.0, 16.0):
        assert factor * edge <= found(factor * edge) < 2.0 * factor * edge
