"""Best Max-Marginal First lists the outputs of any structure as brute force does, with two tables per output."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from casimir import Candidates, Chain, Enumerated, GraphCut, JunctionTree, Matching, Tree, bmmf
from casimir.scores import Scores
from casimir.structures.base import TopK
from casimir.testing import REALS, TIES, list_chain

_few = settings(max_examples=25, deadline=None)


def check_same(structure: Any, s: Scores, k: int, judge: TopK) -> None:
    """Value, outputs and order are those of the judge, exactly; and the number of tables is bounded."""
    found = bmmf(structure, s, k)
    np.testing.assert_array_equal(found.value, judge.value)
    for mine, other in zip(found.outputs, judge.outputs, strict=True):
        np.testing.assert_array_equal(mine, other)
        assert mine.dtype == np.int64
    assert np.all(found.calls <= 2 * k)
    assert np.all(found.decodings >= [len(y) for y in found.outputs])


def arrays(data: st.DataObject, elements: st.SearchStrategy[float], *shape: int) -> np.ndarray:
    return data.draw(hnp.arrays(np.float64, shape, elements=elements))


@_few
@given(st.data(), st.integers(1, 3), st.lists(st.integers(1, 4), min_size=1, max_size=2), st.integers(1, 30))
def test_chains_with_ties_are_listed_in_order(data: st.DataObject, labels: int, lengths: list[int], k: int) -> None:
    chain = Chain(labels)
    shared = data.draw(st.booleans())
    pairs = [arrays(data, TIES, p - 1, labels, labels) for p in lengths]
    unary = [arrays(data, TIES, p, labels) for p in lengths]
    s = chain.scores(unary, arrays(data, TIES, labels, labels) if shared else pairs)
    check_same(chain, s, k, chain.topk(s, k))


@_few
@given(st.data(), st.lists(st.integers(1, 7), min_size=1, max_size=3), st.integers(1, 9))
def test_candidates_are_sorted(data: st.DataObject, sizes: list[int], k: int) -> None:
    structure = Candidates()
    s = structure.scores([arrays(data, TIES, m) for m in sizes])
    check_same(structure, s, k, structure.topk(s, k))


@_few
@given(st.data(), st.integers(1, 4), st.integers(1, 20))
def test_graph_cuts_with_ties_are_listed_in_order(data: st.DataObject, p: int, k: int) -> None:
    pairs = list(itertools.combinations(range(p), 2))
    edges = np.array([e for e in pairs if data.draw(st.booleans())], dtype=np.int64).reshape(-1, 2)
    cut = GraphCut([edges])
    agree = np.abs(arrays(data, TIES, len(edges)))[:, None, None] * np.eye(2)
    s = cut.scores([arrays(data, TIES, p, 2)], [agree])
    check_same(cut, s, k, cut.topk(s, k))


@pytest.mark.parametrize("seed", range(5))
def test_trees_loops_and_matchings_are_listed_in_order(seed: int) -> None:
    rng = np.random.default_rng(seed)

    def whole(*shape: int) -> np.ndarray:
        return rng.integers(-1, 2, shape).astype(np.float64)

    tree = Tree([[-1, 0, 0, 1], [1, -1]], 2)
    loop = JunctionTree([[[0, 1], [1, 2], [2, 0]]], 3)
    for structure, s in (
        (tree, tree.scores([whole(4, 2), whole(2, 2)], [whole(4, 2, 2), whole(2, 2, 2)])),
        (loop, loop.scores([whole(3, 3)], [whole(3, 3, 3)])),
        (Matching(), Matching().scores([whole(3, 3), whole(2, 4)])),
        (Matching(null=True), Matching(null=True).scores([whole(3, 3)])),
    ):
        for k in (1, 4, 12):
            check_same(structure, s, k, structure.topk(s, k))


@_few
@given(st.data(), st.integers(1, 12))
def test_real_scores_give_the_values_of_the_chain(data: st.DataObject, k: int) -> None:
    chain = Chain(3)
    s = chain.scores([arrays(data, REALS, 3, 3)], arrays(data, REALS, 3, 3))
    found, judge = bmmf(chain, s, k), chain.topk(s, k)
    np.testing.assert_allclose(found.value, judge.value, rtol=0, atol=1e-10)
    assert len(np.unique(found.outputs[0], axis=0)) == k
    longer = bmmf(chain, s, k + 3)
    np.testing.assert_array_equal(found.value, longer.value[:, :k])
    np.testing.assert_array_equal(found.outputs[0], longer.outputs[0][:k])


def test_listed_outputs_with_node_parts_will_do() -> None:
    listing = list_chain(2, 3)
    structure = Enumerated(listing.outputs, listing.parts)
    s = structure.scores([np.random.default_rng(0).integers(-2, 3, listing.parts.shape[1])])
    check_same(structure, s, 8, structure.topk(s, 8))


def test_some_labels_may_be_impossible() -> None:
    """Not every combination of allowed labels is an output; a subset without outputs ends there."""
    orders = np.array(list(itertools.permutations(range(3))))
    structure = Enumerated(orders, lambda y: np.eye(3)[y].ravel())
    s = structure.scores([np.array([2.0, 1, 0, 2, 1, 0, 0, 0, 0])])
    check_same(structure, s, 10, structure.topk(s, 10))


def test_every_output_of_a_grid_costs_two_tables_at_most() -> None:
    rng = np.random.default_rng(0)
    edges = np.array([[0, 1], [1, 2], [3, 4], [4, 5], [0, 3], [1, 4], [2, 5]])
    cut = GraphCut([edges])
    s = cut.scores([rng.normal(size=(6, 2))], 0.5 * np.eye(2))
    for k in (1, 2, 3, 10, 64):
        found = bmmf(cut, s, k)
        assert found.calls.tolist() == [max(0, 2 * k - 3)]
        assert found.value[0, -1] > -np.inf
    assert np.isneginf(bmmf(cut, s, 65).value[0, 64])


@pytest.mark.parametrize("seed", range(6))
def test_larger_graph_cuts_agree_with_their_own_topk(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = np.array(list(itertools.combinations(range(12), 2)))
    edges = rng.permutation(pairs)[:20]
    cut = GraphCut([edges])
    s = cut.scores([rng.integers(-3, 4, (12, 2))], [rng.integers(0, 3, 20)[:, None, None] * np.eye(2)])
    check_same(cut, s, 15, cut.topk(s, 15))


def test_parts_that_are_not_labels_of_nodes_are_refused() -> None:
    spins = Enumerated([[0, 0], [0, 1], [1, 0], [1, 1]], parts=lambda y: [y[0], y[1], y[0] == y[1]])
    with pytest.raises(TypeError, match=r"Enumerated has 3 node scores for \[2, 2\] nodes and labels"):
        bmmf(spins, spins.scores([[1.0, -2.0, 0.5]]), 3)


def test_bad_arguments_are_refused() -> None:
    chain = Chain(2)
    s = chain.scores([np.zeros((2, 2))], np.zeros((2, 2)))
    with pytest.raises(ValueError, match="k=0"):
        bmmf(chain, s, 0)
    with pytest.raises(TypeError, match=r"bmmf needs Structure\.max, which object does not have"):
        bmmf(object(), s, 1)  # type: ignore[arg-type]
    assert bmmf(chain, s.select([]), 3).value.shape == (0, 3)


def test_tiny_scores_are_not_lost_beside_the_penalty() -> None:
    rng = np.random.default_rng(0)
    graph = JunctionTree([[[0, 1], [1, 2], [0, 2]]], 3)
    s = graph.scores([1e-300 * rng.normal(size=(3, 3))], [1e-300 * rng.normal(size=(3, 3, 3))])
    np.testing.assert_array_equal(bmmf(graph, s, 12).outputs[0], graph.topk(s, 12).outputs[0])
