"""GraphCut keeps the contract; its flows are those of SciPy; its inputs are checked."""

from __future__ import annotations

import itertools
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import coo_array
from scipy.sparse.csgraph import maximum_flow

from casimir import DualProximal, Hamming, LinearPartsModel, Objective, Ridge, minimize
from casimir.errors import Intractable
from casimir.scores import Scores
from casimir.structures.graph_cut import GraphCut
from casimir.testing import Listing, StructureContract, list_graph, random_like, rank

EQUAL = np.array([[1.0, 0.0], [0.0, 1.0]])


def submodular(pairs: np.ndarray) -> np.ndarray:
    """Raises score(0, 0) by what a pair lacks; whole scores stay whole."""
    pairs = pairs.copy()
    pairs[..., 0, 0] = np.maximum(pairs[..., 0, 0], pairs[..., 0, 1] + pairs[..., 1, 0] - pairs[..., 1, 1])
    return pairs


@st.composite
def graphs(draw: st.DrawFn, elements: st.SearchStrategy[float]) -> tuple[GraphCut, Scores]:
    """Any graph of up to four nodes, also without edges, also disconnected; edges in either direction."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    edges = []
    for p in sizes:
        pairs = [(u, v) for u in range(p) for v in range(p) if u != v]
        unordered = st.lists(st.sampled_from(pairs), unique_by=lambda e: (min(e), max(e))) if pairs else st.just([])
        edges.append(np.array(draw(unordered), dtype=np.int64).reshape(-1, 2))

    def array(*shape: int) -> np.ndarray:
        return draw(hnp.arrays(np.float64, shape, elements=elements))

    cut = GraphCut(edges)
    return cut, cut.scores([array(p, 2) for p in sizes], [submodular(array(len(e), 2, 2)) for e in edges])


class TestGraphCut(StructureContract):
    oracles: ClassVar[frozenset[str]] = frozenset({"max", "topk", "max_marginals"})

    def instances(self, elements: st.SearchStrategy[float]) -> st.SearchStrategy[tuple[GraphCut, Scores]]:
        return graphs(elements)

    def listing(self, structure: GraphCut, s: Scores) -> list[Listing]:
        return [list_graph(2, int(p), structure.edges(i)) for i, p in enumerate(np.diff(s.offsets))]

    def step(self, structure: GraphCut, s: Scores, rng: np.random.Generator) -> Scores:
        """Any direction for nodes; pairs keep what they have beyond submodularity, or gain where they have some."""
        step = random_like(s, rng)
        assert s.edges is not None
        assert step.edges is not None

        def spare(pairs: np.ndarray) -> np.ndarray:
            return pairs[:, 0, 0] + pairs[:, 1, 1] - pairs[:, 0, 1] - pairs[:, 1, 0]

        gain = np.where(spare(s.edges) > 1e-3, rng.random(len(s.edges)), 0.0)
        edges = step.edges + (gain - spare(step.edges) / 2)[:, None, None] * np.eye(2)
        return Scores(step.nodes, step.offsets, edges, step.edge_offsets)


def random_graph(rng: np.random.Generator, p: int, m: int) -> np.ndarray:
    """int64[<= m, 2]: distinct edges in random directions."""
    pairs = np.array(list(itertools.combinations(range(p), 2)), dtype=np.int64).reshape(-1, 2)
    chosen = rng.permutation(pairs)[:m]
    return np.where(rng.random((len(chosen), 1)) < 0.5, chosen, chosen[:, ::-1])


def grid(height: int, width: int) -> np.ndarray:
    cell = np.arange(height * width).reshape(height, width)
    across = np.stack([cell[:, :-1].ravel(), cell[:, 1:].ravel()], axis=1)
    return np.concatenate([across, np.stack([cell[:-1].ravel(), cell[1:].ravel()], axis=1)])


@pytest.mark.parametrize("seed", range(40))
def test_dense_graphs_with_ties_are_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = int(rng.integers(5, 10))
    edges, scale = random_graph(rng, p, int(rng.integers(0, 30))), int(rng.integers(1, 5))
    cut = GraphCut([edges])
    unary = rng.integers(-2 * scale, 2 * scale + 1, (p, 2)) * (seed % 5 > 0)
    s = cut.scores([unary], [submodular(rng.integers(-scale, scale + 1, (len(edges), 2, 2)).astype(float))])
    r, best, table, top = rank(list_graph(2, p, edges), s, 0), cut.max(s), cut.max_marginals(s)[0], cut.topk(s, 60)
    assert best.value[0] == r.z[0]
    np.testing.assert_array_equal(best.outputs[0], r.outputs[0])
    np.testing.assert_array_equal(top.value[0][: len(r.z)], r.z[:60])
    np.testing.assert_array_equal(top.outputs[0], r.outputs[:60])
    for v, j in np.ndindex(table.shape):
        assert table[v, j] == r.z[r.outputs[:, v] == j].max()


def maximum_of(gain: np.ndarray, edges: np.ndarray, there: np.ndarray, back: np.ndarray) -> float:
    """max_y sum_v gain_v y_v - sum_(u, v) (there [y_u > y_v] + back [y_u < y_v]), by SciPy's flow; source = label 1."""
    p = len(gain)
    node = np.arange(p)
    tails = np.concatenate([edges[:, 0], edges[:, 1], np.full(p, p), node]).astype(np.int32)
    heads = np.concatenate([edges[:, 1], edges[:, 0], node, np.full(p, p + 1)]).astype(np.int32)
    capacity = np.concatenate([there, back, np.maximum(gain, 0), np.maximum(-gain, 0)]).astype(np.int32)
    flow = maximum_flow(coo_array((capacity, (tails, heads)), shape=(p + 2, p + 2)).tocsr(), p, p + 1)
    return float(np.maximum(gain, 0).sum() - flow.flow_value)


def scores_of(cut: GraphCut, gain: np.ndarray, there: np.ndarray, back: np.ndarray) -> Scores:
    pairs = np.zeros((len(there), 2, 2))
    pairs[:, 1, 0], pairs[:, 0, 1] = -there, -back
    return cut.scores([np.stack([np.zeros(len(gain)), gain], axis=1)], [pairs])


@pytest.mark.parametrize(("p", "m"), [(2, 1), (20, 60), (60, 1700), (150, 300), (300, 900)])
def test_flows_are_those_of_scipy_also_after_changes(p: int, m: int) -> None:
    rng = np.random.default_rng(p)
    edges = random_graph(rng, p, m)
    cut = GraphCut([edges])
    gain, there, back = rng.integers(-30, 31, p), rng.integers(0, 20, len(edges)), rng.integers(0, 20, len(edges))
    s = scores_of(cut, gain, there, back)
    best, table = cut.max(s), cut.max_marginals(s)[0]
    assert best.value[0] == maximum_of(gain, edges, there, back)
    assert cut.score_of(s, best.outputs)[0] == best.value[0]
    for v in rng.permutation(p)[:8]:
        for j in (0, 1):
            far = 10**6
            forced = gain.copy()
            forced[v] = far if j else -far
            expected = maximum_of(forced, edges, there, back) - (far - gain[v] if j else 0)
            assert table[v, j] == expected


def test_grids_of_real_scores_keep_their_precision() -> None:
    rng = np.random.default_rng(0)
    edges = grid(40, 50)
    cut = GraphCut([edges])
    unary, pairs = rng.normal(size=(2000, 2)), -2.0 * rng.random(len(edges))[:, None, None] * (1 - np.eye(2))
    s = cut.scores([unary], [pairs])
    best, table = cut.max(s), cut.max_marginals(s)[0]
    assert cut.score_of(s, best.outputs) == pytest.approx(best.value, rel=1e-12)
    np.testing.assert_array_equal(table[np.arange(2000), best.outputs[0]], np.full(2000, best.value[0]))
    for v in (0, 77, 1999):
        j = 1 - best.outputs[0][v]
        forced = unary.copy()
        forced[v, 1 - j] -= 1e4
        assert cut.max(cut.scores([forced], [pairs])).value[0] == pytest.approx(table[v, j], rel=1e-12)


def test_the_lowest_of_many_maximisers_is_taken() -> None:
    edges = grid(5, 6)
    cut = GraphCut([edges])
    s = cut.scores([np.zeros((30, 2))], EQUAL)
    assert cut.max(s).outputs[0].sum() == 0
    np.testing.assert_array_equal(cut.max_marginals(s)[0], np.full((30, 2), len(edges)))


def test_all_outputs_tie_when_all_scores_are_equal() -> None:
    cut = GraphCut([grid(15, 15)])
    top = cut.topk(cut.scores([np.ones((225, 2))], np.zeros((2, 2))), 10)
    assert np.all(top.value == 225.0)
    assert not top.outputs[0][:, :-4].any()
    assert (top.outputs[0] @ 2 ** np.arange(225, dtype=object)[::-1]).tolist() == list(range(10))


def test_topk_of_a_grid_is_sorted_distinct_and_prefix_stable() -> None:
    rng = np.random.default_rng(1)
    edges = grid(12, 12)
    cut = GraphCut([edges])
    s = cut.scores([rng.normal(size=(144, 2))], [-2.0 * rng.random(len(edges))[:, None, None] * (1 - np.eye(2))])
    top, table = cut.topk(s, 40), cut.max_marginals(s)[0]
    assert len(np.unique(top.outputs[0], axis=0)) == 40
    assert np.all(np.diff(top.value[0]) <= 0.0)
    np.testing.assert_allclose([cut.score_of(s, [y])[0] for y in top.outputs[0]], top.value[0], rtol=1e-12)
    assert top.value[0, 1] == pytest.approx(table.min(axis=1).max(), rel=1e-12)
    for k in (1, 2, 7, 39):
        fewer = cut.topk(s, k)
        np.testing.assert_array_equal(fewer.value, top.value[:, :k])
        np.testing.assert_array_equal(fewer.outputs[0], top.outputs[0][:k])
    pulled = cut.topk_until(s, 40, 0.1)
    count = len(pulled.values[0])
    assert 1 < count < 40
    np.testing.assert_array_equal(pulled.outputs[0], top.outputs[0][:count])
    assert np.sum(top.value[0, :count] - top.value[0, count]) >= 0.1


def test_a_pair_matrix_is_shared_by_all_edges() -> None:
    cut = GraphCut([[[0, 1], [1, 2]], [], [[1, 0]]])
    unary = [np.zeros((3, 2)), np.ones((1, 2)), np.zeros((2, 2))]
    one = cut.scores(unary, EQUAL)
    np.testing.assert_array_equal(one.edges, cut.scores(unary, [[EQUAL, EQUAL], [], [EQUAL]]).edges)
    assert cut.max(one).value.tolist() == [2.0, 1.0, 1.0]
    assert cut.max(cut.scores(unary, EQUAL.tolist())).value.tolist() == [2.0, 1.0, 1.0]


def test_the_order_of_the_ends_of_an_edge_matters() -> None:
    pair = [[[0, 5], [0, 5]]]  # score(y_u, 1) = 5
    for edge, best in (([0, 1], [0, 1]), ([1, 0], [1, 0])):
        cut = GraphCut([[edge]])
        assert cut.max(cut.scores([np.zeros((2, 2))], [pair])).outputs[0].tolist() == best


def test_scores_without_edges_count_them_as_zero() -> None:
    cut = GraphCut([[[0, 1]]])
    s = Scores(np.array([[1.0, 2.0], [4.0, 3.0]]), np.array([0, 2]))
    assert cut.max(s).value.tolist() == [6.0]
    assert cut.max_marginals(s)[0].tolist() == [[5.0, 6.0], [6.0, 5.0]]
    assert cut.score_of(s, [np.array([1, 1])]).tolist() == [5.0]


def test_the_partition_function_is_out_of_reach() -> None:
    cut = GraphCut([[[0, 1]]])
    with pytest.raises(Intractable, match=r"#P-complete.*L2\(\) or Hard\(\).*JunctionTree"):
        cut.expect(cut.scores([np.zeros((2, 2))], EQUAL), 1.0)


UNARY = [np.zeros((2, 2)), np.zeros((3, 2))]
EDGES = [[[0, 1]], [[0, 1], [2, 0]]]
PAIRS = [EQUAL[None], np.stack([EQUAL, EQUAL])]


@pytest.mark.parametrize(
    ("edges", "unary", "pairwise", "message"),
    [
        (
            EDGES,
            UNARY,
            [PAIRS[0], [EQUAL, -EQUAL]],
            r"edge \(2, 0\) of example 1 are not submodular.* by 2\..*JunctionTree",
        ),
        (EDGES, UNARY, [[0, 1], [0.5, 1]], r"edge \(0, 1\) of example 0 are not submodular.* by 0\.5\."),
        (EDGES, UNARY, np.zeros((3, 3)), r"pairwise has shape \[3, 3\]; 2 labels need \[2, 2\]"),
        (EDGES, UNARY, PAIRS[:1], "pairwise has 1 entries for 2 examples"),
        (EDGES, UNARY, PAIRS[::-1], r"pairwise\[0\] has shape \[2, 2, 2\];.* it must be \[1, 2, 2\]"),
        (EDGES, UNARY, [[EQUAL * np.nan], PAIRS[1]], r"pairwise\[0\] has nan"),
        (EDGES, UNARY[:1], EQUAL, "was made for 2 examples and got scores of 1"),
        (EDGES, [np.zeros((2, 3)), UNARY[1]], EQUAL, r"unary\[0\] has shape \[2, 3\]; it must be \[p, 2\]"),
        (EDGES, [UNARY[0], np.zeros((2, 2))], EQUAL, r"Edge \[2, 0\] of example 1 names a node that is not there"),
        ([[[0, 0]]], UNARY[:1], EQUAL, "joins node 0 to itself"),
        ([[[0, 1], [1, 0]]], UNARY[:1], EQUAL, r"lists the edge \[0, 1\] more than once"),
        ([[0, 1]], UNARY[:1], EQUAL, r"edges\[0\] has shape \[2\]; it must be \[m, 2\]"),
    ],
)
def test_bad_scores_name_the_example_and_the_remedy(
    edges: object, unary: object, pairwise: object, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        GraphCut(edges).scores(unary, pairwise)


def test_oracles_refuse_scores_that_are_not_submodular() -> None:
    cut = GraphCut([[[0, 1]]])
    s = Scores(np.zeros((2, 2)), np.array([0, 2]), -EQUAL[None].copy(), np.array([0, 1]))
    for oracle in (cut.max, cut.max_marginals, lambda s: cut.topk(s, 2), lambda s: cut.topk_until(s, 2, 1.0)):
        with pytest.raises(ValueError, match=r"edge \(0, 1\) of example 0 are not submodular"):
            oracle(s)
    assert cut.score_of(s, [np.array([0, 0])]).tolist() == [-1.0]


def test_rounding_is_not_held_against_a_pair() -> None:
    cut = GraphCut([[[0, 1]]])
    pair = [[[0.1 + 0.2, 0.3], [0.3, 0.3 - 1e-16]]]
    s = cut.scores([[[0.0, 1.0], [1.0, 0.0]]], [pair])
    assert cut.max(s).outputs[0].tolist() == [1, 0]
    with pytest.raises(ValueError, match="not submodular"):
        cut.scores(UNARY[:1], [[[[0.0, 1e-6], [0.0, 0.0]]]])


def test_the_core_checks_its_arrays() -> None:
    from casimir._native import core

    nodes, offsets, pairs = np.zeros((2, 2)), np.array([0, 2]), EQUAL[None].copy()
    ends, edge_offsets = np.array([[0, 1]]), np.array([0, 1])
    with pytest.raises(ValueError, match="names a node"):
        core.graph_cut_max(nodes, offsets, pairs, ends + 1, edge_offsets, 1)
    with pytest.raises(ValueError, match="offsets must rise"):
        core.graph_cut_max(nodes, offsets + 1, pairs, ends, edge_offsets, 1)
    with pytest.raises(ValueError, match="same length"):
        core.graph_cut_max(nodes, offsets, pairs[:0], ends, edge_offsets, 1)
    with pytest.raises(TypeError):
        core.graph_cut_max(nodes, offsets, pairs.astype(np.float32), ends, edge_offsets, 1)


def test_training_on_noisy_blocks() -> None:
    """One weight for what is seen and one for equal neighbours; a penalty that keeps the second one non-negative."""
    rng = np.random.default_rng(3)
    n, edges = 12, grid(4, 4)
    y = [np.kron(rng.integers(0, 2, (2, 2)), np.ones((2, 2), dtype=np.int64)).ravel() for _ in range(n)]
    seen = [np.where(rng.random(16) < 0.15, 1 - labels, labels) for labels in y]
    nodes = [np.stack([np.eye(2)[x].ravel(), np.zeros(32)], axis=1) for x in seen]
    pairs = np.tile(np.stack([np.zeros(4), np.eye(2).ravel()], axis=1), (len(edges), 1))
    cut = GraphCut([edges] * n)
    model = LinearPartsModel(nodes, [pairs] * n, n_labels=2)
    objective = Objective(model, cut, Hamming(), y, Ridge(0.01, nonnegative=np.array([False, True])))
    result = minimize(objective, DualProximal(), tol=1e-2, seed=0)
    assert result.converged
    assert result.w[1] > 0
    found = cut.max(model.scores(result.w)).outputs
    wrong = sum(int(np.sum(a != b)) for a, b in zip(found, y, strict=True))
    assert wrong < sum(int(np.sum(a != b)) for a, b in zip(seen, y, strict=True))


def test_values_do_not_rise_where_equal_sums_differ_in_the_last_bits() -> None:
    rng = np.random.default_rng(0)
    cut = GraphCut([list(itertools.combinations(range(5), 2))] * 20)
    pairs = submodular(rng.integers(-3, 4, (20, 10, 2, 2)).astype(float)) / 3.0
    value = cut.topk(cut.scores(rng.integers(-3, 4, (20, 5, 2)) / 3.0, list(pairs)), 32).value
    assert np.all(value[:, 1:] <= value[:, :-1])


@pytest.mark.parametrize("seed", range(6))
def test_of_many_outputs_below_the_best_the_first_are_found(seed: int) -> None:
    """Ties that flip nodes to 0, to 1 and several at once."""
    rng = np.random.default_rng(seed)
    edges = np.array([(0, 1), (1, 2), (3, 4), (4, 5), (0, 3), (1, 4), (2, 5), (6, 7), (7, 0)])
    cut = GraphCut([rng.permutation(8)[edges]])
    s = cut.scores([rng.integers(0, 3, (8, 2)).astype(float)], EQUAL * rng.integers(0, 2))
    expected = rank(list_graph(2, 8, cut.edges(0)), s, 0)
    np.testing.assert_array_equal(cut.topk(s, 100).outputs[0], expected.outputs[:100])
