"""Costs as part scores; that they are scores of every structure is in the contract (casimir.testing)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from casimir.costs import Hamming, IoU, iou
from casimir.structures.candidates import Candidates
from casimir.structures.chain import Chain
from casimir.structures.enumerated import Enumerated

TABLE = np.array([[0.0, 1.0], [5.0, 0.0]])


def test_hamming_counts_wrong_labels() -> None:
    assert Hamming()([0, 1, 1], [0, 0, 2]) == 2.0
    assert Hamming(TABLE)([0, 1, 1], [1, 0, 1]) == 6.0
    assert Hamming()(2, 3) == 1.0


def test_hamming_sits_on_the_nodes_of_a_chain() -> None:
    chain = Chain(2)
    s = chain.scores([np.zeros((2, 2)), np.zeros((1, 2))], np.ones((2, 2)))
    parts = Hamming(TABLE).parts(chain, s, [np.array([1, 0]), np.array([1])])
    assert parts.nodes.tolist() == [[5, 0], [0, 1], [5, 0]]
    assert parts.edges is None
    augmented = chain.max(s + parts)
    assert augmented.value.tolist() == [7.0, 5.0]
    assert [y.tolist() for y in augmented.outputs] == [[0, 1], [0]]


def test_hamming_keeps_its_own_copy_of_the_table() -> None:
    table = TABLE.copy()
    cost = Hamming(table)
    table[0, 1] = 9.0
    assert cost([0], [1]) == 1.0


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.eye(2), r"weights\[0, 0\] is 1.0; a correct label must cost 0"),
        (np.zeros((2, 3)), r"weights has shape \[2, 3\]; it must be \[L, L\]"),
        ([[0, -1], [0, 0]], "negative entry -1.0"),
        ([[0, np.inf], [0, 0]], r"weights has inf at index \[0, 1\]"),
    ],
)
def test_bad_weights_are_refused(weights: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Hamming(weights)


def test_bad_truth_names_the_example() -> None:
    chain = Chain(2)
    s = chain.scores([np.zeros((2, 2)), np.zeros((1, 2))], np.ones((2, 2)))
    with pytest.raises(ValueError, match=r"y\[1\] has shape \[2\]; example 1 needs \[1\]"):
        Hamming().parts(chain, s, [np.array([1, 0]), np.array([1, 1])])
    with pytest.raises(ValueError, match=r"y\[0\] holds 2; example 0 has the labels 0 to 1"):
        Hamming().parts(chain, s, [np.array([1, 2]), np.array([1])])
    with pytest.raises(ValueError, match=r"cost table has shape \[3, 3\]; 2 labels need \[2, 2\]"):
        Hamming(np.zeros((3, 3))).parts(chain, s, [np.array([1, 0]), np.array([1])])
    with pytest.raises(ValueError, match=r"y_true has shape \[1\] and y_pred \[2\]"):
        Hamming()([1], [1, 1])


@pytest.mark.parametrize(
    ("cost", "method"), [(Hamming(), "label_costs"), (IoU([[[0, 0, 1, 1]]]), "output_costs"), (IoU(), "box_costs")]
)
def test_a_structure_that_cannot_carry_the_cost_is_named(cost: Any, method: str) -> None:
    with pytest.raises(TypeError, match=f"needs SimpleNamespace.{method}, which it does not have"):
        cost.parts(SimpleNamespace(), Candidates().scores([[0.0]]), [np.array([0])])


BOXES = np.array([[0, 0, 1, 1], [0, 0, 1, 3], [1, 1, 2, 2], [5, 5, 5, 5]])


def test_iou_of_inclusive_boxes() -> None:
    # 4 cells; 4 of 8 cells; 1 of 7 cells; none.
    np.testing.assert_allclose(iou(BOXES[0], BOXES), [1, 0.5, 1 / 7, 0])


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=8, max_size=8))
def test_iou_counts_cells(corners: list[int]) -> None:
    a, b = (np.concatenate([np.sort(c[::2]), np.sort(c[1::2])])[[0, 2, 1, 3]] for c in np.reshape(corners, (2, 4)))
    mask_a, mask_b = np.zeros((6, 6), bool), np.zeros((6, 6), bool)
    mask_a[a[0] : a[2] + 1, a[1] : a[3] + 1] = True
    mask_b[b[0] : b[2] + 1, b[1] : b[3] + 1] = True
    assert iou(a, b) == pytest.approx((mask_a & mask_b).sum() / (mask_a | mask_b).sum())


def test_iou_cost_of_candidate_boxes() -> None:
    candidates, cost = Candidates(), IoU([BOXES, BOXES[:2]])
    s = candidates.scores([np.zeros(4), np.zeros(2)])
    parts = cost.parts(candidates, s, [np.array([0]), np.array([1])])
    np.testing.assert_allclose(parts.unary(0), [0, 0.5, 6 / 7, 1])
    np.testing.assert_allclose(parts.unary(1), [0.5, 0])
    assert cost([0], [2], example=0) == pytest.approx(6 / 7)
    assert cost(1, 0, example=1) == pytest.approx(0.5)
    assert IoU([BOXES])([0], [1]) == 0.5


def test_iou_cost_of_boxes_themselves() -> None:
    assert IoU()(BOXES[0], BOXES[1]) == 0.5
    assert IoU()([1, 1, 2, 2], (1, 1, 2, 2)) == 0.0
    with pytest.raises(ValueError, match=r"y_pred has shape \[1\]; .* give their boxes: IoU\(boxes\)"):
        IoU()(BOXES[0], [1])
    with pytest.raises(TypeError, match="whole numbers of cells"):
        IoU()(BOXES[0], [0.5, 0, 1, 1])


def test_iou_cost_of_listed_boxes() -> None:
    listed = Enumerated(np.arange(4)[:, None], np.eye(4))
    parts = IoU([BOXES]).parts(listed, listed.scores([np.zeros(4)]), [np.array([0])])
    np.testing.assert_allclose(parts.unary(0), [0, 0.5, 6 / 7, 1], atol=1e-12)


@pytest.mark.parametrize(
    ("boxes", "message"),
    [
        ([BOXES, [[0, 0, 1]]], r"boxes\[1\] has shape \[1, 3\]; it must be \[m, 4\]"),
        ([[[0, 2, 1, 1]]], r"boxes\[0\]\[0\] is \[0.0, 2.0, 1.0, 1.0\]; .* left <= right"),
        ([[[0, 0, np.nan, 1]]], r"boxes\[0\] has nan"),
    ],
)
def test_bad_boxes_name_the_example(boxes: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        IoU(boxes)


def test_iou_needs_the_boxes_of_every_example() -> None:
    cost, candidates = IoU([BOXES, BOXES]), Candidates()
    with pytest.raises(ValueError, match=r"boxes of 2 examples and got 1 scores .*select a sub-batch"):
        cost.parts(candidates, candidates.scores([np.zeros(4)]), [np.array([0])])
    with pytest.raises(ValueError, match="say which"):
        cost([0], [1])
    with pytest.raises(ValueError, match="Example 0 got the output 7; it must be one index from 0 to 3"):
        cost(7, 0, example=0)
