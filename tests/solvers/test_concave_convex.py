"""Truths that are sets of outputs: values by listing, rounds that touch F from above, and F that never rises."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from problems import Counting, candidate_parts, chain_parts, tree_parts
from scipy.special import logsumexp

import casimir as cs
from casimir.scores import FloatArray

LAM = 0.1
LOSSES: dict[str, Callable[[], Any]] = {
    "hinge": lambda: cs.Hinge(cs.Hamming()),
    "log": cs.Log,
    "softmax-margin": lambda: cs.SoftmaxMargin(cs.Hamming()),
}
SOLVERS = {
    "hinge": [None, cs.DualProximal(), cs.BCFW(pairwise=True), cs.SVRG(cs.L2(), mu=1e-3)],
    "log": [None, cs.LBFGS(), cs.SVRG(), cs.SAGA()],
    "softmax-margin": [None, cs.LBFGS()],
}
losses = pytest.mark.parametrize("loss", LOSSES)


def labels_mask(y: Any, n_labels: int, rng: np.random.Generator) -> Any:
    return (rng.random((len(y), n_labels)) < 0.4) | (np.arange(n_labels) == np.asarray(y)[:, None])


class Case:
    """A model, a structure and partial truths; `outputs(i)` lists all outputs, `mask(i)` says which may be true."""

    def __init__(self, model: Any, structure: Any, y: list[Any], outputs: Callable[[int], list[Any]]) -> None:
        self.model, self.structure, self.y, self.outputs = model, structure, y, outputs

    def objective(self, loss: Any, penalty: Any = LAM, **options: Any) -> cs.Objective:
        return cs.Objective(self.model, self.structure, loss, self.y, penalty, **options)

    def entries(self, i: int, output: Any) -> Any:
        """bool[p]: whether each entry of the output may be true."""
        given = self.y[i]
        if given.dtype != np.bool_:
            return np.asarray(output) == given
        return given[output] if given.ndim == 1 else given[np.arange(len(output)), output]

    def value(self, w: FloatArray, loss: str) -> float:
        """The mean loss by listing."""
        total, s = 0.0, self.model.scores(w)
        for i in range(len(self.y)):
            structure, own = self.structure.select([i]), s.select([i])
            scores = np.array([structure.score_of(own, [y])[0] for y in self.outputs(i)])
            right = [np.atleast_1d(self.entries(i, y)) for y in self.outputs(i)]
            cost, is_allowed = np.array([np.sum(~r) for r in right]), np.array([r.all() for r in right])
            if loss == "hinge":
                total += np.max(scores + cost) - np.max(scores[is_allowed])
            else:
                total += logsumexp(scores + cost * (loss != "log")) - logsumexp(scores[is_allowed])
        return total / len(self.y)


def chains(seed: int = 0) -> Case:
    parts, rng = chain_parts(seed=seed, n_labels=3, lengths=(1, 4), n=7), np.random.default_rng(seed)
    y = [labels_mask(y, 3, rng) if i % 2 else np.asarray(y) for i, y in enumerate(parts.y)]
    return Case(parts.model, parts.structure, y, lambda i: list(map(np.array, product(range(3), repeat=len(y[i])))))


def trees(seed: int = 0) -> Case:
    parts, rng = tree_parts(seed=seed, n_labels=3, lengths=(1, 4), n=7), np.random.default_rng(seed)
    y = [labels_mask(y, 3, rng) for y in parts.y]
    return Case(parts.model, parts.structure, y, lambda i: list(map(np.array, product(range(3), repeat=len(y[i])))))


def candidates(seed: int = 0) -> Case:
    parts, rng = candidate_parts(seed=seed), np.random.default_rng(seed)
    sizes = np.diff(parts.model.offsets)
    y = [(rng.random(m) < 0.3) | (np.arange(m) == t[0]) for m, t in zip(sizes, parts.y, strict=True)]
    return Case(parts.model, parts.structure, y, lambda i: [np.array([j]) for j in range(sizes[i])])


def graphs(make: Callable[[list[Any]], Any], seed: int = 0) -> Case:
    """Two labels on the nodes of a triangle and a path."""
    rng = np.random.default_rng(seed)
    edges = [np.array([[0, 1], [1, 2]]), np.array([[0, 1], [1, 2], [0, 2]])]
    nodes = [np.hstack([rng.normal(size=(6, 4)), np.zeros((6, 1))]) for _ in edges]
    # Agreement of neighbours, with a weight of its own.
    pairs = [np.hstack([np.zeros((4 * len(e), 4)), np.tile([1.0, 0.0, 0.0, 1.0], len(e))[:, None]]) for e in edges]
    y = [labels_mask(rng.integers(0, 2, 3), 2, rng) for _ in edges]
    model = cs.LinearPartsModel(nodes, pairs, n_labels=2)
    return Case(model, make(edges), y, lambda i: list(map(np.array, product(range(2), repeat=3))))


def matchings(seed: int = 0) -> Case:
    rng = np.random.default_rng(seed)
    model = cs.LinearPartsModel([rng.normal(size=(9, 4)) for _ in range(4)], shapes=[(3, 3)] * 4)
    y = [(rng.random((3, 3)) < 0.4) | (np.arange(3) == rng.permutation(3)[:, None]) for _ in range(4)]
    return Case(model, cs.Matching(), y, lambda i: list(map(np.array, permutations(range(3)))))


CASES: dict[str, Callable[[], Case]] = {
    "chains": chains,
    "trees": trees,
    "candidates": candidates,
    "junction": lambda: graphs(lambda edges: cs.JunctionTree(edges, 2)),
    "cut": lambda: graphs(cs.GraphCut),
    "matchings": matchings,
}
cases = pytest.mark.parametrize("case", CASES)
BY_MAX_ALONE = ("cut", "matchings")  # structures without an exp oracle


def skip_without_oracle(case: str, loss: str) -> None:
    if case in BY_MAX_ALONE and loss != "hinge":
        pytest.skip("an exp oracle would have to sum over all outputs")


def point(case: Case, seed: int = 0) -> FloatArray:
    """Random weights, 0 where no score reads them; pair weights stay submodular."""
    rng = np.random.default_rng(seed)
    w = case.model.adjoint(case.model.scores(rng.normal(size=case.model.n_params))) * 0.2
    w[-1] = abs(w[-1]) if isinstance(case.structure, cs.GraphCut) else w[-1]
    return w


@cases
@losses
@pytest.mark.parametrize("native", [True, False])
def test_values_are_those_of_listing_all_outputs(case: str, loss: str, native: bool) -> None:
    skip_without_oracle(case, loss)
    made = CASES[case]()
    objective, w = made.objective(LOSSES[loss](), native=native), point(made)
    assert objective.sets is not None
    assert not objective.is_convex
    expected = made.value(w, loss) + 0.5 * LAM * float(w @ w)
    assert objective.value(w) == pytest.approx(expected, rel=1e-9)
    assert objective.evaluate(w).objective == pytest.approx(expected, rel=1e-9)
    assert objective.evaluate(w).dual is None


@pytest.mark.parametrize("case", ["chains", "trees", "candidates"])
@pytest.mark.parametrize("loss", ["log", "softmax-margin"])
def test_gradients_of_the_marginal_likelihood_are_finite_differences(case: str, loss: str) -> None:
    made = CASES[case]()
    objective, w = made.objective(LOSSES[loss](), 0.0), point(made)
    gradient = objective.evaluate(w).gradient
    for j in np.flatnonzero(w)[:20]:
        step = np.zeros_like(w)
        step[j] = 1e-6
        slope = (objective.value(w + step) - objective.value(w - step)) / 2e-6
        assert gradient[j] == pytest.approx(slope, abs=1e-7)


@cases
@losses
@pytest.mark.parametrize("native", [True, False])
def test_a_round_touches_the_objective_and_is_nowhere_below_it(case: str, loss: str, native: bool) -> None:
    skip_without_oracle(case, loss)
    made = CASES[case]()
    objective, w = made.objective(LOSSES[loss](), native=native), point(made)
    round_ = objective.completed(w)
    assert round_.is_convex
    has_foreign_truth = case == "junction" and loss != "hinge"  # marginals of the composed problem
    assert round_.is_native == (objective.is_native and not has_foreign_truth)
    assert round_.value(w) == pytest.approx(objective.value(w), rel=1e-9)
    for seed in range(1, 6):
        other = point(made, seed)
        assert round_.value(other) >= objective.value(other) - 1e-9
    dual = round_.evaluate(w).dual
    assert dual is not None
    assert dual.value(round_.penalty) <= round_.value(w) + 1e-9


@cases
@losses
def test_the_objective_never_rises_and_the_end_is_stationary(case: str, loss: str) -> None:
    skip_without_oracle(case, loss)
    made = CASES[case]()
    mask = np.arange(made.model.n_params) == made.model.n_params - 1
    penalty = cs.Ridge(LAM, nonnegative=mask) if case == "cut" else cs.Ridge(LAM)
    objective = made.objective(LOSSES[loss](), penalty)
    result = cs.minimize(objective, cs.ConcaveConvex(), tol=1e-3, epochs=50)
    assert (np.diff(result.trace["objective"]) <= 0.0).all()
    assert result.status == "stationary"
    assert not result.converged
    assert result.gap <= 1e-3
    assert result.objective == pytest.approx(objective.value(result.w), rel=1e-12)
    # No round from there can gain more than the tolerance.
    again = cs.minimize(objective.completed(result.w), cs.ConcaveConvex(), tol=1e-5, epochs=3000)
    assert result.objective - again.dual <= 2e-3 * result.objective


@pytest.mark.parametrize(("loss", "solver"), [(loss, s) for loss in SOLVERS for s in SOLVERS[loss]])
def test_any_convex_solver_runs_the_rounds(loss: str, solver: Any) -> None:
    objective = chains().objective(LOSSES[loss]())
    result = cs.minimize(objective, cs.ConcaveConvex(solver), tol=1e-2, epochs=30)
    assert (np.diff(result.trace["objective"]) <= 0.0).all()
    assert result.objective < objective.value(np.zeros(objective.n_params))


@losses
def test_masks_that_leave_one_output_are_that_output(loss: str) -> None:
    parts = chain_parts(n_labels=3)
    masks = [np.arange(3) == np.asarray(y)[:, None] for y in parts.y]
    made = cs.Objective(parts.model, parts.structure, LOSSES[loss](), masks, LAM)
    plain = cs.Objective(parts.model, parts.structure, LOSSES[loss](), parts.y, LAM)
    assert made.sets is None
    assert made.is_convex
    w = np.random.default_rng(0).normal(size=made.n_params)
    assert made.value(w) == plain.value(w)
    assert cs.minimize(made, cs.ConcaveConvex(), tol=1e-2).converged


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_unknown_labels_do_not_hinder_what_is_known(seed: int) -> None:
    """Half of the labels hidden: the tagger that is told which is nearly as good as the one that knows all.

    F is not convex, and runs end at one of several stationary points, of which half have every label right.
    """
    rng = np.random.default_rng(0)
    X = [[[f"w{v}"] for v in rng.integers(0, 6, 8)] for _ in range(60)]
    truth = [np.array([int(token[0][1:]) % 3 for token in x]) for x in X]
    y = [np.where(rng.random(len(t))[:, None] < 0.5, True, np.arange(3) == t[:, None]) for t in truth]
    model = cs.LinearChainModel(cs.pack(X, n_features=None), 3)
    objective = cs.Objective(model, cs.Chain(3), cs.Hamming(), y, 0.1 / len(X))
    result = cs.minimize(objective, cs.ConcaveConvex(), tol=1e-2, epochs=20, seed=seed)
    found = cs.Chain(3).max(model.scores(result.w)).outputs
    assert np.mean(np.concatenate(found) == np.concatenate(truth)) >= 0.97


def test_integer_weights_are_repeated_examples_also_of_sets() -> None:
    made = candidates()
    weights = np.array([1, 3, 0, 2, 1, 1, 2, 1])
    rows = np.repeat(np.arange(8), weights)
    features = [made.model.features[made.model.offsets[i] : made.model.offsets[i + 1]] for i in rows]
    repeated = Case(cs.LinearCandidateModel(features), made.structure, [made.y[i] for i in rows], made.outputs)
    for loss in LOSSES.values():
        a, b = made.objective(loss(), sample_weight=weights), repeated.objective(loss())
        w = point(made)
        assert a.value(w) == pytest.approx(b.value(w), rel=1e-12)
        assert a.completed(w).value(-w) == pytest.approx(b.completed(w).value(-w), rel=1e-12)


@pytest.mark.parametrize("solver", [cs.SGD(), cs.SVRG(), cs.SAGA(), cs.BCFW(), cs.DualProximal(), cs.Casimir()])
def test_solvers_of_convex_problems_say_what_to_use(solver: Any) -> None:
    with pytest.raises(TypeError, match=r"one true output per example, and 2 of 7 have several. Use ConcaveConvex"):
        cs.minimize(chains().objective(cs.Hinge(cs.Hamming())), solver)


def test_auto_takes_the_concave_convex_procedure() -> None:
    from casimir.solvers.choose import choose

    assert choose("auto", chains().objective(cs.Log())) == cs.ConcaveConvex()


class CountingSets(Counting):
    def restricted(self, allowed: Any) -> Any:
        return CountingSets(self._structure.restricted(allowed), self.calls)


def test_counted_calls_are_real_calls() -> None:
    made = chains()
    structure = CountingSets(made.structure)
    objective = cs.Objective(made.model, structure, cs.Hinge(cs.Hamming()), made.y, LAM, native=False)
    before = structure.calls[0]
    cs.minimize(objective, cs.ConcaveConvex(cs.DualProximal(), inner_epochs=20), tol=1e-2, epochs=3)
    objective.evaluate(np.zeros(objective.n_params))
    assert structure.calls[0] - before == objective.oracle_calls
