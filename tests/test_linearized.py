"""Linearized: value, gradient and bound are those of the linearization, however it is kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from nonlinear import EluCandidates, elu_parts, start, tanh_parts
from problems import Parts, candidate_parts, chain_parts

import casimir as cs
from casimir.losses import FenchelYoung, smoothed
from casimir.models.jacobian import JacobianProducts, linear_model
from casimir.scores import FloatArray, Scores
from casimir.smoothing import L2, Entropy, Hard

LAM, ETA = 0.2, 0.7
PAIRWISE = cs.BCFW(pairwise=True)
MODELS = pytest.mark.parametrize("make", [elu_parts, tanh_parts], ids=["elu", "tanh"])


class Affine:
    """scores = g(w_k) + J (w - w_k) as a model of w, by finite differences of g alone."""

    def __init__(self, model: Any, anchor: FloatArray) -> None:
        self.n_examples, self.n_params = model.n_examples, model.n_params
        self._model, self._anchor = model, anchor

    def scores(self, w: FloatArray, examples: Any = None) -> Scores:
        t = 1e-5
        around = [self._model.scores(self._anchor + s * t * (w - self._anchor), examples) for s in (1.0, -1.0)]
        slope = (around[0] - around[1]) * (1.0 / (2.0 * t))
        return self._model.scores(self._anchor, examples) + slope

    def linearize(self, w: FloatArray, examples: Any = None) -> Any:
        raise AssertionError("values need no derivative")


def test_derivatives_of_the_test_models() -> None:
    for parts in (elu_parts(), tanh_parts()):
        w, dw = start(parts), start(parts, 1)
        around, t = parts.model.linearize(w), 1e-6
        difference = (parts.model.scores(w + t * dw) - parts.model.scores(w - t * dw)) * (0.5 / t)
        forward = around.forward(dw)
        np.testing.assert_allclose(forward.nodes, difference.nodes, atol=1e-8)
        m = difference * 1.0 if forward.edges is None else _edge_by_edge(forward)
        assert float(forward.dot(m).sum()) == pytest.approx(float(around.adjoint(m) @ dw))


def _edge_by_edge(s: Scores) -> Scores:
    edges = np.concatenate([s.pairwise(i) for i in range(len(s))])
    counts = [len(s.pairwise(i)) for i in range(len(s))]
    return Scores(s.nodes, s.offsets, np.ascontiguousarray(edges), np.concatenate([[0], np.cumsum(counts)]))


@MODELS
@pytest.mark.parametrize("loss", ["hinge", "crf"])
@pytest.mark.parametrize("eta", [None, ETA])
def test_value_is_that_of_the_true_linearization(make: Any, loss: str, eta: float | None) -> None:
    parts = make()
    anchor = start(parts)
    linearized = cs.Linearized(parts.objective(LAM, loss=loss), anchor, eta)
    true = Parts(Affine(parts.model, anchor), parts.structure, parts.cost, parts.y).objective(LAM, loss=loss)
    for seed in range(1, 4):
        w = start(parts, seed)
        prox = 0.0 if eta is None else 0.5 / eta * float((w - anchor) @ (w - anchor))
        assert linearized.value(w) == pytest.approx(true.value(w) + prox, abs=1e-7)
    assert linearized.value(anchor) == pytest.approx(parts.objective(LAM, loss=loss).value(anchor), abs=1e-12)


@MODELS
@pytest.mark.parametrize("smoothing", [L2(2), L2(), Entropy()], ids=str)
def test_gradient_is_that_of_its_value(make: Any, smoothing: Any) -> None:
    parts, t = make(), 1e-6
    linearized = cs.Linearized(parts.objective(LAM), start(parts), ETA)
    v, direction = start(parts, 1), start(parts, 2)
    loss = FenchelYoung(smoothing, 0.5, parts.cost)
    of_losses = linearized.evaluate(v, loss).gradient
    assert of_losses is not None
    gradient = of_losses + LAM * v + (v - linearized.anchor) / ETA
    ahead, behind = (linearized.evaluate(v + s * t * direction, loss).smoothed for s in (1.0, -1.0))
    assert float(gradient @ direction) == pytest.approx((ahead - behind) / (2 * t), abs=1e-6)


@MODELS
def test_at_the_anchor_its_gradient_is_that_of_the_objective(make: Any) -> None:
    parts = make()
    anchor, objective = start(parts), parts.objective(LAM)
    linearized = cs.Linearized(objective, anchor, ETA)
    for smoothing in (Hard(), L2(3), Entropy()):
        loss = smoothed(objective.loss, smoothing, 0.0 if smoothing == Hard() else 0.3)
        here = linearized.evaluate(anchor, loss).gradient
        np.testing.assert_allclose(here, objective.evaluate(anchor, loss).gradient, atol=1e-9)


def test_gradient_of_a_nonlinear_objective_is_that_of_its_value() -> None:
    for parts in (elu_parts(), tanh_parts()):
        objective, w, direction, t = parts.objective(LAM), start(parts), start(parts, 1), 1e-6
        loss = FenchelYoung(Entropy(), 0.5, parts.cost)
        evaluation = objective.evaluate(w, loss)
        assert evaluation.gradient is not None
        assert evaluation.dual is None
        ahead, behind = (objective.evaluate(w + s * t * direction, loss).smoothed for s in (1.0, -1.0))
        assert float((evaluation.gradient + LAM * w) @ direction) == pytest.approx((ahead - behind) / (2 * t), abs=1e-6)


@MODELS
def test_batches_change_nothing(make: Any) -> None:
    whole, batched = make().objective(LAM), make(batch_size=3).objective(LAM)
    w = start(make())
    a, b = (o.evaluate(w, FenchelYoung(L2(3), 0.3, o.loss.cost), keep=True) for o in (whole, batched))
    np.testing.assert_allclose(a.gradient, b.gradient, atol=1e-12)
    assert a.objective == pytest.approx(b.objective)
    np.testing.assert_allclose(a.marginals, b.marginals, atol=1e-12)
    v = start(make(), 1)
    values = [cs.Linearized(objective, w, ETA).value(v) for objective in (whole, batched)]
    assert values[0] == pytest.approx(values[1])


def test_stored_jacobians_run_natively_and_agree_with_products() -> None:
    parts = elu_parts()
    objective, anchor = parts.objective(LAM), start(parts)
    stored, products = (cs.Linearized(objective, anchor, ETA, kind) for kind in ("stored", "products"))
    assert stored.is_native
    assert not products.is_native
    assert isinstance(products.model, JacobianProducts)
    v = start(parts, 1)
    for smoothing in (Hard(), L2(2), Entropy()):
        loss = smoothed(objective.loss, smoothing, 0.0 if smoothing == Hard() else 0.4)
        a, b = (problem.evaluate(v, loss) for problem in (stored, products))
        assert a.smoothed == pytest.approx(b.smoothed)
        np.testing.assert_allclose(a.gradient, b.gradient, atol=1e-12)
        assert a.dual.value(stored.penalty) == pytest.approx(b.dual.value(products.penalty))


@pytest.mark.parametrize("jacobian", ["stored", "products"])
@pytest.mark.parametrize("solver", [cs.DualProximal(), cs.BCFW(), cs.LBFGS(mu=1e-3)], ids=lambda s: type(s).__name__)
def test_solvers_certify_the_convex_model(jacobian: str, solver: Any) -> None:
    parts = elu_parts()
    problem = cs.Linearized(parts.objective(LAM), start(parts), ETA, jacobian)
    result = cs.minimize(problem, solver, epochs=400, tol=2e-3)
    assert result.converged
    best = cs.minimize(problem, cs.DualProximal(), epochs=1000, tol=1e-7)
    assert result.dual <= best.objective + 1e-9
    assert result.objective >= best.dual - 1e-9


def test_a_jacobian_may_take_the_place_of_another() -> None:
    parts = elu_parts()
    objective, rng = parts.objective(LAM), np.random.default_rng(4)
    first, second = (start(parts, seed) for seed in (0, 1))
    old = cs.Linearized(objective, first, 1.0)
    new = cs.Linearized(objective, second, 1.0, out=old.rows)
    fresh = cs.Linearized(objective, second, 1.0)
    assert isinstance(new.rows, np.ndarray)
    assert new.rows is old.rows
    assert fresh.rows is not new.rows
    np.testing.assert_array_equal(new.rows, fresh.rows)
    w = rng.normal(size=len(first))
    assert new.value(w) == fresh.value(w)
    assert cs.Linearized(objective, second, 1.0, out=np.zeros((1, 1))).value(w) == fresh.value(w)
    assert cs.Linearized(objective, second, 1.0, "products").rows is None


@pytest.mark.parametrize("penalty", [cs.ElasticNet(LAM, 0.5), cs.ElasticNet(LAM, 1.0)], ids=repr)
def test_the_model_keeps_the_penalty_and_adds_one_square(penalty: Any) -> None:
    parts = elu_parts()
    objective, anchor = parts.objective(penalty), start(parts)
    free, held = cs.Linearized(objective, anchor), cs.Linearized(objective, anchor, ETA)
    for seed in range(1, 4):
        w = start(parts, seed)
        assert free.penalty.value(w) == penalty.value(w)
        assert held.value(w) == pytest.approx(free.value(w) + 0.5 / ETA * float((w - anchor) @ (w - anchor)))
    result = cs.minimize(held, cs.DualProximal(), epochs=500, tol=1e-4)
    assert result.converged
    assert result.objective <= objective.value(anchor)


def test_the_model_keeps_the_weights_of_examples() -> None:
    parts = elu_parts()
    weight = np.arange(len(parts.y), dtype=np.float64)
    objective, anchor = parts.objective(LAM, sample_weight=weight), start(parts)
    linearized = cs.Linearized(objective, anchor, ETA)
    assert linearized.value(anchor) == pytest.approx(objective.value(anchor))
    assert linearized.n_active == len(parts.y) - 1
    assert objective.value(anchor) != pytest.approx(parts.objective(LAM).value(anchor))


def test_a_linear_model_is_its_own_linearization() -> None:
    for parts in (candidate_parts(), chain_parts()):
        objective = parts.objective(LAM)
        w, anchor = start(parts, 1), start(parts)
        assert linear_model(parts.model, anchor, parts.model.scores(anchor)) is parts.model
        assert cs.Linearized(objective, anchor).value(w) == pytest.approx(objective.value(w))


def test_an_offset_is_added_to_the_scores() -> None:
    for parts in (candidate_parts(), chain_parts()):
        plain = parts.objective(LAM, native=False)
        w, shift = start(parts), start(parts, 5)
        offset = parts.model.scores(shift)
        shifted = cs.Objective(parts.model, parts.structure, parts.cost, parts.y, LAM, offset=offset)
        ridge = 0.5 * LAM * float((w + shift) @ (w + shift) - w @ w)
        assert shifted.value(w) == pytest.approx(plain.value(w + shift) - ridge)
        solved = [cs.minimize(shifted, solver, epochs=300, tol=1e-3) for solver in (cs.DualProximal(), PAIRWISE)]
        assert all(result.converged for result in solved)
        assert solved[0].dual <= solved[1].objective + 1e-12
        assert solved[1].dual <= solved[0].objective + 1e-12


def test_clear_errors() -> None:
    parts = elu_parts()
    objective, anchor = parts.objective(LAM), start(parts)
    with pytest.raises(ValueError, match="anchor must be 10 finite numbers"):
        cs.Linearized(objective, anchor[:3])
    with pytest.raises(ValueError, match="eta=-1"):
        cs.Linearized(objective, anchor, -1.0)
    with pytest.raises(ValueError, match="jacobian='some'"):
        cs.Linearized(objective, anchor, jacobian="some")
    with pytest.raises(TypeError, match=r"needs TanhChain\.jacobian"):
        cs.Linearized(tanh_parts().objective(LAM), start(tanh_parts()), jacobian="stored")
    with pytest.raises(TypeError, match="ProxLinear"):
        cs.minimize(objective, cs.BCFW())
    with pytest.raises(TypeError, match="ProxLinear"):
        cs.minimize(objective, cs.Casimir(cs.SVRG()))


class _Wrong(EluCandidates):
    def jacobian(self, w: FloatArray, examples: Any = None) -> FloatArray:
        return super().jacobian(w, examples)[:, :-1]


def test_a_jacobian_of_the_wrong_shape_is_refused() -> None:
    parts = elu_parts()
    wrong = _Wrong([parts.model.x[a:b] for a, b in zip(parts.model.offsets, parts.model.offsets[1:], strict=False)], 2)
    objective = cs.Objective(wrong, parts.structure, parts.cost, parts.y, LAM)
    with pytest.raises(ValueError, match=r"_Wrong\.jacobian gave"):
        cs.Linearized(objective, start(parts))


@pytest.mark.parametrize("loss", [cs.Hinge(cs.Hamming()), cs.Hinge(None), cs.Log()], ids=repr)
@pytest.mark.parametrize("native", [True, False])
def test_an_offset_that_does_not_fit_is_refused(loss: Any, native: bool) -> None:
    model = cs.LinearCandidateModel([np.ones((2, 3)), np.ones((3, 3))])
    y = [np.array([1]), np.array([0])]

    def value(offset: Any) -> float:
        return cs.Objective(model, cs.Candidates(), loss, y, LAM, native=native, offset=offset).value(np.zeros(3))

    with pytest.raises(ValueError, match="differ in layout"):
        value(cs.Candidates().scores([np.zeros(3), np.zeros(2)]))
    with pytest.raises(ValueError, match="offset has entries that are NaN"):
        value(Scores(np.full(5, np.nan), model.offsets))
    with pytest.raises(TypeError, match="offset is a list"):
        value([np.zeros(2), np.zeros(3)])


class _Matrices(EluCandidates):
    """The scores of 4 candidates as a matrix [2, 2]."""

    def _shaped(self, s: Scores) -> Scores:
        return Scores(s.nodes, s.offsets, shapes=np.full((len(s), 2), 2))

    def scores(self, w: FloatArray, examples: Any = None) -> Scores:
        return self._shaped(super().scores(w, examples))

    def linearize(self, w: FloatArray, examples: Any = None) -> Any:
        around = super().linearize(w, examples)
        return replace(around, scores=self.scores(w, examples), forward=lambda dw: self._shaped(around.forward(dw)))


def test_jacobians_of_scores_that_form_matrices_are_not_stored() -> None:
    rng = np.random.default_rng(0)
    model = _Matrices([rng.normal(size=(4, 2, 3)) for _ in range(5)], 2)
    objective = cs.Objective(model, cs.Matching(), cs.Hamming(), [rng.permutation(2) for _ in range(5)], LAM)
    anchor = rng.normal(size=model.n_params)
    convex = cs.Linearized(objective, anchor, ETA)
    assert isinstance(convex.model, JacobianProducts)
    assert convex.value(anchor) == pytest.approx(objective.value(anchor))
    with pytest.raises(TypeError, match="form matrices"):
        cs.Linearized(objective, anchor, jacobian="stored")
