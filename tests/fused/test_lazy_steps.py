"""Steps that the core makes up for just in time equal dense steps, however long the epoch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fused_cases import PENALTIES, assert_all_close, both, loss_of, penalty_of, some_weights, start
from problems import Parts, candidate_parts, chain_parts, tree_parts

import casimir as cs
from casimir.penalties import Proximal
from casimir.scores import FloatArray
from casimir.solvers.saga import Table, saga_epoch
from casimir.solvers.sgd import sgd_epoch
from casimir.solvers.steps import Averaged
from casimir.solvers.svrg import svrg_epoch

STEPS = 250


class Dense:
    """The oracles of a fused problem, with dense proximal steps w <- prox(w - gamma g): every iterate is kept."""

    def __init__(self, objective: cs.Objective, loss: Any, w: FloatArray) -> None:
        self.objective, self.loss, self.w = objective, loss, w.copy()
        self.problem = objective.problem(loss.smoothing)
        self.iterates: list[FloatArray] = []

    def change(self, i: int, reference: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The marginals of example i at w, and scale_i J_i^T (marginals - reference)."""
        marginals, out = (
            self.problem.oracle(i, self.w, self.loss.smoothing, self.loss.mu).marginals,
            np.zeros_like(self.w),
        )
        self.problem.scatter(i, marginals - reference, self.problem.scale(i), out)
        return marginals, out

    def step(self, gradient: FloatArray, gamma: float) -> None:
        quadratic = self.objective.penalty.quadratic
        if quadratic is None:
            self.w = self.objective.penalty.prox(self.w - gamma * gradient, gamma)
        else:
            center = 0.0 if quadratic.center is None else quadratic.center
            self.w = self.w - gamma * (gradient + quadratic.sigma * (self.w - center))
        self.iterates.append(self.w)

    def kept(self, marginals: FloatArray, i: int) -> FloatArray:
        return marginals[self.problem.marginal_offset(i) : self.problem.marginal_offset(i + 1)]

    def mean(self, weights: FloatArray | None = None) -> FloatArray:
        return np.average(self.iterates, axis=0, weights=weights)

    def sign_changes(self) -> int:
        """How often a weight leaves or reaches 0, or goes through it."""
        return int(np.count_nonzero(np.diff(np.sign(self.iterates), axis=0)))


def dense_sgd(o: cs.Objective, loss: Any, w: FloatArray, order: Any, gamma: FloatArray) -> Dense:
    dense = Dense(o, loss, w)
    for i, length in zip(order.tolist(), gamma.tolist(), strict=True):
        dense.step(dense.change(i, dense.problem.truth(i))[1], length)
    return dense


def dense_svrg(o: cs.Objective, loss: Any, w: FloatArray, order: Any, gamma: float) -> Dense:
    dense, at = Dense(o, loss, w), o.evaluate(w, loss, keep=True)
    for i in order.tolist():
        dense.step(dense.change(i, dense.kept(at.marginals, i))[1] + at.gradient, gamma)
    return dense


def dense_saga(o: cs.Objective, loss: Any, w: FloatArray, order: Any, gamma: float) -> tuple[Dense, FloatArray]:
    dense, at = Dense(o, loss, w), o.evaluate(w, loss, keep=True)
    table, mean = at.marginals.copy(), at.gradient.copy()
    for i in order.tolist():
        marginals, change = dense.change(i, dense.kept(table, i))
        dense.step(change + mean, gamma)
        mean += change / o.n_active
        dense.kept(table, i)[:] = marginals
    return dense, mean


def fused_sgd(o: cs.Objective, loss: Any, w0: FloatArray, order: Any, gamma: FloatArray, a: Any) -> list[FloatArray]:
    w, averaged = w0.copy(), Averaged(np.zeros_like(w0))
    sgd_epoch(o.problem(loss.smoothing), order, gamma, o.penalty, loss, w, averaged, a)
    return [w, averaged.mean(w)]


def fused_svrg(o: cs.Objective, loss: Any, w0: FloatArray, order: Any, gamma: float) -> list[FloatArray]:
    w, at = w0.copy(), o.evaluate(w0, loss, keep=True)
    mean = svrg_epoch(o.problem(loss.smoothing), order, gamma, o.penalty, loss, at.gradient, at.marginals, w)
    return [w, mean]


def fused_saga(o: cs.Objective, loss: Any, w0: FloatArray, order: Any, gamma: float) -> list[FloatArray]:
    w, at = w0.copy(), o.evaluate(w0, loss, keep=True)
    table = Table(at.marginals, at.gradient.copy())
    saga_epoch(o.problem(loss.smoothing), order, gamma, o.penalty, loss, table, o.n_active, w)
    return [w, table.mean]


def case(seed: int, n: int = 12) -> Parts:
    """Many features and short examples: most weights wait long for their next step."""
    options = {"seed": seed, "n": n, "n_features": 40, "n_labels": 3, "lengths": (1, 2), "weighted_cost": True}
    make = [chain_parts, tree_parts][seed % 2]
    return candidate_parts(seed=seed) if seed % 5 == 4 else make(valued=seed % 3 == 0, **options)


def check_all(parts: Parts, penalty: Any, gamma: float, seed: int, steps: int = STEPS) -> list[Dense]:
    """SGD with steps of varied length, SVRG and SAGA against dense steps."""
    o = parts.objective(penalty, sample_weight=some_weights(len(parts.y), seed) if seed % 2 else None)
    rng = np.random.default_rng(seed)
    loss, w0, order = loss_of(parts, cs.Entropy(), 1.0), start(parts, penalty=penalty), o.draw(rng, steps)
    gammas, a = gamma * rng.uniform(0.1, 1.5, steps), rng.uniform(0.0, 2.0, steps)
    runs = [dense_sgd(o, loss, w0, order, gammas), dense_svrg(o, loss, w0, order, gamma)]
    assert_all_close(fused_sgd(o, loss, w0, order, gammas, a), [runs[0].w, runs[0].mean(a)])
    assert_all_close(fused_svrg(o, loss, w0, order, gamma), [runs[1].w, runs[1].mean()])
    last, mean = dense_saga(o, loss, w0, order, gamma)
    assert_all_close(fused_saga(o, loss, w0, order, gamma), [last.w, mean])
    return [*runs, last]


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("gamma", [0.02, 0.5])
def test_long_epochs_follow_dense_steps(penalty: str, gamma: float) -> None:
    seed = PENALTIES.index(penalty)
    parts = case(seed)
    check_all(parts, penalty_of(penalty, parts.model.n_params, seed), gamma, seed)


@pytest.mark.parametrize("seed", range(6))
def test_steps_that_cross_zero_many_times_follow_dense_steps(seed: int) -> None:
    """Large steps and L1 terms: weights fall on 0, leave it, and change sign, between visits and at them."""
    parts = case(seed, n=6)
    n = parts.model.n_params
    rng = np.random.default_rng(seed)
    net = cs.ElasticNet(0.3, [0.3, 1.0][seed % 2], strengths=rng.choice([0.2, 1.0, 3.0], size=n))
    penalty = Proximal(net, 0.4, rng.normal(size=n)) if seed % 3 == 0 else net
    runs = check_all(parts, penalty, 0.6, seed)
    assert sum(run.sign_changes() for run in runs) > STEPS


@pytest.mark.parametrize("product", [0.3, 1.0, 3.0, 40.0])
@pytest.mark.parametrize(
    "make",
    [
        lambda sigma, n: cs.Ridge(sigma, strengths=np.resize([1.0, 1.5, 0.01], n)),
        lambda sigma, n: cs.ElasticNet(sigma / 0.9, 0.1),
        lambda sigma, n: Proximal(cs.ElasticNet(0.1, 1.0), sigma, np.resize([1.0, -2.0, 0.0], n)),
        lambda sigma, n: cs.Ridge(sigma, nonnegative=np.arange(n) % 2 == 0),
    ],
    ids=["strengths", "elastic", "proximal-l1", "nonnegative"],
)
def test_means_survive_the_renewal_of_powers(product: float, make: Any) -> None:
    """The powers prod_t 1 / (1 + gamma sigma) leave the range of digits many times within the epoch."""
    parts = case(1)
    sigma = 2.0
    assert (1.0 + product) ** -STEPS < 1e-16
    check_all(parts, make(sigma, parts.model.n_params), product / sigma, 1)


@pytest.mark.parametrize("penalty", [cs.Ridge(0.6), Proximal(cs.Ridge(0.1), 0.5, np.ones(1))])
@pytest.mark.parametrize("gamma", [1e-3, 1.5, 2.5])
def test_long_epochs_agree_through_changes_of_scale(penalty: Any, gamma: float) -> None:
    """w = s v: s shrinks by 1 - gamma lam, in sign as well, and v is renewed many times within one epoch."""
    parts = chain_parts(n_labels=2, lengths=(1, 6), weighted_cost=True)
    if isinstance(penalty, Proximal):
        penalty = Proximal(penalty.penalty, penalty.kappa, start(parts, seed=3))
    assert abs(1.0 - gamma * 0.6) ** STEPS < 1e-3 or gamma == 1e-3
    check_all(parts, penalty, gamma, 0)


@pytest.mark.parametrize("l1_ratio", [0.5, 1.0])
def test_l1_terms_leave_exact_zeros(l1_ratio: float) -> None:
    parts = case(2)
    penalty = cs.ElasticNet(0.3, l1_ratio)
    o, composed = both(parts, penalty)
    loss, w0, order = loss_of(parts, cs.L2(3)), start(parts), o.draw(np.random.default_rng(0), STEPS)
    for fused, dense in (
        (fused_svrg(o, loss, w0, order, 0.3)[0], dense_svrg(o, loss, w0, order, 0.3).w),
        (fused_saga(o, loss, w0, order, 0.3)[0], dense_saga(o, loss, w0, order, 0.3)[0].w),
        (fused_svrg(o, loss, w0, order, 0.3)[0], fused_svrg(composed, loss, w0, order, 0.3)[0]),
    ):
        used = w0 != 0.0
        np.testing.assert_array_equal(fused == 0.0, dense == 0.0)
        assert 0.1 < np.mean(fused[used] == 0.0) < 1.0


def test_weights_that_are_fixed_stay_0_and_nonnegative_ones_stay_so() -> None:
    parts = case(1)
    n = parts.model.n_params
    strengths, mask = np.where(np.arange(n) % 3 == 0, np.inf, 1.0), np.arange(n) % 2 == 0
    penalty = cs.ElasticNet(0.05, 0.5, strengths=strengths, nonnegative=mask)
    for run in check_all(parts, penalty, 0.3, 1):
        iterates = np.array(run.iterates)
        assert (iterates[:, mask] >= 0.0).all()
        assert (iterates[:, ~mask] < 0.0).any()
        assert not iterates[:, np.isinf(strengths)].any()


def wide(n_features: int) -> Parts:
    """Many more weights than the examples use, all of which move: about four per feature."""
    return chain_parts(n=20, n_features=n_features, lengths=(1, 3), weighted_cost=True)


def spread(n: int, kinds: int, seed: int = 0) -> FloatArray:
    """float64[n]: as many different strengths, from 0.1 to 10; some weights are fixed at 0."""
    strengths = np.geomspace(0.1, 10.0, kinds)[np.random.default_rng(seed).permutation(n) % kinds]
    return np.where(np.arange(n) % 7 == 3, np.inf, strengths)


@pytest.mark.parametrize(
    ("n_features", "kinds"), [(40, 65), (3000, 300), (3000, 12000), (11000, 44000)], ids=["65", "300", "12000", "44000"]
)
def test_steps_under_many_strengths_follow_dense_steps(n_features: int, kinds: int) -> None:
    """From 8,000 strengths on, a table of all of them is full before the epoch ends; of 2^15 there is none."""
    parts = wide(n_features)
    n, rng = parts.model.n_params, np.random.default_rng(0)
    strengths, mask = spread(n, kinds), rng.random(n) < 0.3
    net = cs.ElasticNet(0.2, 0.3, strengths=strengths, nonnegative=mask)
    assert len(np.unique(strengths)) > 0.8 * kinds
    for penalty in (net, Proximal(net, 0.3, rng.normal(size=n))):
        runs = check_all(parts, penalty, 0.3, 0, steps=300)
        for run in runs:
            assert not run.w[np.isinf(strengths)].any()
            assert (run.w[mask] >= 0.0).all()
        assert sum(run.sign_changes() for run in runs) > 300


@pytest.mark.parametrize("n_features", [40, 3000, 11000])
@pytest.mark.parametrize("change", [1, 20, 290])
def test_steps_whose_length_changes_within_the_epoch_follow_dense_steps(n_features: int, change: int) -> None:
    """gamma stays for a while, then is another one: with few strengths, with many, and with too many for a table."""
    parts, steps = wide(n_features), 300
    n = parts.model.n_params
    penalty = cs.ElasticNet(0.2, 0.3, strengths=spread(n, n))
    o, loss, w0 = parts.objective(penalty), loss_of(parts, cs.Entropy(), 1.0), start(parts, penalty=penalty)
    order, gamma = o.draw(np.random.default_rng(1), steps), np.where(np.arange(steps) < change, 0.3, 0.1)
    for weights in (np.ones(steps), np.where(gamma < 0.2, 2.0, 1.0)):
        dense = dense_sgd(o, loss, w0, order, gamma)
        assert_all_close(fused_sgd(o, loss, w0, order, gamma, weights), [dense.w, dense.mean(weights)])


@pytest.mark.parametrize("solver", [cs.SGD(), cs.SVRG(mu=0.5), cs.SAGA(mu=0.5)], ids=repr)
def test_solvers_agree_when_every_weight_has_its_strength(solver: Any) -> None:
    parts = chain_parts(n_labels=4, n_features=40, weighted_cost=True)
    penalty = cs.Ridge(0.1, strengths=spread(parts.model.n_params, parts.model.n_params))
    fused, composed = (cs.minimize(o, solver, epochs=3, tol=0.0) for o in both(parts, penalty))
    np.testing.assert_allclose(fused.w, composed.w, rtol=0.0, atol=1e-9)
