"""Structures restricted to allowed parts keep the contract of the outputs that are left."""

from __future__ import annotations

import itertools
import pickle
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import casimir as cs
from casimir.scores import Scores
from casimir.structures.candidates import Candidates
from casimir.structures.enumerated import Enumerated
from casimir.structures.graph_cut import GraphCut
from casimir.structures.junction import JunctionTree
from casimir.structures.matching import Matching
from casimir.structures.restricted import Restricted
from casimir.testing import REALS, Listing, Ranked, StructureContract, flatten, list_chain, list_graph

Drawn = st.SearchStrategy[tuple[Any, Scores]]
_checked = settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.differing_executors, HealthCheck.too_slow]
)


class RestrictedContract(StructureContract):
    """Of a structure without restrictions: `free` draws it and its scores, `every` lists all its outputs."""

    rounding: ClassVar[float] = 0.0
    """By how much values may differ from those of the structure without restrictions."""

    def free(self, elements: st.SearchStrategy[float]) -> Drawn:
        raise NotImplementedError

    def every(self, structure: Any, s: Scores) -> list[Listing]:
        raise NotImplementedError

    def instances(self, elements: st.SearchStrategy[float]) -> Drawn:
        free = self.free(elements)

        @st.composite
        def drawn(draw: st.DrawFn) -> tuple[Restricted, Scores]:
            """Random masks, or None, opened for one random output."""
            structure, s = draw(free)
            masks = []
            for i, listing in enumerate(self.every(structure, s)):
                nodes = s.unary(i)
                one = listing.parts[draw(st.integers(0, len(listing.parts) - 1)), : nodes.size] > 0
                masks.append(draw(st.none() | hnp.arrays(np.bool_, nodes.shape)))
                if masks[i] is not None:
                    masks[i] |= one.reshape(nodes.shape)
            return structure.restricted(masks), s

        return drawn()

    def listing(self, structure: Restricted, s: Scores) -> list[Listing]:
        found = []
        for i, listing in enumerate(self.every(structure.structure, s)):
            mask = structure.allowed[i]
            banned = np.zeros(s.unary(i).size, bool) if mask is None else ~mask.reshape(-1)
            kept = ~listing.parts[:, : len(banned)][:, banned].any(axis=1)
            found.append(Listing(listing.outputs[kept], listing.parts[kept]))
        return found

    @_checked
    @given(st.data())
    def test_values_are_those_without_restrictions(self, data: st.DataObject) -> None:
        structure, s, _ = self.draw(data, REALS)
        free, top = structure.structure, structure.topk(s, 5)
        everything = free.topk(s, 600)
        np.testing.assert_array_equal(free.restricted([None] * len(s)).topk(s, 600).value, everything.value)
        for i, outputs in enumerate(top.outputs):
            rows = [np.flatnonzero((everything.outputs[i] == y).all(axis=1))[0] for y in outputs]
            np.testing.assert_allclose(top.value[i, : len(rows)], everything.value[i, rows], rtol=0, atol=self.rounding)
        np.testing.assert_array_equal(structure.max(s).value, top.value[:, 0])

    @_checked
    @given(st.data())
    def test_the_check_of_outputs_knows_which_are_allowed(self, data: st.DataObject) -> None:
        structure, s, ranked = self.draw(data)
        first = [r.outputs[0] for r in ranked]
        structure.check_allowed(s, first)
        for i, (r, every) in enumerate(zip(ranked, self.every(structure.structure, s), strict=True)):
            for y in set(map(tuple, every.outputs)) - set(map(tuple, r.outputs)):
                with pytest.raises(
                    ValueError, match=rf"^y\[{i}\]\[\d+\] has the label \d+, which is not allowed there"
                ):
                    structure.check_allowed(s, [*first[:i], np.array(y), *first[i + 1 :]])

    @_checked
    @given(st.data())
    def test_allowed_outputs_are_counted_where_that_is_possible(self, data: st.DataObject) -> None:
        structure, s, ranked = self.draw(data)
        if hasattr(structure, "log_n_outputs"):
            np.testing.assert_allclose(structure.log_n_outputs(s), np.log([len(r.z) for r in ranked]), atol=1e-12)
        else:
            assert isinstance(structure.structure, Matching)

    @_checked
    @given(st.data(), st.sampled_from([1e-3, 1.0, 30.0]))
    def test_what_is_not_allowed_has_no_probability_at_all(self, data: st.DataObject, mu: float) -> None:
        self.needs("expect")
        structure, s, ranked = self.draw(data, REALS)
        soft = structure.expect(s, mu)
        for i, r in enumerate(ranked):
            assert not flatten(soft.marginals, i)[~r.parts.any(axis=0)].any()

    @_checked
    @given(st.data())
    def test_restrictions_add_up(self, data: st.DataObject) -> None:
        structure, s, ranked = self.draw(data)
        masks = [(r.parts[0, : s.unary(i).size] > 0).reshape(s.unary(i).shape) for i, r in enumerate(ranked)]
        one = structure.restricted(masks)  # a single output is left
        for found, r in zip(one.topk(s, 3).outputs, ranked, strict=True):
            np.testing.assert_array_equal(found, r.outputs[:1])
        assert one.restricted([None] * len(s)).max(s).value.tolist() == structure.max(s).value.tolist()

    @_checked
    @given(st.data())
    def test_copies_answer_alike(self, data: st.DataObject) -> None:
        structure, s, _ = self.draw(data)
        copy = pickle.loads(pickle.dumps(structure))
        np.testing.assert_array_equal(copy.topk(s, 4).value, structure.topk(s, 4).value)
        assert "restricted" in repr(copy)
        assert copy.allowed == structure.allowed


@st.composite
def junctions(draw: st.DrawFn, elements: st.SearchStrategy[float]) -> tuple[JunctionTree, Scores]:
    labels = draw(st.integers(1, 3))
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    edges = [_edges(draw, p) for p in sizes]
    structure = JunctionTree(edges, labels)
    unary = [draw(hnp.arrays(np.float64, (p, labels), elements=elements)) for p in sizes]
    pairwise = [draw(hnp.arrays(np.float64, (len(e), labels, labels), elements=elements)) for e in edges]
    return structure, structure.scores(unary, pairwise)


@st.composite
def cuts(draw: st.DrawFn, elements: st.SearchStrategy[float]) -> tuple[GraphCut, Scores]:
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    edges = [_edges(draw, p) for p in sizes]
    unary = [draw(hnp.arrays(np.float64, (p, 2), elements=elements)) for p in sizes]
    pairwise = []
    for e in edges:
        pair = draw(hnp.arrays(np.float64, (len(e), 2, 2), elements=elements))
        pair[:, 0, 0] = np.maximum(pair[:, 0, 0], pair[:, 0, 1] + pair[:, 1, 0] - pair[:, 1, 1])
        pairwise.append(pair)
    return GraphCut(edges), GraphCut(edges).scores(unary, pairwise)


def _edges(draw: st.DrawFn, n_nodes: int) -> np.ndarray:
    pairs = list(itertools.combinations(range(n_nodes), 2))
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    return np.array(chosen, dtype=np.int64).reshape(-1, 2)


class TestRestrictedJunctionTree(RestrictedContract):
    rounding = 1e-12  # sums are exact on a grid that follows the scores, penalties included

    def free(self, elements: st.SearchStrategy[float]) -> Drawn:
        return junctions(elements)

    def every(self, structure: JunctionTree, s: Scores) -> list[Listing]:
        sizes = np.diff(s.offsets).tolist()
        return [list_graph(structure.n_labels, p, structure.edges(i)) for i, p in enumerate(sizes)]

    def cost_table_size(self, structure: Any, ranked: list[Ranked]) -> int | None:
        return int(structure.n_labels)


class TestRestrictedGraphCut(RestrictedContract):
    oracles = frozenset({"max", "topk", "max_marginals"})

    def free(self, elements: st.SearchStrategy[float]) -> Drawn:
        return cuts(elements)

    def every(self, structure: GraphCut, s: Scores) -> list[Listing]:
        return [list_graph(2, int(p), structure.edges(i)) for i, p in enumerate(np.diff(s.offsets))]

    def cost_table_size(self, structure: Any, ranked: list[Ranked]) -> int | None:
        return 2

    def step(self, structure: Any, s: Scores, rng: np.random.Generator) -> Scores:
        """Nodes only: pairs stay submodular."""
        assert s.edges is not None
        return Scores(rng.normal(size=s.nodes.shape), s.offsets, np.zeros(s.edges.shape), s.edge_offsets)


class TestRestrictedMatching(RestrictedContract):
    oracles = frozenset({"max", "topk", "max_marginals"})
    rounding = 1e-12  # scores less the prices of an assignment, which differ by what is allowed
    null = False

    def free(self, elements: st.SearchStrategy[float]) -> Drawn:
        shapes = st.tuples(st.integers(1, 4), st.integers(0, 1)).map(lambda a: (a[0], a[0] + a[1]))
        tables = st.lists(
            shapes.flatmap(lambda a: hnp.arrays(np.float64, a, elements=elements)), min_size=1, max_size=2
        )
        structure = Matching(null=self.null)
        return tables.map(lambda weights: (structure, structure.scores(weights)))

    def every(self, structure: Matching, s: Scores) -> list[Listing]:
        found = []
        for i in range(len(s)):
            p, columns = s.unary(i).shape
            matched = columns - 1 if self.null else columns
            every = itertools.product(range(columns), repeat=p)
            outputs = np.array([y for y in every if all(y.count(z) < 2 for z in range(matched))])
            found.append(Listing(outputs, np.eye(columns)[outputs].reshape(len(outputs), -1)))
        return found

    def cost_table_size(self, structure: Any, ranked: list[Ranked]) -> int | None:
        return None


class TestRestrictedMatchingWithNull(TestRestrictedMatching):
    null = True


class TestRestrictedCandidates(RestrictedContract):
    def free(self, elements: st.SearchStrategy[float]) -> Drawn:
        values = st.lists(hnp.arrays(np.float64, st.integers(1, 12), elements=elements), min_size=1, max_size=4)
        return values.map(lambda v: (Candidates(), Candidates().scores(v)))

    def every(self, structure: Candidates, s: Scores) -> list[Listing]:
        return [Listing(np.arange(m)[:, None], np.eye(m)) for m in np.diff(s.offsets)]

    def cost_table_size(self, structure: Any, ranked: list[Ranked]) -> int | None:
        return None


class TestRestrictedEnumerated(StructureContract):
    """A shorter list of outputs; it needs no penalties."""

    def instances(self, elements: st.SearchStrategy[float]) -> Drawn:
        @st.composite
        def drawn(draw: st.DrawFn) -> tuple[Enumerated, Scores]:
            every, n = list_chain(2, 3), draw(st.integers(1, 3))
            if draw(st.booleans()):
                structure = Enumerated(every.outputs, every.parts[:, :6])
            else:
                structure = Enumerated([every.outputs] * n, [every.parts[:, :6]] * n)
            masks = [draw(st.none() | hnp.arrays(np.bool_, 8).filter(np.any)) for _ in range(n)]
            fewer = structure.restricted(masks)
            assert [len(fewer.outputs(i)) for i in range(n)] == [8 if m is None else m.sum() for m in masks]
            return fewer, fewer.scores(draw(hnp.arrays(np.float64, (n, 6), elements=elements)))

        return drawn()

    def listing(self, structure: Enumerated, s: Scores) -> list[Listing]:
        return [Listing(structure.outputs(i), structure.parts(i)) for i in range(len(s))]


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_penalties_fit_scores_of_any_size(scale: float) -> None:
    rng = np.random.default_rng(0)
    matching = Matching().restricted([~np.eye(5, dtype=bool)])  # derangements
    s = Matching().scores([rng.normal(size=(5, 5)) * scale])
    top = matching.topk(s, 60)
    assert len(top.outputs[0]) == 44
    assert np.isneginf(top.value[0, 44:]).all()
    np.testing.assert_allclose([matching.score_of(s, [y])[0] for y in top.outputs[0]], top.value[0, :44])
    table = matching.max_marginals(s)[0]
    assert np.isneginf(np.diag(table)).all()
    assert np.isfinite(table).sum() == 20


def test_cells_that_no_allowed_matching_uses_have_no_max_marginal() -> None:
    """Row 1 must take column 0, so row 0 may not, although the cell itself is allowed."""
    matching = Matching().restricted([[[True, True], [True, False]]])
    s = Matching().scores([[[5.0, 0.0], [1.0, 5.0]]])
    assert matching.max_marginals(s)[0].tolist() == [[-np.inf, 1.0], [1.0, -np.inf]]


@pytest.mark.parametrize(
    ("structure", "scores", "allowed", "message"),
    [
        (
            Candidates(),
            ([[1.0], [1.0, 2.0]],),
            [None, [False, False]],
            "Example 1 .*output: no label is left for node 0",
        ),
        (Matching(), ([np.eye(2)],), [[[True, False], [True, False]]], r"Example 0 has no allowed output\. Allow more"),
        (
            JunctionTree([[[0, 1]]], 2),
            ([np.zeros((2, 2))], np.zeros((2, 2))),
            [[[True, True], [False, False]]],
            "Example 0 has no allowed output: no label is left for node 1",
        ),
        (
            GraphCut([[[0, 1]]]),
            ([np.zeros((2, 2))], np.zeros((2, 2))),
            [[[False, False], [True, True]]],
            "Example 0 has no allowed output: no label is left for node 0",
        ),
    ],
)
def test_an_example_without_an_allowed_output_is_named(
    structure: Any, scores: tuple[Any, ...], allowed: list[Any], message: str
) -> None:
    none, s = structure.restricted(allowed), structure.scores(*scores)
    for call in (none.max, none.max_marginals, lambda s: none.topk(s, 3), lambda s: none.expect(s, 1.0)):
        with pytest.raises(ValueError, match=message):
            call(s)


def test_enumerated_names_an_example_without_an_allowed_output() -> None:
    listed = Enumerated([[0], [1]], lambda y: [y[0]])
    with pytest.raises(ValueError, match="Example 1 has no allowed output"):
        listed.restricted([[True, False], [False, False]])
    with pytest.raises(ValueError, match=r"allowed\[0\] has 3 entries; example 0 has 2 listed outputs"):
        listed.restricted([[True, False, True]])
    with pytest.raises(ValueError, match="allowed has 1 entries for 2 examples"):
        Enumerated([[[0]], [[1]]], lambda y: [y[0]]).restricted([None])


def test_masks_of_other_examples_are_refused() -> None:
    s = Candidates().scores([[1.0, 2.0]])
    with pytest.raises(ValueError, match=r"of 2 examples and got scores of 1. For a sub-batch use Candidates.select"):
        Candidates().restricted([None, None]).max(s)
    with pytest.raises(ValueError, match="Example 0 has scores of 2 rows, and 1 rows say what is allowed"):
        Candidates().restricted([[True]]).max(s)
    with pytest.raises(ValueError, match=r"allowed\[0\] has shape \[2, 3\]; example 0 has scores \[1, 6\]"):
        Matching().restricted([np.ones((2, 3), bool)]).max(Matching().scores([np.zeros((1, 6))]))
    with pytest.raises(TypeError, match=r"allowed\[0\] has dtype float64; it must be bool"):
        Candidates().restricted([[1.0, 0.0]])


@pytest.mark.parametrize("structure", [cs.BoxSearch(), cs.BranchAndBound(lambda s: None)])
def test_searches_say_that_they_cannot_leave_out_outputs(structure: Any) -> None:
    with pytest.raises(cs.Intractable, match=r"cannot leave out single outputs.*Candidates or Enumerated"):
        structure.restricted([None])


def test_training_on_restricted_candidates_never_sees_the_others() -> None:
    """Every example has a candidate that is not allowed, whose features would spoil the weights."""
    rng = np.random.default_rng(1)
    features = rng.normal(size=(20, 5, 3))
    y = [np.array([int(np.argmax(f[:4] @ [2.0, -1.0, 0.5]))]) for f in features]
    masks = [np.arange(5) < 4] * 20
    fewer = cs.LinearPartsModel([f[:4] for f in features])
    every = cs.LinearPartsModel(list(features))
    results = [
        cs.minimize(cs.Objective(model, structure, cs.Hamming(), y, 0.1), cs.LBFGS(), tol=1e-3)
        for model, structure in ((fewer, Candidates()), (every, Candidates().restricted(masks)))
    ]
    np.testing.assert_allclose(results[0].w, results[1].w, atol=1e-8)


def test_a_truth_that_is_not_allowed_is_refused_by_an_objective() -> None:
    model = cs.LinearPartsModel([np.eye(3)[:, :2], np.eye(3)[:, :2]])
    structure = Candidates().restricted([[True, True, False], [True, False, True]])
    with pytest.raises(ValueError, match=r"y\[1\]\[0\] has the label 1, which is not allowed there"):
        cs.Objective(model, structure, cs.Hamming(), [np.array([0]), np.array([1])], 0.1)
