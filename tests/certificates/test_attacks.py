"""Problems made to break certificates: searches cut short, sums that are cut off, ties, and numbers of all sizes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from box_problem import BoxProblem, list_boxes
from certificates.cases import SOLVERS
from certificates.judge import Judged
from certificates.listing import Family, family, list_candidates, list_chains
from certificates.test_certificates import check
from problems import Parts, chain_parts

import casimir as cs

FEW = ("sgd", "bcfw", "bcfw-pairwise", "dual", "svrg", "svrg-l2", "saga", "lbfgs", "casimir", "gradient-l2")
WITH_SEARCH = ("sgd", "bcfw", "bcfw-pairwise", "dual", "svrg", "svrg-l2", "saga", "lbfgs-l2", "casimir", "gradient-l2")


def attack(
    made: Family, loss: Any, penalty: Any, solver: str, epochs: int = 30, sample_weight: Any = None
) -> cs.Result:
    judged = Judged.of(made.lists(loss.cost), loss, penalty, sample_weight)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Casimir's inner solver", RuntimeWarning)
        objective = made.objective(loss, penalty, sample_weight)
        result = cs.minimize(objective, SOLVERS[solver], epochs=epochs, tol=1e-3)
    check(result, judged, judged.optimum())
    return result


def box_family(structure: Any) -> Family:
    """Maps of 2 x 3 cells, 18 boxes each, scored by 4 weights; the cost is 1 - IoU."""
    rng = np.random.default_rng(0)
    model = cs.LinearPartsModel([rng.normal(size=(6, 4)) for _ in range(4)], shapes=[(2, 3)] * 4)
    y = [np.array([0, 0, 0, 1]), np.array([0, 1, 1, 2]), np.array([1, 1, 1, 1]), np.array([0, 0, 1, 2])]
    return Family(Parts(model, structure, cs.IoU(), y), [list_boxes(2, 3)] * 4)


@pytest.mark.parametrize("solver", WITH_SEARCH)
@pytest.mark.parametrize("budget", [1, 5])
@pytest.mark.parametrize("search", ["corners", "columns", "branch"])
def test_a_search_that_is_cut_short_certifies_no_wrong_optimum(solver: str, budget: int, search: str) -> None:
    structure: Any = cs.BoxSearch(bound=search, node_budget=budget) if search != "branch" else None
    cost: Any = cs.IoU()
    if structure is None:
        structure, cost = cs.BranchAndBound(BoxProblem, node_budget=budget), None
    made, loss = box_family(structure), cs.Hinge(cost)
    judged, penalty = Judged.of(made.lists(cost), loss, cs.Ridge(0.05)), cs.Ridge(0.05)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "BoxSearch|BranchAndBound", RuntimeWarning)
        result = cs.minimize(made.objective(loss, penalty), SOLVERS[solver], epochs=6, tol=1e-3)
    best, value = judged.optimum(), judged.value(result.w)
    assert result.trace["dual"].max() <= best + 1e-7
    assert result.trace["objective"].min() >= best - 1e-7
    assert result.objective >= value - 1e-9  # where an oracle gave up it is an upper bound
    if result.converged:
        assert value - best <= 1e-3 * result.objective + 1e-7


@pytest.mark.parametrize("search", ["corners", "branch"])
def test_a_smooth_loss_of_a_search_that_is_cut_short_is_bounded_from_above(search: str) -> None:
    structure: Any = cs.BoxSearch(bound="corners", node_budget=2)
    if search == "branch":
        structure = cs.BranchAndBound(BoxProblem, node_budget=2)
    made, loss = box_family(structure), cs.FenchelYoung(cs.L2(), 0.5)
    judged = Judged.of(made.lists(None), loss, cs.Ridge(0.05))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "BoxSearch|BranchAndBound", RuntimeWarning)
        result = cs.minimize(made.objective(loss, cs.Ridge(0.05)), cs.LBFGS(cs.L2()), epochs=20, tol=1e-3)
    assert result.dual <= judged.optimum() + 1e-7
    assert result.trace["objective"].min() >= judged.optimum() - 1e-7
    assert result.objective >= judged.value(result.w) - 1e-9


@pytest.mark.parametrize("solver", ["svrg", "lbfgs", "casimir", "sgd"])
@pytest.mark.parametrize(
    ("name", "mu"), [("chain", 0.5), ("chain-composed", 20.0), ("tree", 20.0), ("candidates", 0.5)]
)
def test_a_smooth_loss_with_a_small_cap_is_bounded_from_above(solver: str, name: str, mu: float) -> None:
    made = family(name)
    loss = cs.FenchelYoung(cs.L2(cap=3), mu, made.parts.cost)
    judged = Judged.of(made.lists(loss.cost), loss, cs.Ridge(0.1))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "L2", RuntimeWarning)
        result = cs.minimize(made.objective(loss, cs.Ridge(0.1)), SOLVERS[solver], epochs=6, tol=1e-3)
    assert result.dual <= judged.optimum() + 1e-7
    assert result.trace["objective"].min() >= judged.optimum() - 1e-7
    assert result.objective >= judged.value(result.w) - 1e-9


@pytest.mark.parametrize("solver", FEW)
@pytest.mark.parametrize("lam", [1e-6, 1e4])
@pytest.mark.parametrize("name", ["chain", "candidates"])
def test_bounds_hold_for_penalties_of_any_size(solver: str, lam: float, name: str) -> None:
    made = family(name)
    attack(made, cs.Hinge(made.parts.cost), cs.Ridge(lam), solver)
    attack(made, cs.Hinge(made.parts.cost), cs.ElasticNet(lam, 0.5), solver)


def scaled_family() -> Family:
    """Features of sizes from 1e-4 to 1e4."""
    rng = np.random.default_rng(1)
    features = [rng.normal(size=(m, 5)) * 10.0 ** np.arange(-4, 6, 2) for m in (3, 5, 2, 6)]
    y = [rng.integers(0, len(rows), 1) for rows in features]
    return Family(
        Parts(cs.LinearCandidateModel(features), cs.Candidates(), cs.Hamming(), y), list_candidates((3, 5, 2, 6))
    )


@pytest.mark.parametrize("solver", FEW)
def test_bounds_hold_for_features_of_all_sizes(solver: str) -> None:
    made = scaled_family()
    attack(made, cs.Hinge(made.parts.cost), cs.Ridge(1.0), solver)


def tied_family() -> Family:
    """Whole features and costs; example 2 is example 0 once more, example 3 has its features but not its labels."""
    offsets = np.array([0, 2, 5, 7, 9])
    indices = np.array([0, 1, 0, 1, 0, 0, 1, 0, 1], dtype=np.uint32)
    X = cs.PackedSequences(offsets, np.arange(10), indices, None, 2)
    y = [np.array(labels) for labels in ([0, 1], [1, 1, 0], [0, 1], [1, 0])]
    parts = Parts(cs.LinearChainModel(X, 2), cs.Chain(2), cs.Hamming(), y)
    return Family(parts, list_chains(parts))


@pytest.mark.parametrize("solver", FEW)
@pytest.mark.parametrize("penalty", [cs.Ridge(1.0), cs.ElasticNet(0.25, 0.5), cs.Ridge(0.125)], ids=repr)
def test_bounds_hold_where_everything_ties(solver: str, penalty: Any) -> None:
    made = tied_family()
    attack(made, cs.Hinge(made.parts.cost), penalty, solver)


def small_family(n: int, n_labels: int) -> Family:
    parts = chain_parts(seed=3, n=n, n_labels=n_labels, n_features=3, lengths=(2, 2))
    return Family(parts, list_chains(parts))


@pytest.mark.parametrize("solver", FEW)
@pytest.mark.parametrize(("n", "n_labels"), [(1, 3), (1, 1), (3, 1)])
@pytest.mark.parametrize("loss", ["hinge", "log"])
def test_bounds_hold_for_one_example_and_for_one_label(solver: str, n: int, n_labels: int, loss: str) -> None:
    if loss == "log" and solver.startswith("bcfw"):
        pytest.skip("needs a hinge loss")
    made = small_family(n, n_labels)
    if loss == "log":
        attack(made, cs.Log(), cs.Ridge(0.2), solver)
        return
    for penalty in (cs.Ridge(0.2), cs.ElasticNet(0.2, 0.5)):
        result = attack(made, cs.Hinge(made.parts.cost), penalty, solver)
        assert n_labels > 1 or result.objective == 0.0


def test_a_weight_of_all_but_one_example_of_0_is_that_example_alone() -> None:
    made = family("chain")
    attack(made, cs.Hinge(made.parts.cost), cs.ElasticNet(0.2, 0.5), "dual", sample_weight=[0, 0, 1e-300, 0, 0])


def test_a_truth_that_is_not_allowed_is_refused_by_restricted_structures() -> None:
    """Its loss could be negative, and 0 would not be a lower bound."""
    made = family("candidates")
    masks = [np.ones(len(rows.outputs), dtype=bool) for rows in made.listings]
    masks[1][made.parts.y[1]] = False
    structure = cs.Candidates().restricted(masks)
    with pytest.raises(ValueError, match=r"y\[1\]\[0\] has the label .* not allowed"):
        cs.Objective(made.parts.model, structure, cs.Log(), made.parts.y, 0.1)


@pytest.mark.parametrize(
    "inner", [cs.LBFGS(), cs.GradientDescent(), cs.SVRG(cs.L2()), cs.SAGA(cs.L2())], ids=lambda s: type(s).__name__
)
@pytest.mark.parametrize("stopping", ["budget", "accuracy"])
@pytest.mark.parametrize("name", ["chain", "enumerated"])
def test_casimir_keeps_to_the_weights_that_the_penalty_allows(inner: Any, stopping: str, name: str) -> None:
    """Extrapolation leads out of w >= 0, and a subproblem must not start there."""
    made = family(name)
    d = made.parts.model.n_params
    penalty = cs.Ridge(0.05, nonnegative=np.ones(d, dtype=bool))
    judged = Judged.of(made.lists(None), cs.Log(), penalty)
    solver = cs.Casimir.paper("const", inner, kappa=0.3, stopping=stopping)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Casimir's inner solver", RuntimeWarning)
        result = cs.minimize(made.objective(cs.Log(), penalty), solver, epochs=6, tol=1e-6)
    assert result.w.min() >= 0.0
    check(result, judged, judged.optimum(), tol=1e-6)
