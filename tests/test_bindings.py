"""The functions of the core check what they are given before any kernel reads it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import casimir as cs
from casimir._native import core
from casimir.models import LinearCandidateModel, LinearChainModel
from casimir.problems import Combination, Truth, core_problem

I64 = np.int64


def ints(*values: int) -> np.ndarray:
    return np.array(values, I64)


ORDERS: dict[str, tuple[list[int], list[int], list[int]]] = {
    "breadth first": ([0, 1, 2, 3, 4], [-1, 0, 0, 1, 2], [5, 2, 2, 1, 1]),
    "a node twice": ([0, 1, 1, 3, 4], [-1, 0, 1, 0, 3], [5, 2, 1, 2, 1]),
    "a subtree too long": ([0, 1, 2, 3, 4], [-1, 0, 1, 0, 3], [5, 3, 1, 2, 1]),
    "a subtree too short": ([0, 1, 2, 3, 4], [-1, 0, 1, 0, 3], [5, 1, 1, 2, 1]),
    "a root that ends early": ([0, 1, 2, 3, 4], [-1, 0, 1, 0, 3], [4, 2, 1, 2, 1]),
    "a parent that is complete": ([0, 1, 2, 3, 4], [-1, 0, 1, 1, 3], [5, 2, 1, 2, 1]),
    "a parent to come": ([0, 1, 2, 3, 4], [-1, 2, 1, 0, 3], [5, 2, 1, 2, 1]),
    "no root": ([0, 1, 2, 3, 4], [0, 0, 1, 0, 3], [5, 2, 1, 2, 1]),
    "a node outside": ([0, 1, 2, 3, 5], [-1, 0, 1, 0, 3], [5, 2, 1, 2, 1]),
}


@pytest.mark.parametrize("oracle", ["max", "topk", "expect", "max_marginals"])
@pytest.mark.parametrize("order", ORDERS)
def test_an_order_that_is_no_preorder_is_refused(order: str, oracle: str) -> None:
    nodes, edges = np.zeros((5, 2)), np.zeros((2, 2))
    more = {"topk": (3, np.inf), "expect": (1.0,)}.get(oracle, ())
    given = [ints(*part) for part in ORDERS[order]]
    with pytest.raises(ValueError, match="are not those of tree_order"):
        getattr(core, f"tree_{oracle}")(nodes, ints(0, 5), edges, *given, *more, 1)


def test_orders_of_all_small_forests_are_taken() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        p = int(rng.integers(1, 9))
        parents = np.array([int(rng.integers(-1, v)) for v in range(p)], I64)
        shuffled = rng.permutation(p)
        renamed = np.full(p, -1, I64)
        renamed[shuffled] = np.where(parents >= 0, shuffled[parents], -1)
        order = core.tree_order(renamed, ints(0, p))
        values, _ = core.tree_max(np.zeros((p, 2)), ints(0, p), np.zeros((2, 2)), *order, 1)
        assert values.tolist() == [0.0]


@pytest.mark.parametrize("edges", [[[0, 0]], [[0, 1], [1, 1]], [[0, 1], [0, 1]], [[0, 1], [1, 0]], [[1, 2], [2, 2]]])
def test_graphs_with_loops_or_double_edges_are_refused(edges: list[list[int]]) -> None:
    ends = np.array(edges, I64)
    graphs = core.JunctionGraphs(ends, ints(0, len(ends)), 2, 1e9)
    with pytest.raises(ValueError, match="joins a node to itself, or comes twice"):
        graphs.prepare(ints(0, 3), 1)
    scores = np.zeros((3, 2)), ints(0, 3), np.zeros((len(ends), 2, 2)), ints(0, len(ends))
    with pytest.raises(ValueError, match="joins a node to itself, or comes twice"):
        core.junction_max(graphs, *scores, 1)
    features = np.eye(3)
    with pytest.raises(ValueError, match="joins a node to itself, or comes twice"):
        core.dense_labels(core.label_junction(3, ends, 1e9), features, 0.0, None, None).decode(np.zeros(16), 1)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("oracle", ["max", "topk", "max_marginals"])
@pytest.mark.parametrize("size", [1, 2, 5])
def test_matchings_of_weights_that_are_not_finite_are_refused(size: int, oracle: str, value: float) -> None:
    weights = np.zeros(size * size)
    weights[-1] = value
    more = (2, np.inf) if oracle == "topk" else ()
    with pytest.raises(ValueError, match=r"must be finite|overflow"):
        getattr(core, f"matching_{oracle}")(weights, ints(0, size**2), np.array([[size, size]], I64), False, *more, 1)


STRUCTURES: dict[str, Callable[[], tuple[Any, Any]]] = {
    "chain": lambda: _made(cs.Chain(n_labels=2), [np.ones((3, 2))], np.eye(2)),
    "tree": lambda: _made(cs.Tree([[-1, 0, 0]], 2), [np.ones((3, 2))], [np.ones((3, 2, 2))]),
    "junction": lambda: _made(cs.JunctionTree([[[0, 1], [1, 2], [0, 2]]], 2), [np.ones((3, 2))], [np.ones((3, 2, 2))]),
}


def _made(structure: Any, unary: Any, pairwise: Any) -> tuple[Any, Any]:
    return structure, structure.scores(unary, pairwise)


@pytest.mark.parametrize("mu", [1e-310, 5e-324, 1e-308])
@pytest.mark.parametrize("kind", STRUCTURES)
def test_a_tiny_mu_gives_probabilities_or_an_error_and_never_nan(kind: str, mu: float) -> None:
    structure, s = STRUCTURES[kind]()
    try:
        found = structure.expect(s, mu)
    except ValueError as error:
        assert "mu is so small that scores / mu overflow" in str(error)  # noqa: PT017
        return
    np.testing.assert_allclose(found.value, structure.max(s).value)
    np.testing.assert_allclose(found.marginals.unary(0).sum(axis=1), 1.0)


@pytest.mark.parametrize("mu", [1e-290, 1e-200])
@pytest.mark.parametrize("kind", STRUCTURES)
def test_a_small_mu_gives_the_max(kind: str, mu: float) -> None:
    structure, s = STRUCTURES[kind]()
    found = structure.expect(s, mu)
    np.testing.assert_allclose(found.value, structure.max(s).value)
    np.testing.assert_allclose(found.marginals.unary(0).sum(axis=1), 1.0)
    pairs = found.marginals.pairwise(0).sum(axis=(1, 2))
    np.testing.assert_allclose(pairs[1:] if kind == "tree" else pairs, 1.0)  # a root has no edge


def problem() -> Any:
    X = cs.pack([[{"a": 1.0}, {"b": 1.0}], [{"a": 2.0}]], n_features=7)
    y = [np.array([0, 1]), np.array([1])]
    made = core_problem(LinearChainModel(X, 2), Combination(cs.Chain(2), cs.Hamming(), y, Truth(y)))
    assert made is not None
    return made


@pytest.mark.parametrize("i", [-1, 3, 2**40, -(2**63)])
def test_offsets_of_examples_that_are_not_there_are_refused(i: int) -> None:
    made = problem()
    for function in (made.marginal_offset, made.output_offset):
        assert function(2) > function(0) == 0
        with pytest.raises(ValueError, match="no such example"):
            function(i)


def test_sums_of_another_length_are_refused() -> None:
    made = problem()
    w, order, penalty, hard = np.zeros(made.n_params), ints(0, 1), core.Penalty(0.0, 1.0, None, None, 0.0, None), None
    hard = core.Smoothing("hard", 1, 0.0)
    short = core.IterateSum(np.zeros(made.n_params - 1), 0.0)
    with pytest.raises(ValueError, match="sum has"):
        core.sgd_epoch(made, order, np.ones(2), None, penalty, hard, w, short)
    table, mean = np.zeros(made.n_marginals), np.zeros(made.n_params)
    with pytest.raises(ValueError, match="sum has"):
        core.saga_epoch(made, order, 0.1, None, penalty, table, mean, hard, w, short)
    average = core.DualAverage(np.zeros(made.n_params + 1))
    with pytest.raises(ValueError, match="average has"):
        made.dual_blocks().exact_pass(order, True, 1, 0.0, penalty, 1.0, w, None, average)


@pytest.mark.parametrize("n_labels", [0, -1, 2**20 + 1, 2**31 - 1])
def test_numbers_of_labels_that_overflow_are_refused(n_labels: int) -> None:
    one = ints(0, 1), ints(0, 1), np.zeros(1, np.uint32), None, 2**32 - 1
    for call in (
        lambda: core.linear_chain(*one, n_labels, None, None, None),
        lambda: core.linear_tree(*one, n_labels, ints(0), ints(-1), ints(1), None, None, None),
        lambda: core.sparse_classes(ints(0, 1), np.zeros(1, np.uint32), None, 2**32 - 1, 0.0, n_labels, None, None),
        lambda: core.dense_classes(np.zeros((1, 1)), 0.0, n_labels, None, None),
        lambda: core.JunctionGraphs(np.zeros((0, 2), I64), ints(0, 0), n_labels, 1e9),
        lambda: core.label_junction(n_labels, np.zeros((0, 2), I64), 1e9),
        lambda: core.label_cut(n_labels, np.zeros((0, 2), I64)),
    ):
        with pytest.raises(ValueError, match="label"):
            call()


def test_any_number_of_threads_is_taken() -> None:
    """Memory is made for as many as there is work."""
    made, w = problem(), np.zeros(problem().n_params)
    hard = core.Smoothing("hard", 1, 0.0)
    gradients = [np.zeros(made.n_params) for _ in range(2)]
    for threads, gradient in zip((1, 2**31 - 1), gradients, strict=True):
        made.full_pass(w, hard, threads, None, gradient)
    np.testing.assert_array_equal(*gradients)
    nodes, offsets, edges = np.zeros((3, 2)), ints(0, 2, 3), np.zeros((2, 2))
    _, counts, _ = core.chain_topk(nodes, offsets, edges, 2, np.inf, 2**31 - 1)
    assert counts.tolist() == [2, 2]


@pytest.mark.parametrize("k", [2**62, 2**63 - 1])
def test_any_k_is_taken(k: int) -> None:
    _, counts, _ = core.chain_topk(np.zeros((3, 2)), ints(0, 3), np.zeros((2, 2)), k, np.inf, 1)
    assert counts.tolist() == [8]
    _, counts, _ = core.matching_topk(np.zeros(4), ints(0, 4), np.array([[2, 2]], I64), False, k, np.inf, 1)
    assert counts.tolist() == [2]


def test_candidates_with_offsets_that_fall_are_refused() -> None:
    for offsets in (ints(0, 3, 2), ints(1, 3), ints(0, 4), ints(0), ints()):
        with pytest.raises(ValueError, match="offsets"):
            core.linear_candidates(offsets, np.zeros((3, 2)), None, None)
    with pytest.raises(ValueError, match="contiguous"):
        LinearCandidateModel.of_rows(np.zeros((4, 4))[:, ::2], ints(0, 4))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e308, -1e308])
@pytest.mark.parametrize("where", range(4))
def test_numbers_that_are_none_leave_every_kernel_in_its_bounds(value: float, where: int) -> None:
    """Python refuses such scores; kernels that get them may answer anything, or raise, and the sanitizers watch."""
    nodes, edges = np.ones((6, 3)), np.ones((3, 3))
    (nodes.ravel() if where % 2 else edges.ravel())[where] = value
    order = core.tree_order(ints(-1, 0, 1, 0, -1, 0), ints(0, 4, 6))
    ends, graph_offsets = np.array([[0, 1], [1, 2], [0, 2], [0, 1]], I64), ints(0, 3, 4)
    graphs = core.JunctionGraphs(ends, graph_offsets, 3, 1e9)
    graphs.prepare(ints(0, 4, 6), 1)
    per_edge = np.ascontiguousarray(np.broadcast_to(edges, (4, 3, 3)))
    binary = np.ascontiguousarray(nodes[:, :2]), np.ascontiguousarray(per_edge[:, :2, :2])
    shapes, maps = np.array([[2, 3], [3, 3]], I64), np.ascontiguousarray(nodes.ravel()[:15])
    calls: list[Callable[[], Any]] = []
    for name, more in (
        ("max", ()),
        ("topk", (5, np.inf)),
        ("topk", (5, 0.1)),
        ("expect", (0.5,)),
        ("max_marginals", ()),
    ):
        calls += [
            lambda name=name, more=more: getattr(core, f"chain_{name}")(nodes, ints(0, 4, 6), edges, *more, 1),
            lambda name=name, more=more: getattr(core, f"tree_{name}")(nodes, ints(0, 4, 6), edges, *order, *more, 1),
            lambda name=name, more=more: getattr(core, f"junction_{name}")(
                graphs, nodes, ints(0, 4, 6), per_edge, graph_offsets, *more, 1
            ),
        ]
        if name != "expect":
            calls.append(
                lambda name=name, more=more: getattr(core, f"graph_cut_{name}")(
                    binary[0], ints(0, 4, 6), binary[1], ends, graph_offsets, *more, 1
                )
            )
    calls.append(lambda: core.box_search(maps, ints(0, 6, 15), shapes, None, None, 3, np.inf, 1000, True, 1))
    calls.append(lambda: core.box_search(maps, ints(0, 6, 15), shapes, None, None, 3, 0.1, 1000, False, 1))
    answers = [_answered(call) for call in calls]
    assert len(answers) == 21


def _answered(call: Callable[[], Any]) -> bool:
    try:
        call()
    except (ValueError, RuntimeError):
        return False
    return True


def given_words(items: list[int], ends: list[int]) -> Any:
    """The features of one token by a template whose values come from outside."""
    plan = core.TemplatePlan(1, 2)
    plan.add_source(1, 0, [])  # given for every distinct text
    plan.add_template(["w=", ""], [(0, 0, 0, 0, "")])
    ids, table = core.intern_tokens([["Ada"]])
    characters = core.CharacterTable()
    for code in characters.missing(table):
        characters.add(code, 0, chr(code))
    given = (np.array(items, I64), np.array(ends, I64), np.frombuffer(b"abc", np.uint8))
    return core.extract_hashed(plan, characters, ints(0, 1), ints(-1), [ids], [table], [given], 8, 1)


def test_values_from_outside_are_checked() -> None:
    assert len(given_words([0, 2], [0, 1, 3])[2]) == 2
    for items, ends in (([0, 2], [0, 9, 3]), ([0, 2], [0, -1, 3]), ([-5, 2], [0, 1, 3]), ([7, 2], [0, 1, 3])):
        with pytest.raises(ValueError, match="do not fit the tokens"):
            given_words(items, ends)


def test_kinds_of_templates_are_checked() -> None:
    plan = core.TemplatePlan(1, 2)
    for kind in (-1, 5):
        with pytest.raises(ValueError, match="unknown kind"):
            plan.add_source(kind, 0, [])
    plan.add_source(0, 0, [])
    for anchor, outside in ((5, 0), (-1, 0), (0, 4), (0, -1)):
        with pytest.raises(ValueError, match="unknown kind"):
            plan.add_template(["", ""], [(0, anchor, 0, outside, "")])


@pytest.mark.parametrize(
    ("weights", "tabulated"), [([0.5, 0.6], None), ([1.5, -0.5], None), ([np.nan, 1.0], None), (None, [])]
)
def test_dual_states_that_are_none_are_refused(weights: list[float] | None, tabulated: list[int] | None) -> None:
    """Weights of outputs that are no distribution would make a wrong certificate."""
    X = cs.pack([[["a"]]], n_features=2)
    objective = cs.Objective(LinearChainModel(X, 2), cs.Chain(2), cs.Hamming(), [[1]], 0.5)
    problem = objective.problem(cs.Hard()).core
    blocks = problem.dual_blocks()
    penalty, w = core.Penalty(0.0, 0.5, None, None, 0.0, None), np.zeros(objective.n_params)
    blocks.exact_pass(ints(0), True, 2, 0.0, penalty, 0.5, w, None, None)
    ell, gaps, counts, found, outputs, of_products, products = blocks.state()
    assert found.size == 2
    problem.dual_blocks().restore(ell, gaps, counts, found, outputs, of_products, products)
    wrong = found if weights is None else np.array(weights)
    rows = of_products if tabulated is None else np.array(tabulated, I64)
    with pytest.raises(ValueError, match="does not fit"):
        problem.dual_blocks().restore(ell, gaps, counts, wrong, outputs, rows, products)
