"""Several links per word: the parts of a pair, and the best links they allow."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from casimir.structures.matching import Matching
from casimir.tasks.align.bitext import Links, parse_links
from casimir.tasks.align.fertility import Deal, needed_fertility

PAIRS = [(5, 8), (1, 4), (3, 2), (6, 7)]


def block(rows: range, columns: range) -> Links:
    """Every word of a phrase linked to every word of another."""
    links = np.array(list(itertools.product(rows, columns)), dtype=np.int64)
    return Links(links, links)


@pytest.mark.parametrize("fertility", [1, 2, 3, 4])
def test_every_cell_is_in_one_part_and_every_word_can_be_left_alone_in_each(fertility: int) -> None:
    deal = Deal(PAIRS, fertility)
    numbers = [np.arange(m * n, dtype=np.float64)[:, None] for m, n in PAIRS]
    seen = [np.zeros(m * n, dtype=np.int64) for m, n in PAIRS]
    for (k, _, _), shape, matrix in zip(deal.parts, deal.shapes, deal.matrices(numbers), strict=True):
        assert matrix.shape == (shape[0] * shape[1], 1)
        np.add.at(seen[k], matrix[:, 0].astype(np.int64), 1)
        assert (matrix.reshape(shape)[:, -1] % PAIRS[k][1] == PAIRS[k][1] - 1).all()
    for (_, n), counts in zip(PAIRS, seen, strict=True):
        table = counts.reshape(-1, n)
        assert (table[:, :-1] == 1).all()
        assert (table[:, -1] == min(fertility, n - 1)).all()


@pytest.mark.parametrize("fertility", [1, 2, 3])
def test_phrases_of_up_to_that_many_words_are_linked_in_full(fertility: int) -> None:
    gold = [block(range(1, 1 + fertility), range(2, 2 + fertility)), block(range(1), range(fertility))]
    deal = Deal(PAIRS[:2], fertility)
    weights = []
    for links, (m, n) in zip(deal.links(gold), deal.shapes, strict=True):
        table = np.where(np.arange(n) < n - 1, -1.0, 0.0) * np.ones((m, 1))
        table[links.sure[:, 0], links.sure[:, 1]] = 1.0
        weights.append(table)
    structure = Matching(null=True)
    found = deal.joined(structure.max(structure.scores(weights)).outputs)
    for links, expected in zip(found, gold, strict=True):
        np.testing.assert_array_equal(links, expected.sure)


def test_a_word_has_at_most_as_many_links_as_its_fertility() -> None:
    deal = Deal(PAIRS, 2)
    rng = np.random.default_rng(0)
    structure = Matching(null=True)
    weights = [np.pad(rng.uniform(1.0, 2.0, (m, n - 1)), ((0, 0), (0, 1))) for m, n in deal.shapes]
    for links in deal.joined(structure.max(structure.scores(weights)).outputs):
        assert len(np.unique(links, axis=0)) == len(links)
        assert np.bincount(links[:, 0]).max() <= 2
        assert np.bincount(links[:, 1]).max() <= 2


@pytest.mark.parametrize(
    ("links", "fertility"),
    [
        ("", 1),
        ("1-1 2-2 3-3", 1),
        ("1-1 1-2 2-3", 2),
        ("1-1 2-1 3-1", 3),
        ("1-1 1-2 1-3 1-4 1-5 1-6", 4),
        ("1-1 1p2 1p3", 1),
    ],
)
def test_fertility_is_what_the_sure_links_need(links: str, fertility: int) -> None:
    assert needed_fertility([parse_links(links, (6, 6))]) == fertility


def test_a_few_words_with_more_links_do_not_count() -> None:
    one_to_one = [parse_links("1-1 2-2 3-3 4-4 5-5", (5, 5))] * 10
    assert needed_fertility([*one_to_one, parse_links("1-1 1-2", (5, 5))]) == 1
    assert needed_fertility([*one_to_one[:1], parse_links("1-1 1-2", (5, 5))]) == 2
