"""Matching keeps the contract, agrees with SciPy's assignments and checks its inputs."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import linear_sum_assignment

import casimir as cs
from casimir.scores import Scores
from casimir.structures.matching import Matching
from casimir.testing import Listing, StructureContract, rank

SQUARE, NULL = Matching(), Matching(null=True)


def list_matchings(rows: int, columns: int, null: bool) -> Listing:
    """All outputs of a [rows, columns] table in lexicographic order; parts are its cells."""
    kinds = itertools.product(range(columns), repeat=rows) if null else itertools.permutations(range(columns), rows)
    taken = columns - 1 if null else columns
    outputs = [y for y in kinds if all(y.count(z) < 2 for z in range(taken))]
    array = np.array(outputs, dtype=np.int64).reshape(-1, rows)
    return Listing(array, np.eye(columns)[array].reshape(len(array), -1))


@st.composite
def matchings(
    draw: st.DrawFn, elements: st.SearchStrategy[float], shapes: st.SearchStrategy[tuple[int, int]], null: bool
) -> tuple[Matching, Scores]:
    given = draw(st.lists(shapes, min_size=1, max_size=3))
    structure = Matching(null=null)
    weights = [draw(hnp.arrays(np.float64, shape, elements=elements, fill=elements)) for shape in given]
    return structure, structure.scores(weights)


class MatchingContract(StructureContract):
    oracles = frozenset({"max", "topk", "max_marginals"})

    def listing(self, structure: Matching, s: Scores) -> list[Listing]:
        return [list_matchings(*s.unary(i).shape, structure.null) for i in range(len(s))]


class TestSquare(MatchingContract):
    def instances(self, elements: st.SearchStrategy[float]) -> st.SearchStrategy[tuple[Matching, Scores]]:
        return matchings(elements, st.integers(1, 4).map(lambda p: (p, p)), null=False)


class TestMoreColumnsThanRows(MatchingContract):
    def instances(self, elements: st.SearchStrategy[float]) -> st.SearchStrategy[tuple[Matching, Scores]]:
        shapes = st.tuples(st.integers(1, 3), st.integers(0, 2)).map(lambda pair: (pair[0], sum(pair)))
        return matchings(elements, shapes, null=False)


class TestNull(MatchingContract):
    """q = 0, p < q and p > q are among the shapes [p, q + 1]."""

    def instances(self, elements: st.SearchStrategy[float]) -> st.SearchStrategy[tuple[Matching, Scores]]:
        return matchings(elements, st.tuples(st.integers(1, 4), st.integers(1, 4)), null=True)


def test_the_best_matching_of_a_small_table() -> None:
    s = SQUARE.scores([[[1, 2, 0], [5, 9, 1], [2, 7, 3]]])
    best = SQUARE.max(s)
    assert best.value.tolist() == [13.0]
    assert best.outputs[0].tolist() == [0, 1, 2]
    np.testing.assert_array_equal(s.unary(0), [[1, 2, 0], [5, 9, 1], [2, 7, 3]])


def test_unmatched_rows_take_the_null_column() -> None:
    best = NULL.max(NULL.scores([[[1, 0, 0.5], [3, -1, 0], [2, -1, 1]], [[0.25]]]))
    assert [y.tolist() for y in best.outputs] == [[2, 0, 2], [0]]
    assert best.value.tolist() == [4.5, 0.25]


@pytest.mark.parametrize(("p", "q", "null"), [(30, 30, False), (20, 30, False), (30, 30, True), (25, 12, True)])
def test_equal_weights_give_the_first_matchings(p: int, q: int, null: bool) -> None:
    structure = Matching(null=null)
    top = structure.topk(structure.scores([np.full((p, q + null), 1.5)]), 10)
    assert np.all(top.value == 1.5 * p)
    # The first rows take the first columns in order; the first outputs differ in the last rows only.
    fixed = [min(v, q) for v in range(p - 4)]
    left = [*range(len(fixed), q), *[q] * null]
    ends = (y for y in itertools.product(left, repeat=4) if all(y.count(z) < 2 for z in range(q)))
    expected = [fixed + list(y) for y in itertools.islice(ends, 10)]
    assert top.outputs[0][: len(expected)].tolist() == expected
    assert len(np.unique(top.outputs[0], axis=0)) == 10


def ties(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return rng.integers(-2, 3, size=shape).astype(np.float64)


def reals(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return rng.normal(size=shape)


@pytest.mark.parametrize("draw", [ties, reals])
@pytest.mark.parametrize("shape", [(50, 50), (100, 100), (60, 90), (1, 80), (64, 65)])
def test_max_agrees_with_scipy(draw, shape: tuple[int, int]) -> None:
    weights = [draw(np.random.default_rng(seed), shape) for seed in range(5)]
    best = SQUARE.max(SQUARE.scores(weights))
    for i, w in enumerate(weights):
        rows, columns = linear_sum_assignment(w, maximize=True)
        assert best.value[i] == pytest.approx(w[rows, columns].sum(), abs=1e-10)
        assert len(set(best.outputs[i].tolist())) == shape[0]


@pytest.mark.parametrize("draw", [ties, reals])
@pytest.mark.parametrize(("p", "q"), [(60, 60), (70, 30), (30, 70), (20, 1)])
def test_null_agrees_with_scipy_on_private_columns(draw, p: int, q: int) -> None:
    rng = np.random.default_rng(p * q)
    w = draw(rng, (p, q + 1))
    best = NULL.max(NULL.scores([w]))
    wide = np.full((p, q + p), -1e3)
    wide[:, :q] = w[:, :q]
    wide[np.arange(p), q + np.arange(p)] = w[:, q]
    rows, columns = linear_sum_assignment(wide, maximize=True)
    assert best.value[0] == pytest.approx(wide[rows, columns].sum(), abs=1e-10)


@pytest.mark.parametrize("draw", [ties, reals])
@pytest.mark.parametrize(("p", "q", "null"), [(30, 30, False), (20, 35, False), (25, 20, True)])
def test_max_marginals_agree_with_constrained_assignments(draw, p: int, q: int, null: bool) -> None:
    rng, structure = np.random.default_rng(p), Matching(null=null)
    w = draw(rng, (p, q + null))
    table = structure.max_marginals(structure.scores([w]))[0]
    for v, z in [*rng.integers([p, q + null], size=(60, 2)).tolist(), [0, q + null - 1]]:
        forced = w.copy()
        forced[v] -= 1e6
        forced[v, z] += 1e6
        expected = structure.score_of(structure.scores([w]), structure.max(structure.scores([forced])).outputs)[0]
        assert table[v, z] == pytest.approx(expected, abs=1e-9)
        if not null:
            rest = np.delete(np.delete(w, v, axis=0), z, axis=1)
            rows, columns = linear_sum_assignment(rest, maximize=True)
            assert table[v, z] == pytest.approx(w[v, z] + rest[rows, columns].sum(), abs=1e-10)
    assert table.max(axis=1) == pytest.approx(structure.max(structure.scores([w])).value[0], abs=1e-10)


def test_a_large_table() -> None:
    rng = np.random.default_rng(0)
    w = rng.normal(size=(300, 300))
    s = SQUARE.scores([w])
    best, top, table = SQUARE.max(s), SQUARE.topk(s, 4), SQUARE.max_marginals(s)[0]
    rows, columns = linear_sum_assignment(w, maximize=True)
    np.testing.assert_array_equal(best.outputs[0], columns[rows])
    assert top.value[0, 0] == best.value[0]
    # The second best leaves the best somewhere: the largest max-marginal off the best matching is its value.
    table[np.arange(300), best.outputs[0]] = -np.inf
    assert top.value[0, 1] == pytest.approx(table.max(), abs=1e-9)
    assert np.all(np.diff(top.value[0]) <= 0)


@pytest.mark.parametrize(("rows", "columns", "null"), [(5, 5, False), (4, 6, False), (4, 5, True)])
def test_topk_of_reals_is_brute_force(rows: int, columns: int, null: bool) -> None:
    structure, listing = Matching(null=null), list_matchings(rows, columns, null)
    s = structure.scores(np.random.default_rng(rows).normal(size=(3, rows, columns)))
    top = structure.topk(s, 150)
    for i in range(3):
        r = rank(listing, s, i)
        count = min(150, len(r.z))
        np.testing.assert_allclose(top.value[i, :count], r.z[:count], atol=1e-12)
        np.testing.assert_array_equal(top.outputs[i], r.outputs[:150])


@pytest.mark.parametrize("null", [False, True])
def test_topk_is_best_max_marginal_first(null: bool) -> None:
    rng, structure = np.random.default_rng(int(null)), Matching(null=null)
    s = structure.scores([rng.integers(-2, 3, size=(5, 6)), rng.normal(size=(6, 7))])
    top, reference = structure.topk(s, 12), cs.bmmf(structure, s, 12)
    np.testing.assert_allclose(top.value, reference.value, rtol=0, atol=1e-10)
    for ours, theirs in zip(top.outputs, reference.outputs, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_outputs_without_weight_are_not_pulled() -> None:
    s = SQUARE.scores([np.eye(6) * 10, np.zeros((3, 3))])
    pulled = SQUARE.topk_until(s, 50, 0.5)
    assert [len(z) for z in pulled.values] == [1, 6]


def test_forbidden_cells_do_not_blur_close_scores() -> None:
    """A large negative score forbids a cell; differences of 1e-7 between the others still count."""
    w = np.array([[-1e6, 1.0, 1.0 + 1e-7], [0.5, -1e6, 0.25], [0.125, 0.5, -1e6]])
    best = SQUARE.max(SQUARE.scores([w]))
    value = {y: sum(w[v, z] for v, z in enumerate(y)) for y in itertools.permutations(range(3))}
    assert best.value[0] == pytest.approx(max(value.values()), abs=1e-9)


def test_large_whole_scores_are_exact() -> None:
    w = np.array([[2.0**40, 2.0**40 + 1], [0, 0]])
    best = SQUARE.max(SQUARE.scores([w]))
    assert best.outputs[0].tolist() == [1, 0]
    assert SQUARE.topk(SQUARE.scores([w]), 2).value.tolist() == [[2.0**40 + 1, 2.0**40]]


@pytest.mark.parametrize(("p", "q"), [(1, 1), (3, 3), (2, 4), (4, 2), (3, 0)])
def test_the_number_of_outputs(p: int, q: int) -> None:
    with_null = NULL.scores([np.zeros((p, q + 1))])
    assert NULL.log_n_outputs(with_null)[0] == pytest.approx(math.log(len(list_matchings(p, q + 1, True).outputs)))
    if p <= q:
        s = SQUARE.scores([np.zeros((p, q))])
        assert SQUARE.log_n_outputs(s)[0] == pytest.approx(math.log(len(list_matchings(p, q, False).outputs)))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([np.zeros((3, 2))], r"weights\[0\] has 3 rows and 2 columns.*Transpose.*null=True"),
        ([np.zeros((1, 1)), [[0, np.nan]]], r"weights\[1\] has nan at index \[0, 1\]; scores must be finite"),
        ([[[np.inf]]], r"weights\[0\] has inf"),
        ([np.zeros((0, 0))], r"weights\[0\] has shape \[0, 0\], which is empty"),
        (np.zeros((2, 2)), r"For a single example pass \[weights\]"),
        ([[[0, 0], [1]]], r"weights\[0\] is ragged"),
    ],
)
def test_bad_weights_name_the_example_and_the_remedy(weights: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SQUARE.scores(weights)


def test_null_needs_its_column() -> None:
    with pytest.raises(ValueError, match=r"it must be \[p, q \+ 1\]"):
        NULL.scores([np.zeros((2, 0))])
    with pytest.raises(TypeError, match="null='yes'"):
        Matching(null="yes")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ([[0, 1, 2], [0]], "2 entries for 1 examples"),
        ([[0, 1]], r"outputs\[0\] has shape \[2\]; example 0 needs \[3\]"),
        ([[0, 1, 3]], r"outputs\[0\] holds 3; example 0 has the labels 0 to 2"),
        ([[1, 0, 1]], r"outputs\[0\] takes column 1 twice"),
    ],
)
def test_outputs_that_are_no_matching_are_refused(outputs: list[list[int]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SQUARE.score_of(SQUARE.scores([np.zeros((3, 3))]), [np.array(y) for y in outputs])


def test_only_the_null_column_may_be_taken_twice() -> None:
    s = NULL.scores([np.arange(9.0).reshape(3, 3)])
    assert NULL.score_of(s, [np.array([2, 2, 0])]).tolist() == [13.0]
    with pytest.raises(ValueError, match="takes column 0 twice"):
        NULL.score_of(s, [np.array([0, 2, 0])])


def test_scores_of_another_structure_are_refused() -> None:
    with pytest.raises(ValueError, match=r"without shapes; .* Matching.scores"):
        SQUARE.max(cs.Candidates().scores([np.zeros(4)]))
    with pytest.raises(ValueError, match=r"nodes \[1, 3\]; it reads \[N\]"):
        SQUARE.max(cs.Chain(3).scores([np.zeros((1, 3))], np.zeros((3, 3))))
    with pytest.raises(ValueError, match="has 2 rows and 1 columns"):
        SQUARE.max(NULL.scores([np.zeros((2, 1))]))
    with pytest.raises(TypeError, match=r"reads Scores. Make them with Matching.scores"):
        SQUARE.max(np.zeros((3, 2)))  # type: ignore[arg-type]


def test_sums_that_overflow_are_refused() -> None:
    with pytest.raises(ValueError, match="sums overflow"):
        SQUARE.max(SQUARE.scores([np.full((3, 3), 1e308)]))


def test_a_weighted_cost_needs_equal_numbers_of_columns() -> None:
    s = SQUARE.scores([np.zeros((2, 2)), np.zeros((2, 3))])
    cost = cs.Hamming(1.0 - np.eye(2))
    with pytest.raises(ValueError, match=r"Example 1 has 3 columns; a \[2, 2\] cost table needs 2"):
        cost.parts(SQUARE, s, [np.array([0, 1]), np.array([0, 1])])


def test_training_certifies_its_gap() -> None:
    """Rows and columns are noisy copies of each other; the weights learn which features say so."""
    rng = np.random.default_rng(0)
    features, y = [], []
    for p in rng.integers(3, 7, size=30):
        left, order = rng.normal(size=(p, 3)), rng.permutation(p)
        right = np.empty_like(left)
        right[order] = left + 0.1 * rng.normal(size=left.shape)
        noise = rng.normal(size=(p, p, 1))
        features.append(np.concatenate([(left[:, None] - right[None]) ** 2, noise], axis=2).reshape(p * p, -1))
        y.append(order)
    shapes = [(len(order), len(order)) for order in y]
    model = cs.LinearPartsModel(features, shapes=shapes)
    objective = cs.Objective(model, cs.Matching(), cs.Hamming(), y, 1 / len(y))
    result = cs.minimize(objective, cs.DualProximal(), tol=1e-2, seed=0)
    assert result.converged
    assert result.gap <= 1e-2
    found = cs.Matching().max(model.scores(result.w)).outputs
    assert np.mean([np.mean(a == b) for a, b in zip(y, found, strict=True)]) > 0.9


@pytest.mark.parametrize("null", [False, True])
def test_values_do_not_rise_where_equal_sums_differ_in_the_last_bits(null: bool) -> None:
    rng = np.random.default_rng(0)
    matching = Matching(null=null)
    value = matching.topk(matching.scores(rng.integers(-3, 4, (50, 4, 5)) / 3.0), 100).value
    assert np.all(value[:, 1:] <= value[:, :-1])
