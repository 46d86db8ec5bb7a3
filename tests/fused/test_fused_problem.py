"""Which problems, smoothings and penalties run on the core, and what it refuses."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from fused_cases import PENALTIES, constrained, own_cost, penalty_of
from problems import candidate_parts, chain_parts, tree_parts

import casimir as cs
from casimir._native import core
from casimir.problems import core_penalty, core_smoothing
from casimir.scores import Scores
from casimir.smoothing import L2, Entropy, Hard


@pytest.mark.parametrize("smoothing", [Hard(), L2(7), L2(), Entropy()])
def test_every_smoothing_of_the_library_is_known(smoothing: Any) -> None:
    assert isinstance(core_smoothing(smoothing, 0.5), core.Smoothing)


def test_an_unknown_smoothing_takes_the_composed_problem() -> None:
    class Own:
        def __call__(self, structure, s, mu):
            return Hard()(structure, s)

        def bound(self, log_n_outputs):
            return 0.0

    assert core_smoothing(Own(), 1.0) is None
    objective = chain_parts().objective(0.1)
    assert objective.is_native
    assert objective.problem(Own()).core is None
    w = np.random.default_rng(0).normal(size=objective.n_params)
    found = objective.evaluate(w, cs.FenchelYoung(Own(), 1.0, objective.loss.cost))
    assert found.smoothed == pytest.approx(objective.value(w), abs=1e-12)


@pytest.mark.parametrize("name", PENALTIES)
def test_every_penalty_of_the_library_is_known(name: str) -> None:
    assert isinstance(core_penalty(penalty_of(name, 10)), core.Penalty)


def test_an_unknown_penalty_takes_steps_in_python() -> None:
    """A penalty that says nothing of its parts: R(w) = |w|, the norm itself."""

    class Norm:
        strong_convexity, quadratic = 0.0, None

        def value(self, w):
            return 0.1 * float(np.linalg.norm(w))

        def conjugate(self, g):
            return 0.0 if np.linalg.norm(g) <= 0.1 + 1e-12 else np.inf

        def domain_share(self, g):
            return min(1.0, 0.1 / max(np.linalg.norm(g), 1e-300))

        def primal(self, g):
            raise AssertionError("not strongly convex")

        def prox(self, w, t):
            return max(0.0, 1.0 - 0.1 * t / max(np.linalg.norm(w), 1e-300)) * w

    assert core_penalty(Norm()) is None
    found = [
        cs.minimize(chain_parts(valued=True).objective(Norm(), native=native), cs.SVRG(mu=0.1), epochs=5, tol=1e-9)
        for native in (True, False)
    ]
    np.testing.assert_allclose(found[0].w, found[1].w, rtol=0, atol=1e-9)


@pytest.mark.parametrize("make", [chain_parts, tree_parts])
def test_costs_of_nodes_and_of_all_pairs_run_on_the_core(make: Any) -> None:
    parts = make(n_labels=3)
    for pairs in (False, True):
        assert own_cost(parts, pairs=pairs).objective(0.1).is_native
        assert constrained(own_cost(parts, pairs=pairs)).objective(0.1).is_native


@pytest.mark.parametrize("make", [chain_parts, tree_parts])
def test_costs_of_single_pairs_are_composed(make: Any) -> None:
    """The core has one matrix for all pairs; a cost that sets pairs apart takes the composed path, to the same end."""
    parts = make(n_labels=3, lengths=(2, 4))
    shared = own_cost(parts, pairs=True)

    class Spread:
        def parts(self, structure: Any, s: Scores, y: Any) -> Scores:
            found, layout = shared.cost.parts(structure, s, y), parts.model.scores(parts.model.zeros())
            bounds = layout.edge_offsets if layout.edge_offsets is not None else s.offsets - np.arange(len(s.offsets))
            edges = np.repeat(found.edges[None], bounds[-1], axis=0)
            return Scores(found.nodes, found.offsets, edges, bounds)

    spread = dataclasses.replace(parts, cost=Spread()).objective(0.1)
    assert not spread.is_native
    w = np.random.default_rng(0).normal(size=spread.n_params)
    assert spread.value(w) == pytest.approx(shared.objective(0.1).value(w), abs=1e-12)


def test_candidate_lists_run_on_the_core() -> None:
    assert candidate_parts().objective(0.1).is_native
    assert own_cost(candidate_parts()).objective(0.1).is_native


def test_native_false_composes() -> None:
    assert not chain_parts().objective(0.1, native=False).is_native


@pytest.mark.parametrize("smoothing", [L2(3), L2(), Entropy()])
@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("mu", [0.0, -1.0])
def test_smoothing_without_a_positive_mu_is_refused(smoothing: object, native: bool, mu: float) -> None:
    objective = chain_parts().objective(0.1, native=native)
    with pytest.raises(ValueError, match="mu"):
        objective.problem(smoothing).full_pass(np.zeros(objective.n_params), smoothing, mu, gradient=True, keep=False)


@pytest.mark.parametrize("native", [True, False])
def test_labels_of_every_example_are_checked(native: bool) -> None:
    parts = chain_parts(n=4)
    lengths = [len(y) for y in parts.y]
    wrong = [*parts.y[:-1], np.append(parts.y[-1], 0)]
    swapped = [parts.y[0], *parts.y[:0:-1]]
    assert sorted(map(len, swapped)) == sorted(lengths)
    assert list(map(len, swapped)) != lengths
    for y in (wrong, swapped, [*parts.y[:-1], parts.y[-1] + 3]):
        with pytest.raises(ValueError, match=r"\[[1-3]\]"):
            dataclasses.replace(parts, y=y).objective(0.1, native=native).value(parts.model.zeros())


def small_problem(kind: str, y: Any) -> Any:
    """One example of two tokens or candidates; y: labels or None."""
    offsets, indices = np.array([0, 2]), np.array([0, 1], dtype=np.uint32)
    features = offsets, np.array([0, 1, 2]), indices, None, 2, 3
    if kind == "chain":
        return core.linear_chain(*features, y, None, None)
    if kind == "tree":
        return core.linear_tree(*features, *cs.Tree([[-1, 0]], 3).order, y, None, None)
    return core.linear_candidates(offsets, np.ones((2, 2)), None if y is None else y[:1], None)


def calls(problem: Any, **changes: Any) -> list[Any]:
    """Every call on a problem of one example that needs its truth, with some arguments changed."""
    n, m, hard = problem.n_params, problem.n_marginals, core.Smoothing("hard", 1, 0.0)
    a = {"w": np.zeros(n), "order": np.array([0]), "gamma": np.ones(1), "full": np.zeros(n), "marginals": np.zeros(m)}
    a |= {"mean": np.zeros(n), "penalty": core.Penalty(0.0, 0.1, None, None, 0.0, None)} | changes
    rest, none = (a["penalty"], hard, a["w"]), core.IterateSum(None, 0.0)
    svrg = a["full"], a["marginals"], hard, a["w"], np.zeros(n)
    return [
        lambda: core.sgd_epoch(problem, a["order"], a["gamma"], None, *rest, none),
        lambda: core.svrg_epoch(problem, a["order"], 0.1, a["penalty"], *svrg),
        lambda: core.saga_epoch(
            problem, a["order"], 0.1, None, a["penalty"], a["marginals"], a["mean"], hard, a["w"], none
        ),
    ]


@pytest.mark.parametrize("kind", ["chain", "tree", "candidates"])
def test_without_labels_a_loss_is_the_max_itself_and_there_are_no_dual_blocks(kind: str) -> None:
    problem = small_problem(kind, None)
    w, hard = np.random.default_rng(0).normal(size=problem.n_params), core.Smoothing("hard", 1, 0)
    best, outputs = problem.decode(w, 1)
    np.testing.assert_allclose(problem.full_pass(w, hard, 1, None, None)[0], best, atol=1e-12)
    assert problem.oracle(0, w, hard)[0] == pytest.approx(best[0])
    assert not problem.truth(0).any()
    assert len(outputs) == (1 if kind == "candidates" else 2)
    with pytest.raises(ValueError, match="dual blocks need true outputs: give y"):
        problem.dual_blocks()


@pytest.mark.parametrize("kind", ["chain", "tree", "candidates"])
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"w": np.zeros(3)}, "w has 3 entries instead of"),
        ({"order": np.array([1])}, "order names an example that does not exist"),
        ({"order": np.array([-1])}, "order names an example that does not exist"),
        ({"penalty": core.Penalty(0.1, 0.1, np.ones(3), None, 0.0, None)}, "for another number of weights"),
    ],
)
def test_epochs_check_their_arguments(kind: str, changes: dict[str, Any], message: str) -> None:
    for call in calls(small_problem(kind, np.array([0, 1], dtype=np.int32)), **changes):
        with pytest.raises(ValueError, match=message):
            call()


def test_arrays_of_epochs_must_have_the_right_size() -> None:
    problem = small_problem("chain", np.array([0, 1], dtype=np.int32))
    sgd, svrg, saga = calls(problem, gamma=np.ones(2), full=np.zeros(2), mean=np.zeros(2))
    for call, name in ((sgd, "gamma"), (svrg, "full"), (saga, "mean")):
        with pytest.raises(ValueError, match=f"{name} has 2 entries instead of"):
            call()
    _, svrg, saga = calls(problem, marginals=np.zeros(2))
    for call, name in ((svrg, "snapshot"), (saga, "table")):
        with pytest.raises(ValueError, match=f"{name} has 2 entries instead of"):
            call()
    with pytest.raises(ValueError, match="an SVRG epoch needs at least one step"):
        calls(problem, order=np.array([], dtype=np.int64))[1]()


def test_arguments_of_the_core_are_checked() -> None:
    offsets, indptr, indices = np.array([0, 2]), np.array([0, 1, 2]), np.array([0, 1], dtype=np.uint32)
    empty, none = np.zeros(3, dtype=np.int64), np.zeros(0, dtype=np.uint32)
    y = np.array([0, 1], dtype=np.int32)
    for n_features in (-4, 0, 2**32):
        with pytest.raises(ValueError, match="n_features must be 1 or larger and below"):
            core.linear_chain(offsets, empty, none, None, n_features, 3, y, None, None)
    with pytest.raises(TypeError, match="y is no contiguous array of the right type"):
        core.linear_chain(offsets, indptr, indices, None, 2, 3, y.astype(np.int64), None, None)
    for name, fixed in (("fixed_nodes", (np.zeros((3, 3)), None)), ("fixed_pairs", (None, np.zeros((2, 3))))):
        with pytest.raises(ValueError, match=f"{name} has the wrong shape"):
            core.linear_chain(offsets, indptr, indices, None, 2, 3, y, *fixed)
    problem, hard = core.linear_chain(offsets, indptr, indices, None, 2, 3, y, None, None), core.Smoothing("hard", 1, 0)
    with pytest.raises(TypeError):
        problem.full_pass(np.zeros(problem.n_params), hard, 1, None, np.zeros(problem.n_params, dtype=np.float32))
    with pytest.raises(ValueError, match="scales has 2 entries instead of 1"):
        problem.set_scales(np.ones(2))
    with pytest.raises(ValueError, match="there is no such example"):
        problem.oracle(1, np.zeros(problem.n_params), hard)


def test_smoothings_and_penalties_of_the_core_are_checked() -> None:
    for kind, k, mu in (("l2", 0, 1.0), ("l2", 2, 0.0), ("entropy", 1, -1.0), ("other", 1, 1.0)):
        with pytest.raises(ValueError, match="smoothing"):
            core.Smoothing(kind, k, mu)
    with pytest.raises(ValueError, match="must have one length"):
        core.Penalty(0.1, 0.1, np.ones(3), np.ones(2, dtype=np.uint8), 0.0, None)


def test_dual_passes_check_their_arguments() -> None:
    problem = small_problem("chain", np.array([0, 1], dtype=np.int32))
    blocks, w, order = problem.dual_blocks(), np.zeros(problem.n_params), np.array([0])
    ridge, net = core.Penalty(0.0, 0.1, None, None, 0.0, None), core.Penalty(0.1, 0.1, None, None, 0.0, None)
    for arguments, message in (
        ((np.array([1]), False, 1, 0.0, ridge, 0.1, w, None, None), "does not exist"),
        ((order, False, 1, 0.0, ridge, 0.0, w, None, None), "strongly convex"),
        ((order, False, 1, 0.0, net, 0.1, w, None, None), "g has 0 entries instead of"),
        ((order, False, 1, 0.0, ridge, 0.1, w[1:], None, None), "w has"),
    ):
        with pytest.raises(ValueError, match=message):
            blocks.exact_pass(*arguments)
