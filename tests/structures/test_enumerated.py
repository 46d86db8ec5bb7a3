"""Enumerated keeps the contract, and agrees with other structures on their own parts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from casimir.costs import Hamming
from casimir.scores import Scores
from casimir.structures.chain import Chain
from casimir.structures.enumerated import Enumerated
from casimir.testing import Listing, StructureContract, flatten, list_chain


@st.composite
def subsets(draw: st.DrawFn, elements: st.SearchStrategy[float]) -> tuple[Enumerated, Scores]:
    """Some of the sequences over three labels, for all examples or for each, with one indicator per node and label."""
    every = list_chain(3, 3)

    def some() -> Listing:
        rows = sorted(draw(st.sets(st.integers(0, 26), min_size=1, max_size=12)))
        return Listing(every.outputs[rows], every.parts[rows, :9])

    n, shared = draw(st.integers(1, 3)), draw(st.booleans())
    tables = [some()] * n if shared else [some() for _ in range(n)]
    if shared:
        structure = Enumerated(tables[0].outputs, tables[0].parts)
    else:
        structure = Enumerated([t.outputs for t in tables], [t.parts for t in tables])
    return structure, structure.scores([draw(hnp.arrays(np.float64, 9, elements=elements)) for _ in range(n)])


class TestEnumerated(StructureContract):
    def instances(self, elements: st.SearchStrategy[float]) -> st.SearchStrategy[tuple[Enumerated, Scores]]:
        return subsets(elements)

    def listing(self, structure: Enumerated, s: Scores) -> list[Listing]:
        return [Listing(structure.outputs(i), structure.parts(i)) for i in range(len(s))]


SPINS = Enumerated([[0, 0], [0, 1], [1, 0], [1, 1]], parts=lambda y: [y[0], y[1], y[0] == y[1]])


def test_a_structure_of_your_own_takes_two_lines() -> None:
    best = SPINS.max(SPINS.scores([[1.0, -2.0, 0.5], [1.0, 1.0, 0.0]]))
    assert best.value.tolist() == [1.0, 2.0]
    assert [y.tolist() for y in best.outputs] == [[1, 0], [1, 1]]


def test_ties_go_to_the_output_listed_first() -> None:
    backwards = Enumerated([[1], [0]], parts=[[1.0], [1.0]])
    assert backwards.topk(backwards.scores([[3.0]]), 2).outputs[0].tolist() == [[1], [0]]


def test_a_chain_can_be_enumerated() -> None:
    rng = np.random.default_rng(1)
    chain, tables = Chain(3), [list_chain(3, p) for p in (4, 2)]
    s = chain.scores([rng.normal(size=(p, 3)) for p in (4, 2)], rng.normal(size=(3, 3)))
    brute = Enumerated([t.outputs for t in tables], [t.parts for t in tables])
    listed = brute.scores([flatten(s, i) for i in range(2)])
    y = [np.array([0, 1, 2, 0]), np.array([1, 1])]
    s = s + Hamming().parts(chain, s, y)
    listed = listed + Hamming().parts(brute, listed, y)
    np.testing.assert_allclose(chain.topk(s, 9).value, brute.topk(listed, 9).value)
    np.testing.assert_allclose(chain.expect(s, 0.7).value, brute.expect(listed, 0.7).value)


def test_parts_need_not_be_indicators() -> None:
    ranks = Enumerated([[1, 2], [2, 1]], parts=lambda y: [0.5 * y[0] - y[1]])
    assert ranks.max(ranks.scores([[2.0]])).value.tolist() == [0.0]


def test_a_cost_that_the_parts_cannot_express_is_refused() -> None:
    blind = Enumerated([[0], [1]], parts=[[1.0], [1.0]])
    with pytest.raises(ValueError, match="is not a sum over the parts of Enumerated"):
        Hamming().parts(blind, blind.scores([[0.0]]), [np.array([0])])


@pytest.mark.parametrize(
    ("outputs", "parts", "message"),
    [
        ([[0, 0], [0, 0]], [[1.0], [2.0]], "lists an output twice"),
        ([[0.5]], [[1.0]], "non-empty integer array"),
        ([[-1]], [[1.0]], "labels >= 0"),
        ([[0], [1]], [[1.0]], r"parts has shape \[1, 1\]; 2 outputs need \[2, m\]"),
        ([np.array([[0], [1]])], [], "parts has 0 entries for 1 examples"),
        ([[0], [1]], lambda y: [np.nan], "parts has nan"),
        ([[0], [1]], lambda y: [1.0] * (1 + y[0]), "parts is ragged"),
    ],
)
def test_bad_tables_are_refused(outputs: object, parts: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Enumerated(outputs, parts)


def test_scores_and_outputs_must_fit_the_list() -> None:
    with pytest.raises(ValueError, match="Example 0 has 2 part scores; its outputs use 3"):
        SPINS.scores([[1.0, 2.0]])
    s = SPINS.scores([[1.0, 2.0, 3.0]])
    with pytest.raises(ValueError, match=r"outputs\[0\] is \[2, 2\], which is not among the listed outputs"):
        SPINS.score_of(s, [np.array([2, 2])])
    each = Enumerated([[[0]], [[0]]], [[[1.0]], [[1.0]]])
    with pytest.raises(ValueError, match=r"outputs of 2 examples and got scores of 1.*select"):
        each.scores([[1.0]])
