"""First guesses at cells: what they learn, and what they must not see."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from casimir.scores import FloatArray
from casimir.tasks.align.bitext import Links
from casimir.tasks.align.guess import LinkGuess, _without_own


def pairs(n: int, seed: int = 0, unsure: bool = True) -> tuple[list[FloatArray], list[Links]]:
    """Cells are links where their first feature is large; the third feature belongs to leaving a word alone."""
    rng = np.random.default_rng(seed)
    tables, links = [], []
    for _ in range(n):
        table = rng.normal(size=(4, 6, 3))
        table[:, :-1, 2], table[:, -1, :2] = 0.0, 0.0
        possible = np.argwhere(table[:, :-1, 0] > 0.5)
        tables.append(table)
        links.append(Links(possible[: len(possible) // 2] if unsure else possible, possible))
    return tables, links


def test_weights_are_those_of_logistic_regression() -> None:
    tables, links = pairs(30)
    guess, _ = LinkGuess.learned(tables, links)
    cells = np.concatenate([(t[:, :-1] + t[:, -1:]).reshape(-1, 3) for t in tables])
    for kind, v in guess.rounds[0].items():
        linked = np.zeros((len(tables), 4, 5))
        for k, pair in enumerate(links):
            i, j = getattr(pair, kind).T
            linked[k, i, j] = 1.0
        p = 1.0 / (1.0 + np.exp(-cells @ v))
        np.testing.assert_allclose(v, cells.T @ (linked.ravel() - p), atol=1e-2)  # the gradient is 0
    assert guess.rounds[0]["possible"][0] > 1.0


def test_possible_links_are_guessed_only_where_there_are_some() -> None:
    both, sure = LinkGuess.learned(*pairs(5))[0], LinkGuess.learned(*pairs(5, unsure=False))[0]
    assert (both.kinds(), sure.kinds()) == (["sure", "possible"], ["sure"])
    assert len(both.names()) == 2 * len(sure.names())


@pytest.mark.parametrize("n", [1, 2, 9])
def test_a_labelled_pair_does_not_see_its_own_links(n: int) -> None:
    """One round alone: in the second, the features of other pairs have seen them."""
    tables, links = pairs(n)
    changed = [Links(pair.sure[:0], pair.possible[1:]) if k == 0 else pair for k, pair in enumerate(links)]
    kinds = ["sure", "possible"]
    before, after = (_without_own(kinds, tables, given) for given in (links, changed))
    np.testing.assert_array_equal(before[0], after[0])
    if n > 1:
        assert not np.array_equal(before[1], after[1])


def test_features_are_the_guesses_in_and_around_a_cell() -> None:
    tables, links = pairs(6)
    guess, own = LinkGuess.learned(tables, links)
    names = guess.names()
    assert [matrix.shape for matrix in own] == [(4 * 6, len(names))] * 6
    first = LinkGuess(guess.rounds[:1]).features(tables[0])
    cells = first.reshape(4, 6, -1)
    assert not cells[:, -1].any()
    p = 1.0 / (1.0 + np.exp(-(tables[0][:, :-1] + tables[0][:, -1:]) @ guess.rounds[0]["sure"]))
    column = {name: cells[:, :-1, k] for k, name in enumerate(names)}
    np.testing.assert_allclose(column["guess, sure: itself"], p)
    np.testing.assert_allclose(column["guess, sure: left"][:, 1:], p[:, :-1])
    np.testing.assert_allclose(column["guess, sure: above left"][1:, 1:], p[:-1, :-1])
    np.testing.assert_allclose(column["guess, sure: below right"][:-1, :-1], p[1:, 1:])
    assert not column["guess, sure: above"][0].any()
    np.testing.assert_allclose(column["guess, sure: links of row"][:, 0], np.minimum(p.sum(axis=1), 4.0) / 2.0)


def test_the_next_guess_sees_the_features_of_the_one_before() -> None:
    tables, links = pairs(6)
    guess, _ = LinkGuess.learned(tables, links)
    first = LinkGuess(guess.rounds[:1]).features(tables[0]).reshape(4, 6, -1)
    second = LinkGuess(guess.rounds[1:]).features(np.concatenate([tables[0], first], axis=2))
    np.testing.assert_array_equal(guess.features(tables[0]), second)


def test_products_run_on_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads of BLAS that share a busy CPU with others take many times as long over so few columns."""
    seen = []

    def watched(x: np.ndarray, t: np.ndarray) -> np.ndarray:
        seen.extend(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        return np.zeros(x.shape[1])

    monkeypatch.setattr("casimir.tasks.align.guess._logistic", watched)
    links = Links(np.array([[0, 0]]), np.array([[0, 0], [1, 1]]))
    with threadpool_limits(2):  # where the machine has one CPU, too
        LinkGuess.learned([np.ones((2, 3, 4))] * 5, [links] * 5)
    assert seen
    assert set(seen) == {1}
