"""Chains and trees with outputs that are not allowed keep the contract; bad constraints name the example."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from forests import list_tree, parent_arrays, random_parents
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import casimir as cs
from casimir.curvature import hessian_product
from casimir.scores import Scores
from casimir.structures.automaton import StateTable
from casimir.structures.automaton_chain import AutomatonChain
from casimir.structures.chain import Chain
from casimir.structures.tree import Tree
from casimir.testing import REALS, Listing, Ranked, StructureContract, flatten, list_chain, list_graph, rank


def drawn_masks(draw: st.DrawFn, shape: tuple[int, ...]) -> np.ndarray | None:
    """A random mask, or None."""
    return draw(st.none() | hnp.arrays(np.bool_, shape))


def drawn_labels(draw: st.DrawFn, sizes: list[int], n_labels: int) -> list[np.ndarray | None] | None:
    if draw(st.booleans()):
        return None
    return [drawn_masks(draw, (p, n_labels)) for p in sizes]


def allow(mask: np.ndarray | None, *index: np.ndarray) -> None:
    if mask is not None:
        mask[index] = True


@st.composite
def chains(draw: st.DrawFn, elements: st.SearchStrategy[float]) -> tuple[Chain, Scores]:
    """Any constraints, opened for one random output per example."""
    labels = draw(st.integers(1, 3))
    lengths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    pairs, start, stop = (drawn_masks(draw, (labels,) * ndim) for ndim in (2, 1, 1))
    tokens = drawn_labels(draw, lengths, labels)
    for i, p in enumerate(lengths):
        y = draw(hnp.arrays(np.int64, p, elements=st.integers(0, labels - 1)))
        allow(pairs, y[:-1], y[1:])
        allow(start, y[0])
        allow(stop, y[-1])
        allow(None if tokens is None else tokens[i], np.arange(p), y)

    def array(*shape: int) -> np.ndarray:
        return draw(hnp.arrays(np.float64, shape, elements=elements))

    chain = Chain(labels, pairs, start, stop, tokens)
    pairwise = array(labels, labels) if draw(st.booleans()) else [array(p - 1, labels, labels) for p in lengths]
    return chain, chain.scores([array(p, labels) for p in lengths], pairwise)


@st.composite
def automaton_chains(draw: st.DrawFn, elements: st.SearchStrategy[float]) -> tuple[AutomatonChain, Scores]:
    """The same under random automata, which accept one random output per example at least."""
    plain, s = draw(chains(elements))
    labels, states = plain.n_labels, draw(st.integers(1, 3))
    steps = draw(hnp.arrays(np.int64, (states, labels), elements=st.integers(-1, states - 1)))
    final = draw(hnp.arrays(np.bool_, states))
    for y in plain.max(s).outputs:
        state = 0
        for j in y.tolist():
            if steps[state, j] < 0:
                steps[state, j] = draw(st.integers(0, states - 1))
            state = steps[state, j]
        final[state] = True
    masks = plain.allowed, plain.allowed_start, plain.allowed_stop, plain.labels
    return AutomatonChain(labels, *masks, automaton=StateTable(steps, final)), s


@st.composite
def trees(draw: st.DrawFn, elements: st.SearchStrategy[float]) -> tuple[Tree, Scores]:
    labels = draw(st.integers(1, 3))
    parents = draw(st.lists(parent_arrays(4), min_size=1, max_size=3))
    sizes = [len(above) for above in parents]
    pairs, nodes = drawn_masks(draw, (labels, labels)), drawn_labels(draw, sizes, labels)
    for i, above in enumerate(parents):
        y = draw(hnp.arrays(np.int64, len(above), elements=st.integers(0, labels - 1)))
        allow(pairs, y[above >= 0], y[above[above >= 0]])
        allow(None if nodes is None else nodes[i], np.arange(len(y)), y)

    def array(*shape: int) -> np.ndarray:
        return draw(hnp.arrays(np.float64, shape, elements=elements))

    tree = Tree(parents, labels, allowed=pairs, labels=nodes)
    pairwise = array(labels, labels) if draw(st.booleans()) else [array(p, labels, labels) for p in sizes]
    return tree, tree.scores([array(p, labels) for p in sizes], pairwise)


def keep(listing: Listing, kept: np.ndarray) -> Listing:
    return Listing(listing.outputs[kept], listing.parts[kept])


def list_allowed(listing: Listing, labels: np.ndarray | None, pairs: np.ndarray | None, ends: np.ndarray) -> Listing:
    """Brute force: the outputs whose nodes and edges [m, 2] are allowed; an edge to node -1 is none."""
    y, kept = listing.outputs, np.ones(len(listing.outputs), dtype=bool)
    if labels is not None:
        kept &= labels[np.arange(y.shape[1]), y].all(axis=1)
    if pairs is not None:
        u, v = ends[ends[:, 1] >= 0].T
        kept &= pairs[y[:, u], y[:, v]].all(axis=1)
    return keep(listing, kept)


def list_allowed_chain(chain: Chain, i: int, p: int) -> Listing:
    labels = None if chain.labels is None else chain.labels[i]
    ends = np.stack([np.arange(p - 1), np.arange(1, p)], axis=1)
    found = list_allowed(list_chain(chain.n_labels, p), labels, chain.allowed, ends)
    for mask, v in ((chain.allowed_start, 0), (chain.allowed_stop, -1)):
        if mask is not None:
            found = keep(found, mask[found.outputs[:, v]])
    return found


def list_allowed_tree(tree: Tree, i: int) -> Listing:
    parents = tree.parents(i)
    ends = np.stack([np.arange(len(parents)), parents], axis=1)
    labels = None if tree.labels is None else tree.labels[i]
    return list_allowed(list_graph(tree.n_labels, len(parents), ends), labels, tree.allowed, ends)


_checked = settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.differing_executors, HealthCheck.too_slow]
)


class AllowedContract(StructureContract):
    """What the contract does not say: exact zeros, the number of outputs, and which of them are refused."""

    def cost_table_size(self, structure: Chain | Tree, ranked: list[Ranked]) -> int | None:
        return structure.n_labels

    @_checked
    @given(st.data(), st.sampled_from([1e-3, 1.0, 30.0]))
    def test_what_is_not_allowed_has_no_probability_at_all(self, data: st.DataObject, mu: float) -> None:
        structure, s, ranked = self.draw(data, REALS)
        soft = structure.expect(s, mu)
        for i, r in enumerate(ranked):
            assert not flatten(soft.marginals, i)[~r.parts.any(axis=0)].any()

    @_checked
    @given(st.data())
    def test_allowed_outputs_are_counted(self, data: st.DataObject) -> None:
        structure, s, ranked = self.draw(data)
        expected = np.log([len(r.z) for r in ranked])
        np.testing.assert_allclose(structure.log_n_outputs(s), expected, rtol=0, atol=1e-12)

    @_checked
    @given(st.data())
    def test_the_check_of_outputs_knows_which_are_allowed(self, data: st.DataObject) -> None:
        structure, s, ranked = self.draw(data)
        first = [r.outputs[0] for r in ranked]
        structure.check_allowed(s, first)
        for i, r in enumerate(ranked):
            for y in set(np.ndindex((structure.n_labels,) * r.outputs.shape[1])) - set(map(tuple, r.outputs)):
                with pytest.raises(ValueError, match=rf"^y\[{i}\].*not allowed"):
                    structure.check_allowed(s, [*first[:i], np.array(y), *first[i + 1 :]])

    @_checked
    @given(st.data())
    def test_what_is_forbidden_has_the_score_minus_infinity(self, data: st.DataObject) -> None:
        structure, s, ranked = self.draw(data)
        found = structure.forbidden(s)
        banned = Scores(np.zeros(s.nodes.shape), s.offsets) if found is None else found
        assert set(np.unique(banned.nodes)) <= {-np.inf, 0.0}
        for i, (r, every) in enumerate(zip(ranked, self.all_outputs(structure, s), strict=True)):
            pairs = s.pairwise(i).size
            edges = np.zeros(pairs) if banned.edges is None else np.resize(banned.edges, pairs)
            scores = np.concatenate([banned.unary(i).reshape(-1), edges])
            allowed = [not np.isneginf(scores[parts > 0]).any() for parts in every.parts]
            assert set(map(tuple, every.outputs[allowed])) == set(map(tuple, r.outputs))

    @_checked
    @given(st.data())
    def test_restricting_is_the_same_as_fewer_labels(self, data: st.DataObject) -> None:
        structure, s, ranked = self.draw(data)
        kept = [r.outputs[: max(1, len(r.outputs) // 2)] for r in ranked]  # what these use, and maybe more
        masks = [(y[:, :, None] == np.arange(structure.n_labels)).any(axis=0) for y in kept]
        fewer = structure.restricted(masks)
        for r, mask, top in zip(ranked, masks, fewer.topk(s, 200).outputs, strict=True):
            left = mask[np.arange(mask.shape[0]), r.outputs].all(axis=1)
            np.testing.assert_array_equal(top, r.outputs[left])
        assert fewer == fewer.restricted([None] * len(s))

    @_checked
    @given(st.data())
    def test_copies_are_equal_and_say_what_they_are(self, data: st.DataObject) -> None:
        structure, s, _ = self.draw(data)
        copy = pickle.loads(pickle.dumps(structure))
        assert copy == structure
        assert hash(copy) == hash(structure)
        assert f"n_labels={structure.n_labels}" in repr(copy)
        np.testing.assert_array_equal(copy.max(s).value, structure.max(s).value)

    def all_outputs(self, structure: Any, s: Scores) -> list[Listing]:
        raise NotImplementedError


class TestAllowedChain(AllowedContract):
    def instances(self, elements: st.SearchStrategy[float]) -> st.SearchStrategy[tuple[Chain, Scores]]:
        return chains(elements)

    def listing(self, structure: Chain, s: Scores) -> list[Listing]:
        return [list_allowed_chain(structure, i, int(p)) for i, p in enumerate(np.diff(s.offsets))]

    def all_outputs(self, structure: Chain, s: Scores) -> list[Listing]:
        return [list_chain(structure.n_labels, int(p)) for p in np.diff(s.offsets)]


class TestAutomatonChain(TestAllowedChain):
    def instances(self, elements: st.SearchStrategy[float]) -> st.SearchStrategy[tuple[Chain, Scores]]:
        return automaton_chains(elements)

    def listing(self, structure: Chain, s: Scores) -> list[Listing]:
        return [keep(found, accepted(structure, found.outputs)) for found in super().listing(structure, s)]

    @_checked
    @given(st.data())
    def test_what_is_forbidden_has_the_score_minus_infinity(self, data: st.DataObject) -> None:
        """Scores say what labels and pairs must not be; only the oracles know what the automaton refuses."""
        structure, s, _ = self.draw(data)
        masks = structure.allowed, structure.allowed_start, structure.allowed_stop, structure.labels
        found, plain = structure.forbidden(s), Chain(structure.n_labels, *masks).forbidden(s)
        assert (found is None) == (plain is None)
        if found is not None and plain is not None:
            np.testing.assert_array_equal(found.nodes, plain.nodes)
            np.testing.assert_array_equal(found.edges, plain.edges)

    @_checked
    @given(st.data(), st.booleans())
    def test_the_soft_loss_is_expect_minus_the_score(self, data: st.DataObject, last: bool) -> None:
        structure, s, ranked = self.draw(data, REALS)
        y = [r.outputs[-1 if last else 0] for r in ranked]
        losses, gradient = structure.soft_loss(s, np.concatenate(y), 0.7)
        soft = structure.expect(s, 0.7)
        np.testing.assert_allclose(losses, soft.value - structure.score_of(s, y), rtol=0, atol=1e-10)
        np.testing.assert_allclose(s.dot(gradient), s.dot(soft.marginals) - structure.score_of(s, y), atol=1e-9)

    @_checked
    @given(st.data(), st.integers(0, 2**32 - 1))
    def test_the_hessian_is_the_slope_of_the_marginals(self, data: st.DataObject, seed: int) -> None:
        structure, s, _ = self.draw(data, REALS)
        marginals, h = structure.expect(s, 1.0).marginals, 1e-5
        s = (
            s
            if s.edges is None
            else Scores(s.nodes, s.offsets, marginals.edges * 0.0 + s.edges, marginals.edge_offsets)
        )
        v = self.step(structure, s, np.random.default_rng(seed))
        product = hessian_product(cs.Entropy(), structure, s, 1.0, marginals, v)
        up, down = structure.expect(s + v * h, 1.0).marginals, structure.expect(s - v * h, 1.0).marginals
        for i in range(len(s)):
            slope = (flatten(up, i) - flatten(down, i)) / (2 * h)
            np.testing.assert_allclose(flatten(product, i), slope, rtol=0, atol=1e-5)


def accepted(structure: Any, outputs: np.ndarray) -> np.ndarray:
    """bool[K]: the outputs that the automaton accepts, read label by label."""
    steps, final, kept = structure.automaton.steps, structure.automaton.final, []
    for y in outputs.tolist():
        state = 0
        for j in y:
            state = steps[state, j] if state >= 0 else -1
        kept.append(state >= 0 and final[state])
    return np.array(kept, dtype=bool)


class TestAllowedTree(AllowedContract):
    def instances(self, elements: st.SearchStrategy[float]) -> st.SearchStrategy[tuple[Tree, Scores]]:
        return trees(elements)

    def listing(self, structure: Tree, s: Scores) -> list[Listing]:
        return [list_allowed_tree(structure, i) for i in range(len(s))]

    def all_outputs(self, structure: Tree, s: Scores) -> list[Listing]:
        return [list_tree(structure, i) for i in range(len(s))]


def log_chain(unary: np.ndarray, pairwise: np.ndarray) -> tuple[float, np.ndarray]:
    """log sum_y exp(score(y)) and the marginals of nodes, in logs; -inf is allowed."""
    forward, backward = unary.copy(), np.zeros(unary.shape)
    for t in range(1, len(unary)):
        forward[t] += np.logaddexp.reduce(forward[t - 1][:, None] + pairwise, axis=0)
    for t in reversed(range(len(unary) - 1)):
        backward[t] = np.logaddexp.reduce(pairwise + unary[t + 1] + backward[t + 1], axis=1)
    value = float(np.logaddexp.reduce(forward[-1]))
    return value, np.exp(forward + backward - value)


@pytest.mark.parametrize("labels", [4, 9, 16, 33, 40])
@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0, 1000.0])
@pytest.mark.parametrize("kind", ["groups", "upwards", "sparse"])
def test_messages_of_labels_that_never_meet_do_not_lose_outputs(labels: int, scale: float, kind: str) -> None:
    """Forward messages favour labels that backward messages exclude: in the range of doubles nothing would be left."""
    rng, p = np.random.default_rng(labels), 300
    j = np.arange(labels)
    allowed = {
        "groups": j[:, None] % 2 == j % 2,
        "upwards": (j[:, None] <= j) & (j <= j[:, None] + 1),
        "sparse": (rng.random((labels, labels)) < 3 / labels) | (j[:, None] == j),
    }[kind]
    unary, pairwise = rng.normal(size=(p, labels)) * scale, rng.normal(size=(labels, labels)) * scale
    unary[: p // 2] += scale * (j % 2 == 0)
    unary[p // 2 :] += scale * (j % 2 == 1)
    chain, path = Chain(labels, allowed), Tree([np.arange(p) - 1], labels, allowed=allowed.T)
    s, t = chain.scores([unary], pairwise), path.scores([unary], pairwise.T)
    value, nodes = log_chain(unary, np.where(allowed, pairwise, -np.inf))
    for soft in (chain.expect(s, 1.0), path.expect(t, 1.0)):
        np.testing.assert_allclose(soft.value, value, rtol=1e-11)
        np.testing.assert_allclose(soft.marginals.nodes, nodes, rtol=0, atol=1e-7)
    pairs = chain.expect(s, 1.0).marginals.pairwise(0)
    assert not pairs[:, ~allowed].any()
    np.testing.assert_allclose(pairs.sum(axis=2), nodes[:-1], rtol=0, atol=1e-7)
    own = chain.scores([unary], [np.repeat(pairwise[None], p - 1, axis=0)])
    np.testing.assert_allclose(chain.expect(own, 1.0).marginals.nodes, nodes, rtol=0, atol=1e-7)
    np.testing.assert_allclose(path.max(t).value, chain.max(s).value, rtol=1e-12)
    top = chain.topk(s, 20)
    np.testing.assert_allclose(path.topk(t, 20).value, top.value, rtol=1e-11)
    chain.check_allowed(s, [top.outputs[0][19]])
    np.testing.assert_allclose([chain.score_of(s, [y])[0] for y in top.outputs[0]], top.value[0], rtol=1e-11)


@pytest.mark.parametrize("labels", [5, 8, 33, 70])
def test_many_labels_are_brute_force(labels: int) -> None:
    """Rows of labels are padded, or cut into vectors that overlap."""
    rng = np.random.default_rng(labels)
    y = rng.integers(labels, size=3)
    pairs, tokens = rng.random((labels, labels)) < 0.4, rng.random((3, labels)) < 0.5
    pairs[y[:-1], y[1:]] = tokens[np.arange(3), y] = True
    unary, pairwise = rng.integers(-9, -5, (3, labels)), rng.integers(-9, -5, (labels, labels))
    chain, path = Chain(labels, pairs, labels=[tokens]), Tree([[-1, 0, 1]], labels, allowed=pairs.T, labels=[tokens])
    s, t = chain.scores([unary], pairwise), path.scores([unary], pairwise.T)
    outputs = np.array([y for y in np.ndindex(labels, labels, labels) if tokens[[0, 1, 2], y].all()])
    outputs = outputs[pairs[outputs[:, :-1], outputs[:, 1:]].all(axis=1)]
    z = unary[[0, 1, 2], outputs].sum(axis=1) + pairwise[outputs[:, :-1], outputs[:, 1:]].sum(axis=1)
    order = np.argsort(-z, kind="stable")[:30]
    probability = np.exp(z - z.max()) / np.exp(z - z.max()).sum()
    for structure, scores in ((chain, s), (path, t)):
        top, soft, table = structure.topk(scores, 30), structure.expect(scores, 1.0), structure.max_marginals(scores)[0]
        np.testing.assert_array_equal(top.outputs[0], outputs[order])
        np.testing.assert_array_equal(top.value[0, : len(order)], z[order])
        assert structure.log_n_outputs(scores)[0] == pytest.approx(np.log(len(z)))
        for v, j in np.ndindex(3, labels):
            here = outputs[:, v] == j
            assert table[v, j] == max(z[here], default=-np.inf)
            assert soft.marginals.unary(0)[v, j] == pytest.approx(probability[here].sum(), abs=1e-12)


def test_ties_among_allowed_outputs_of_a_tree_are_listed_in_order() -> None:
    """Hundreds of outputs tie, and nodes are numbered against the order of the tree."""
    rng = np.random.default_rng(5)
    tree = Tree([random_parents(6, rng, roots=0.2) for _ in range(6)], 4, allowed=rng.random((4, 4)) < 0.7)
    s = tree.scores(rng.integers(0, 2, (6, 6, 4)), np.zeros((4, 4)))
    for k in (1, 10, 100, 2000):
        top = tree.topk(s, k)
        for i in range(6):
            r = rank(list_allowed_tree(tree, i), s, i)
            np.testing.assert_array_equal(top.outputs[i], r.outputs[:k])
            np.testing.assert_array_equal(top.value[i, : len(r.z)], r.z[:k])


def test_the_number_of_outputs_of_large_examples() -> None:
    """One group of labels has 3^p outputs, the other one; the first must not end."""
    groups = np.array([[1, 1, 1, 0], [1, 1, 1, 0], [1, 1, 1, 0], [0, 0, 0, 1]], dtype=bool)
    chain = Chain(4, groups, allowed_stop=[False, False, False, True])
    s = Scores(np.zeros((3000, 4)), np.array([0, 1000, 3000]))
    np.testing.assert_allclose(chain.log_n_outputs(s), 0.0, atol=1e-9)
    np.testing.assert_allclose(Chain(4, groups).log_n_outputs(s), [1000 * np.log(3), 2000 * np.log(3)])
    assert Chain(4).log_n_outputs(s).tolist() == [1000 * np.log(4), 2000 * np.log(4)]


FREE = [[0.0, 0.0, 0.0]]


@pytest.mark.parametrize(
    ("constraints", "length", "message"),
    [
        ({"allowed": np.triu(np.ones((3, 3), bool), 1)}, 4, "no label is left for token 3, the last one"),
        ({"allowed": np.triu(np.ones((3, 3), bool), 1)}, 6, "no label is left for token 3 of 6"),
        ({"allowed_start": [False] * 3}, 2, "no label is left for token 0 of 2"),
        ({"allowed_start": [True, False, False], "allowed_stop": [False, True, False]}, 1, "token 0, the last one"),
        ({"labels": [[[True] * 3] * 2, [[True] * 3, [False] * 3, [True] * 3]]}, 3, "token 1 of 3"),
    ],
)
def test_an_example_without_an_allowed_output_is_named(
    constraints: dict[str, object], length: int, message: str
) -> None:
    chain = Chain(3, **constraints)
    s = chain.scores([FREE * 2, FREE * length], np.zeros((3, 3)))
    example = 0 if message.endswith("of 2") else 1
    calls = (chain.max, chain.max_marginals, chain.log_n_outputs, chain.forbidden)
    for call in (*calls, lambda s: chain.topk(s, 2), lambda s: chain.expect(s, 1.0)):
        with pytest.raises(ValueError, match=f"^Example {example} has no allowed output: .*{message}"):
            call(s)


def test_a_tree_without_an_allowed_output_is_named() -> None:
    upwards = np.triu(np.ones((2, 2), bool), 1)  # a node has label 0, its parent 1
    tree = Tree([[-1, 0], [-1, 0, 1]], 2, allowed=upwards)
    with pytest.raises(ValueError, match="Example 1 has no allowed output: no label is left for node 0 of 3"):
        tree.max(tree.scores([np.zeros((2, 2)), np.zeros((3, 2))], np.zeros((2, 2))))
    one = tree.select([0])
    assert one.max(one.scores([np.zeros((2, 2))], np.zeros((2, 2)))).outputs[0].tolist() == [1, 0]
    none = one.restricted([[[True, True], [False, True]]])
    with pytest.raises(ValueError, match="no label is left for node 0 of 2"):
        none.max(none.scores([np.zeros((2, 2))], np.zeros((2, 2))))


def test_examples_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    check = Chain._check_outputs
    monkeypatch.setattr(Chain, "_check_outputs", lambda self, found: calls.append(len(found)) or check(self, found))
    chain = Chain(3, allowed=~np.eye(3, dtype=bool))
    s = chain.scores([FREE * 2, FREE * 3, FREE * 2], np.zeros((3, 3)))
    for _ in range(3):
        chain.max(s)
        chain.max(s.select([2]))
    assert calls == [3]
    bound = chain.restricted([None, np.ones((3, 3), bool), np.eye(3, dtype=bool)[:2]])
    for i in (0, 1, 2, 2, 1):
        bound.select([i]).max(s.select([i]))
    bound.max(s)
    assert calls == [3, 1, 1, 1]


def test_where_nothing_is_forbidden_nothing_is_added() -> None:
    chain = Chain(3, np.ones((3, 3), bool), [True] * 3, [True] * 3, [None, None])
    assert chain == Chain(3)
    assert chain.select([5]) is chain
    s = chain.scores([FREE, FREE * 3], np.zeros((3, 3)))
    assert chain.forbidden(s) is None
    assert Chain(3, labels=[np.ones((1, 3), bool), None]).forbidden(s) is None
    tree = Tree([[-1], [-1, 0, 0]], 3, allowed=np.ones((3, 3), bool))
    assert tree.forbidden(tree.scores([FREE, FREE * 3], np.zeros((3, 3)))) is None
    assert repr(chain) == "Chain(n_labels=3)"
    assert repr(Chain(3, np.eye(3, dtype=bool), labels=[None, np.eye(3, dtype=bool)])) == (
        "Chain(n_labels=3, allowed=<3 of 9>, labels=<of 2 examples>)"
    )
    assert chain != Chain(3, np.eye(3, dtype=bool))
    assert chain != Chain(4)
    assert tree != tree.select([0])


def test_constraints_do_not_change_with_the_array_they_came_from() -> None:
    allowed = np.eye(2, dtype=bool)
    chain = Chain(2, allowed)
    allowed[:] = True
    assert chain.max(chain.scores([[[1, 0], [0, 2]]], np.zeros((2, 2)))).outputs[0].tolist() == [1, 1]


def test_outputs_that_are_not_allowed_are_told_where() -> None:
    no_repeats = ~np.eye(3, dtype=bool)
    labels = [None, np.array([[True, True, True], [True, False, True]])]
    chain = Chain(3, no_repeats, allowed_start=[True, False, True], labels=labels)
    s = chain.scores([FREE * 3, FREE * 2], np.zeros((3, 3)))
    chain.check_allowed(s, [[0, 1, 0], [0, 2]])
    assert chain.score_of(s, [np.array([0, 0, 0]), np.array([1, 1])]).tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match=r"^truth\[1\]\[1\] has the label 1, which is not allowed there"):
        chain.check_allowed(s, [[0, 1, 0], [0, 1]], "truth")
    with pytest.raises(ValueError, match=r"^y\[0\]\[0\] has the label 1, which is not allowed there"):
        chain.check_allowed(s, [[1, 0, 0], [0, 2]])
    with pytest.raises(ValueError, match=r"^y\[0\]\[1:3\] has the labels 2, 2 one after another, which is not allowed"):
        chain.check_allowed(s, [[0, 2, 2], [0, 2]])
    tree = Tree([[2, 0, -1]], 3, allowed=no_repeats)
    with pytest.raises(
        ValueError, match=r"^y\[0\] has the label 1 at node 1 and 1 at its parent, node 0, which is not allowed"
    ):
        tree.check_allowed(tree.scores([FREE * 3], np.zeros((3, 3))), [[1, 1, 0]])


@pytest.mark.parametrize(
    ("constraints", "error", "message"),
    [
        ({"allowed": np.ones((2, 2), bool)}, ValueError, r"allowed has shape \[2, 2\]; it must be bool\[3, 3\]"),
        ({"allowed": np.ones((3, 3))}, TypeError, r"allowed has dtype float64; it must be bool\[3, 3\]"),
        ({"allowed_start": [True]}, ValueError, r"allowed_start has shape \[1\]"),
        ({"allowed_stop": [0, 1, 1]}, TypeError, r"allowed_stop has dtype int64"),
        ({"labels": [None, [0, 1]]}, TypeError, r"labels\[1\] has dtype int64; it must be bool\[p, 3\]"),
        ({"labels": [[[True, True]]]}, ValueError, r"labels\[0\] has shape \[1, 2\]; it must be \[p, 3\]"),
        ({"labels": [[True, True, False]]}, ValueError, r"labels\[0\] has shape \[3\]"),
        ({"labels": True}, TypeError, "labels is a bool; it must be a list with one entry per example"),
    ],
)
def test_bad_constraints_are_refused(constraints: dict[str, object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Chain(3, **constraints)


def test_labels_of_other_examples_are_refused() -> None:
    chain = Chain(3, labels=[np.ones((2, 3), bool), np.eye(3, dtype=bool)])
    with pytest.raises(ValueError, match=r"parts of 2 examples and got scores of 1. For a sub-batch use Chain.select"):
        chain.scores([FREE * 2], np.zeros((3, 3)))
    with pytest.raises(ValueError, match="Example 1 has scores of 2 rows, and 3 rows say what is allowed in it"):
        chain.max(Chain(3).scores([FREE * 2, FREE * 2], np.zeros((3, 3))))
    with pytest.raises(ValueError, match="allowed has 1 entries for 2 examples"):
        chain.restricted([None])
    with pytest.raises(ValueError, match=r"allowed\[1\] has shape \[2, 3\]; example 1 needs \[3, 3\]"):
        chain.restricted([None, np.ones((2, 3), bool)])
    with pytest.raises(ValueError, match="Example 0 has scores of 2 rows"):
        Tree([[-1, 0]], 3, labels=[np.ones((3, 3), bool)])


def test_the_best_outputs_of_a_constrained_chain_are_found_from_max_marginals() -> None:
    rng = np.random.default_rng(2)
    chain = Chain(3, ~np.eye(3, dtype=bool), allowed_start=[True, False, True])
    s = chain.scores([rng.integers(0, 3, (4, 3)), rng.integers(0, 3, (1, 3))], rng.integers(0, 3, (3, 3)))
    found, top = cs.bmmf(chain, s, 8), chain.topk(s, 8)
    np.testing.assert_array_equal(found.value, top.value)
    for a, b in zip(found.outputs, top.outputs, strict=True):
        np.testing.assert_array_equal(a, b)
