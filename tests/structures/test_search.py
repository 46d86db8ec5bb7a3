"""BranchAndBound keeps the contract for problems of users, with and without `first`; a budget is never hidden."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from box_problem import BoxProblem, list_boxes
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import casimir as cs
from casimir.scores import FloatArray, Scores, offsets_of
from casimir.structures.branch_and_bound import BranchAndBound
from casimir.structures.search import BestFirst
from casimir.testing import Listing, StructureContract


@dataclass
class Knapsack:
    """score(y) = sum_j values[j] y_j, y in {0, 1}^p with sum_j weights[j] y_j <= 4. A node is the first labels."""

    s: Scores
    weights: tuple[int, ...]

    def root(self) -> tuple[int, ...]:
        return ()

    def split(self, node: tuple[int, ...]) -> list[tuple[int, ...]]:
        return [(*node, j) for j in (0, 1) if np.dot((*node, j), self.weights[: len(node) + 1]) <= 4]

    def bound(self, node: tuple[int, ...]) -> float:
        values = self.s.nodes
        return float(values[: len(node)] @ np.array(node, dtype=float) + np.maximum(values[len(node) :], 0.0).sum())

    def leaf(self, node: tuple[int, ...]) -> tuple[int, ...] | None:
        return node if len(node) == len(self.weights) else None

    def first(self, node: tuple[int, ...]) -> tuple[int, ...]:
        return node

    def parts(self, output: Any) -> FloatArray:
        return np.asarray(output, dtype=float)


class Permutations:
    """score(y) = sum_v weights[v, y_v], y a permutation; a node is its first entries. Ties by opening equal sets."""

    def __init__(self, s: Scores) -> None:
        self.weights = s.unary(0)

    def root(self) -> tuple[int, ...]:
        return ()

    def split(self, node: tuple[int, ...]) -> list[tuple[int, ...]]:
        return [(*node, j) for j in range(len(self.weights)) if j not in node]

    def bound(self, node: tuple[int, ...]) -> float:
        free = [j for j in range(len(self.weights)) if j not in node]
        rest = self.weights[len(node) :, free].max(axis=1).sum() if free else 0.0
        return float(sum(self.weights[v, j] for v, j in enumerate(node)) + rest)

    def leaf(self, node: tuple[int, ...]) -> tuple[int, ...] | None:
        return node if len(node) == len(self.weights) else None

    def parts(self, output: Any) -> FloatArray:
        return np.eye(len(output))[np.asarray(output)]


class TestKnapsack(StructureContract):
    oracles = frozenset({"max", "topk"})

    def instances(self, elements: st.SearchStrategy[float]) -> st.SearchStrategy[tuple[BranchAndBound, Scores]]:
        item = st.tuples(st.integers(1, 4), elements)

        def make(batch: list[list[tuple[int, float]]]) -> tuple[BranchAndBound, Scores]:
            weights, values = ([tuple(entry[k] for entry in items) for items in batch] for k in (0, 1))
            s = Scores(np.concatenate([np.array(v) for v in values]), offsets_of([len(v) for v in values]))
            return BranchAndBound(Knapsack, data=weights), s

        return st.lists(st.lists(item, min_size=1, max_size=4), min_size=1, max_size=3).map(make)

    def listing(self, structure: BranchAndBound, s: Scores) -> list[Listing]:
        assert structure.data is not None
        result = []
        for weights in structure.data:
            outputs = np.array([y for y in itertools.product((0, 1), repeat=len(weights)) if np.dot(y, weights) <= 4])
            result.append(Listing(outputs, outputs.astype(np.float64)))
        return result


class TestPermutations(StructureContract):
    oracles = frozenset({"max", "topk"})

    def instances(self, elements: st.SearchStrategy[float]) -> st.SearchStrategy[tuple[BranchAndBound, Scores]]:
        square = st.integers(1, 3).flatmap(lambda p: hnp.arrays(np.float64, (p, p), elements=elements))

        def make(batch: list[FloatArray]) -> tuple[BranchAndBound, Scores]:
            shapes = np.array([m.shape for m in batch], dtype=np.int64)
            s = Scores(np.concatenate([m.ravel() for m in batch]), offsets_of([m.size for m in batch]), shapes=shapes)
            return BranchAndBound(Permutations), s

        return st.lists(square, min_size=1, max_size=2).map(make)

    def listing(self, structure: BranchAndBound, s: Scores) -> list[Listing]:
        outputs = [np.array(list(itertools.permutations(range(len(s.unary(i)))))) for i in range(len(s))]
        return [Listing(y, np.eye(y.shape[1])[y].reshape(len(y), -1)) for y in outputs]


class TestBoxesWithTruth(StructureContract):
    """A cost on the whole output goes through user problems as well."""

    oracles = frozenset({"max", "topk"})
    truth = (np.array([0, 0, 1, 1]), np.array([0, 0, 0, 0]))  # areas are powers of 2, so that sums are exact

    def instances(self, elements: st.SearchStrategy[float]) -> st.SearchStrategy[tuple[BranchAndBound, Scores]]:
        maps = st.tuples(hnp.arrays(np.float64, 4, elements=elements), hnp.arrays(np.float64, 2, elements=elements))
        whole = hnp.arrays(np.float64, 2, elements=elements)
        shapes, structure = np.array([[2, 2], [1, 2]]), BranchAndBound(BoxProblem, data=self.truth)
        return st.tuples(maps, whole).map(
            lambda drawn: (
                structure,
                Scores(np.concatenate(drawn[0]), np.array([0, 4, 6]), shapes=shapes, whole=drawn[1]),
            )
        )

    def listing(self, structure: BranchAndBound, s: Scores) -> list[Listing]:
        assert structure.data is not None
        return [list_boxes(*s.unary(i).shape, structure.data[i]) for i in range(len(s))]


def scores_of(maps: list[FloatArray]) -> Scores:
    return cs.BoxSearch().scores(maps)


def test_outputs_come_one_by_one() -> None:
    s = scores_of([np.random.default_rng(0).normal(size=(9, 9))])
    search = BestFirst(BoxProblem(s), node_budget=10_000)
    first, early = next(search), search.expanded
    assert first[0] == pytest.approx(cs.BoxSearch().max(s).value[0])
    assert search.bound <= first[0]
    following = [value for value, _ in itertools.islice(search, 20)]
    np.testing.assert_allclose(following, cs.BoxSearch().topk(s, 21).value[0, 1:])
    assert search.expanded > early


def test_equal_scores_are_cheap_when_the_problem_knows_its_first_outputs() -> None:
    s = scores_of([np.zeros((12, 12))])
    found = BranchAndBound(BoxProblem).search(s, 3)[0]
    assert found.outputs.tolist() == [[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 2]]
    assert found.expanded < 60


def test_a_search_that_is_cut_short_says_so() -> None:
    s = scores_of([np.random.default_rng(1).normal(size=(8, 8)), np.ones((1, 1))])
    short, full = BranchAndBound(BoxProblem, node_budget=4), BranchAndBound(BoxProblem)
    cut, whole = short.search(s)[0], full.search(s)[0]
    assert (cut.status, cut.expanded, whole.status, whole.gap) == ("budget", 4, "complete", 0.0)
    assert cut.values[0] <= whole.values[0] <= cut.bound
    np.testing.assert_allclose(full.score_of(s.select([0]), cut.outputs), cut.values)
    with pytest.warns(RuntimeWarning, match=r"BranchAndBound used up node_budget=4 on 1 of 2 examples"):
        best = short.max(s)
    assert best.value.tolist() == [cut.values[0], 1.0]
    assert best.upper is not None
    assert best.upper.tolist() == [cut.bound, 1.0]
    with pytest.raises(cs.Intractable, match="Raise node_budget"):
        BranchAndBound(BoxProblem, node_budget=4, on_budget="raise").topk(s, 3)


def test_outputs_found_within_the_budget_are_the_best() -> None:
    s = scores_of([np.random.default_rng(2).normal(size=(6, 6))])
    full = BranchAndBound(BoxProblem).search(s, 40)[0]
    cut = BranchAndBound(BoxProblem, node_budget=full.expanded // 2).search(s, 40)[0]
    assert cut.status == "budget"
    assert 1 <= len(cut.values) < 40
    np.testing.assert_array_equal(cut.outputs, full.outputs[: len(cut.values)])
    assert full.values[len(cut.values)] <= cut.bound <= cut.values[-1]
    short = BranchAndBound(BoxProblem, node_budget=full.expanded // 2)
    with pytest.warns(RuntimeWarning, match="used up node_budget"):
        top, best = short.topk(s, 40), short.max(s)
    assert top.upper is not None
    assert top.upper.tolist() == [cut.bound]
    assert best.upper is None  # the first one was found in time


class _Broken(Permutations):
    def bound(self, node: tuple[int, ...]) -> float:
        return super().bound(node) if self.leaf(node) else -5.0 if node else float(self.weights.max())


class _NaN(Permutations):
    def bound(self, node: tuple[int, ...]) -> float:
        return float("nan")


class _Empty(Permutations):
    def split(self, node: tuple[int, ...]) -> list[tuple[int, ...]]:
        return [(*node, 0)]

    def leaf(self, node: tuple[int, ...]) -> None:
        return None

    def bound(self, node: tuple[int, ...]) -> float:
        return 0.0


class _WrongParts(Permutations):
    def parts(self, output: Any) -> FloatArray:
        return np.zeros(7)


def test_mistakes_of_a_problem_are_named() -> None:
    s = scores_of([np.eye(2)])
    with pytest.raises(ValueError, match=r"output \(0, 1\) scores 2.0, above the bound -5.0 of a set that holds it"):
        BranchAndBound(_Broken).max(s)
    with pytest.raises(ValueError, match=r"bound\(\(\)\) is nan; it must be finite"):
        BranchAndBound(_NaN).max(s)
    with pytest.raises(cs.Intractable, match="showed no output within node_budget=10"):
        BranchAndBound(_Empty, node_budget=10).max(s)
    with pytest.raises(ValueError, match=r"parts\(\[0, 1\]\) has shape \[7\]; the scores of the example are \[2, 2\]"):
        BranchAndBound(_WrongParts).score_of(s, [np.array([0, 1])])


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="on_budget='ignore'; it must be"):
        BranchAndBound(Permutations, on_budget="ignore")
    with pytest.raises(ValueError, match="node_budget=0; it must be"):
        BranchAndBound(Permutations, node_budget=0)
    with pytest.raises(ValueError, match="data for 2 examples and got scores of 1"):
        BranchAndBound(Knapsack, data=[(1,), (2,)]).max(Scores(np.zeros(1), np.array([0, 1])))
    with pytest.raises(TypeError, match="it reads Scores"):
        BranchAndBound(Permutations).max(np.eye(2))  # type: ignore[arg-type]


def test_a_problem_of_a_user_can_be_trained() -> None:
    rng = np.random.default_rng(3)
    weights = [(1, 2, 2, 3)] * 10
    features = [rng.normal(size=(4, 3)) for _ in weights]
    model, knapsack = cs.LinearPartsModel(features), BranchAndBound(Knapsack, data=weights)
    y = knapsack.max(model.scores(np.array([1.0, -1.0, 0.5]))).outputs

    class WrongItems:
        """The number of items that differ, but for a constant on the score of no item: sum_j y'_j (1 - 2 y_j)."""

        def parts(self, structure: Any, s: Scores, y: Any) -> Scores:
            return Scores(np.concatenate([1.0 - 2.0 * true for true in y]), s.offsets)

        def __call__(self, y_true: Any, y_pred: Any, example: int | None = None) -> float:
            return float(np.sum(np.asarray(y_true) != y_pred) - np.sum(y_true))

    objective = cs.Objective(model, knapsack, WrongItems(), y, 0.1)
    result = cs.minimize(objective, cs.BCFW(), epochs=30, tol=1e-2, seed=0)
    found = knapsack.max(model.scores(result.w)).outputs
    assert np.mean([np.array_equal(a, b) for a, b in zip(y, found, strict=True)]) >= 0.7
