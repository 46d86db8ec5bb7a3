"""In which order stochastic solvers visit the examples of an epoch."""

from __future__ import annotations

import numpy as np

from casimir.objective import Objective
from casimir.scores import IntArray

SAMPLINGS = ("permutation", "replacement")


def check_sampling(sampling: str, solver: str) -> None:
    if sampling not in SAMPLINGS:
        raise ValueError(f"{solver}: sampling={sampling!r}; it must be 'permutation' or 'replacement'.")


def drawn(objective: Objective, rng: np.random.Generator, sampling: str) -> IntArray:
    """int64[n]: all examples by a new permutation, or as many drawn with replacement."""
    return objective.permutation(rng) if sampling == "permutation" else objective.draw(rng, objective.n_active)
