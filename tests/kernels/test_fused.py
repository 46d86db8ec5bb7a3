"""Fused native epochs equal the composed ones on the same random order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from problems import Parts, candidate_parts, chain_parts, tree_parts

from casimir._native import core
from casimir.kernels import ComposedKernel, NativeKernel, native_problem
from casimir.kernels.base import Averaged, DualAverage
from casimir.smoothing import L2, Entropy, Hard
from casimir.solvers import Pegasos

CLOSE = {"rtol": 0.0, "atol": 1e-10}
SMOOTHINGS = {"hard": Hard(), "l2-3": L2(3), "l2": L2(), "entropy": Entropy()}
# Costs are random so that no two outputs tie: of equal scores, rounding would decide.
PROBLEMS = {
    "binary-1": lambda: chain_parts(n_labels=1),
    "binary-2": lambda: chain_parts(n_labels=2, lengths=(1, 6), weighted_cost=True),
    "binary-5": lambda: chain_parts(n_labels=5, lengths=(1, 3), weighted_cost=True),
    "binary-8": lambda: chain_parts(n_labels=8, lengths=(1, 2), weighted_cost=True),
    "binary-9": lambda: chain_parts(n_labels=9, lengths=(1, 2), weighted_cost=True),
    "binary-13": lambda: chain_parts(n_labels=13, lengths=(1, 2), weighted_cost=True),
    "real-3": lambda: chain_parts(n_labels=3, valued=True, weighted_cost=True),
    "real-8": lambda: chain_parts(n_labels=8, valued=True, lengths=(1, 2), weighted_cost=True),
    "one-token": lambda: chain_parts(n_labels=4, lengths=(1, 1), weighted_cost=True),
    "candidates": candidate_parts,
    "tree-1": lambda: tree_parts(n_labels=1),
    "tree-2": lambda: tree_parts(n_labels=2, lengths=(1, 6), weighted_cost=True),
    "tree-5": lambda: tree_parts(n_labels=5, lengths=(1, 3), weighted_cost=True),
    "tree-9": lambda: tree_parts(n_labels=9, lengths=(1, 2), weighted_cost=True),
    "tree-real": lambda: tree_parts(n_labels=3, valued=True, weighted_cost=True),
}

problems = pytest.mark.parametrize("problem", PROBLEMS)
smoothings = pytest.mark.parametrize("smoothing", SMOOTHINGS.values(), ids=SMOOTHINGS)


def kernels(problem: str) -> tuple[Parts, NativeKernel, ComposedKernel]:
    if problem == "candidates" and not hasattr(core, "linear_candidates"):
        pytest.skip("the core was built without candidate lists")
    parts = PROBLEMS.get(problem, lambda: chain_parts(n_labels=4, lengths=(1, 3)))()
    native = native_problem(parts.model, parts.structure, parts.cost, parts.y)
    assert native is not None
    composed = ComposedKernel(parts.model, parts.structure, parts.cost, parts.y)
    return parts, NativeKernel(native, 2), composed


def weights(parts: Parts, seed: int = 1, scale: float = 0.7) -> np.ndarray:
    """Random weights; padding, which no score reads, stays 0."""
    w = parts.model.adjoint(parts.model.scores(parts.model.zeros()) * 0.0)
    random = np.random.default_rng(seed).normal(size=parts.model.n_params) * scale
    if hasattr(parts.model, "unpack"):
        for view, values in zip(parts.model.unpack(w), parts.model.unpack(random), strict=True):
            view[...] = values
        return w
    return random


def assert_equal_passes(native: Any, composed: Any) -> None:
    np.testing.assert_allclose(native.value, composed.value, **CLOSE)
    np.testing.assert_allclose(native.cost, composed.cost, **CLOSE)
    np.testing.assert_array_equal(native.exact, composed.exact)
    assert native.exact.dtype == np.bool_
    assert (native.max_value is None) == (composed.max_value is None)
    if native.max_value is not None:
        np.testing.assert_allclose(native.max_value, composed.max_value, **CLOSE)
    np.testing.assert_allclose(native.gradient, composed.gradient, **CLOSE)


@pytest.mark.parametrize("problem", [*PROBLEMS, "hamming"])
@smoothings
@pytest.mark.parametrize("mu", [0.1, 2.0])
def test_full_passes_agree(problem: str, smoothing: Any, mu: float) -> None:
    parts, native, composed = kernels(problem)
    for w in (parts.model.zeros(), weights(parts)):
        before = w.copy()
        fused = native.full_pass(w, smoothing, mu, gradient=True, keep=True)
        assert_equal_passes(fused, composed.full_pass(w, smoothing, mu, gradient=True, keep=True))
        np.testing.assert_array_equal(w, before)


def test_a_pass_computes_only_what_is_asked_for() -> None:
    parts, native, composed = kernels("binary-5")
    for kernel in (native, composed):
        result = kernel.full_pass(weights(parts), Hard(), 0.0, gradient=False, keep=False)
        assert result.gradient is None
        assert result.marginals is None


def test_chains_without_a_cost_agree() -> None:
    parts = chain_parts(n_labels=4, valued=True)
    native = NativeKernel(native_problem(parts.model, parts.structure, None, parts.y), 1)
    composed = ComposedKernel(parts.model, parts.structure, None, parts.y)
    for smoothing in SMOOTHINGS.values():
        passes = [k.full_pass(weights(parts), smoothing, 1.0, gradient=True, keep=False) for k in (native, composed)]
        assert_equal_passes(*passes)
        np.testing.assert_array_equal(passes[0].cost, 0.0)


def sgd(kernel: Any, parts: Parts, smoothing: Any, lam: float, averaging: str, epochs: int = 2) -> tuple[Any, ...]:
    """(w, mean iterate, losses) after a few epochs, the first of which starts with the factor 1 - gamma lam = 0."""
    rng, n = np.random.default_rng(5), len(parts.y)
    w, losses = weights(parts), []
    averaged = None if averaging == "none" else Averaged(np.zeros_like(w))
    for epoch in range(epochs):
        t = np.arange(1, n + 1) + epoch * n
        gamma = Pegasos().steps(t, lam) if lam > 0.0 else 0.3 / np.sqrt(t)
        a = {"none": None, "uniform": np.ones(n), "weighted": t.astype(np.float64)}[averaging]
        losses.append(kernel.sgd_epoch(rng.permutation(n), gamma, lam, smoothing, 0.8, w, averaged, a))
    return w, w if averaged is None else averaged.mean(w), losses


@problems
@smoothings
@pytest.mark.parametrize(("lam", "averaging"), [(0.1, "weighted"), (0.0, "uniform")])
def test_sgd_epochs_agree(problem: str, smoothing: Any, lam: float, averaging: str) -> None:
    parts, native, composed = kernels(problem)
    fused, slow = (sgd(kernel, parts, smoothing, lam, averaging) for kernel in (native, composed))
    for a, b in zip(fused, slow, strict=True):
        np.testing.assert_allclose(a, b, **CLOSE)


@pytest.mark.parametrize("lam", [0.0, 0.1])
@pytest.mark.parametrize("averaging", ["none", "uniform", "weighted"])
def test_every_averaging_of_sgd_agrees(lam: float, averaging: str) -> None:
    parts, native, composed = kernels("real-3")
    fused, slow = (sgd(kernel, parts, Hard(), lam, averaging) for kernel in (native, composed))
    for a, b in zip(fused, slow, strict=True):
        np.testing.assert_allclose(a, b, **CLOSE)


@pytest.mark.parametrize("gamma", [1.5, 2.5, 1e-3])
def test_long_sgd_epochs_agree_through_changes_of_scale(gamma: float) -> None:
    """w = s v: s shrinks by 1 - gamma lam, in sign as well, and v is renewed many times within one epoch."""
    parts, native, composed = kernels("binary-2")
    order, lam = np.random.default_rng(0).integers(len(parts.y), size=150), 0.6
    steps, a = np.full(150, gamma), np.arange(1.0, 151.0)
    results = []
    for kernel in (native, composed):
        w = weights(parts)
        averaged = Averaged(np.zeros_like(w))
        kernel.sgd_epoch(order, steps, lam, Entropy(), 1.0, w, averaged, a)
        results.append((w, averaged.mean(w)))
    assert abs(1.0 - gamma * lam) ** 150 < 1e-3 or gamma == 1e-3
    for fused, slow in zip(*results, strict=True):
        np.testing.assert_allclose(fused, slow, **CLOSE)


def test_uniform_averages_are_means_of_the_iterates() -> None:
    parts, native, _ = kernels("binary-5")
    n, w, total = len(parts.y), weights(parts), 0.0
    averaged, whole = Averaged(np.zeros_like(w)), weights(parts)
    order, gamma = np.arange(n), np.full(n, 0.2)
    for t in range(n):
        native.sgd_epoch(order[t : t + 1], gamma[t : t + 1], 0.1, Hard(), 0.0, w, None, None)
        total = total + w
    native.sgd_epoch(order, gamma, 0.1, Hard(), 0.0, whole, averaged, np.ones(n))
    np.testing.assert_allclose(whole, w, **CLOSE)
    np.testing.assert_allclose(averaged.mean(whole), total / n, **CLOSE)


@problems
@smoothings
@pytest.mark.parametrize("sigma", [0.0, 0.4])
def test_svrg_epochs_agree(problem: str, smoothing: Any, sigma: float) -> None:
    parts, native, composed = kernels(problem)
    order = np.random.default_rng(3).integers(len(parts.y), size=12)
    results = []
    for kernel in (native, composed):
        w, mu = weights(parts), 0.8
        snapshot = kernel.full_pass(w, smoothing, mu, gradient=True, keep=True)
        c = -snapshot.gradient if sigma == 0.0 else -snapshot.gradient / sigma
        mean = kernel.svrg_epoch(order, 0.15, sigma, c, snapshot.marginals, smoothing, mu, w)
        results.append((w, mean))
    for fused, slow in zip(*results, strict=True):
        np.testing.assert_allclose(fused, slow, **CLOSE)


def test_long_svrg_epochs_agree_through_changes_of_scale() -> None:
    parts, native, composed = kernels("real-3")
    order = np.random.default_rng(3).integers(len(parts.y), size=150)
    results = []
    for kernel in (native, composed):
        w = weights(parts)
        snapshot = kernel.full_pass(w, Entropy(), 1.0, gradient=True, keep=True)
        c = -snapshot.gradient / 2.0
        mean = kernel.svrg_epoch(order, 0.1, 2.0, c, snapshot.marginals, Entropy(), 1.0, w)
        results.append((w, mean))
    assert 0.8**150 < 1e-12
    for fused, slow in zip(*results, strict=True):
        np.testing.assert_allclose(fused, slow, **CLOSE)


def test_a_first_svrg_step_is_a_full_gradient_step() -> None:
    """At the snapshot itself the stochastic part cancels."""
    parts, native, composed = kernels("binary-5")
    for kernel in (native, composed):
        w = weights(parts)
        snapshot = kernel.full_pass(w, L2(3), 1.0, gradient=True, keep=True)
        expected = w - 0.1 * (snapshot.gradient + 0.5 * w)
        kernel.svrg_epoch(np.array([2]), 0.1, 0.5, -snapshot.gradient / 0.5, snapshot.marginals, L2(3), 1.0, w)
        np.testing.assert_allclose(w, expected, **CLOSE)


def dual_run(
    kernel: Any,
    parts: Parts,
    pairwise: bool,
    cached: int,
    averaging: bool,
    sigma: float,
    steps: int = 1,
    skip_below: float = 0.0,
) -> list[Any]:
    """What a few passes of the dual blocks leave behind, pass by pass.

    A step with an exact line search leaves two scores equal; the others visited in between tell them apart again.
    """
    order = np.random.default_rng(8).permutation(len(parts.y))
    blocks, w = kernel.dual_blocks(), parts.model.zeros()
    average = DualAverage(Averaged(np.zeros_like(w))) if averaging else None
    record: list[Any] = [blocks.ell, blocks.cached_outputs]
    for _ in range(2 if cached else 4):
        record.append(blocks.exact_pass(order, sigma, pairwise, steps, w, average))
        for _ in range(cached):
            record.append(blocks.cached_pass(order, sigma, steps, skip_below, w))
        record += [w.copy(), blocks.ell, blocks.cached_outputs]
        if average is not None:
            record += [average.iterates.mean(w), average.ell_sum / average.iterates.total, average.next_weight]
    return record


@problems
@pytest.mark.parametrize(
    ("pairwise", "cached", "averaging"),
    [(False, 0, False), (False, 0, True), (True, 0, False), (True, 0, True), (True, 2, False)],
    ids=["frank-wolfe", "frank-wolfe-averaged", "pairwise", "pairwise-averaged", "cached"],
)
@pytest.mark.parametrize("sigma", [0.3])
def test_dual_passes_agree(problem: str, pairwise: bool, cached: int, averaging: bool, sigma: float) -> None:
    parts, native, composed = kernels(problem)
    fused, slow = (dual_run(kernel, parts, pairwise, cached, averaging, sigma) for kernel in (native, composed))
    for a, b in zip(fused, slow, strict=True):
        np.testing.assert_allclose(a, b, **CLOSE)


@pytest.mark.parametrize("problem", ["binary-2", "real-3", "candidates"])
def test_several_pairwise_steps_agree(problem: str) -> None:
    parts, native, composed = kernels(problem)
    fused, slow = (dual_run(kernel, parts, True, 2, False, 1.0, 3, 0.5) for kernel in (native, composed))
    for a, b in zip(fused, slow, strict=True):
        np.testing.assert_allclose(a, b, **CLOSE)


@pytest.mark.parametrize("problem", ["binary-5", "real-8", "hamming", "candidates"])
@pytest.mark.parametrize("pairwise", [False, True])
def test_dual_passes_climb_and_keep_w_and_g_together(problem: str, pairwise: bool) -> None:
    """w = -g / lam throughout, D never falls, and F(w) - D is the mean of the block gaps at w."""
    parts, native, composed = kernels(problem)
    rng, n, lam = np.random.default_rng(0), len(parts.y), 0.2
    blocks, w, last = native.dual_blocks(), parts.model.zeros(), 0.0
    for _ in range(15):
        blocks.exact_pass(rng.permutation(n), lam, pairwise, 2, w, None)
        dual = blocks.ell - 0.5 * lam * float(w @ w)
        assert dual >= last - 1e-12
        if pairwise:
            blocks.cached_pass(rng.permutation(n), lam, 2, 0.0, w)
            assert blocks.ell - 0.5 * lam * float(w @ w) >= dual - 1e-12
        last = blocks.ell - 0.5 * lam * float(w @ w)
    primal = composed.full_pass(w, Hard(), 0.0, gradient=False, keep=False).value.mean() + 0.5 * lam * float(w @ w)
    assert primal >= last - 1e-12
    still = w.copy()  # steps so short that nothing moves: the gaps are those at w
    gap = blocks.exact_pass(np.arange(n), 1e12, pairwise, 1, still, None)
    np.testing.assert_allclose(gap, primal - last, rtol=0, atol=1e-8)
