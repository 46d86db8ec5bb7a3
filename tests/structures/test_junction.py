"""JunctionTree keeps the contract on any graph; its inputs and its memory are checked."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import casimir as cs
from casimir.scores import Scores
from casimir.structures.junction import JunctionTree
from casimir.testing import Listing, StructureContract, flatten, list_graph, random_like, rank


@st.composite
def graphs(draw: st.DrawFn, n_nodes: int) -> np.ndarray:
    """Any graph: no edges, several components, isolated nodes, cycles and cliques; edges in any order and direction."""
    pairs = list(itertools.combinations(range(n_nodes), 2))
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True) if pairs else st.just([]))
    turned = [draw(st.permutations(pair)) for pair in chosen]
    return np.array(turned, dtype=np.int64).reshape(-1, 2)


@st.composite
def labelled_graphs(draw: st.DrawFn, elements: st.SearchStrategy[float]) -> tuple[JunctionTree, Scores]:
    labels = draw(st.integers(1, 3))
    sizes = draw(st.lists(st.integers(1, 4 if labels == 3 else 5), min_size=1, max_size=3))
    edges = [draw(graphs(p)) for p in sizes]

    def array(*shape: int) -> np.ndarray:
        return draw(hnp.arrays(np.float64, shape, elements=elements))

    shared = draw(st.booleans())
    pairwise = array(labels, labels) if shared else [array(len(e), labels, labels) for e in edges]
    structure = JunctionTree(edges, labels)
    return structure, structure.scores([array(p, labels) for p in sizes], pairwise)


class TestJunctionTree(StructureContract):
    def instances(self, elements: st.SearchStrategy[float]) -> st.SearchStrategy[tuple[JunctionTree, Scores]]:
        return labelled_graphs(elements)

    def listing(self, structure: JunctionTree, s: Scores) -> list[Listing]:
        sizes = np.diff(s.offsets).tolist()
        return [list_graph(structure.n_labels, p, structure.edges(i)) for i, p in enumerate(sizes)]


def grid(height: int, width: int) -> np.ndarray:
    """int64[m, 2]: the edges of a grid whose nodes are numbered row by row."""
    number = np.arange(height * width).reshape(height, width)
    right = np.stack([number[:, :-1], number[:, 1:]], axis=-1).reshape(-1, 2)
    down = np.stack([number[:-1], number[1:]], axis=-1).reshape(-1, 2)
    return np.concatenate([right, down])


def random_scores(structure: JunctionTree, edges: list[np.ndarray], sizes: list[int], seed: int = 0) -> Scores:
    rng, labels = np.random.default_rng(seed), structure.n_labels
    unary = [rng.normal(size=(p, labels)) for p in sizes]
    return structure.scores(unary, [rng.normal(size=(len(e), labels, labels)) for e in edges])


@pytest.mark.parametrize(
    ("edges", "n_nodes", "width"),
    [
        ([], 1, 0),
        ([], 4, 0),
        ([[0, 1], [1, 2], [2, 3]], 4, 1),
        ([[3, 0], [3, 1], [3, 2], [3, 4]], 6, 1),
        ([[0, 1], [1, 2], [2, 3], [3, 0]], 4, 2),
        (list(itertools.combinations(range(6), 2)), 6, 5),
        (grid(3, 10), 30, 3),
        (grid(30, 4), 120, 4),
    ],
)
def test_min_fill_finds_the_width_of_simple_graphs(edges: object, n_nodes: int, width: int) -> None:
    structure = JunctionTree([edges], 2)
    assert structure.treewidth(structure.scores([np.zeros((n_nodes, 2))], np.zeros((2, 2)))).tolist() == [width]


@pytest.mark.parametrize("length", [1, 2, 7])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_path_is_a_chain(length: int, seed: int) -> None:
    rng, labels = np.random.default_rng(seed), 3
    unary = [rng.integers(-2, 3, (length, labels)) for _ in range(3)]
    pairwise = [rng.integers(-2, 3, (length - 1, labels, labels)) for _ in range(3)]
    path = np.stack([np.arange(length - 1), np.arange(1, length)], axis=1)
    chain, tree = cs.Chain(labels), JunctionTree([path] * 3, labels)
    a, b = chain.scores(unary, pairwise), tree.scores(unary, pairwise)
    assert_same_oracles(chain, a, tree, b)


@pytest.mark.parametrize("seed", range(4))
def test_a_tree_is_a_tree(seed: int) -> None:
    rng, labels, p = np.random.default_rng(seed), 3, 7
    place = rng.permutation(p)  # nodes in any order; two of them are roots
    parents = np.full(p, -1)
    for v in range(2, p):
        parents[place[v]] = place[rng.integers(v)]
    unary, pairwise = rng.integers(-2, 3, (p, labels)), rng.integers(-2, 3, (p, labels, labels))
    children = np.flatnonzero(parents >= 0)
    tree = cs.Tree([parents], labels)
    junction = JunctionTree([np.stack([children, parents[children]], axis=1)], labels)
    assert_same_oracles(
        tree, tree.scores([unary], [pairwise]), junction, junction.scores([unary], [pairwise[children]])
    )


def assert_same_oracles(one: object, a: Scores, two: object, b: Scores) -> None:
    """All oracles of both structures agree; scores are whole numbers, so that ties are exact."""
    np.testing.assert_array_equal(one.max(a).value, two.max(b).value)
    np.testing.assert_array_equal(one.topk(a, 20).value, two.topk(b, 20).value)
    for x, y in zip(one.topk(a, 20).outputs, two.topk(b, 20).outputs, strict=True):
        np.testing.assert_array_equal(x, y)
    for x, y in zip(one.max_marginals(a), two.max_marginals(b), strict=True):
        np.testing.assert_array_equal(x, y)
    np.testing.assert_allclose(one.expect(a, 0.8).value, two.expect(b, 0.8).value, rtol=1e-12)
    np.testing.assert_allclose(one.expect(a, 0.8).marginals.nodes, two.expect(b, 0.8).marginals.nodes, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_a_binary_submodular_grid_is_a_graph_cut(seed: int) -> None:
    rng, edges = np.random.default_rng(seed), [grid(4, 5), grid(6, 3)]
    cut, tree = cs.GraphCut(edges), JunctionTree(edges, 2)
    unary = [rng.integers(-3, 4, (20, 2)), rng.integers(-3, 4, (18, 2))]
    pairwise = [rng.integers(0, 3, (len(e), 1, 1)) * np.eye(2) for e in edges]
    a, b = cut.scores(unary, pairwise), tree.scores(unary, pairwise)
    np.testing.assert_array_equal(cut.max(a).value, tree.max(b).value)
    for x, y in zip(cut.max(a).outputs, tree.max(b).outputs, strict=True):
        np.testing.assert_array_equal(x, y)
    for x, y in zip(cut.max_marginals(a), tree.max_marginals(b), strict=True):
        np.testing.assert_array_equal(x, y)


@settings(max_examples=40, deadline=None)
@given(st.integers(5, 7).flatmap(graphs), st.integers(0, 2**32 - 1), st.integers(1, 60))
def test_larger_graphs_with_many_ties_are_brute_force(edges: np.ndarray, seed: int, k: int) -> None:
    rng, structure = np.random.default_rng(seed), JunctionTree([edges], 2)
    s = structure.scores([rng.integers(0, 2, (7, 2))], [rng.integers(0, 2, (len(edges), 2, 2))])
    r, top, best = rank(list_graph(2, 7, edges), s, 0), structure.topk(s, k), structure.max(s)
    np.testing.assert_array_equal(best.outputs[0], r.outputs[0])
    np.testing.assert_array_equal(top.outputs[0], r.outputs[:k])
    np.testing.assert_array_equal(top.value[0], r.z[:k])


def test_equal_scores_give_the_lexicographically_first_outputs_without_listing_all() -> None:
    structure = JunctionTree([grid(10, 3), grid(3, 10), np.zeros((0, 2), dtype=int)], 3)
    top = structure.topk(structure.scores([np.zeros((30, 3))] * 3, np.zeros((3, 3))), 10)
    expected = np.zeros((10, 30), dtype=np.int64)
    expected[:, -3:] = list(itertools.product(range(3), repeat=3))[:10]
    for outputs in top.outputs:
        np.testing.assert_array_equal(outputs, expected)
    assert np.all(top.value == 0.0)


def test_ties_below_the_best_score_are_sorted_too() -> None:
    """One best output, then exponentially many of the same score."""
    structure = JunctionTree([grid(3, 8)], 2)
    unary = np.zeros((24, 2))
    unary[:, 1] = 1.0
    top = structure.topk(structure.scores([unary], np.zeros((2, 2))), 30)
    assert top.value[0].tolist() == [24.0] + [23.0] * 24 + [22.0] * 5
    np.testing.assert_array_equal(top.outputs[0][1:25], 1 - np.eye(24, dtype=np.int64))
    zeros = [np.flatnonzero(y == 0).tolist() for y in top.outputs[0][25:]]
    assert zeros == [[0, 1], [0, 2], [0, 3], [0, 4], [0, 5]]


def test_fractions_that_sum_to_the_same_score_are_ties() -> None:
    """0.1 + 0.2 is 0.3, in whatever order floating point adds them up."""
    structure = JunctionTree([[]], 2)
    s = structure.scores([[[0.3, 0.0], [0.0, 0.1], [0.0, 0.2], [5.0, 0.0]]], np.zeros((2, 2)))
    top = structure.topk(s, 8)
    np.testing.assert_array_equal(top.outputs[0][4 - 1 : 4 + 1], [[0, 0, 0, 0], [1, 1, 1, 0]])


@pytest.mark.parametrize(("height", "width", "labels"), [(4, 200, 4), (100, 3, 5), (9, 9, 2)])
def test_large_grids_agree_with_themselves(height: int, width: int, labels: int) -> None:
    edges, size = grid(height, width), height * width
    structure = JunctionTree([edges], labels)
    s = random_scores(structure, [edges], [size])
    best, top, soft = structure.max(s), structure.topk(s, 20), structure.expect(s, 0.7)
    np.testing.assert_allclose(structure.score_of(s, best.outputs), best.value, rtol=1e-12)
    for k in range(20):
        np.testing.assert_allclose(structure.score_of(s, [top.outputs[0][k]])[0], top.value[0, k], rtol=1e-12)
    assert np.all(np.diff(top.value) <= 0.0)
    assert len(np.unique(top.outputs[0], axis=0)) == 20
    np.testing.assert_array_equal(top.outputs[0][0], best.outputs[0])
    tables = structure.max_marginals(s)[0]
    np.testing.assert_allclose(tables.max(axis=1), best.value[0], rtol=1e-12)
    np.testing.assert_array_equal(tables.argmax(axis=1), best.outputs[0])
    second = top.value[0, 1]  # the second best output differs somewhere
    assert np.sort(tables, axis=1)[:, -2].max() == second
    np.testing.assert_allclose(soft.marginals.nodes.sum(axis=1), 1.0, rtol=1e-9)
    np.testing.assert_allclose(soft.marginals.pairwise(0).sum(axis=2), soft.marginals.nodes[edges[:, 0]], atol=1e-9)
    np.testing.assert_allclose(soft.marginals.pairwise(0).sum(axis=1), soft.marginals.nodes[edges[:, 1]], atol=1e-9)
    step, h = random_like(s, np.random.default_rng(1)), 1e-5
    slope = (structure.expect(s + step * h, 0.7).value - structure.expect(s - step * h, 0.7).value) / (2 * h)
    np.testing.assert_allclose(slope, step.dot(soft.marginals), rtol=1e-5)


def test_entropy_survives_huge_scores_on_a_grid() -> None:
    structure = JunctionTree([grid(5, 5)], 2)
    s = random_scores(structure, [grid(5, 5)], [25]) * 1e6
    soft, best = structure.expect(s, 1e-3), structure.max(s)
    np.testing.assert_allclose(soft.value, best.value, rtol=1e-12)
    np.testing.assert_array_equal(soft.marginals.nodes.argmax(axis=1), best.outputs[0])


def test_tables_that_exceed_the_memory_limit_say_what_to_try() -> None:
    edges = [np.zeros((0, 2), dtype=int), grid(30, 30)]
    structure = JunctionTree(edges, 2)
    s = structure.scores([np.zeros((3, 2)), np.zeros((900, 2))], np.zeros((2, 2)))
    message = r"Example 1 has a treewidth of [34]\d in .* 2 labels .* bytes, .*GraphCut.*fewer labels.*memory_limit"
    for call in (structure.max, structure.max_marginals, structure.treewidth, lambda s: structure.topk(s, 2)):
        with pytest.raises(ValueError, match=message):
            call(s)
    assert structure.score_of(s, [np.zeros(3, dtype=int), np.zeros(900, dtype=int)]).tolist() == [0.0, 0.0]
    assert structure.select([0]).max(s.select([0])).value.tolist() == [0.0]


def test_dense_graphs_are_given_up_early() -> None:
    structure = JunctionTree([list(itertools.combinations(range(150), 2))], 3)
    with pytest.raises(ValueError, match=r"treewidth of 149 or more .* bytes or more"):
        structure.max(structure.scores([np.zeros((150, 3))], np.zeros((3, 3))))


def test_the_memory_limit_can_be_changed() -> None:
    edges = [grid(4, 4)]
    for limit, fits in ((1e3, False), (1e6, True)):
        structure = JunctionTree(edges, 2, memory_limit=limit)
        s = structure.scores([np.zeros((16, 2))], np.zeros((2, 2)))
        if fits:
            assert structure.max(s).value.tolist() == [0.0]
        else:
            with pytest.raises(ValueError, match=r"memory_limit is 1e\+03"):
                structure.max(s)


def test_one_structure_serves_scores_of_more_nodes() -> None:
    """Isolated nodes are known from the scores alone."""
    structure = JunctionTree([[[0, 1]]], 2)
    for p in (2, 5, 2):
        s = structure.scores([np.ones((p, 2))], np.eye(2))
        assert structure.max(s).value.tolist() == [p + 1.0]
        assert structure.log_n_outputs(s)[0] == pytest.approx(p * np.log(2))


def test_pickled_structures_and_repeated_examples_work() -> None:
    edges = [grid(2, 3), [[0, 1]]]
    structure = JunctionTree(edges, 2, memory_limit=1e6)
    s = random_scores(structure, edges, [6, 2])
    again = pickle.loads(pickle.dumps(structure))
    assert again.memory_limit == 1e6
    np.testing.assert_array_equal(again.max(s).value, structure.max(s).value)
    rows = [1, 0, 1]
    np.testing.assert_array_equal(structure.select(rows).max(s.select(rows)).value, structure.max(s).value[rows])


def test_scores_without_edges_count_them_as_zero() -> None:
    structure = JunctionTree([grid(2, 2)], 2)
    s = structure.scores([[[1, 2], [4, 3], [0, 0], [1, 0]]], np.zeros((2, 2)))
    none = Scores(s.nodes, s.offsets)
    assert structure.max(none).value == structure.max(s).value
    np.testing.assert_array_equal(
        flatten(structure.expect(none, 1.0).marginals, 0), flatten(structure.expect(s, 1.0).marginals, 0)
    )


def test_a_model_on_a_grid_is_trained_to_a_certified_gap() -> None:
    rng, edges = np.random.default_rng(0), [grid(3, 3)] * 12
    structure = JunctionTree(edges, 2)
    # Two features per node with weights of their own per label, and one weight for equal neighbours.
    nodes = [np.pad(np.kron(rng.normal(size=(9, 2)), np.eye(2)), ((0, 0), (0, 1))) for _ in edges]
    pairs = [np.pad(np.tile(np.eye(2).reshape(-1, 1), (len(e), 1)), ((0, 0), (4, 0))) for e in edges]
    model = cs.LinearPartsModel(nodes, pairs, n_labels=2)
    truth = structure.max(model.scores(rng.normal(size=model.n_params))).outputs
    objective = cs.Objective(model, structure, cs.Hamming(), truth, 1e-2)
    result = cs.minimize(objective, cs.DualProximal(), tol=1e-2)
    assert result.converged
    found = structure.max(model.scores(result.w)).outputs
    assert np.mean([np.mean(a == b) for a, b in zip(found, truth, strict=True)]) > 0.9


UNARY = [np.zeros((3, 2)), np.zeros((1, 2))]
EDGES = [[[0, 1], [1, 2]], []]


@pytest.mark.parametrize(
    ("edges", "unary", "pairwise", "message"),
    [
        (EDGES, UNARY, np.zeros((3, 3)), r"pairwise has shape \[3, 3\]; 2 labels need \[2, 2\]"),
        (EDGES, UNARY, [np.zeros((1, 2, 2)), []], r"pairwise\[0\] has shape \[1, 2, 2\]; .* must be \[2, 2, 2\]"),
        (EDGES, UNARY, [np.zeros((2, 2, 2))], "pairwise has 1 entries for 2 examples"),
        (EDGES, UNARY, [np.full((2, 2, 2), np.inf), []], r"pairwise\[0\] has inf"),
        (EDGES, UNARY, [[0.0, np.nan], [0, 0]], "pairwise has nan"),
        (EDGES, [np.zeros((3, 2))], np.zeros((2, 2)), "made for 2 examples and got scores of 1"),
        (EDGES, [np.zeros((3, 3)), np.zeros((1, 3))], np.zeros((2, 2)), r"unary\[0\] has shape \[3, 3\]"),
        (EDGES, [np.zeros((2, 2)), np.zeros((1, 2))], np.zeros((2, 2)), r"Edge \[1, 2\] of example 0 names a node"),
        ([[[0, 0]]], [np.zeros((1, 2))], np.zeros((2, 2)), "joins node 0 to itself"),
        ([[[0, 1], [1, 0]]], [np.zeros((2, 2))], np.zeros((2, 2)), "more than once"),
        ([[[0, -1]]], [np.zeros((2, 2))], np.zeros((2, 2)), "counted from 0"),
        ([[0, 1]], [np.zeros((2, 2))], np.zeros((2, 2)), r"it must be \[m, 2\]"),
    ],
)
def test_bad_input_names_the_example_and_the_remedy(
    edges: object, unary: object, pairwise: object, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        JunctionTree(edges, 2).scores(unary, pairwise)


@pytest.mark.parametrize(("options", "message"), [({"n_labels": 0}, "n_labels"), ({"memory_limit": 0}, "memory_limit")])
def test_bad_options_are_refused(options: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        JunctionTree(EDGES, **({"n_labels": 2} | options))


def test_scores_whose_sum_is_infinite_are_refused() -> None:
    structure = JunctionTree([[[0, 1]]], 2)
    with pytest.raises(ValueError, match="sum is infinite"):
        structure.max(structure.scores([np.full((2, 2), 1e308)], np.zeros((2, 2))))


def test_tiny_scores_keep_their_order() -> None:
    structure = JunctionTree([[[0, 1]]], 2)
    s = structure.scores([[[0.0, 5e-324], [5e-324, 0.0]]], np.zeros((2, 2)))
    assert structure.max(s).outputs[0].tolist() == [1, 0]
    assert structure.max(s).value.tolist() == [1e-323]


@pytest.mark.parametrize("examples", [slice(None, None, -1), slice(0, None, 2), np.array([True, False, True])])
def test_sub_batches_are_taken_by_slices_and_masks(examples: slice | np.ndarray) -> None:
    graphs = JunctionTree([[[0, 1]], [[1, 2], [0, 2]], []], 2)
    s = random_like(graphs.scores([np.zeros((3, 2))] * 3, np.zeros((2, 2))), np.random.default_rng(0))
    part = graphs.select(examples).max(s.select(examples))
    np.testing.assert_array_equal(part.value, graphs.max(s).value[examples])


def test_forbidden_parts_do_not_blur_close_scores() -> None:
    """As on a chain, where they do not either."""
    rng = np.random.default_rng(0)
    p, labels = 60, 3
    unary, pairwise = rng.normal(size=(p, labels)), rng.normal(size=(p - 1, labels, labels))
    unary[:, 1:][rng.random((p, labels - 1)) < 0.4] -= 1e12
    pairwise[::7, 0, 1] -= 1e12
    chain, graph = cs.Chain(labels), JunctionTree([np.stack([np.arange(p - 1), np.arange(1, p)], axis=1)], labels)
    s, t = chain.scores([unary], [pairwise]), graph.scores([unary], [pairwise])
    expected, top = chain.topk(s, 50), graph.topk(t, 50)
    np.testing.assert_array_equal(top.outputs[0], expected.outputs[0])
    np.testing.assert_allclose(top.value, expected.value, rtol=0, atol=1e-9)
    np.testing.assert_allclose(graph.max(t).value, expected.value[:, 0], rtol=0, atol=1e-9)
    tables, table = chain.max_marginals(s)[0], graph.max_marginals(t)[0]
    np.testing.assert_allclose(table[tables > -1e6], tables[tables > -1e6], rtol=0, atol=1e-9)
    np.testing.assert_allclose(table, tables, rtol=1e-11)


def test_outputs_with_forbidden_parts_come_last() -> None:
    graph = JunctionTree([[[0, 1], [1, 2], [0, 2]]], 2)
    unary = np.array([[0.0, 1.0], [-1e9, 0.25], [0.5, -1e9]])
    s = graph.scores([unary], [[0.0, 0.125], [0.0, 0.0]])
    expected = rank(list_graph(2, 3, graph.edges(0)), s, 0)
    top = graph.topk(s, 9)
    np.testing.assert_array_equal(top.outputs[0], expected.outputs)
    np.testing.assert_allclose(top.value[0, :8], expected.z, rtol=1e-14)
