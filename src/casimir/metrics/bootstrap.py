"""Confidence intervals by the bootstrap: sentences are drawn again, with replacement, and the score is taken anew."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from casimir.scores import FloatArray, IntArray

DRAWS, LEVEL = 1000, 0.95


def interval(
    counts: IntArray, score: Callable[[FloatArray], FloatArray], draws: int = DRAWS, seed: int = 0
) -> tuple[float, float]:
    """The middle 95 % of the score over samples of sentences.

    counts  int64[n, k]: k counts per sentence
    score   of sums of counts float64[draws, k] -> float64[draws]
    """
    n = len(counts)
    rng = np.random.default_rng(seed)
    # How often each sentence is drawn is multinomial; in parts, so that memory stays small for large files.
    sums = [rng.multinomial(n, np.full(n, 1.0 / n), size=50) @ counts for _ in range(draws // 50)]
    found = score(np.concatenate(sums).astype(np.float64))
    low, high = np.quantile(found, [(1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0])
    return float(low), float(high)
