"""The core's problem of sets of labels: enumeration, minimum cuts, ties, what it refuses and what it leaves alone."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from fused_cases import CLOSE, PerPair, assert_all_close, both, penalty_of, start
from problems import Parts, label_parts
from scipy.special import logsumexp

import casimir as cs
from casimir._native import core
from casimir.models.linear_labels import LinearLabelModel
from casimir.solvers.bcfw import dual_start

GRAPHS = ("tree", "none", "cycle", "full")


def listed(parts: Parts, w: Any) -> tuple[Any, Any]:
    """(scores float64[n, 2^q] of all outputs, costs of the same), written down anew."""
    model, q = parts.model, parts.model.n_labels
    outputs = np.array(list(itertools.product([0, 1], repeat=q)))
    table, intercept, interactions = model.unpack(w)
    X = model.X.toarray() if hasattr(model.X, "toarray") else model.X
    on = X @ table + model.bias * intercept.sum(axis=0)
    ends = parts.structure.common_edges()[model.edge_rows]
    agree = outputs[:, ends[:, 0]] == outputs[:, ends[:, 1]]
    costs = np.array([[parts.cost(y, output, i) for output in outputs] for i, y in enumerate(parts.y)])
    return on @ outputs.T + agree @ interactions, costs


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("scale", [1.0, 30.0, 3000.0])
def test_losses_are_those_of_all_outputs_listed(graph: str, scale: float) -> None:
    """At the largest scores sums of exponentials are taken in logs."""
    parts = label_parts(n_labels=5, graph=graph, bias=0.5)
    w = start(parts, scale=scale)
    scores, costs = listed(parts, w)
    truth = scores[np.arange(len(parts.y)), [int("".join(map(str, y)), 2) for y in parts.y]]
    for loss, expected in (
        (cs.Hinge(parts.cost), (scores + costs).max(axis=1) - truth),
        (cs.Log(), logsumexp(scores, axis=1) - truth),
        (cs.SoftmaxMargin(parts.cost), logsumexp(scores + costs, axis=1) - truth),
    ):
        objective = parts.objective(0.1, loss)
        assert objective.is_native
        found = objective.problem(loss.smoothing).full_pass(w, loss.smoothing, loss.mu, gradient=False, keep=False)
        np.testing.assert_allclose(found.value, expected, rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize("graph", GRAPHS)
def test_ties_go_to_the_first_output_as_in_the_structure(graph: str) -> None:
    parts = label_parts(n_labels=5, graph=graph)
    w = np.round(start(parts, scale=1.0))
    whole = replace(parts.model, X=np.round(parts.model.X))
    parts = replace(parts, model=whole, cost=cs.Hamming())
    fused, slow = both(parts)
    smoothing = cs.Hard()
    for at in (w, np.zeros_like(w)):
        a, b = (o.problem(smoothing).full_pass(at, smoothing, 0.0, gradient=True, keep=False) for o in (fused, slow))
        np.testing.assert_allclose(a.gradient, b.gradient, **CLOSE)
    outputs = parts.structure.max(whole.scores(w)).outputs
    decoded = parts.objective(0.1, "crf").problem(smoothing).decode(w)
    np.testing.assert_array_equal(np.concatenate(decoded), np.concatenate(outputs))


def cuts() -> tuple[Parts, Any, Any]:
    """Minimum cuts, a penalty that keeps the pairs' weights from being negative, and such weights."""
    parts = label_parts(n_labels=4, graph="cut", bias=0.5)
    mask = np.arange(parts.model.n_params) >= parts.model.n_unary
    penalty = cs.Ridge(0.1, nonnegative=mask)
    return parts, penalty, start(parts, penalty=penalty)


@pytest.mark.parametrize("smoothing", [cs.Hard(), cs.L2(3), cs.L2()])
def test_minimum_cuts_agree(smoothing: Any) -> None:
    parts, penalty, w = cuts()
    loss = cs.Hinge(parts.cost)
    a, b = (
        o.problem(smoothing).full_pass(w, smoothing, 0.8, gradient=True, keep=False) for o in both(parts, penalty, loss)
    )
    assert_all_close((a.value, a.cost, a.gradient, a.max_value), (b.value, b.cost, b.gradient, b.max_value))


@pytest.mark.parametrize("pairwise", [False, True])
def test_dual_passes_of_minimum_cuts_agree(pairwise: bool) -> None:
    parts, penalty, _ = cuts()
    records = []
    for objective in both(parts, penalty):
        blocks, iterate = objective.dual_blocks(), dual_start(penalty, objective.n_params)
        order, record = objective.permutation(np.random.default_rng(1)), []
        for _ in range(3):
            record += [*blocks.exact_pass(order, pairwise, 3, 0.0, iterate), blocks.ell]
            record += [blocks.cached_pass(order, 4, 0.0, iterate), blocks.cached_outputs, iterate.w.copy()]
        records.append(record)
    assert_all_close(*records)


def test_minimum_cuts_refuse_pairs_that_repel_and_probabilities() -> None:
    parts, penalty, w = cuts()
    w[parts.model.n_unary] = -1.0
    objective = parts.objective(penalty, "hinge")
    with pytest.raises(ValueError, match="weights of 0 or more"):
        objective.problem(cs.Hard()).full_pass(w, cs.Hard(), 0.0, gradient=True, keep=False)
    with pytest.raises(ValueError, match="no probabilities"):
        objective.problem(cs.Entropy()).full_pass(np.zeros_like(w), cs.Entropy(), 1.0, gradient=True, keep=False)


def test_other_graphs_and_costs_take_the_composed_path() -> None:
    parts = label_parts(n_labels=4, n=3)
    parents = [parts.structure.parents(i) for i in range(3)]
    others: list[Any] = [
        cs.Tree([*parents[:2], np.array([-1, 0, 1, 2])], 2),
        cs.Tree(parents, 2, labels=[np.eye(2, dtype=np.bool_)[y] for y in parts.y]),
    ]
    for structure in others:
        assert not replace(parts, structure=structure).objective(0.1, "crf").is_native
    cycles = label_parts(n_labels=4, n=3, graph="cycle")
    turned = cs.JunctionTree([cycles.structure.common_edges()[::k] for k in (1, 1, -1)], 2)
    assert not replace(cycles, structure=turned).objective(0.1, "crf").is_native
    missing = replace(parts, model=replace(parts.model, edge_rows=parts.model.edge_rows[:1]))
    assert not missing.objective(0.1, "crf").is_native
    prices = [np.ones((4, 2))] * 3
    assert not replace(parts, cost=PerPair(prices, np.ones((2, 2)))).objective(0.1).is_native


def test_tables_that_are_too_large_are_refused_at_once() -> None:
    parts = label_parts(n_labels=8, graph="full", n=2)
    pairs = parts.structure.common_edges()
    small = cs.JunctionTree([pairs] * 2, 2, memory_limit=500)
    with pytest.raises(ValueError, match="treewidth of 7"):
        cs.Objective(parts.model, small, cs.Log(), parts.y, 0.1)


TREE = {"parents": np.array([-1, 0, 0]), "children": np.array([2, 1])}
SPARSE = {
    "graph": core.label_tree(**TREE),
    "indptr": np.array([0, 1, 3]),
    "indices": np.array([1, 0, 2], dtype=np.uint32),
    "values": np.array([1.0, 2.0, 3.0]),
    "n_features": 3,
    "bias": 0.5,
    "y": np.array([0, 1, 1, 1, 0, 0], dtype=np.int32),
    "fixed": np.zeros((6, 2)),
    "truth": None,
}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"indptr": np.array([0])}, "at least one example"),
        ({"indices": np.array([1, 2, 0], dtype=np.uint32)}, "must be sorted"),
        ({"values": np.ones(2)}, "one entry per feature index"),
        ({"y": np.array([0], dtype=np.int32)}, "one label per token"),
        ({"y": np.array([0, 1, 1, 1, 0, 2], dtype=np.int32)}, "a label is out of range"),
        ({"fixed": np.zeros((2, 2))}, "fixed has the wrong shape"),
        ({"truth": np.zeros(3)}, "truth has the wrong size"),
    ],
)
def test_arrays_must_fit_together(changes: dict[str, Any], message: str) -> None:
    core.sparse_labels(**SPARSE)
    with pytest.raises(ValueError, match=message):
        core.sparse_labels(**{**SPARSE, **changes})


@pytest.mark.parametrize("children", [[1], [1, 1], [0, 1], [1, 3]])
def test_every_node_below_another_has_one_edge(children: list[int]) -> None:
    with pytest.raises(ValueError, match="every node that has a parent, once"):
        core.label_tree(TREE["parents"], np.array(children))


@pytest.mark.parametrize("make", [lambda e: core.label_junction(3, e, 1e6), lambda e: core.label_cut(3, e)])
def test_edges_name_labels_that_are_there(make: Any) -> None:
    with pytest.raises(ValueError, match="not there"):
        make(np.array([[0, 3]]))


def test_labels_may_be_unknown() -> None:
    """Masks in the place of labels: the truth is completed, and certified on the core."""
    parts = label_parts(n=30, n_labels=4)
    y: list[Any] = [np.eye(2, dtype=np.bool_)[labels] for labels in parts.y]
    y[0][1] = True
    objective = cs.Objective(parts.model, parts.structure, cs.Log(), y, 0.1)
    assert objective.is_native
    result = cs.minimize(objective, cs.ConcaveConvex(), epochs=200, tol=1e-3)
    plain = cs.Objective(parts.model, parts.structure, cs.Log(), y, 0.1, native=False)
    assert result.objective == pytest.approx(plain.value(result.w), rel=1e-10)


def test_weights_are_packed_in_padded_rows() -> None:
    model = LinearLabelModel(np.ones((2, 3)), 5, 1.0, np.arange(10), 10)
    assert (model.stride, model.n_unary, model.n_params) == (8, 32, 48)
    parts = np.ones((3, 5)), np.full((1, 5), 2.0), np.arange(10.0)
    w = model.pack(*parts)
    assert all(np.array_equal(a, b) for a, b in zip(model.unpack(w), parts, strict=True))
    assert w.sum() == 15.0 + 10.0 + 45.0


def test_padding_of_weights_stays_zero() -> None:
    parts = label_parts(n_labels=5, graph="full", bias=1.0)
    for name in ("ridge", "elastic"):
        result = cs.minimize(parts.objective(penalty_of(name, parts.model.n_params)), cs.DualProximal(), epochs=5)
        kept = parts.model.pack(*(view.copy() for view in parts.model.unpack(result.w)))
        np.testing.assert_array_equal(kept, result.w)
