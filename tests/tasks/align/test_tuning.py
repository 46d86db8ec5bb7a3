"""The cost of missed links, chosen on labelled pairs."""

from __future__ import annotations

import numpy as np
import pytest

from casimir.solvers import minimize
from casimir.solvers.choose import choose
from casimir.tasks.align import tuning
from casimir.tasks.align.bitext import Links
from casimir.tasks.align.examples import Examples
from casimir.tasks.align.tuning import tuned_missed


def uncertain(n: int, chance: float) -> tuple[Examples, list[Links]]:
    """Pairs of single words, linked with the same chance whatever their only feature says."""
    rng = np.random.default_rng(0)
    link, none = np.zeros((1, 2), dtype=np.int64), np.zeros((0, 2), dtype=np.int64)
    links = [Links(x, x) for x in (link if rng.random() < chance else none for _ in range(n))]
    return Examples([np.array([[1.0], [0.0]])] * n, [(1, 2)] * n, 1), links


@pytest.mark.parametrize(
    ("errors", "expected"),
    [([0.3, 0.4], 2.0), ([0.3, 0.3], 2.0), ([0.3, 0.2, 0.25], 6.0), ([0.4, 0.3, 0.2, 0.1], 54.0)],
)
def test_the_cost_grows_for_as_long_as_the_error_falls(
    errors: list[float], expected: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[float] = []

    def error(folds: object, links: object, wrong: float, missed: float, seed: int) -> float:
        asked.append(missed)
        return errors[len(asked) - 1]

    monkeypatch.setattr(tuning, "_error", error)
    assert tuned_missed(*uncertain(3, 1.0), wrong=2.0, lam=0.1, seed=0) == expected
    assert asked == [2.0 * 3.0**k for k in range(len(errors))]


def test_certain_links_need_no_larger_cost() -> None:
    assert tuned_missed(*uncertain(12, 1.0), wrong=1.0, lam=0.1, seed=0) == 1.0


def test_every_pair_is_aligned_by_weights_of_other_pairs() -> None:
    """No pair has a link, and each has a feature of its own: only weights trained on the pair itself could know."""
    n = 7
    links = uncertain(n, 0.0)[1]
    matrices = [np.stack([row, np.zeros(n)]) for row in np.eye(n)]
    examples = Examples(matrices, [(1, 2)] * n, 1)
    folds = [tuning._Fold.of(examples, links, k, 0.1) for k in range(3)]
    assert tuning._error(folds, links, 1.0, 1.0, 0) == 1.0  # equal scores go to the link
    seen = examples.objective(links, 1.0, 1.0, 0.1)
    assert sum(map(len, examples.align(minimize(seen, choose("auto", seen)).w))) == 0


def test_a_single_pair_has_nothing_to_choose_on() -> None:
    assert tuned_missed(*uncertain(1, 1.0), wrong=0.5, lam=1.0, seed=0) == 0.5
