"""Part features in the core follow the composed path: cuts, junction trees and matchings."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from checkpoints import gone_on, told

import casimir as cs
from casimir._native import core
from casimir.duality import DualPoint
from casimir.errors import Intractable
from casimir.models import LinearPartsModel
from casimir.models.linear_graph import EdgeRows, LinearGraphModel
from casimir.problems import Combination, FusedProblem, core_problem, core_smoothing
from casimir.problems.base import Truth
from casimir.problems.composed import ComposedProblem
from casimir.scores import Scores, offsets_of
from casimir.smoothing import L2, Entropy, Hard
from casimir.solvers.bcfw import dual_start
from casimir.tasks.segment.graphs import CutModel, ImageGraph, PixelHamming

N = 7


class Case(NamedTuple):
    """w0 keeps pairs attractive; penalty keeps them so."""

    model: Any
    structure: Any
    cost: Any
    y: list[np.ndarray]
    w0: np.ndarray
    penalty: Any
    smoothings: list[Any]


def graph_edges(rng: np.random.Generator, p: int, extra: int) -> np.ndarray:
    """A path, and a few more."""
    pairs = {(v, v + 1) for v in range(p - 1)}
    for _ in range(extra if p > 3 else 0):
        u, v = sorted(rng.choice(p, 2, replace=False).tolist())
        pairs.add((u, v))
    return np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)


def graphs(rng: np.random.Generator) -> tuple[list[int], list[np.ndarray]]:
    sizes = [1, 2, *rng.integers(3, 8, N - 2).tolist()]
    return sizes, [graph_edges(rng, p, 3) for p in sizes]


def cuts(dtype: Any) -> Case:
    """Rows with scales, two labels of which one has a score."""
    rng = np.random.default_rng(0)
    sizes, edges = graphs(rng)
    pictures = [
        ImageGraph(
            np.zeros((1, 1), np.int64),
            rng.uniform(0.1, 1.0, p),
            rng.normal(size=(p, 4)).astype(dtype),
            e,
            rng.uniform(size=(len(e), 2)),
            rng.integers(2, size=p),
        )
        for p, e in zip(sizes, edges, strict=True)
    ]
    truth = [g.truth for g in pictures if g.truth is not None]
    w0 = np.concatenate([rng.normal(size=4), rng.uniform(size=2)])
    structure, cost = cs.GraphCut(edges), PixelHamming([g.share for g in pictures])
    penalty = cs.Ridge(0.1, nonnegative=np.arange(6) >= 4)
    return Case(CutModel(pictures), structure, cost, truth, w0, penalty, [Hard(), L2(3), L2()])


def junctions() -> Case:
    """Dense rows, tables of all pairs of three labels."""
    rng = np.random.default_rng(1)
    sizes, edges = graphs(rng)
    offsets, edge_offsets = offsets_of(sizes), offsets_of([len(e) for e in edges])
    basis = np.eye(9).reshape(9, 3, 3)
    model = LinearGraphModel(
        rng.normal(size=(offsets[-1], 5)),
        offsets,
        rng.normal(size=(edge_offsets[-1], 2)),
        edge_offsets,
        basis,
        EdgeRows.as_given(edge_offsets),
    )
    y = [rng.integers(3, size=p) for p in sizes]
    smoothings = [Hard(), L2(3), L2(), Entropy()]
    structure = cs.JunctionTree(edges, 3)
    return Case(model, structure, cs.Hamming(), y, rng.normal(size=model.n_params), cs.Ridge(0.1), smoothings)


def sparse_junctions() -> Case:
    """A sparse row per label of a node and per pair of labels of an edge, in the same weights."""
    rng = np.random.default_rng(2)
    sizes, edges = graphs(rng)

    def rows(count: int) -> Any:
        return sp.random_array((count, 40), density=0.1, format="csr", rng=rng)

    model = LinearPartsModel([rows(2 * p) for p in sizes], [rows(4 * len(e)) for e in edges], n_labels=2)
    y = [rng.integers(2, size=p) for p in sizes]
    smoothings = [Hard(), L2(3), L2(), Entropy()]
    return Case(model, cs.JunctionTree(edges, 2), cs.Hamming(), y, rng.normal(size=40), cs.Ridge(0.1), smoothings)


def matchings(null: bool, sparse: bool, ties: bool = False) -> Case:
    rng = np.random.default_rng(3)
    shapes = [(int(p), int(p + rng.integers(3))) for p in rng.integers(1, 6, N)]
    features = [rng.normal(size=(p * q, 5)) for p, q in shapes]
    if ties:
        features[2] = np.ones_like(features[2])
    given = [sp.csr_array(np.where(f > (0.5 if ties else -1.0), f, 0.0)) for f in features] if sparse else features
    y = [rng.permutation(q)[:p] for p, q in shapes]
    if null:
        y = [
            np.where(rng.uniform(size=p) < 0.3, q - 1, np.minimum(v, q - 1))
            for v, (p, q) in zip(y, shapes, strict=True)
        ]
    model, smoothings = LinearPartsModel(given, shapes=shapes), [Hard(), L2(3), L2()]
    return Case(model, cs.Matching(null=null), cs.Hamming(), y, rng.normal(size=5), cs.Ridge(0.1), smoothings)


CASES: dict[str, Callable[[], Case]] = {
    "cuts": lambda: cuts(np.float64),
    "float32 cuts": lambda: cuts(np.float32),
    "junctions": junctions,
    "sparse junctions": sparse_junctions,
    "matchings": lambda: matchings(False, False),
    "matchings with null": lambda: matchings(True, False),
    "sparse matchings": lambda: matchings(True, True),
}
TIED = {
    "tied matchings": lambda: matchings(False, False, True),
    "tied sparse ones": lambda: matchings(True, True, True),
}


SOLVERS = [cs.SGD(), cs.SVRG(), cs.SAGA(), cs.BCFW(), cs.DualProximal()]


def core_of(case: Case, truth: Truth | None = None, offset: Scores | None = None) -> Any:
    """The core's Problem; the truth is y unless it is given."""
    given = Combination(case.structure, case.cost, case.y, Truth(case.y) if truth is None else truth, offset)
    return core_problem(case.model, given)


def problems(case: Case, scales: Any = None, truth: Any = None) -> tuple[ComposedProblem, FusedProblem]:
    given = case.model, case.structure, case.cost, case.y
    found = core_of(case, truth)
    assert found is not None
    return ComposedProblem(*given, None, scales, truth), FusedProblem(found, 2, scales)


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]()


@pytest.fixture(params=CASES | TIED)
def any_case(request: pytest.FixtureRequest) -> Case:
    return (CASES | TIED)[request.param]()


def test_passes_and_oracles_equal_composed(any_case: Case) -> None:
    case = any_case
    slow, fast = problems(case, scales=np.array([1.0, 0.0, 2.0, 0.5, 1.0, 3.0, 1.0]))
    assert [slow.marginal_offset(i) for i in range(N + 1)] == [fast.marginal_offset(i) for i in range(N + 1)]
    for smoothing in case.smoothings:
        a, b = (p.full_pass(case.w0, smoothing, 0.7, gradient=True, keep=True) for p in (slow, fast))
        for name in ("value", "max_value", "upper", "cost", "gradient", "marginals"):
            expected, found = getattr(a, name), getattr(b, name)
            if expected is not None and found is not None:
                np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10, err_msg=name)
        np.testing.assert_array_equal(a.exact, b.exact)
        for i in range(N):
            one, other = slow.oracle(i, case.w0, smoothing, 0.7), fast.oracle(i, case.w0, smoothing, 0.7)
            np.testing.assert_allclose(other[:2], one[:2], atol=1e-10)
            np.testing.assert_allclose(other.marginals, one.marginals, atol=1e-10)
            np.testing.assert_array_equal(fast.truth(i), slow.truth(i))
            zeros = np.zeros(len(case.w0))
            moved = other.marginals - fast.truth(i)
            np.testing.assert_allclose(
                fast.squared_norm(i, moved, zeros), slow.squared_norm(i, moved, zeros), atol=1e-10
            )
            assert not zeros.any()


def test_decoded_outputs_are_those_of_the_structure(any_case: Case) -> None:
    case = any_case
    slow, fast = problems(case)
    for found, expected in zip(
        fast.decode(case.w0), case.structure.max(slow.augmented(case.w0, None)).outputs, strict=True
    ):
        np.testing.assert_array_equal(found, expected)


def test_passes_give_the_same_bits_on_any_number_of_threads(case: Case) -> None:
    problem = core_of(case)
    results = []
    for threads in (1, 2, 3, 7):
        gradient = np.empty(problem.n_params)
        results.append((problem.full_pass(case.w0, core_smoothing(L2(3), 0.7), threads, None, gradient)[0], gradient))
    for value, gradient in results[1:]:
        np.testing.assert_array_equal(value, results[0][0])
        np.testing.assert_array_equal(gradient, results[0][1])


@pytest.mark.parametrize("pairwise", [False, True])
@pytest.mark.parametrize("averaged", [False, True])
def test_dual_passes_follow_the_composed_path(case: Case, pairwise: bool, averaged: bool) -> None:
    runs = []
    d = len(case.w0)
    for problem in problems(case):
        blocks, iterate, rng = problem.dual_blocks(), dual_start(case.penalty, d), np.random.default_rng(4)
        iterate.average = blocks.new_average(d) if averaged else None
        trace = []
        for epoch in range(8):
            seen = blocks.exact_pass(rng.permutation(N), pairwise, 3, 0.3, iterate)
            trace += [seen.gap, blocks.ell, *iterate.w]
            if pairwise:
                trace += [blocks.cached_pass(rng.permutation(N), 2, 0.3, iterate), blocks.ell]
            trace += [blocks.cached_outputs, epoch]
        runs.append(np.array(trace))
    np.testing.assert_allclose(runs[1], runs[0], atol=1e-10)


def together(case: Case, problem: Any, order: Any, passes: int) -> np.ndarray:
    """What passes with pairwise steps leave behind; `order` draws their examples."""
    blocks, iterate = problem.dual_blocks(), dual_start(case.penalty, len(case.w0))
    trace = []
    for _ in range(passes):
        seen = blocks.exact_pass(order(), True, 2, 0.3, iterate)
        trace += [seen.gap, blocks.ell, *iterate.w, blocks.cached_pass(order(), 2, 0.3, iterate), blocks.cached_outputs]
    return np.array(trace)


@pytest.mark.parametrize("at_once", [2, 3, 20])
def test_oracles_that_are_asked_together_follow_the_composed_path(case: Case, at_once: int) -> None:
    given = case.model, case.structure, case.cost, case.y
    slow = ComposedProblem(*given, truth=Truth(case.y), at_once=at_once)
    runs = []
    for threads in (0, 1, 2, 3, 7):
        rng = np.random.default_rng(4)
        problem = FusedProblem(core_of(case), threads, at_once=at_once) if threads else slow
        runs.append(together(case, problem, partial(rng.permutation, N), 8))
    np.testing.assert_allclose(runs[1], runs[0], atol=1e-10)
    for run in runs[2:]:
        np.testing.assert_array_equal(run, runs[1])


def test_an_example_that_is_drawn_twice_in_a_round_gives_the_same_bits_on_any_number_of_threads(case: Case) -> None:
    runs = []
    for threads in (1, 2, 7):
        rng = np.random.default_rng(4)
        problem = FusedProblem(core_of(case), threads, at_once=5)
        runs.append(together(case, problem, partial(rng.integers, N, size=N), 8))
    for run in runs[1:]:
        np.testing.assert_array_equal(run, runs[0])


def test_the_dual_never_falls_where_oracles_are_asked_together(case: Case) -> None:
    problem = FusedProblem(core_of(case), 2, at_once=4)
    blocks, iterate, last = problem.dual_blocks(), dual_start(case.penalty, len(case.w0)), 0.0
    rng = np.random.default_rng(0)
    for _ in range(15):
        blocks.exact_pass(rng.permutation(N), True, 2, 0.0, iterate)
        dual = DualPoint(iterate.gradient(), blocks.ell).value(case.penalty)
        assert dual >= last - 1e-12
        last = dual
    value = problem.full_pass(iterate.w, Hard(), 0.0, gradient=False, keep=False).value.mean()
    assert last > 0.0
    assert value + case.penalty.value(iterate.w) >= last - 1e-12


def test_only_the_oracles_of_part_features_are_asked_together(case: Case) -> None:
    chain = cs.LinearChainModel(cs.pack([[["a"], ["b"]]], 4), 2)
    y = [np.array([0, 1])]
    blocks = core_problem(chain, Combination(cs.Chain(2), cs.Hamming(), y, Truth(y))).dual_blocks()
    blocks.ask_together(1, 2)
    with pytest.raises(ValueError, match="part features"):
        blocks.ask_together(2, 2)
    for at_once, threads in ((0, 1), (1, 0)):
        with pytest.raises(ValueError, match=">= 1"):
            core_of(case).dual_blocks().ask_together(at_once, threads)


@pytest.mark.parametrize("penalty", ["ridge", "elastic net"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_solvers_follow_the_composed_path(case: Case, solver: Any, penalty: str) -> None:
    if isinstance(case.structure, cs.GraphCut) and not isinstance(solver, cs.BCFW | cs.DualProximal | cs.SGD):
        pytest.skip("cannot keep pairs attractive")
    given = case.penalty if penalty == "ridge" else cs.ElasticNet(0.1, 0.3)
    if isinstance(case.structure, cs.GraphCut) and penalty != "ridge":
        given = cs.ElasticNet(0.1, 0.3, nonnegative=case.penalty.nonnegative)
    weights = np.arange(1.0, N + 1.0)
    runs = []
    for native in (True, False):
        objective = cs.Objective(case.model, case.structure, cs.Hinge(case.cost), case.y, given, weights, native=native)
        assert objective.is_native == native
        w0 = None if isinstance(solver, cs.BCFW | cs.DualProximal) else case.w0  # away from the ties at 0
        runs.append(cs.minimize(objective, solver, epochs=4, tol=0.0, seed=1, w0=w0))
    np.testing.assert_allclose(runs[0].w, runs[1].w, atol=1e-8)
    assert runs[0].objective == pytest.approx(runs[1].objective, abs=1e-9)
    assert runs[0].dual == pytest.approx(runs[1].dual, abs=1e-9)


@pytest.mark.parametrize("solver", [cs.BCFW(), cs.BCFW(pairwise=True, cached_passes=2), cs.DualProximal()])
def test_dual_variables_come_back_from_a_checkpoint(case: Case, solver: Any, tmp_path: Path) -> None:
    def make() -> cs.Objective:
        return cs.Objective(case.model, case.structure, cs.Hinge(case.cost), case.y, case.penalty)

    assert make().is_native
    straight = cs.minimize(make(), solver, 9, 0.0)
    assert told(gone_on(make, solver, tmp_path, (1, 4))) == told(straight)


@pytest.mark.parametrize("name", ["junctions", "sparse junctions"])
def test_log_losses_follow_the_composed_path(name: str) -> None:
    case = CASES[name]()
    runs = []
    for native in (True, False):
        objective = cs.Objective(case.model, case.structure, cs.Log(), case.y, 0.1, native=native)
        runs.append(cs.minimize(objective, cs.SDCA(), epochs=6, tol=0.0, seed=1))
    np.testing.assert_allclose(runs[0].w, runs[1].w, atol=1e-8)
    assert runs[0].gap == pytest.approx(runs[1].gap, abs=1e-8)


@pytest.mark.parametrize("name", ["cuts", "matchings"])
def test_structures_without_expect_still_refuse_a_log_loss(name: str) -> None:
    case = CASES[name]()
    objective = cs.Objective(case.model, case.structure, cs.Log(), case.y, case.penalty)
    with pytest.raises(Intractable, match="no expect"):
        objective.evaluate(case.w0)


def test_a_truth_of_marginals_and_no_truth(case: Case) -> None:
    _, fast = problems(case)
    marginals = np.random.default_rng(5).uniform(size=fast.core.n_marginals)
    for given in (Truth(None, marginals, True), Truth()):
        problem = FusedProblem(core_of(case, given), 2)
        twin = ComposedProblem(
            case.model, case.structure, case.cost, case.y, None, None, given._replace(is_fused=False)
        )
        a, b = (p.full_pass(case.w0, Hard(), 0.0, gradient=True, keep=False) for p in (twin, problem))
        np.testing.assert_allclose(b.value, a.value, atol=1e-10)
        np.testing.assert_allclose(b.cost, a.cost, atol=1e-10)
        np.testing.assert_allclose(b.gradient, a.gradient, atol=1e-10)
        with pytest.raises(ValueError, match="give y"):
            problem.dual_blocks()


def test_an_offset_counts_on_nodes_and_edges() -> None:
    case = junctions()
    layout = case.model.scores(case.w0)
    rng = np.random.default_rng(6)
    offset = Scores(
        rng.normal(size=layout.nodes.shape), layout.offsets, rng.normal(size=layout.edges.shape), layout.edge_offsets
    )
    given = case.model, case.structure, case.cost, case.y, offset
    slow, fast = ComposedProblem(*given), FusedProblem(core_of(case, offset=offset), 1)
    a, b = (p.full_pass(case.w0, Entropy(), 1.0, gradient=True, keep=False) for p in (slow, fast))
    np.testing.assert_allclose(b.value, a.value, atol=1e-10)
    np.testing.assert_allclose(b.cost, a.cost, atol=1e-10)
    np.testing.assert_allclose(b.gradient, a.gradient, atol=1e-10)


def test_pairs_that_repel_are_refused_as_by_the_structure() -> None:
    case = cuts(np.float64)
    w = case.w0.copy()
    w[4:] = -1.0
    said = []
    for problem in problems(case):
        with pytest.raises(ValueError, match="not submodular") as error:
            problem.full_pass(w, Hard(), 0.0, gradient=False, keep=False)
        said.append(str(error.value).split("not submodular")[1])
    assert said[0] == said[1]


def test_scores_that_are_not_finite_give_values_that_are_not(case: Case) -> None:
    _, fast = problems(case)
    found = fast.full_pass(np.full(len(case.w0), np.inf), Hard(), 0.0, gradient=True, keep=False)
    assert np.isnan(found.value).all()


def test_other_structures_and_layouts_stay_composed() -> None:
    case = junctions()
    shuffled = EdgeRows(case.model.places.rows[::-1].copy(), case.model.places.flipped, case.model.places.offsets)
    other = LinearGraphModel(
        case.model.nodes, case.model.offsets, case.model.edges, case.model.edge_offsets, case.model.basis, shuffled
    )
    assert core_of(case._replace(model=other)) is None
    boxes = LinearPartsModel([np.ones((6, 2))], shapes=[(2, 3)])
    y = [np.array([0, 0, 1, 1])]
    assert core_problem(boxes, Combination(cs.BoxSearch(), None, y, Truth(y))) is None
    table = matchings(False, False)
    masks = [np.ones(tuple(shape), dtype=bool) for shape in table.model.layout().shapes]
    assert core_of(table._replace(structure=table.structure.restricted(masks))) is None


def test_the_core_refuses_parts_that_do_not_fit() -> None:
    structure = core.matching_parts(np.array([[2, 2]]), False)
    one = np.ones((1, 1))
    rows = core.dense_part_rows(np.ones((4, 3)), 0, one)
    with pytest.raises(ValueError, match="fewer weights"):
        core.linear_parts(structure, rows, None, 2, None)
    with pytest.raises(ValueError, match="rows for 5 cells"):
        core.linear_parts(structure, core.dense_part_rows(np.ones((5, 3)), 0, one), None, 3, None)
    with pytest.raises(ValueError, match="out of range"):
        core.linear_parts(structure, rows, None, 3, np.array([0, 2], np.int32))
    with pytest.raises(ValueError, match="y has 1 entries"):
        core.linear_parts(structure, rows, None, 3, np.array([0], np.int32))
    with pytest.raises(ValueError, match="features has entries that are NaN"):
        core.dense_part_rows(np.full((4, 3), np.nan), 0, one)
    with pytest.raises(ValueError, match="first"):
        core.dense_part_rows(np.ones((4, 3)), -1, one)
    with pytest.raises(ValueError, match="basis"):
        core.dense_part_rows(np.ones((4, 3)), 0, np.ones((0, 1)))
    with pytest.raises(ValueError, match="scale"):
        core.dense_part_rows(np.ones((4, 3)), 0, one, np.ones(3))
    with pytest.raises(ValueError, match="a column for every row"):
        core.matching_parts(np.array([[3, 2]]), False)
    with pytest.raises(ValueError, match="not there"):
        core.cut_parts(np.array([0, 2]), np.array([[0, 2]]), np.array([0, 1]))
    with pytest.raises(ValueError, match="below n_features"):
        core.sparse_part_rows(np.array([0, 1]), np.array([3], np.uint32), None, 3, 0, one)
