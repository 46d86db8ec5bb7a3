"""Casimir without tuning: what its two schemes promise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from problems import Parts, candidate_parts, chain_parts, hinge_optimum, tiny_parts, tree_parts

import casimir as cs
from casimir.solvers.ray import shorter

SCHEMES: dict[str, Any] = {
    "svrg": cs.Casimir(),
    "saga": cs.Casimir(cs.SAGA()),
    "svrg-alone": cs.SVRG(),
    "svrg-exact": cs.Casimir(cs.SVRG(cs.L2())),
    "svrg-entropy": cs.Casimir(cs.SVRG(cs.Entropy())),
    "saga-entropy": cs.Casimir(cs.SAGA(cs.Entropy())),
}
PARTS = {
    "chain": lambda: chain_parts(n=9, n_labels=3, valued=True, weighted_cost=True),
    "tree": lambda: tree_parts(n=9, n_labels=3),
    "candidates": lambda: candidate_parts(n=9),
}
PENALTIES = {"ridge": cs.Ridge(0.1), "net": cs.ElasticNet(0.1, 0.4), "none": cs.Ridge(0.0)}


def points(objective: cs.Objective, solver: Any, epochs: int = 5, **options: Any) -> tuple[list[Any], cs.Result]:
    seen: list[Any] = []
    result = cs.minimize(objective, solver, epochs, 0.0, 3, [lambda row, w: seen.append(w.copy())], **options)
    return seen, result


@pytest.mark.parametrize("name", SCHEMES)
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("kind", PARTS)
def test_fused_and_composed_runs_go_the_same_way(kind: str, penalty: str, name: str) -> None:
    """Weighted or not, for a hinge loss and a smooth one in turn."""
    turn = list(PARTS).index(kind) + list(PENALTIES).index(penalty) + list(SCHEMES).index(name)
    parts: Parts = PARTS[kind]()
    weights = np.arange(1.0, 10.0) if turn % 2 else None
    loss = "crf" if turn % 3 == 2 else "hinge"
    fused, composed = (
        points(parts.objective(PENALTIES[penalty], loss, sample_weight=weights, native=native), SCHEMES[name])
        for native in (True, False)
    )
    both = min(len(fused[0]), len(composed[0]))  # F may become 0, or 1e-17, and with it the gap
    assert both >= 3
    for a, b in zip(fused[0][:both], composed[0][:both], strict=True):
        np.testing.assert_allclose(a, b, rtol=0.0, atol=1e-10 * max(1.0, float(np.abs(a).max())))
    for column in ("steps", "full_gradients", "evaluations", "searches"):
        assert fused[1].trace[column][:both].tolist() == composed[1].trace[column][:both].tolist()


@pytest.mark.parametrize("name", SCHEMES)
def test_a_seed_decides_the_run(name: str) -> None:
    objective = chain_parts(n=9).objective(0.05)
    first, again = points(objective, SCHEMES[name]), points(objective, SCHEMES[name])
    np.testing.assert_array_equal(first[0], again[0])


@pytest.mark.parametrize("name", ["saga", "saga-entropy"])
@pytest.mark.parametrize("loss", ["hinge", "crf"])
def test_the_scheme_around_saga_makes_no_full_gradients(name: str, loss: str) -> None:
    trace = cs.minimize(chain_parts(n=9).objective(0.05, loss), SCHEMES[name], 12, 0.0).trace
    assert not trace["full_gradients"].any()
    hidden = name == "saga-entropy" and loss == "hinge"  # F takes a pass of its own
    assert (np.diff(trace["evaluations"]) == (18 if hidden else 9)).all()


@pytest.mark.parametrize("name", ["svrg", "saga", "svrg-exact", "svrg-entropy", "saga-entropy"])
@pytest.mark.parametrize("lam", [1.0, 0.3, 0.01])
def test_nothing_has_to_be_tuned(name: str, lam: float) -> None:
    best = hinge_optimum(tiny_parts(), lam)
    result = cs.minimize(tiny_parts().objective(lam), SCHEMES[name], epochs=300, tol=1e-3)
    assert best - 1e-9 <= result.objective <= 1.03 * best
    assert result.dual <= best + 1e-9


@pytest.mark.parametrize("name", SCHEMES)
def test_a_start_that_is_nearly_optimal_is_kept(name: str) -> None:
    objective = chain_parts(n=12, n_labels=4).objective(0.05)
    best = cs.minimize(objective, cs.DualProximal(), epochs=2000, tol=1e-5)
    seen, result = points(objective, SCHEMES[name], epochs=2, w0=best.w)
    assert result.objective <= best.objective
    assert objective.value(seen[0]) <= 1.5 * best.objective


@pytest.mark.parametrize("name", SCHEMES)
def test_weights_that_must_not_be_negative_are_not(name: str) -> None:
    parts = chain_parts(n=9)
    mask = np.arange(parts.model.n_params) % 2 == 0
    seen, result = points(parts.objective(cs.Ridge(0.05, nonnegative=mask)), SCHEMES[name], epochs=15)
    assert all((w[mask] >= 0.0).all() for w in seen)
    assert result.objective < parts.objective(0.05).value(np.zeros(parts.model.n_params))


def test_smoothing_falls_and_steps_follow_it() -> None:
    trace = cs.minimize(chain_parts(n=40, n_labels=4).objective(0.01), cs.Casimir(), 40, 0.0).trace
    assert (np.diff(trace["mu"]) <= 0.0).all()
    assert trace["mu"][-1] < trace["mu"][0]
    assert (np.diff(trace["objective"]) <= 0.05 * trace["objective"][:-1]).all()


@pytest.mark.parametrize("inner", [cs.SVRG(), cs.SAGA(), cs.GradientDescent(cs.L2())], ids=lambda s: type(s).__name__)
def test_sequences_of_a_user_are_followed(inner: Any) -> None:
    objective = chain_parts(n=9).objective(0.05)
    solver = cs.Casimir(inner, alpha0=0.5, mu=lambda k: 0.5 / k, kappa=lambda k: 0.1 * k, inner_epochs=2)
    trace = cs.minimize(objective, solver, 6, 0.0).trace
    k = np.maximum(np.arange(6), 1)  # the first row is that of the first pass
    np.testing.assert_allclose(trace["mu"], 0.5 / k)
    np.testing.assert_allclose(trace["kappa"], 0.1 * k)
    fixed = cs.minimize(objective, cs.Casimir(inner, mu=0.2, kappa=0.3), 4, 0.0).trace
    assert set(fixed["mu"]) == {0.2}
    assert set(fixed["kappa"]) == {0.3}


@pytest.mark.parametrize("inner", [cs.SVRG(lipschitz=40.0), cs.SAGA(lipschitz=40.0)], ids=lambda s: type(s).__name__)
def test_an_l_that_was_given_stays(inner: Any) -> None:
    trace = cs.minimize(chain_parts(n=9).objective(0.05), cs.Casimir(inner), 8, 0.0).trace
    assert set(trace["lipschitz"]) == {40.0}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: cs.Casimir(warm_start="prev-iterate"), "belong to the paper's sequences"),
        (lambda: cs.Casimir(stopping="accuracy"), "belong to the paper's sequences"),
        (lambda: cs.Casimir(delta=0.1), "delta does nothing with stopping='budget'"),
        (lambda: cs.Casimir(cs.SVRG(mu=0.1), mu=0.2), "give one of them"),
        (lambda: cs.Casimir(alpha0=1.0), "alpha0=1.0; it must lie between 0 and 1"),
        (lambda: cs.Casimir(scheme="best"), "scheme='best'; it must be one of untuned, const, adapt"),
        (lambda: cs.Casimir.paper("fast"), "regime='fast'; it must be 'const' or 'adapt'"),
        (lambda: cs.Casimir.paper("const", stopping="accuracy", inner_epochs=2), "inner_epochs does nothing"),
        (lambda: cs.SVRG(iterate="mean"), "iterate='mean'; it must be one of average, last, second-half"),
        (lambda: cs.SVRG(sampling="none"), "sampling='none'; it must be one of permutation, replacement"),
        (lambda: cs.SVRG(lipschitz="search"), "lipschitz='search'; it must be a number, 'bound', or None"),
    ],
)
def test_options_that_make_no_sense_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_a_sequence_of_levels_for_a_smooth_loss_is_refused() -> None:
    objective = tiny_parts().objective(0.3, "crf")
    for solver in (cs.Casimir(mu=lambda k: 1.0 / k), cs.Casimir(mu=0.3)):
        with pytest.raises(ValueError, match="does nothing"):
            cs.minimize(objective, solver)


def dense_classes(n: int = 400, classes: int = 6, dim: int = 15) -> Parts:
    """Noisy classes of Gaussian inputs, as candidate lists: gradients of different examples are far from orthogonal."""
    rng = np.random.default_rng(7)
    inputs, weights = rng.normal(size=(n, dim)), rng.normal(size=(classes, dim))
    y = (inputs @ weights.T + 3.0 * rng.normal(size=(n, classes))).argmax(axis=1)
    model = cs.LinearCandidateModel([np.kron(np.eye(classes), x[None]) for x in inputs])
    return Parts(model, cs.Candidates(), cs.Hamming(), [np.array([c]) for c in y])


@pytest.mark.parametrize("lam_n", [1.0, 0.01])
def test_steps_of_saga_get_shorter_where_features_are_dense(lam_n: float) -> None:
    """Without a look at the noise of the answers, F - F* is some 20 times as large."""
    parts, n = dense_classes(), 400
    best = cs.minimize(parts.objective(lam_n / n), cs.DualProximal(), 2000, 1e-4).dual

    def error(solver: Any) -> float:
        def is_done(row: cs.TraceRow, w: Any) -> bool:
            return row.steps + row.searches + row.full_gradients > 40 * n

        return cs.minimize(parts.objective(lam_n / n), solver, 100, 1e-4, 5, [is_done]).objective - best

    assert error(cs.Casimir(cs.SAGA())) <= 0.5 * error(cs.SVRG())
    assert error(cs.Casimir(cs.SAGA())) <= 0.003 * best


def test_a_few_examples_do_not_shorten_an_optimal_point() -> None:
    loss = cs.FenchelYoung(cs.L2(), 0.1, cs.Hamming())
    objective = dense_classes().objective(0.1 / 400, loss)
    z = cs.minimize(objective, cs.LBFGS(), 500, 1e-6).w
    found = objective.evaluate(z)
    assert found.gradient is not None
    lengths = [shorter(objective, loss, z, found.gradient, np.random.default_rng(seed)) for seed in range(20)]
    assert lengths == [1.0] * 20
