"""Costs as part scores; that they are scores of every structure is in the contract (casimir.testing)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from casimir.costs import Hamming, IoU, iou
from casimir.scores import Scores
from casimir.structures.candidates import Candidates
from casimir.structures.chain import Chain
from casimir.structures.enumerated import Enumerated
from casimir.structures.graph_cut import GraphCut
from casimir.structures.junction import JunctionTree
from casimir.structures.matching import Matching
from casimir.structures.tree import Tree

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
    ("cost", "name"), [(Hamming(), "Hamming"), (IoU([[[0, 0, 1, 1]]]), "IoU"), (IoU(), r"IoU\(\)")]
)
def test_a_structure_that_cannot_carry_the_cost_is_named(cost: Any, name: str) -> None:
    with pytest.raises(TypeError, match=f"{name} needs SimpleNamespace.parts_of_cost, which it does not have"):
        cost.parts(SimpleNamespace(), Candidates().scores([[0.0]]), [np.array([0])])


EDGES = np.array([[0, 1], [1, 2]])
SPINS = np.array([[0, 0], [0, 1], [1, 0]])
LABELLED: list[tuple[Any, Scores]] = [
    (Chain(3), Chain(3).scores([np.zeros((2, 3)), np.zeros((1, 3))], np.zeros((3, 3)))),
    (tree := Tree([[-1, 0, 0]], 3), tree.scores([np.zeros((3, 3))], np.zeros((3, 3)))),
    (graph := JunctionTree([EDGES], 2), graph.scores([np.zeros((3, 2))], np.zeros((2, 2)))),
    (cut := GraphCut([EDGES]), cut.scores([np.zeros((3, 2))], np.zeros((2, 2)))),
    (Matching(), Matching().scores([np.zeros((2, 3)), np.zeros((3, 3))])),
    (Matching(null=True), Matching(null=True).scores([np.zeros((2, 3))])),
    (Candidates(), Candidates().scores(np.zeros((2, 4)))),
    (listed := Enumerated(SPINS, lambda y: np.eye(2)[y].ravel()), listed.scores([np.zeros(4)] * 2)),
]


@pytest.mark.parametrize(("structure", "s"), LABELLED, ids=lambda x: "" if isinstance(x, Scores) else type(x).__name__)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_mask_costs_the_least_of_the_labels_that_it_allows(structure: Any, s: Scores, weighted: bool) -> None:
    rng = np.random.default_rng(0)
    shapes = [table.shape for table in structure.max_marginals(s)]
    labels = shapes[0][1]
    cost = Hamming(rng.random((labels, labels)) * (1 - np.eye(labels)) if weighted else None)
    table = 1.0 - np.eye(labels) if cost.weights is None else cost.weights
    for _ in range(20):
        masks = [(rng.random(shape) < 0.5) | (np.arange(shape[1]) == rng.integers(shape[1])) for shape in shapes]
        outputs = [rng.permutation(top)[0] for top in structure.topk(s, 40).outputs]
        found = structure.score_of(cost.parts(structure, s, masks), outputs)
        for mask, y, value in zip(masks, outputs, found, strict=True):
            least = sum(table[allowed, j].min() for allowed, j in zip(mask, y, strict=True))
            assert value == pytest.approx(least, abs=1e-9)
            assert cost(mask, y) == pytest.approx(least)
            assert value < 1e-9 or not mask[np.arange(len(y)), y].all()
        one = [np.arange(shape[1]) == y[:, None] for shape, y in zip(shapes, outputs, strict=True)]
        np.testing.assert_array_equal(cost.parts(structure, s, one).nodes, cost.parts(structure, s, outputs).nodes)


def test_masks_and_outputs_may_stand_side_by_side() -> None:
    s = Candidates().scores([[0.0, 0.0, 0.0], [0.0, 0.0]])
    parts = Hamming().parts(Candidates(), s, [np.array([True, False, True]), np.array([1])])
    assert parts.nodes.tolist() == [0, 1, 0, 1, 0]
    chain = Chain(2)
    s = chain.scores([np.zeros((2, 2)), np.zeros((1, 2))], np.zeros((2, 2)))
    parts = Hamming(TABLE).parts(chain, s, [np.array([0, 1]), np.array([[True, True]])])
    assert parts.nodes.tolist() == [[0, 1], [5, 0], [0, 0]]


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (np.ones((2, 3), bool), r"y\[0\] is a mask of shape \[2, 3\]; it must be \[2, 2\], nodes by labels"),
        (np.ones(2, bool), r"y\[0\] is a mask of shape \[2\]; it must be \[2, 2\]"),
        (np.array([[True, False], [False, False]]), r"y\[0\] allows no label of node 1"),
    ],
)
def test_bad_masks_are_refused(mask: Any, message: str) -> None:
    s = Chain(2).scores([np.zeros((2, 2))], np.zeros((2, 2)))
    with pytest.raises(ValueError, match=message):
        Hamming().parts(Chain(2), s, [mask])


def test_labels_that_are_no_output_are_refused() -> None:
    s = Matching().scores([np.zeros((2, 2))])
    with pytest.raises(ValueError, match="takes column 1 twice"):
        Hamming().parts(Matching(), s, [np.array([1, 1])])
    listed = Enumerated(SPINS, lambda y: np.eye(2)[y].ravel())
    with pytest.raises(ValueError, match="not among the listed outputs"):
        Hamming().parts(listed, listed.scores([np.zeros(4)]), [np.array([1, 1])])
    with pytest.raises(ValueError, match="y has 2 entries for 1 examples"):
        Hamming().parts(Matching(), s, [np.array([0, 1])] * 2)


def test_a_table_may_have_labels_that_no_listed_output_has() -> None:
    listed = Enumerated([[[0], [1]], [[0], [1], [2]]], [np.eye(2), np.eye(3)])
    table = np.array([[0.0, 1, 2], [3, 0, 4], [5, 6, 0]])
    parts = Hamming(table).parts(listed, listed.scores([np.zeros(2), np.zeros(3)]), [np.array([1]), np.array([2])])
    np.testing.assert_allclose(parts.nodes, [3, 0, 5, 6, 0], atol=1e-12)
    with pytest.raises(ValueError, match=r"cost table has shape \[2, 2\]; 3 labels need \[3, 3\]"):
        Hamming(TABLE).parts(listed, listed.scores([np.zeros(2), np.zeros(3)]), [np.array([1]), np.array([2])])


@pytest.mark.parametrize(
    ("structure", "s", "costs", "message"),
    [
        (*LABELLED[0], [np.zeros((2, 3))], "costs has 1 entries for 2 examples"),
        (*LABELLED[0], [np.zeros((2, 2)), np.zeros((1, 2))], r"costs\[0\] has shape \[2, 2\]; it must be \[p, 3\]"),
        (*LABELLED[2], [np.zeros((2, 2))], r"costs\[0\] has 2 entries for the 3 nodes of example 0"),
        (*LABELLED[2], [np.full((3, 2), np.nan)], r"costs\[0\] has nan"),
        (*LABELLED[5], [np.zeros((2, 2))], r"costs\[0\] has shape \[2, 2\]; example 0 needs \[2, 3\]"),
        (*LABELLED[5], [], "costs has 0 entries for 1 examples"),
        (*LABELLED[7], [np.zeros(3), np.zeros(2)], r"costs\[1\] has shape \[2\]; .* needs \[3\], or \[2, 2\]"),
        (*LABELLED[7], [np.zeros(3)], "costs has 1 entries for 2 examples"),
    ],
)
def test_numbers_that_do_not_fit_the_structure_are_refused(structure: Any, s: Scores, costs: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        structure.parts_of_cost(s, costs)


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


def test_iou_cost_of_several_true_candidates_is_the_least() -> None:
    candidates, cost = Candidates(), IoU([BOXES])
    s, mask = candidates.scores([np.zeros(4)]), np.array([True, False, True, False])
    parts = cost.parts(candidates, s, [mask])
    expected = [min(cost([0], [j]), cost([2], [j])) for j in range(4)]
    np.testing.assert_allclose(parts.unary(0), expected)
    assert [cost(mask, [j]) for j in range(4)] == expected
    with pytest.raises(ValueError, match=r"y\[0\] is a mask of shape \[3\]; it must be \[1, 4\]"):
        cost.parts(candidates, s, [mask[:3]])


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
