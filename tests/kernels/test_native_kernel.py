"""Which problems and smoothings run natively, and what the native kernel refuses."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from problems import candidate_parts, chain_parts

import casimir as cs
from casimir._native import core
from casimir.kernels import native_problem, native_smoothing
from casimir.smoothing import L2, Entropy, Hard


def test_every_smoothing_of_the_library_is_known() -> None:
    assert native_smoothing(Hard(), 3.0) == ("hard", 1, 0.0)
    assert native_smoothing(L2(7), 0.5) == ("l2", 7, 0.5)
    assert native_smoothing(L2(cap=99), 0.5) == ("l2", 99, 0.5)
    assert native_smoothing(Entropy(), 0.5) == ("entropy", 1, 0.5)


def test_an_unknown_smoothing_takes_the_composed_kernel() -> None:
    class Own:
        def __call__(self, structure, s, mu):
            return Hard()(structure, s)

        def bound(self, log_n_outputs):
            return 0.0

    assert native_smoothing(Own(), 1.0) is None
    objective = chain_parts().objective(0.1)
    assert objective.is_native
    w = np.random.default_rng(0).normal(size=objective.n_params)
    assert objective.evaluate(w, Own()).objective == pytest.approx(objective.value(w), abs=1e-12)


def test_chains_run_natively_only_with_costs_that_the_core_knows() -> None:
    parts = chain_parts()

    class Own(cs.Hamming.__base__):
        def parts(self, structure, s, y):
            return cs.Hamming().parts(structure, s, y)

        def __call__(self, y_true, y_pred, example=None):
            return cs.Hamming()(y_true, y_pred)

    assert native_problem(parts.model, parts.structure, None, parts.y) is not None
    objective = cs.Objective(parts.model, parts.structure, Own(), parts.y, 0.1)
    assert not objective.is_native
    assert objective.value(parts.model.zeros()) == pytest.approx(parts.objective(0.1).value(parts.model.zeros()))


def test_candidate_lists_run_natively() -> None:
    if not hasattr(core, "linear_candidates"):
        pytest.skip("the core was built without candidate lists")
    assert candidate_parts().objective(0.1).is_native


def test_native_false_composes() -> None:
    assert not chain_parts().objective(0.1, native=False).is_native


@pytest.mark.parametrize("smoothing", [L2(3), L2(), Entropy()])
@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("mu", [0.0, -1.0])
def test_smoothing_without_a_positive_mu_is_refused(smoothing: object, native: bool, mu: float) -> None:
    objective = chain_parts().objective(0.1, native=native)
    with pytest.raises(ValueError, match="mu"):
        objective.evaluate(np.zeros(objective.n_params), smoothing, mu)


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


@pytest.mark.parametrize("kind", ["chain", "candidates"])
def test_losses_without_labels_are_refused(kind: str) -> None:
    offsets = np.array([0, 2])
    if kind == "chain":
        indices = np.array([0, 1], dtype=np.uint32)
        problem = core.linear_chain(offsets, np.array([0, 1, 2]), indices, None, 2, 3, None, None)
    else:
        problem = core.linear_candidates(offsets, np.ones((2, 2)), None, None)
    w, order, ones = np.zeros(problem.dim), np.array([0]), np.ones(1)
    calls = [
        lambda: problem.full_pass(w, "hard", 1, 0.0, 1, None, None),
        lambda: problem.sgd_epoch(order, ones, None, 0.1, "hard", 1, 0.0, w, None, 0.0),
        lambda: problem.svrg_epoch(order, 0.1, 0.1, w, np.zeros(problem.n_parts), "hard", 1, 0.0, w, w.copy()),
        lambda: core.dual_blocks(problem),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="losses need labels: give y"):
            call()


def test_arguments_of_the_core_are_checked() -> None:
    offsets, indptr, indices = np.array([0, 2]), np.array([0, 1, 2]), np.array([0, 1], dtype=np.uint32)
    empty, none = np.zeros(3, dtype=np.int64), np.zeros(0, dtype=np.uint32)
    y = np.array([0, 1], dtype=np.int32)
    for n_features in (-4, 0, 2**32):
        with pytest.raises(ValueError, match="n_features must be 1 or larger and below"):
            core.linear_chain(offsets, empty, none, None, n_features, 3, y, None)
    with pytest.raises(TypeError, match="y is no contiguous array of the right type"):
        core.linear_chain(offsets, indptr, indices, None, 2, 3, y.astype(np.int64), None)
    problem = core.linear_chain(offsets, indptr, indices, None, 2, 3, y, None)
    with pytest.raises(TypeError, match="gradient is no contiguous array"):
        problem.full_pass(np.zeros(problem.dim), "hard", 1, 0.0, 1, None, np.zeros(problem.dim, dtype=np.float32))


@pytest.mark.parametrize("pairwise", [True, False])
def test_dual_steps_of_a_chain_too_long_for_a_table_agree(pairwise: bool) -> None:
    """Beyond 512 tokens norms and scores come from the features themselves, in linear time."""
    rng = np.random.default_rng(5)
    X = cs.pack([[[f"w{rng.integers(40)}", "bias"] for _ in range(p)] for p in (530, 3)], n_features=64)
    y = [rng.integers(3, size=p) for p in (530, 3)]
    weights = []
    for native in (True, False):
        objective = cs.Objective(cs.LinearChainModel(X, 3), cs.Chain(3), cs.Hamming(), y, 0.1, native=native)
        blocks, w = objective.dual_blocks(), np.zeros(objective.n_params)
        for _ in range(3):
            blocks.exact_pass(np.array([0, 1]), 0.1, pairwise, 2, w, None)
            blocks.cached_pass(np.array([1, 0]), 0.1, 2, 0.0, w)
        weights.append((w, blocks.ell))
    np.testing.assert_allclose(weights[0][0], weights[1][0], atol=1e-10)
    assert weights[0][1] == pytest.approx(weights[1][1], abs=1e-10)
