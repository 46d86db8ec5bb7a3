"""Tree keeps the contract; on a path it is a chain; its inputs are checked."""

from __future__ import annotations

import numpy as np
import pytest
from forests import list_tree, parent_arrays, random_parents
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import casimir as cs
from casimir.scores import Scores
from casimir.structures.chain import Chain
from casimir.structures.tree import Tree
from casimir.testing import Listing, StructureContract, rank


@st.composite
def trees(draw: st.DrawFn, elements: st.SearchStrategy[float]) -> tuple[Tree, Scores]:
    labels = draw(st.integers(1, 3))
    parents = draw(st.lists(parent_arrays(4 if labels == 3 else 5), min_size=1, max_size=3))

    def array(*shape: int) -> np.ndarray:
        return draw(hnp.arrays(np.float64, shape, elements=elements))

    tree = Tree(parents, labels)
    pairwise = (
        array(labels, labels) if draw(st.booleans()) else [array(len(above), labels, labels) for above in parents]
    )
    return tree, tree.scores([array(len(above), labels) for above in parents], pairwise)


class TestTree(StructureContract):
    def instances(self, elements: st.SearchStrategy[float]) -> st.SearchStrategy[tuple[Tree, Scores]]:
        return trees(elements)

    def listing(self, structure: Tree, s: Scores) -> list[Listing]:
        return [list_tree(structure, i) for i in range(len(s))]


def random_scores(tree: Tree, rng: np.random.Generator) -> Scores:
    sizes, labels = [len(tree.parents(i)) for i in range(len(tree))], tree.n_labels
    return tree.scores(
        [rng.normal(size=(p, labels)) for p in sizes], [rng.normal(size=(p, labels, labels)) for p in sizes]
    )


PARENTS = [[1, -1, 1], [-1]]
TREE = Tree(PARENTS, 2)
UNARY = [np.zeros((3, 2)), np.zeros((1, 2))]
PAIRWISE = [np.zeros((3, 2, 2)), np.zeros((1, 2, 2))]


def test_the_best_labels_of_a_small_tree() -> None:
    """Node 1 is the root; its children 0 and 2 want to differ from it."""
    differ = np.array([[0.0, 2.0], [2.0, 0.0]])
    s = TREE.scores(
        [[[0, 0], [0, 3], [1.5, 0]], [[0, 1]]], [np.stack([differ, np.full((2, 2), 9.0), differ]), PAIRWISE[1]]
    )
    best = TREE.max(s)
    assert best.value.tolist() == [8.5, 1.0]  # the root's pairwise row is not read
    assert [y.tolist() for y in best.outputs] == [[0, 1, 0], [1]]
    assert TREE.expect(s, 1.0).marginals.pairwise(0)[1].tolist() == [[0, 0], [0, 0]]


def test_a_matrix_is_shared_by_all_edges() -> None:
    rng = np.random.default_rng(0)
    unary, shared = [rng.normal(size=(3, 2)), rng.normal(size=(1, 2))], rng.normal(size=(2, 2))
    s, own = TREE.scores(unary, shared), TREE.scores(unary, [np.stack([shared] * 3), [shared]])
    np.testing.assert_array_equal(s.edges, own.edges)
    assert TREE.scores(unary, shared.tolist()).edges.shape == (4, 2, 2)


@pytest.mark.parametrize("labels", [2, 4, 5, 9, 33])
def test_a_path_is_a_chain(labels: int) -> None:
    rng, lengths = np.random.default_rng(labels), [1, 2, 7, 30]
    unary = [rng.normal(size=(p, labels)) for p in lengths]
    pairwise = [rng.normal(size=(p - 1, labels, labels)) for p in lengths]
    chain, tree = Chain(labels), Tree([np.arange(p) - 1 for p in lengths], labels)
    a = chain.scores(unary, pairwise)
    # A chain's edge is (label, next label); a tree's is (label, label of the parent).
    rows = [np.concatenate([rng.normal(size=(1, labels, labels)), e.transpose(0, 2, 1)]) for e in pairwise]
    b = tree.scores(unary, rows)
    one, two = chain.topk(a, 25), tree.topk(b, 25)
    np.testing.assert_allclose(two.value, one.value, rtol=1e-12)
    np.testing.assert_allclose(tree.max(b).value, chain.max(a).value, rtol=1e-12)
    for mu in (0.01, 1.0):
        soft, same = chain.expect(a, mu), tree.expect(b, mu)
        np.testing.assert_allclose(same.value, soft.value, rtol=1e-12)
        np.testing.assert_allclose(same.marginals.nodes, soft.marginals.nodes, atol=1e-9)
        for i in range(len(lengths)):
            np.testing.assert_allclose(
                same.marginals.pairwise(i)[1:].transpose(0, 2, 1), soft.marginals.pairwise(i), atol=1e-9
            )
    for i in range(len(lengths)):
        np.testing.assert_array_equal(two.outputs[i], one.outputs[i])
        np.testing.assert_array_equal(tree.max(b).outputs[i], one.outputs[i][0])
        np.testing.assert_allclose(tree.max_marginals(b)[i], chain.max_marginals(a)[i], rtol=1e-9)
    np.testing.assert_allclose(tree.score_of(b, tree.max(b).outputs), chain.max(a).value, rtol=1e-12)


@pytest.mark.parametrize("labels", [4, 5, 8, 9, 16, 17])
def test_any_number_of_labels_is_brute_force(labels: int) -> None:
    """Rows of labels are cut into vectors that overlap at the end."""
    rng = np.random.default_rng(labels)
    tree = Tree([[2, 2, -1], [-1, 0, -1]], labels)
    s = tree.scores(rng.integers(-9, -5, (2, 3, labels)), rng.integers(-9, -5, (2, 3, labels, labels)))
    best, top, soft, table = tree.max(s), tree.topk(s, 20), tree.expect(s, 0.7), tree.max_marginals(s)
    for i in range(2):
        r = rank(list_tree(tree, i), s, i)
        assert best.value[i] == r.z[0]
        np.testing.assert_array_equal(best.outputs[i], r.outputs[0])
        np.testing.assert_array_equal(top.value[i], r.z[:20])
        np.testing.assert_array_equal(top.outputs[i], r.outputs[:20])
        p = np.exp((r.z - r.z[0]) / 0.7)
        assert soft.value[i] == pytest.approx(r.z[0] + 0.7 * np.log(p.sum()))
        for v, j in np.ndindex(3, labels):
            here = r.outputs[:, v] == j
            assert table[i][v, j] == r.z[here][0]
            assert soft.marginals.unary(i)[v, j] == pytest.approx(p[here].sum() / p.sum())


@pytest.mark.parametrize("seed", range(8))
def test_more_ties_than_can_be_pulled_are_listed_in_order(seed: int) -> None:
    """Scores 0 and 1 only: hundreds of outputs tie, and nodes are numbered against the order of the tree."""
    rng = np.random.default_rng(seed)
    tree = Tree([random_parents(7, rng, roots=0.2) for _ in range(4)], 3)
    high = 2 if seed % 2 else 1  # every other time all scores are equal
    s = tree.scores(
        rng.integers(0, high, (4, 7, 3)), rng.integers(0, high, (4, 7, 3, 3)) * (rng.random((4, 7, 1, 1)) < 0.3)
    )
    ranked = [rank(list_tree(tree, i), s, i) for i in range(4)]
    for k in (1, 2, 10, 60, 300):
        top = tree.topk(s, k)
        for i, r in enumerate(ranked):
            np.testing.assert_array_equal(top.value[i], r.z[:k])
            np.testing.assert_array_equal(top.outputs[i], r.outputs[:k])


def test_equal_scores_everywhere_give_the_first_outputs() -> None:
    rng = np.random.default_rng(0)
    tree = Tree([random_parents(50, rng)], 5)
    expected = np.zeros((10, 50), dtype=np.int64)
    expected[:, -1], expected[:, -2] = np.arange(10) % 5, np.arange(10) // 5
    for value in (0.0, 0.1):  # sums of 0.1 are rounded
        s = tree.scores([np.full((50, 5), value)], np.full((5, 5), value))
        top = tree.topk(s, 10)
        np.testing.assert_array_equal(top.outputs[0], expected)
        np.testing.assert_allclose(top.value, 99 * value)


def test_rounding_does_not_break_ties() -> None:
    """0.1 + 0.2 and 0.3 + 0.0 differ in the last place only."""
    tree = Tree([[1, -1]], 2)
    s = tree.scores([[[0.3, 0.1], [0.0, 0.2]]], [[[[0.0, -1.0], [-1.0, 0.0]], np.zeros((2, 2))]])
    assert tree.max(s).outputs[0].tolist() == [0, 0]
    assert tree.topk(s, 2).outputs[0].tolist() == [[0, 0], [1, 1]]


def test_a_star_with_many_leaves() -> None:
    """The number of outputs grows with the power of the leaves; the work must not."""
    rng, leaves = np.random.default_rng(0), 200
    tree = Tree([[leaves] * leaves + [-1]], 4)
    s = random_scores(tree, rng)
    top = tree.topk(s, 50)
    assert len(np.unique(top.outputs[0], axis=0)) == 50
    np.testing.assert_allclose([tree.score_of(s, [y])[0] for y in top.outputs[0]], top.value[0], rtol=1e-12)
    # The 50 best given each label of the root: leaves are independent then, and two deviations at most are needed.
    best = []
    for j in range(4):
        leaf = np.sort(s.unary(0)[:-1] + s.pairwise(0)[:-1, :, j], axis=1)
        total, loss = leaf[:, -1].sum() + s.unary(0)[-1, j], (leaf[:, -1:] - leaf[:, :-1])
        sums = [0.0]
        for row in loss:  # the 50 smallest sums, leaf after leaf
            sums = sorted(sums + [a + b for a in sums for b in row])[:50]
        best += [total - a for a in sums]
    np.testing.assert_allclose(top.value[0], sorted(best, reverse=True)[:50], rtol=1e-12)


@pytest.mark.parametrize("reverse", [False, True])
def test_trees_may_be_deep(reverse: bool) -> None:
    p, rng = 100_000, np.random.default_rng(0)
    parents = np.arange(p) - 1 if not reverse else np.append(np.arange(1, p), -1)
    tree = Tree([parents], 3)
    s = random_scores(tree, rng)
    best, top, soft = tree.max(s), tree.topk(s, 3), tree.expect(s, 1.0)
    assert tree.score_of(s, best.outputs) == pytest.approx(best.value, rel=1e-12)
    np.testing.assert_array_equal(top.outputs[0][0], best.outputs[0])
    np.testing.assert_allclose(soft.marginals.nodes.sum(axis=1), 1.0, rtol=1e-9)
    table = tree.max_marginals(s)[0]
    np.testing.assert_allclose(table.max(axis=1), best.value[0], rtol=1e-9)
    equal = tree.max(s * 0.0)
    assert equal.value[0] == 0.0
    assert not equal.outputs[0].any()


def test_marginals_of_edges_add_up_to_those_of_nodes() -> None:
    rng = np.random.default_rng(1)
    tree = Tree([random_parents(40, rng, roots=0.1) for _ in range(3)], 11)
    soft = tree.expect(random_scores(tree, rng), 0.3)
    for i in range(3):
        parents, nodes, edges = tree.parents(i), soft.marginals.unary(i), soft.marginals.pairwise(i)
        inner = parents >= 0
        np.testing.assert_allclose(edges.sum(axis=2)[inner], nodes[inner], atol=1e-12)
        np.testing.assert_allclose(edges.sum(axis=1)[inner], nodes[parents[inner]], atol=1e-12)
        assert not edges[~inner].any()


def test_scores_without_edges_count_them_as_zero() -> None:
    no_edges = Scores(np.array([[1.0, 2.0], [4.0, 3.0]]), np.array([0, 2]))
    tree = Tree([[1, -1]], 2)
    assert tree.max(no_edges).value.tolist() == [6.0]
    assert tree.score_of(no_edges, [np.array([1, 0])]).tolist() == [6.0]
    assert tree.expect(no_edges, 1.0).marginals.unary(0).sum() == pytest.approx(2.0)


def test_huge_scores_still_name_labels_that_exist() -> None:
    s = TREE.scores([np.full((3, 2), 1e308), np.zeros((1, 2))], PAIRWISE)
    assert all(np.isin(y, [0, 1]).all() for y in TREE.max(s).outputs)
    assert all(np.isin(y, [0, 1]).all() for y in TREE.topk(s, 3).outputs)


def test_training_a_tree_ends_with_a_certificate() -> None:
    rng, n, labels, features = np.random.default_rng(3), 25, 3, 4
    parents = [random_parents(int(p), rng) for p in rng.integers(2, 7, size=n)]
    x = [rng.normal(size=(len(above), features)) for above in parents]
    tree = Tree(parents, labels)
    # Weights of features times labels for nodes, then one per pair of labels for edges; roots have none.
    pairs = labels * labels
    nodes = [np.hstack([np.kron(a, np.eye(labels)), np.zeros((len(a) * labels, pairs))]) for a in x]
    pair = np.hstack([np.zeros((pairs, features * labels)), np.eye(pairs)])
    edges = [np.concatenate([pair * (u >= 0) for u in above]) for above in parents]
    model = cs.LinearPartsModel(nodes, edges, n_labels=labels)
    secret = rng.normal(size=model.n_params)
    y = tree.max(model.scores(secret)).outputs
    objective = cs.Objective(model, tree, cs.Hamming(), y, 0.05 / n)
    result = cs.minimize(objective, cs.DualProximal(), epochs=100, tol=1e-2)
    assert result.converged
    assert result.gap <= 1e-2
    found = tree.max(model.scores(result.w)).outputs
    assert np.mean(np.concatenate(found) == np.concatenate(y)) > 0.95


@pytest.mark.parametrize(
    ("parents", "message"),
    [
        ([[-1], [1, 2, 0, -1]], r"parents\[1\] has a cycle through node 0"),
        ([[-1, 2, 1, 2]], r"parents\[0\] has a cycle through node 1"),
        ([[-1, 1]], r"parents\[0\] makes node 1 its own parent"),
        ([[-1, 2]], r"parents\[0\] gives node 1 the parent 2; it must be -1 \(a root\) or a node, 0 to 1"),
        ([[-2]], r"the parent -2"),
        ([[-1], []], r"parents\[1\] has shape \[0\]; it must be \[p\] with p >= 1"),
        ([-1, 0], r"parents\[0\] has shape \[\].*pass \[parents\]"),
    ],
)
def test_bad_parents_name_the_example_and_the_node(parents: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Tree(parents, 2)


@pytest.mark.parametrize("parents", [5, "ab", [["a"]], [[-1.0, 0.0]]])
def test_parents_are_lists_of_integers(parents: object) -> None:
    with pytest.raises(TypeError, match="parents"):
        Tree(parents, 2)


@pytest.mark.parametrize(
    ("unary", "pairwise", "message"),
    [
        ([[[0, np.nan]] * 3, [[0, 0]]], PAIRWISE, r"unary\[0\] has nan at index \[0, 1\]"),
        (UNARY[:1], PAIRWISE, "made for 2 examples and got scores of 1"),
        (UNARY[::-1], PAIRWISE, "Example 0 has scores of 1 nodes; its tree has 3"),
        ([np.zeros((3, 3)), np.zeros((1, 3))], PAIRWISE, r"unary\[0\] has shape \[3, 3\]; it must be \[p, 2\]"),
        (UNARY, PAIRWISE[:1], "pairwise has 1 entries for 2 examples"),
        (UNARY, PAIRWISE[::-1], r"pairwise\[0\] has shape \[1, 2, 2\];.* must be \[3, 2, 2\]"),
        (UNARY, np.zeros((3, 3)), r"pairwise has shape \[3, 3\]; 2 labels need \[2, 2\]"),
        (UNARY, [[0, np.inf], [0, 0]], r"pairwise has inf at index \[0, 1\]"),
        (UNARY, [PAIRWISE[0] * np.nan, PAIRWISE[1]], r"pairwise\[0\] has nan"),
    ],
)
def test_bad_scores_name_the_example_and_the_remedy(unary: object, pairwise: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TREE.scores(unary, pairwise)


def test_scores_of_another_structure_are_refused() -> None:
    s = TREE.scores(UNARY, PAIRWISE)
    with pytest.raises(ValueError, match="made for 1 examples and got scores of 2"):
        TREE.select([0]).max(s)
    with pytest.raises(ValueError, match="Example 0 has scores of 3 nodes; its tree has 1"):
        Tree([[-1], [1, -1, 1]], 2).max(Scores(s.nodes, s.offsets))
    chain_scores = Chain(2).scores(UNARY, np.zeros((2, 2)))
    with pytest.raises(ValueError, match="do not belong to its edges"):
        TREE.max(chain_scores)
    with pytest.raises(ValueError, match=r"nodes \[4, 3\]; it reads \[N, 2\]"):
        TREE.max(Scores(np.zeros((4, 3)), np.array([0, 3, 4])))
    with pytest.raises(TypeError, match=r"reads Scores. Make them with Tree.scores"):
        TREE.max(np.zeros((4, 2)))  # type: ignore[arg-type]


@pytest.mark.parametrize("n_labels", [0, -3, True])
def test_at_least_one_label_is_needed(n_labels: int) -> None:
    with pytest.raises(ValueError, match="n_labels"):
        Tree(PARENTS, n_labels)
