"""Candidates keeps the contract; its inputs are checked."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from casimir.costs import Hamming
from casimir.scores import Scores
from casimir.structures.candidates import Candidates
from casimir.testing import Listing, StructureContract


class TestCandidates(StructureContract):
    def instances(self, elements: st.SearchStrategy[float]) -> st.SearchStrategy[tuple[Candidates, Scores]]:
        values = hnp.arrays(np.float64, st.integers(1, 40), elements=elements)
        return st.lists(values, min_size=1, max_size=4).map(lambda v: (Candidates(), Candidates().scores(v)))

    def listing(self, structure: Candidates, s: Scores) -> list[Listing]:
        return [Listing(np.arange(m)[:, None], np.eye(m)) for m in np.diff(s.offsets)]


def test_outputs_are_single_indices() -> None:
    s = Candidates().scores([[1, 5, 5], [7]])
    best, top = Candidates().max(s), Candidates().topk(s, 2)
    assert [y.tolist() for y in best.outputs] == [[1], [0]]
    assert [y.tolist() for y in top.outputs] == [[[1], [2]], [[0]]]
    assert top.value.tolist() == [[5, 5], [7, -np.inf]]
    assert s.unary(0).tolist() == [1, 5, 5]


def test_multiclass_hamming_takes_a_cost_table() -> None:
    s = Candidates().scores(np.zeros((2, 3)))
    table = np.array([[0, 1, 2], [3, 0, 4], [5, 6, 0]])
    parts = Hamming(table).parts(Candidates(), s, [np.array([1]), np.array([2])])
    assert parts.unary(0).tolist() == [3, 0, 4]
    assert parts.unary(1).tolist() == [5, 6, 0]
    with pytest.raises(ValueError, match=r"Example 0 has 3 candidates; a \[2, 2\] cost table needs 2"):
        Hamming(np.zeros((2, 2))).parts(Candidates(), s, [np.array([1]), np.array([2])])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[1.0], []], r"values\[1\] is empty"),
        ([[[1.0]]], r"values\[0\] has shape \[1, 1\]; it must be \[p\]"),
        ([[1.0], [np.inf, 2]], r"values\[1\] has inf at index \[0\]"),
        ([1.0, 2.0], r"For a single example pass \[values\]"),
    ],
)
def test_bad_values_name_the_example(values: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Candidates().scores(values)


def test_costs_need_one_value_per_candidate() -> None:
    s = Candidates().scores([[1.0, 2.0]])
    with pytest.raises(
        ValueError, match=r"costs\[0\] has 3 entries for the 2 candidates of example 0; give one for each"
    ):
        Candidates().parts_of_cost(s, [[1.0, 2.0, 3.0]])
    with pytest.raises(ValueError, match="costs has 2 entries for 1 examples"):
        Candidates().parts_of_cost(s, [[1.0, 2.0]] * 2)
    assert Candidates().parts_of_cost(s, [[[1.0, 2.0]]]).unary(0).tolist() == [1.0, 2.0]
