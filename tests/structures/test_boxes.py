"""BoxSearch keeps the contract with both bounds, with and without true boxes; it equals its twin in Python."""

from __future__ import annotations

import numpy as np
import pytest
from box_problem import BoxProblem, exhaustive, list_boxes
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import casimir as cs
from casimir.costs import IoU, iou
from casimir.scores import Scores
from casimir.structures.boxes import BoxSearch
from casimir.structures.branch_and_bound import BranchAndBound
from casimir.testing import Listing, Ranked, StructureContract, l2_max

_sides = st.tuples(st.integers(1, 3), st.integers(1, 3)) | st.sampled_from([(1, 5), (5, 1), (2, 4), (4, 2)])


def maps_of(elements: st.SearchStrategy[float]) -> st.SearchStrategy[list[np.ndarray]]:
    return st.lists(
        _sides.flatmap(lambda side: hnp.arrays(np.float64, side, elements=elements)), min_size=1, max_size=3
    )


@st.composite
def with_reference(draw: st.DrawFn, elements: st.SearchStrategy[float], bound: str) -> tuple[BoxSearch, Scores]:
    maps = draw(maps_of(elements))
    boxes = [draw(st.sampled_from(list_boxes(*m.shape).outputs.tolist())) for m in maps]
    structure = BoxSearch(bound=bound)
    return structure, structure.scores(maps, whole=[draw(elements) for _ in maps], reference=boxes)


class _Boxes(StructureContract):
    oracles = frozenset({"max", "topk"})
    labelled = False
    bound = "columns"

    def instances(self, elements: st.SearchStrategy[float]) -> st.SearchStrategy[tuple[BoxSearch, Scores]]:
        structure = BoxSearch(bound=self.bound)
        return maps_of(elements).map(lambda maps: (structure, structure.scores(maps)))

    def listing(self, structure: BoxSearch, s: Scores) -> list[Listing]:
        reference = [None] * len(s) if s.reference is None else s.reference
        return [list_boxes(*s.unary(i).shape, reference[i]) for i in range(len(s))]


class TestBoxSearch(_Boxes):
    pass


class _BoxesWithReference(_Boxes):
    def instances(self, elements: st.SearchStrategy[float]) -> st.SearchStrategy[tuple[BoxSearch, Scores]]:
        return with_reference(elements, self.bound)

    def draw(self, data, elements=None):  # type: ignore[no-untyped-def]
        """1 - IoU is a fraction: the judge adds it last and unfused, as scores of boxes are defined to be rounded."""
        structure, s, ranked = super().draw(data) if elements is None else super().draw(data, elements)
        return structure, s, [_rank_again(s, i, r) for i, r in enumerate(ranked)]


def _rank_again(s: Scores, i: int, r: Ranked) -> Ranked:
    assert s.whole is not None
    z = r.parts[:, :-1] @ s.unary(i).ravel() + s.whole[i] * r.parts[:, -1]
    order = sorted(range(len(z)), key=lambda k: (-z[k], tuple(r.outputs[k])))
    return Ranked(z[order], r.outputs[order], r.parts[order])


class TestBoxSearchWithReference(_BoxesWithReference):
    pass


class TestSubwindowSearchWithReference(_BoxesWithReference):
    bound = "corners"


def random_maps(rng: np.random.Generator, n: int, high: int = 12) -> list[np.ndarray]:
    return [rng.normal(size=rng.integers(1, high, size=2)) for _ in range(n)]


@pytest.mark.parametrize("bound", ["columns", "corners"])
def test_the_best_box_of_larger_maps(bound: str) -> None:
    maps = random_maps(np.random.default_rng(0), 40)
    boxes = BoxSearch(bound=bound)
    best = boxes.max(boxes.scores(maps))
    for scores, value, box in zip(maps, best.value, best.outputs, strict=True):
        expected, first = exhaustive(scores)
        assert value == pytest.approx(expected, rel=0, abs=1e-10)
        np.testing.assert_array_equal(box, first)


@pytest.mark.parametrize("weight", [None, 3.0, -3.0])
@pytest.mark.parametrize("bound", ["columns", "corners"])
def test_native_search_equals_branch_and_bound_in_python(bound: str, weight: float | None) -> None:
    rng = np.random.default_rng(1)
    maps = [np.round(m, 1) for m in random_maps(rng, 6, high=8)]
    truth = np.array([[m.shape[0] // 3, m.shape[1] // 3, m.shape[0] // 2, m.shape[1] - 1] for m in maps])
    native = BoxSearch(bound=bound)
    python = BranchAndBound(BoxProblem, data=list(truth) if weight else None)
    s = native.scores(maps) if weight is None else native.scores(maps, [weight] * len(maps), truth)
    one, other = native.topk(s, 12), python.topk(s, 12)
    np.testing.assert_allclose(one.value, other.value, rtol=0, atol=1e-10)
    for i, (a, b) in enumerate(zip(one.outputs, other.outputs, strict=True)):
        drop = np.diff(one.value[i, : len(a)]) < -1e-9  # scores that differ by rounding alone may change places
        apart = np.append(True, drop) & np.append(drop, False)
        np.testing.assert_array_equal(a[apart], b[apart])
    y = [found[-1] for found in one.outputs]
    np.testing.assert_allclose(native.score_of(s, y), python.score_of(s, y), rtol=0, atol=1e-10)


@pytest.mark.parametrize("truth", [None, [[10, 10, 20, 20]]])
@pytest.mark.parametrize("bound", ["columns", "corners"])
def test_equal_scores_give_the_first_boxes_without_a_full_search(bound: str, truth: list[list[int]] | None) -> None:
    boxes = BoxSearch(bound=bound, node_budget=500, on_budget="raise")
    s = boxes.scores([np.zeros((64, 64))], None if truth is None else [1.0], truth)
    top = boxes.topk(s, 10)
    assert top.outputs[0].tolist() == [[0, 0, 0, r] for r in range(10)]
    assert top.value.tolist() == [[0.0 if truth is None else 1.0] * 10]


@pytest.mark.parametrize("truth", [[0, 0, 63, 63], [0, 0, 31, 63], [1, 1, 62, 62], [5, 0, 60, 9]])
@pytest.mark.parametrize("weight", [1.0, -1.0])
def test_an_overlap_alone_is_no_long_search(weight: float, truth: list[int]) -> None:
    boxes = BoxSearch(node_budget=1000, on_budget="raise")
    best = boxes.max(boxes.scores([np.zeros((64, 64))], [weight], [truth]))
    values = weight * (1.0 - iou(np.array([truth, [0, 0, 0, 0], [63, 63, 63, 63]]), np.array(truth)))
    assert best.value[0] == values.max()
    if weight < 0.0:
        assert best.outputs[0].tolist() == truth


@pytest.mark.parametrize("weight", [1.0, -1.0])
def test_an_overlap_larger_than_all_scores_is_no_long_search(weight: float) -> None:
    rng = np.random.default_rng(9)
    boxes = BoxSearch(node_budget=3000, on_budget="raise")
    scores = rng.normal(size=(32, 32))
    for scale in (1e-4, 1e-2, 1e-1, 1.0):
        boxes.topk(boxes.scores([scale * scores], [weight], [[8, 4, 20, 28]]), 5)


def test_ties_around_a_single_cell() -> None:
    scores = np.zeros((40, 30))
    scores[20, 10] = 1.0
    boxes = BoxSearch(node_budget=2000, on_budget="raise")
    top = boxes.topk(boxes.scores([scores]), 4)
    assert top.outputs[0].tolist() == [[0, 0, 20, r] for r in range(10, 14)]


@pytest.mark.parametrize("bound", ["columns", "corners"])
def test_negative_maps_give_their_largest_cell(bound: str) -> None:
    scores = -1.0 - np.random.default_rng(0).random((16, 9))
    boxes = BoxSearch(bound=bound)
    best = boxes.max(boxes.scores([scores, [[-3.0]]]))
    row, column = np.unravel_index(np.argmax(scores), scores.shape)
    assert [y.tolist() for y in best.outputs] == [[row, column, row, column], [0, 0, 0, 0]]
    np.testing.assert_allclose(best.value, [scores.max(), -3.0], rtol=1e-12)


def test_rows_and_columns_change_places() -> None:
    scores = np.random.default_rng(2).integers(-3, 3, size=(6, 11)).astype(float)
    boxes = BoxSearch()
    one, other = boxes.topk(boxes.scores([scores]), 5), boxes.topk(boxes.scores([scores.T]), 5)
    np.testing.assert_array_equal(one.value, other.value)


def test_work_of_the_columns_bound_is_limited_by_the_rows() -> None:
    scores = np.random.default_rng(3).normal(size=(8, 200))
    boxes = BoxSearch(node_budget=8 * 9, on_budget="raise")
    value, box = exhaustive(scores)
    best = boxes.max(boxes.scores([scores, scores.T]))
    np.testing.assert_allclose(best.value, value)
    assert best.outputs[0].tolist() == box.tolist()


@pytest.mark.parametrize("bound", ["columns", "corners"])
def test_a_search_that_is_cut_short_says_so(bound: str) -> None:
    rng = np.random.default_rng(4)
    maps = [rng.normal(size=(24, 24)), np.ones((2, 2))]
    short, full = BoxSearch(bound=bound, node_budget=5), BoxSearch(bound=bound)
    s = full.scores(maps)
    cut, whole = short.search(s)[0], full.search(s)[0]
    assert (cut.status, cut.expanded, whole.status, whole.gap) == ("budget", 5, "complete", 0.0)
    assert cut.values[0] <= whole.values[0] <= cut.bound
    assert cut.gap == cut.bound - cut.values[0] > 0.0
    np.testing.assert_allclose(cut.values, full.score_of(s.select([0]), cut.outputs))
    with pytest.warns(RuntimeWarning, match=r"BoxSearch used up node_budget=5 on 1 of 2 examples \(the first is 0\)"):
        best = short.max(s)
    assert best.value.tolist() == [cut.values[0], 4.0]
    with pytest.raises(cs.Intractable, match="the best by up to"):
        BoxSearch(bound=bound, node_budget=5, on_budget="raise").topk(s, 2)


def test_a_search_bounds_what_it_has_not_listed() -> None:
    boxes = BoxSearch()
    s = boxes.scores([np.random.default_rng(5).normal(size=(5, 6)), np.ones((1, 2))])
    three, four = boxes.search(s, 3)[0], boxes.search(s, 4)
    assert four[0].values[3] <= three.bound <= three.values[2]
    assert (four[1].bound, len(four[1].values)) == (-np.inf, 3)


def test_an_overlap_of_no_weight_changes_nothing() -> None:
    maps = random_maps(np.random.default_rng(6), 5)
    boxes = BoxSearch()
    for whole in (None, np.zeros(5)):
        one, other = boxes.topk(boxes.scores(maps), 3), boxes.topk(boxes.scores(maps, whole, [[0, 0, 0, 0]] * 5), 3)
        np.testing.assert_array_equal(one.value, other.value)


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_iou_is_a_score_of_boxes(data: st.DataObject) -> None:
    structure, s = data.draw(with_reference(st.integers(-2, 2).map(float), "columns"))
    assert s.reference is not None
    truth, listings = list(s.reference), _Boxes().listing(structure, s)
    s = Scores(s.nodes, s.offsets, shapes=s.shapes)
    parts = IoU().parts(structure, s, truth)
    y = [data.draw(st.sampled_from(listing.outputs.tolist())) for listing in listings]
    expected = [IoU()(true, box) for true, box in zip(truth, y, strict=True)]
    np.testing.assert_allclose(structure.score_of(parts, y), expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(structure.score_of(s + parts, y), structure.score_of(s, y) + expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        structure.log_n_outputs(s), np.log([len(listing.outputs) for listing in listings]), rtol=0, atol=1e-12
    )


def test_training_with_the_iou_cost_ends_with_a_certificate() -> None:
    rng, truth = np.random.default_rng(7), []
    features = []
    for _ in range(8):
        t, l = rng.integers(0, 4, size=2)
        box = np.array([t, l, t + rng.integers(1, 4), l + rng.integers(1, 4)])
        inside = np.zeros((8, 8))
        inside[box[0] : box[2] + 1, box[1] : box[3] + 1] = 1.0
        noise = rng.normal(size=(8, 8, 3))
        noise[..., 0] += 2.0 * inside
        features.append(np.concatenate([noise, np.ones((8, 8, 1))], axis=2).reshape(64, 4))
        truth.append(box)
    model = cs.LinearPartsModel(features, shapes=[(8, 8)] * len(features))
    objective = cs.Objective(model, BoxSearch(), IoU(), truth, 1 / len(truth))
    result = cs.minimize(objective, cs.DualProximal(), tol=1e-2, seed=0)
    assert result.converged
    assert result.gap <= 1e-2
    found = BoxSearch().max(model.scores(result.w)).outputs
    assert np.mean([IoU()(a, b) for a, b in zip(truth, found, strict=True)]) < 0.3


def test_smoothed_training_takes_the_top_boxes() -> None:
    rng = np.random.default_rng(8)
    truth = np.array([[1, 1, 2, 3], [0, 2, 3, 3]])
    model = cs.LinearPartsModel([rng.normal(size=(20, 3)) for _ in truth], shapes=[(4, 5)] * 2)
    objective = cs.Objective(model, BoxSearch(), IoU(), list(truth), 0.5)
    result = cs.minimize(objective, cs.SVRG(cs.L2(k=5)), epochs=20, tol=5e-2, seed=0)
    assert result.objective < 1.0


@pytest.mark.parametrize(
    ("maps", "message"),
    [
        ([[[1.0, np.nan]]], r"maps\[0\] has nan at index \[0, 1\]"),
        ([np.zeros((2, 2)), np.zeros((0, 3))], r"maps\[1\] has shape \[0, 3\]; it must be \[H, W\]"),
        (np.zeros((2, 2)), r"maps\[0\] has shape \[2\]; .* For a single map pass \[maps\]"),
        ([[[1e308, 1e308]]], "sums are infinite"),
    ],
)
def test_bad_maps_name_the_example(maps: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        BoxSearch().scores(maps)


@pytest.mark.parametrize(
    ("reference", "error", "message"),
    [
        ([[0, 0, 1]], ValueError, r"reference has shape \[1, 3\]; it must be \[n, 4\]"),
        ([[0, 2, 1, 1]], ValueError, r"reference\[0\] is \[0, 2, 1, 1\]; .* left <= right"),
        ([[-1, 0, 1, 1]], ValueError, r"0 <= top"),
        ([[0.0, 0, 1, 1]], TypeError, "whole numbers of cells"),
        ([[0, 0, 2, 2]], ValueError, r"reference\[0\] is \[0, 0, 2, 2\], which is not inside its map of 2 rows"),
        ([[0, 0, 1, 1]] * 2, ValueError, r"reference has shape \[2, 4\]; 1 examples need \[1, 4\]"),
    ],
)
def test_bad_reference_boxes_are_refused(reference: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        BoxSearch().scores([np.zeros((2, 3))], [1.0], reference)


def test_a_whole_needs_the_box_it_refers_to() -> None:
    maps = [np.zeros((2, 3))]
    with pytest.raises(ValueError, match="but no boxes to compare with"):
        BoxSearch().scores(maps, whole=[1.0])
    with pytest.raises(ValueError, match="whole that is NaN"):
        BoxSearch().scores(maps, [np.nan], [[0, 0, 1, 1]])
    with pytest.raises(ValueError, match="scores without shapes"):
        BoxSearch().max(Scores(np.zeros(4), np.array([0, 4])))


def test_outputs_must_lie_in_the_map() -> None:
    boxes = BoxSearch()
    s = boxes.scores([np.zeros((2, 3))])
    with pytest.raises(ValueError, match=r"outputs\[0\]\[0\] is \[0, 0, 0, 3\], which is not inside its map"):
        boxes.score_of(s, [[0, 0, 0, 3]])
    with pytest.raises(ValueError, match=r"outputs\[0\] has shape \[1, 2\]"):
        boxes.mixture(s, [np.zeros((1, 2), dtype=int)], [np.ones(1)])


def test_costs_of_boxes_need_a_box_per_example() -> None:
    boxes = BoxSearch()
    s = boxes.scores([np.zeros((2, 3))])
    with pytest.raises(ValueError, match=r"costs\[0\]\[0\] is \[0, 0, 2, 2\], which is not inside its map"):
        IoU().parts(boxes, s, [np.array([0, 0, 2, 2])])
    with pytest.raises(ValueError, match="costs has 2 entries for 1 examples"):
        IoU().parts(boxes, s, [np.array([0, 0, 1, 1])] * 2)
    with pytest.raises(TypeError, match=r"A box has no labels.* Use IoU\(\)"):
        cs.Hamming().parts(boxes, s, [np.array([0, 0, 1, 1])])


def cut_short(budget: int) -> tuple[BoxSearch, Scores, list[np.ndarray]]:
    """Maps that a search of few nodes cannot finish (the last it can), and all scores of each, sorted."""
    rng = np.random.default_rng(budget)
    maps = [rng.normal(size=(6, 5)) for _ in range(4)] + [np.array([[1.0, -3.0]])]
    reference = [[1, 1, 3, 2]] * 4 + [[0, 1, 0, 1]]
    structure = BoxSearch(bound="corners", node_budget=budget)
    s = structure.scores(maps, [0.7] * 5, reference)
    z = [list_boxes(*m.shape, np.array(box)).parts @ [*m.ravel(), 0.7] for m, box in zip(maps, reference, strict=True)]
    return structure, s, [-np.sort(-scores) for scores in z]


@pytest.mark.filterwarnings("ignore:BoxSearch used up")
@pytest.mark.parametrize("budget", [1, 3, 10, 20])
def test_a_maximum_that_was_not_reached_has_an_upper_bound(budget: int) -> None:
    structure, s, z = cut_short(budget)
    best, hard, true = structure.max(s), cs.Hard()(structure, s), np.array([scores[0] for scores in z])
    assert best.upper is not None
    assert np.all(best.value <= true + 1e-12)
    assert np.all(true <= best.upper + 1e-12)
    assert best.upper[-1] == best.value[-1]
    np.testing.assert_array_equal(hard.value, best.value)
    np.testing.assert_array_equal(hard.max_value, best.upper)
    np.testing.assert_array_equal(hard.exact, best.upper <= best.value)
    assert hard.exact[-1]
    assert not hard.exact.all()


@pytest.mark.filterwarnings("ignore:BoxSearch used up")
@pytest.mark.parametrize("smoothing", [cs.L2(), cs.L2(k=3)])
@pytest.mark.parametrize("mu", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("budget", [1, 10, 40, 100])
def test_a_smoothed_maximum_that_was_not_reached_has_an_upper_bound(budget: int, mu: float, smoothing: cs.L2) -> None:
    structure, s, z = cut_short(budget)
    smooth = smoothing(structure, s, mu)
    true = np.array([l2_max(scores, mu)[0] for scores in z])
    upper = smooth.value if smooth.upper is None else smooth.upper
    assert smooth.max_value is not None
    assert np.all(smooth.max_value >= [scores[0] - 1e-12 for scores in z])
    assert np.all(upper >= true - 1e-9)
    np.testing.assert_allclose(smooth.value[smooth.exact], true[smooth.exact], rtol=0, atol=1e-9)
    np.testing.assert_array_equal(upper[smooth.exact], smooth.value[smooth.exact])
    assert budget > 1 or not smooth.exact[:4].any()


@pytest.mark.filterwarnings("ignore:BoxSearch used up")
def test_an_objective_that_was_not_searched_to_the_end_is_not_too_low() -> None:
    rng = np.random.default_rng(10)
    truth = [np.array([1, 1, 3, 3]), np.array([0, 2, 5, 4]), np.array([2, 0, 2, 6])]
    model = cs.LinearPartsModel([rng.normal(size=(49, 3)) for _ in truth], shapes=[(7, 7)] * 3)

    def objective(node_budget: int, bound: str = "corners") -> cs.Objective:
        return cs.Objective(model, BoxSearch(bound=bound, node_budget=node_budget), IoU(), truth, 0.1, native=False)

    for scale in (0.0, 0.1, 1.0):
        w = scale * rng.normal(size=3)
        true = [
            (list_boxes(7, 7, y).parts @ [*model.scores(w).nodes[49 * i : 49 * i + 49], 1.0]).max()
            for i, y in enumerate(truth)
        ]
        value = np.mean(true - BoxSearch().score_of(model.scores(w), truth)) + 0.05 * w @ w
        assert objective(10**6, "columns").value(w) == pytest.approx(value, abs=1e-10)
        for budget in (1, 5, 30, 300):
            assert objective(budget).value(w) >= value - 1e-10
    result = cs.minimize(objective(30), cs.BCFW(), epochs=20, tol=1e-3, seed=0)
    assert result.objective >= objective(10**6).value(result.w) - 1e-10
    assert not result.converged


@pytest.mark.parametrize("options", [{"bound": "best"}, {"node_budget": 0}, {"on_budget": "ignore"}])
def test_bad_options_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="it must be"):
        BoxSearch(**options)  # type: ignore[arg-type]
