"""Chain keeps the contract; its inputs are checked."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from casimir.scores import Scores
from casimir.structures.base import indicator
from casimir.structures.chain import Chain
from casimir.testing import Listing, StructureContract, flatten, list_chain, rank


@st.composite
def chains(draw: st.DrawFn, elements: st.SearchStrategy[float]) -> tuple[Chain, Scores]:
    labels = draw(st.integers(1, 3))
    lengths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))

    def array(*shape: int) -> np.ndarray:
        return draw(hnp.arrays(np.float64, shape, elements=elements))

    shared = draw(st.booleans())
    pairwise = array(labels, labels) if shared else [array(p - 1, labels, labels) for p in lengths]
    chain = Chain(labels)
    return chain, chain.scores([array(p, labels) for p in lengths], pairwise)


class TestChain(StructureContract):
    def instances(self, elements: st.SearchStrategy[float]) -> st.SearchStrategy[tuple[Chain, Scores]]:
        return chains(elements)

    def listing(self, structure: Chain, s: Scores) -> list[Listing]:
        return [list_chain(structure.n_labels, int(p)) for p in np.diff(s.offsets)]


CHAIN = Chain(n_labels=2)
UNARY = [np.zeros((3, 2)), np.zeros((1, 2))]
PAIRWISE = np.zeros((2, 2))


def test_the_best_sequence_of_a_small_chain() -> None:
    s = CHAIN.scores([[[1, 0], [0, 3], [2, 0]]], [[0.5, -4], [0, 0]])
    best = CHAIN.max(s)
    assert best.value.tolist() == [5.0]
    assert best.outputs[0].tolist() == [1, 1, 0]


def test_all_ties_go_to_the_lexicographically_smallest_outputs() -> None:
    top = CHAIN.topk(CHAIN.scores(UNARY, PAIRWISE), 5)
    assert top.outputs[0].tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1], [1, 0, 0]]
    assert top.outputs[1].tolist() == [[0], [1]]
    assert top.value[1].tolist() == [0, 0, -np.inf, -np.inf, -np.inf]


def test_one_label_has_one_output() -> None:
    chain = Chain(1)
    s = chain.scores([np.ones((4, 1))], [[2.0]])
    assert chain.topk(s, 3).value.tolist() == [[10.0, -np.inf, -np.inf]]
    assert chain.expect(s, 0.1).value[0] == pytest.approx(10.0)
    assert chain.log_n_outputs(s).tolist() == [0.0]


def test_lists_and_narrow_dtypes_are_converted() -> None:
    a = CHAIN.scores([np.ones((2, 2), dtype=np.float32)], np.eye(2, dtype=np.int8))
    b = CHAIN.scores([[[1, 1], [1, 1]]], [[[[1, 0], [0, 1]]]])
    c = CHAIN.scores(np.ones((1, 2, 2)), np.asfortranarray(np.eye(2)))
    for s in (a, b, c):
        assert CHAIN.max(s).value.tolist() == [3.0]


def test_single_tokens_need_no_edges() -> None:
    for pairwise in ([np.zeros((0, 2, 2))], [[]]):
        s = CHAIN.scores([[[1, 2]]], pairwise)
        assert CHAIN.max(s).outputs[0].tolist() == [1]


def test_scores_without_edges_count_them_as_zero() -> None:
    s = CHAIN.scores([[[1, 2], [4, 3]]], PAIRWISE)
    no_edges = Scores(s.nodes, s.offsets)
    assert CHAIN.max(no_edges).value == CHAIN.max(s).value
    assert CHAIN.score_of(no_edges, [np.array([1, 0])]).tolist() == [6.0]


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("allowed", [None, [[True, True], [False, True]]])
def test_the_soft_loss_is_expect_minus_the_score_and_its_gradient(shared: bool, allowed: object) -> None:
    rng, chain = np.random.default_rng(0), Chain(2, allowed)
    pairwise = rng.normal(size=(2, 2)) if shared else [rng.normal(size=(p - 1, 2, 2)) for p in (4, 1, 3)]
    s = chain.scores([rng.normal(size=(p, 2)) for p in (4, 1, 3)], pairwise)
    y = [np.array([0, 0, 1, 1]), np.array([1]), np.array([0, 1, 1])]
    losses, gradient = chain.soft_loss(s, np.concatenate(y), 0.7)
    soft, truth = chain.expect(s, 0.7), indicator(chain, s, y)
    np.testing.assert_allclose(losses, soft.value - chain.score_of(s, y), atol=1e-12)
    wanted = soft.marginals - truth
    edges = [wanted.pairwise(i) for i in range(3)]
    if not shared:
        np.testing.assert_allclose(gradient.nodes, wanted.nodes, atol=1e-12)
        np.testing.assert_allclose(gradient.edges, np.concatenate(edges), atol=1e-12)
        return
    np.testing.assert_allclose(gradient.nodes.nodes, wanted.nodes, atol=1e-12)
    summed, weights = np.stack([part.sum(axis=0) for part in edges]), rng.normal(size=3)
    np.testing.assert_allclose(gradient.pairs.weighted(weights), np.tensordot(weights, summed, 1), atol=1e-12)


def test_long_chains_keep_their_precision() -> None:
    rng = np.random.default_rng(0)
    chain = Chain(5)
    s = chain.scores([rng.normal(size=(5000, 5))], rng.normal(size=(5, 5)))
    best, soft = chain.max(s), chain.expect(s, 1.0)
    assert chain.score_of(s, best.outputs) == pytest.approx(best.value, rel=1e-12)
    np.testing.assert_allclose(soft.marginals.nodes.sum(axis=1), 1.0, rtol=1e-9)
    np.testing.assert_allclose(soft.marginals.pairwise(0).sum(axis=2), soft.marginals.unary(0)[:-1], atol=1e-9)
    assert max(map(np.max, chain.max_marginals(s))) == pytest.approx(best.value[0], rel=1e-12)


@pytest.mark.parametrize("labels", [4, 5, 8, 9, 16, 17])
@pytest.mark.parametrize("shared", [True, False])
def test_any_number_of_labels_is_brute_force(labels: int, shared: bool) -> None:
    """Rows of labels are padded to the vector width; padding must never win."""
    rng, chain, listing = np.random.default_rng(labels), Chain(labels), list_chain(labels, 3)
    unary = [rng.integers(-9, -5, (3, labels)) for _ in range(2)]
    s = chain.scores(unary, rng.integers(-9, -5, (labels, labels) if shared else (2, 2, labels, labels)))
    best, top, soft, table = chain.max(s), chain.topk(s, 20), chain.expect(s, 0.7), chain.max_marginals(s)
    for i in range(2):
        r = rank(listing, s, i)
        assert best.value[i] == r.z[0]
        np.testing.assert_array_equal(best.outputs[i], r.outputs[0])
        np.testing.assert_array_equal(top.value[i], r.z[:20])
        np.testing.assert_array_equal(top.outputs[i], r.outputs[:20])
        p = np.exp((r.z - r.z[0]) / 0.7)
        assert soft.value[i] == pytest.approx(r.z[0] + 0.7 * np.log(p.sum()), abs=1e-10)
        np.testing.assert_allclose(flatten(soft.marginals, i), p / p.sum() @ r.parts, atol=1e-10)
        assert table[i][1, labels - 1] == r.z[r.outputs[:, 1] == labels - 1].max()


@pytest.mark.parametrize(
    ("unary", "pairwise", "message"),
    [
        ([[[0, np.nan]]], PAIRWISE, r"unary\[0\] has nan at index \[0, 1\]; scores must be finite"),
        ([[[0, 0]], [[0, 0], [-np.inf, 0]]], PAIRWISE, r"unary\[1\] has -inf at index \[1, 0\].*large negative"),
        ([np.zeros((2, 3))], PAIRWISE, r"unary\[0\] has shape \[2, 3\]; it must be \[p, 2\]"),
        ([[[0, 0]], np.zeros((0, 2))], PAIRWISE, r"unary\[1\] is empty"),
        (np.zeros((3, 2)), PAIRWISE, r"For a single example pass \[unary\]"),
        ([[[0, 0], [1]]], PAIRWISE, r"unary\[0\] is ragged"),
        (UNARY, np.zeros((3, 3)), r"pairwise has shape \[3, 3\]; 2 labels need \[2, 2\]"),
        (UNARY, [[0, np.inf], [0, 0]], r"pairwise has inf at index \[0, 1\]"),
        (UNARY, [np.zeros((2, 2, 2))], "pairwise has 1 entries for 2 examples"),
        (
            UNARY,
            np.zeros((2, 2, 2)),
            r"pairwise\[0\] has shape \[2, 2\]; example 0 has 2 edges, so it must be \[2, 2, 2\]",
        ),
        (UNARY, [np.full((2, 2, 2), np.nan), []], r"pairwise\[0\] has nan"),
    ],
)
def test_bad_scores_name_the_example_and_the_remedy(unary: object, pairwise: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CHAIN.scores(unary, pairwise)


@pytest.mark.parametrize("unary", [5, "ab", {"a": 1}, np.float64(1.0), [[["a", "b"]]], [np.zeros((1, 2)) * 1j]])
def test_things_that_are_not_numbers_are_type_errors(unary: object) -> None:
    with pytest.raises(TypeError, match="unary"):
        CHAIN.scores(unary, PAIRWISE)


@pytest.mark.parametrize("n_labels", [0, -3, True])
def test_at_least_one_label_is_needed(n_labels: int) -> None:
    with pytest.raises(ValueError, match="n_labels"):
        Chain(n_labels)


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ([[0, 0, 0]], "1 entries for 2 examples"),
        ([[0, 0], [0]], r"outputs\[0\] has shape \[2\]; example 0 needs \[3\]"),
        ([[0, 0, 0], [2]], r"outputs\[1\] holds 2; example 1 has the labels 0 to 1"),
        ([[0, -1, 0], [1]], r"outputs\[0\] holds -1"),
    ],
)
def test_bad_outputs_name_the_example(outputs: list[list[int]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CHAIN.score_of(CHAIN.scores(UNARY, PAIRWISE), [np.array(y) for y in outputs])


def test_scores_of_another_structure_are_refused() -> None:
    other = Chain(3)
    with pytest.raises(ValueError, match=r"nodes \[1, 3\]; it reads \[N, 2\]"):
        CHAIN.max(other.scores([np.zeros((1, 3))], np.zeros((3, 3))))
    with pytest.raises(TypeError, match=r"reads Scores. Make them with Chain.scores"):
        CHAIN.max(np.zeros((3, 2)))  # type: ignore[arg-type]


def test_scores_lost_to_rounding_keep_topk_prefix_stable() -> None:
    """1 - 1e-305 is 1: outputs tie although one of them loses more."""
    chain = Chain(n_labels=3)
    s = chain.scores([[[1.0, 0.0, 0.0], [-1e-305, 0.0, 0.0], [0.0, 0.0, 0.0]]], np.zeros((3, 3)))
    outputs = chain.topk(s, 27).outputs[0]
    for k in range(1, 27):
        np.testing.assert_array_equal(chain.topk(s, k).outputs[0], outputs[:k])


def count_by_score(unary: np.ndarray, pairs: np.ndarray) -> Counter[int]:
    """How many outputs have each score, by dynamic programming; scores are integers."""
    ends = [Counter({int(u): 1}) for u in unary[0]]  # by the last label
    for row in unary[1:]:
        following = [Counter[int]() for _ in row]
        for (y, label), pair in np.ndenumerate(pairs):
            for score, count in ends[y].items():
                following[label][score + int(pair + row[label])] += count
        ends = following
    return sum(ends, Counter())


def test_thousands_of_tied_outputs_come_in_order() -> None:
    """Too many to list: none is missing above the last score, ties rise lexicographically, fewer are a prefix."""
    rng = np.random.default_rng(0)
    unary, pairs = rng.integers(0, 5, size=(25, 4)), rng.integers(0, 5, size=(4, 4))
    chain = Chain(4)
    s = chain.scores([unary], pairs)
    top = chain.topk(s, 2000)
    value, y = top.value[0], top.outputs[0]
    np.testing.assert_array_equal(unary[np.arange(25), y].sum(1) + pairs[y[:, :-1], y[:, 1:]].sum(1), value)
    keys = [(-score, *labels) for score, labels in zip(value.tolist(), y.tolist(), strict=True)]
    assert all(before < after for before, after in itertools.pairwise(keys))
    counts = count_by_score(unary, pairs)
    assert len(set(value)) > 2
    for score in set(value) - {value[-1]}:
        assert np.count_nonzero(value == score) == counts[int(score)]
    for k in (1, 2, 5, 37, 500):
        np.testing.assert_array_equal(chain.topk(s, k).outputs[0], y[:k])
