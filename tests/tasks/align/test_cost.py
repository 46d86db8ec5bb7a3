"""Costs of links as scores of cells; error rates."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from casimir.structures.matching import Matching
from casimir.tasks.align import Links, link_scores, parse_links
from casimir.tasks.align.bitext import parse_bitext
from casimir.tasks.align.cost import LinkCost
from casimir.tasks.align.mistakes import mistakes

SHAPES = [(3, 4), (2, 3), (2, 2)]
LINKS = [parse_links("1-1 1-2 2p3 3p1", (3, 3)), parse_links("1p1 1p2 2p1 2p2", (2, 2)), parse_links("", (2, 1))]
NULL = Matching(null=True)


def plain_cost(links: Links, y: tuple[int, ...], columns: int, wrong: float, missed: float) -> float:
    found = {(v, z) for v, z in enumerate(y) if z < columns - 1}
    sure, possible = ({tuple(link) for link in a.tolist()} for a in (links.sure, links.possible))
    return wrong * len(found - possible) + missed * len(sure - found)


def matchings(rows: int, columns: int) -> list[tuple[int, ...]]:
    taken = range(columns - 1)
    return [y for y in itertools.product(range(columns), repeat=rows) if all(y.count(z) < 2 for z in taken)]


@pytest.mark.parametrize(("wrong", "missed"), [(1.0, 1.0), (1.0, 3.0), (2.0, 0.0)])
def test_the_cost_is_that_of_wrong_and_missed_links(wrong: float, missed: float) -> None:
    cost = LinkCost(LINKS, SHAPES, wrong, missed)
    targets = cost.targets()
    s = NULL.scores([np.zeros(shape) for shape in SHAPES])
    parts = cost.parts(NULL, s, targets)
    for i, shape in enumerate(SHAPES):
        all_costs = {y: plain_cost(LINKS[i], y, shape[1], wrong, missed) for y in matchings(*shape)}
        least = min(all_costs.values())
        assert all_costs[tuple(targets[i].tolist())] == least
        for y, expected in all_costs.items():
            assert cost(targets[i], np.array(y), example=i) == pytest.approx(expected - least)
            score = NULL.score_of(parts.select([i]), [np.array(y)])[0]
            assert score == pytest.approx(expected - least)


def test_targets_take_possible_links_near_the_diagonal() -> None:
    assert [y.tolist() for y in LinkCost(LINKS, SHAPES).targets()] == [[1, 2, 0], [0, 1], [1, 1]]


def test_costs_know_their_examples() -> None:
    cost = LinkCost(LINKS, SHAPES)
    s = NULL.scores([np.zeros((3, 4))])
    with pytest.raises(ValueError, match="links of 3 examples and got 1 scores"):
        cost.parts(NULL, s, [np.zeros(3, dtype=np.int64)])
    with pytest.raises(ValueError, match=r"say which: cost\(y, y', example=i\)"):
        cost([0], [0])


def test_alignment_error_rate() -> None:
    gold = [parse_links("1-1 2-2 3p3", (3, 3)), parse_links("1-1", (1, 1))]
    found = [np.array([[0, 0], [2, 2], [1, 0]]), np.zeros((0, 2), dtype=np.int64)]
    scores = link_scores(gold, found)
    assert scores.aer == pytest.approx(1 - (1 + 2) / (3 + 3))
    assert (scores.precision, scores.recall) == (pytest.approx(2 / 3), pytest.approx(1 / 3))
    perfect = link_scores(gold, [links.sure for links in gold])
    assert (perfect.aer, perfect.precision, perfect.recall) == (0.0, 1.0, 1.0)
    with pytest.raises(ValueError, match="links of 1 pairs for 2"):
        link_scores(gold, found[:1])


def test_mistakes_are_counted_by_words() -> None:
    bitext = parse_bitext("a b ||| x y\na b ||| x z\nb ||| y\n", "1-1 2p2\n1-1 2-2\n1-1\n")
    found = [np.array([[0, 1], [1, 1]]), np.array([[1, 0]]), np.array([[0, 0]])]
    seen = [(one.source, one.target, one.missed, one.wrong) for one in mistakes(bitext, found)]
    assert seen == [("a", "x", 2, 0), ("a", "y", 0, 1), ("b", "x", 0, 1), ("b", "z", 1, 0)]
