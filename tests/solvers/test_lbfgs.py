"""The quasi-Newton memory, which works on inner products, against the recursion as it is written in books."""

from __future__ import annotations

import numpy as np
import pytest

from casimir.scores import FloatArray
from casimir.solvers.orthantwise import Memory

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
