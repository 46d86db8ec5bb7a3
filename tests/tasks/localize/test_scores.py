"""The elu score: values, both products by the Jacobian and its rows, against formulas, differences and PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

import casimir as cs
from casimir.scores import Scores, offsets_of
from casimir.tasks.localize.scores import EluCandidateModel, EluScore, LinearScore, make_score

SCORE = EluScore(cells=4, channels=3, hidden=5)
SIZES = (3, 1, 4)


def example_model(dtype: type = np.float64) -> tuple[EluCandidateModel, np.ndarray]:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(sum(SIZES), SCORE.dim)).astype(dtype)
    return EluCandidateModel(SCORE, rows, offsets_of(SIZES)), rows


def test_the_score_is_the_formula() -> None:
    model, rows = example_model()
    w = SCORE.start(0) * 3.0
    first, second = SCORE.unpack(w)
    z = rows.reshape(-1, 4, 3) @ first
    expected = np.einsum("npk,kp->n", np.where(z >= 0, z, np.exp(z) - 1), second)
    np.testing.assert_allclose(model.scores(w).nodes, expected)
    np.testing.assert_allclose(SCORE.values(w, rows), expected)


def test_derivatives_agree_with_differences_and_with_each_other() -> None:
    model, _ = example_model()
    rng, w = np.random.default_rng(1), SCORE.start(0) * 2.0
    at, rows = model.linearize(w), model.jacobian(w)
    step = 1e-6
    differences = [model.scores(w + step * e).nodes - model.scores(w - step * e).nodes for e in np.eye(len(w))]
    np.testing.assert_allclose(rows, np.array(differences).T / (2 * step), atol=1e-8)
    dw, m = rng.normal(size=len(w)), rng.normal(size=len(rows))
    np.testing.assert_allclose(at.forward(dw).nodes, rows @ dw, atol=1e-12)
    np.testing.assert_allclose(at.adjoint(Scores(m, at.scores.offsets)), m @ rows, atol=1e-12)
    np.testing.assert_array_equal(at.scores.nodes, model.scores(w).nodes)


def test_some_examples_are_rows_of_all() -> None:
    model, _ = example_model()
    w, rng = SCORE.start(3), np.random.default_rng(2)
    full, part = model.linearize(w), model.linearize(w, [2, 0])
    np.testing.assert_array_equal(part.scores.offsets, [0, 4, 7])
    np.testing.assert_array_equal(part.scores.nodes, full.scores.nodes[[4, 5, 6, 7, 0, 1, 2]])
    np.testing.assert_array_equal(model.jacobian(w, [1]), model.jacobian(w)[3:4])
    m = Scores(rng.normal(size=1), np.array([0, 1]))
    np.testing.assert_allclose(model.linearize(w, [1]).adjoint(m), m.nodes @ model.jacobian(w)[3:4])
    with pytest.raises(ValueError, match="EluCandidateModel got marginals"):
        full.adjoint(m)


def test_jacobians_are_written_where_they_are_wanted() -> None:
    model, _ = example_model(np.float32)
    w, out = SCORE.start(3), np.full((8, SCORE.n_params), np.nan, dtype=model.jacobian_dtype)
    assert model.jacobian(w, None, out) is out
    np.testing.assert_array_equal(out, model.jacobian(w))


def test_float32_features_stay_and_give_float64_scores() -> None:
    exact, _ = example_model()
    model, _ = example_model(np.float32)
    w = SCORE.start(0)
    assert model.jacobian(w).dtype == np.float32
    at = model.linearize(w)
    assert at.scores.nodes.dtype == np.float64
    assert at.adjoint(at.scores).dtype == np.float64
    np.testing.assert_allclose(at.scores.nodes, exact.scores(w).nodes, atol=1e-5)


def test_weights_that_are_too_large_are_named() -> None:
    model, _ = example_model(np.float32)
    for call in (model.scores, model.linearize):
        with pytest.raises(FloatingPointError, match="weights are too large"):
            call(np.full(SCORE.n_params, 1e30))


def test_zero_is_stationary_but_the_start_is_not() -> None:
    model, _ = example_model()
    y = [np.array([0])] * 3
    objective = cs.Objective(model, cs.Candidates(), cs.Hamming(), y, 0.1)
    assert not objective.is_convex
    assert np.linalg.norm(objective.evaluate(np.zeros(SCORE.n_params)).gradient) == 0.0
    assert np.linalg.norm(objective.evaluate(SCORE.start(0)).gradient) > 1e-3
    np.testing.assert_array_equal(SCORE.start(0), SCORE.start(0))


def test_the_same_as_a_module_of_torch() -> None:
    torch = pytest.importorskip("torch")
    _, rows = example_model()
    w = SCORE.start(0) * 2.0
    first, second = (torch.tensor(part) for part in SCORE.unpack(w))
    phi = torch.tensor(rows.reshape(-1, 4, 3))
    scores = (torch.nn.functional.elu(phi @ first) * second.T).sum(dim=(1, 2))
    np.testing.assert_allclose(SCORE.values(w, rows), scores.numpy())


def test_scores_by_name() -> None:
    assert make_score("linear", 4, 3) == LinearScore(12)
    assert make_score("elu", 4, 3, 5) == SCORE
    with pytest.raises(ValueError, match="one of linear, elu"):
        make_score("cubic", 4, 3)
    with pytest.raises(ValueError, match="hidden=0"):
        make_score("elu", 4, 3, 0)
    with pytest.raises(ValueError, match=r"needs \[N, 12\]"):
        EluCandidateModel(SCORE, np.zeros((2, 11)), np.array([0, 2]))
