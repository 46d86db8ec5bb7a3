"""The choice of "auto" for smooth losses of few weights, and what it looks at."""

from __future__ import annotations

import numpy as np
import pytest

import casimir as cs
from casimir.solvers.at_zero import evenness
from casimir.solvers.choose import choose

D = 8


def lists(widths: np.ndarray, n: int = 300, loss: object = None, penalty: object = 0.001) -> cs.Objective:
    """Pairs of candidates whose features have these standard deviations; the first one is true."""
    rng = np.random.default_rng(5)
    features = [rng.normal(size=(2, len(widths))) * widths for _ in range(n)]
    truth = [np.array([0])] * n
    return cs.Objective(cs.LinearCandidateModel(features), cs.Candidates(), loss or cs.Log(), truth, penalty)


def even(objective: cs.Objective) -> float:
    return evenness(objective, np.random.default_rng(0))


@pytest.mark.parametrize("widths", [np.ones(D), 3.0 * np.ones(D), np.arange(1.0, D + 1.0), np.eye(D)[0]])
def test_evenness_is_the_share_of_directions_that_gradients_fill(widths: np.ndarray) -> None:
    wanted = np.sum(widths**2) ** 2 / (D * np.sum(widths**4))
    assert even(lists(widths)) == pytest.approx(wanted, rel=0.25)


def test_one_example_is_not_even() -> None:
    assert even(lists(np.ones(D), n=1)) == 0.0


def test_evenness_counts_its_oracle_calls() -> None:
    objective = lists(np.ones(D))
    even(objective)
    assert objective.counts.searches == objective.oracle_calls == 100


def test_auto_takes_lbfgs_for_a_smooth_loss_with_few_even_weights() -> None:
    assert choose("auto", lists(np.ones(D))) == cs.LBFGS()


@pytest.mark.parametrize(
    "objective",
    [
        lists(1.0 / np.arange(1.0, D + 1.0)),
        lists(np.ones(D), n=D - 1),
        lists(np.ones(D), loss=cs.Hinge(cs.Hamming())),
        lists(np.ones(D), penalty=cs.ElasticNet(0.001, 0.5)),
    ],
    ids=["uneven", "more weights than examples", "hinge loss", "absolute values"],
)
def test_auto_takes_dual_steps_for_others(objective: cs.Objective) -> None:
    assert choose("auto", objective) == cs.DualProximal()


def test_auto_takes_casimir_where_a_strong_penalty_makes_one_pass_enough() -> None:
    weak, strong = (lists(1.0 / np.arange(1.0, D + 1.0), penalty=cs.Ridge(lam)) for lam in (0.001, 10.0))
    assert choose("auto", weak) == cs.DualProximal()
    assert choose("auto", strong) == cs.Casimir()
