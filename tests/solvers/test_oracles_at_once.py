"""Dual passes of composed problems ask a few oracles at one w, and end at the same optimum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from problems import Parts

import casimir as cs
from casimir.solvers.bcfw import dual_start


class Watched(cs.Matching):
    """Notes how many examples each call of the max oracle sees; those that are selected share the notes."""

    def __init__(self, seen: list[int] | None = None) -> None:
        super().__init__()
        self.seen = [] if seen is None else seen

    def select(self, examples: Any) -> Watched:
        return Watched(self.seen)

    def max(self, s: cs.Scores) -> Any:
        self.seen.append(len(s))
        return super().max(s)


class Unknown(cs.LinearPartsModel):
    """One whose rows the core does not see."""

    def parts(self) -> Any:
        return None


def matchings(n: int, seed: int = 0) -> Parts:
    """Permutations of 2 to 4 words, of random features of cells."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 5, size=n).tolist()
    model = Unknown([rng.normal(size=(p * p, 6)) for p in sizes], shapes=[(p, p) for p in sizes])
    return Parts(model, Watched(), cs.Hamming(), [rng.permutation(p) for p in sizes])


@pytest.mark.parametrize(("n", "largest"), [(15, 1), (60, 3), (500, 16)])
def test_as_many_as_a_twentieth_of_the_examples_and_16_at_the_most(n: int, largest: int) -> None:
    parts = matchings(n)
    objective = parts.objective(0.1)
    blocks, iterate = objective.dual_blocks(), dual_start(objective.penalty, objective.n_params)
    parts.structure.seen.clear()
    found = blocks.exact_pass(objective.examples, True, 2, 0.0, iterate)
    assert found.oracle_calls == n == sum(parts.structure.seen)
    assert max(parts.structure.seen) == largest
    assert len(parts.structure.seen) == -(-n // largest)


def test_steps_towards_one_oracle_ask_one_at_a_time_as_the_composed_twin_does() -> None:
    parts = matchings(60)
    for native, pairwise in ((True, False), (False, True)):
        objective = parts.objective(0.1, native=native)
        blocks, iterate = objective.dual_blocks(), dual_start(objective.penalty, objective.n_params)
        parts.structure.seen.clear()
        blocks.exact_pass(objective.examples, pairwise, 2, 0.0, iterate)
        assert parts.structure.seen == [1] * 60


@pytest.mark.parametrize("lam_n", [10.0, 0.1])
def test_the_optimum_and_its_certificate_are_those_of_one_at_a_time(lam_n: float) -> None:
    parts = matchings(200, seed=1)
    together, alone = (
        cs.minimize(parts.objective(lam_n / 200, native=native), cs.DualProximal(), 300, 1e-6)
        for native in (True, False)
    )
    assert together.converged
    assert alone.converged
    assert together.dual <= alone.objective + 1e-12
    assert alone.dual <= together.objective + 1e-12
    np.testing.assert_allclose(together.objective, alone.objective, rtol=2e-6)
    assert together.trace[-1].epoch <= 1.5 * alone.trace[-1].epoch + 3
