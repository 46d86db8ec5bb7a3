"""The native kernel, and which models, costs and smoothings it can run."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from casimir._arrays import aligned_zeros
from casimir._native import core
from casimir._threads import n_threads
from casimir._validate import flat_labels
from casimir.costs import Cost, Hamming
from casimir.kernels.base import Averaged, DualAverage, Pass, Seen, fixed_scores
from casimir.models.linear import LinearChainModel
from casimir.models.linear_candidates import LinearCandidateModel
from casimir.models.linear_tree import LinearTreeModel
from casimir.scores import FloatArray, IntArray, Scores
from casimir.smoothing import L2, Entropy, Hard, Smoothing
from casimir.structures.base import split_flat
from casimir.structures.candidates import Candidates
from casimir.structures.chain import Chain
from casimir.structures.tree import Tree

NativeSmoothing = tuple[str, int, float]


@singledispatch
def native_smoothing(smoothing: Smoothing, mu: float) -> NativeSmoothing | None:
    """(kind, k, mu) as the core takes it, or None for a smoothing it does not know."""
    return None


@native_smoothing.register
def _(smoothing: Hard, mu: float) -> NativeSmoothing:
    return "hard", 1, 0.0


@native_smoothing.register
def _(smoothing: L2, mu: float) -> NativeSmoothing:
    return "l2", smoothing.cap if smoothing.k is None else smoothing.k, mu


@native_smoothing.register
def _(smoothing: Entropy, mu: float) -> NativeSmoothing:
    return "entropy", 1, mu


@singledispatch
def native_problem(
    model: Any, structure: Any, cost: Cost | None, y: list[IntArray], offset: Scores | None = None
) -> Any | None:
    """The core's Problem for this combination, or None when only the composed path can run it."""
    return None


@native_problem.register
def _(
    model: LinearChainModel, structure: Any, cost: Cost | None, y: list[IntArray], offset: Scores | None = None
) -> Any | None:
    if not (isinstance(structure, Chain) and (cost is None or isinstance(cost, Hamming)) and offset is None):
        return None
    X, labels = model.X, model.n_labels
    table = _cost_table(cost, labels)
    flat = flat_labels(y, X.lengths, labels, "y").astype(np.int32)
    return core.linear_chain(X.offsets, X.indptr, X.indices, X.values, X.n_features, labels, flat, table)


@native_problem.register
def _(
    model: LinearTreeModel, structure: Any, cost: Cost | None, y: list[IntArray], offset: Scores | None = None
) -> Any | None:
    if not (isinstance(structure, Tree) and (cost is None or isinstance(cost, Hamming)) and offset is None):
        return None
    labels = flat_labels(y, model.X.lengths, model.n_labels, "y").astype(np.int32)
    return tree_problem(model, structure, labels, _cost_table(cost, model.n_labels))


@native_problem.register
def _(
    model: LinearCandidateModel, structure: Any, cost: Cost | None, y: list[IntArray], offset: Scores | None = None
) -> Any | None:
    if not isinstance(structure, Candidates):
        return None
    sizes = np.diff(model.offsets)
    flat = flat_labels(y, np.ones_like(sizes), sizes, "y").astype(np.int32)
    fixed = fixed_scores(structure, Scores(np.zeros(len(model.features)), model.offsets), cost, y, offset)
    if fixed is None:
        return core.linear_candidates(model.offsets, model.features, flat, None)
    of_truth = np.repeat(fixed.nodes[model.offsets[:-1] + flat], sizes)  # the core takes the truth's as 0
    return core.linear_candidates(model.offsets, model.features, flat, fixed.nodes - of_truth)


def tree_problem(model: LinearTreeModel, structure: Tree, y: Any = None, cost: FloatArray | None = None) -> Any:
    """The core's Problem of trees; without y, int32[N], it can only decode."""
    X = model.X
    if structure.n_labels != model.n_labels or not np.array_equal(structure.offsets, X.offsets):
        raise ValueError(
            f"The model has {len(X)} trees of {X.n_tokens} nodes and {model.n_labels} labels; the structure has "
            f"{len(structure)} of {structure.offsets[-1]} and {structure.n_labels}. They must agree, tree by tree."
        )
    features = X.offsets, X.indptr, X.indices, X.values, X.n_features
    return core.linear_tree(*features, model.n_labels, *structure.order, y, cost)


def decode_trees(model: LinearTreeModel, structure: Tree, w: FloatArray) -> list[IntArray]:
    """The outputs of structure.max(model.scores(w)), without a copy of the edge scores per edge."""
    _, labels = core.decode_trees(tree_problem(model, structure), w, n_threads())
    return split_flat(labels, structure.offsets)


def _cost_table(cost: Cost | None, n_labels: int) -> FloatArray | None:
    """float64[L, L] of a Hamming cost."""
    if not isinstance(cost, Hamming):
        return None
    return 1.0 - np.eye(n_labels) if cost.weights is None else cost.weights


class NativeKernel:
    """Passes of the core over one Problem."""

    def __init__(self, problem: Any, threads: int) -> None:
        self._problem = problem
        self._threads = threads

    def full_pass(self, w: FloatArray, smoothing: Smoothing, mu: float, *, gradient: bool, keep: bool) -> Pass:
        out = aligned_zeros(self._problem.dim) if gradient else None
        parts = np.empty(self._problem.n_parts) if keep else None
        value, max_value, cost, exact = self._problem.full_pass(w, *_known(smoothing, mu), self._threads, parts, out)
        if out is not None:
            out /= max(self._problem.size, 1)
        seen = None if isinstance(smoothing, Entropy) else max_value
        exact = exact.astype(np.bool_)
        if isinstance(smoothing, L2):
            smoothing.warn_if_capped(exact, mu)
        return Pass(value, seen, cost, exact, out, parts)

    def sgd_epoch(
        self,
        order: IntArray,
        gamma: FloatArray,
        lam: float,
        smoothing: Smoothing,
        mu: float,
        w: FloatArray,
        averaged: Averaged | None,
        weights: FloatArray | None,
    ) -> Seen:
        q, mass = (None, 0.0) if averaged is None else (averaged.q, averaged.mass)
        loss, cost, mass = self._problem.sgd_epoch(order, gamma, weights, lam, *_known(smoothing, mu), w, q, mass)
        if averaged is not None and weights is not None:
            averaged.mass = mass
            averaged.total += float(weights.sum())
        return Seen(loss, cost)

    def svrg_epoch(
        self,
        order: IntArray,
        gamma: float,
        sigma: float,
        c: FloatArray,
        marginals: Any,
        smoothing: Smoothing,
        mu: float,
        w: FloatArray,
    ) -> FloatArray:
        average = aligned_zeros(self._problem.dim)
        self._problem.svrg_epoch(order, gamma, sigma, c, marginals, *_known(smoothing, mu), w, average)
        return average

    def dual_blocks(self) -> NativeDualBlocks:
        return NativeDualBlocks(core.dual_blocks(self._problem))


class NativeDualBlocks:
    """Dual blocks held by the core."""

    def __init__(self, blocks: Any) -> None:
        self._blocks = blocks

    @property
    def ell(self) -> float:
        return float(self._blocks.ell)

    @property
    def cached_outputs(self) -> int:
        return int(self._blocks.cached_outputs)

    def exact_pass(
        self, order: IntArray, sigma: float, pairwise: bool, steps: int, w: FloatArray, average: DualAverage | None
    ) -> float:
        if average is None:
            return float(self._blocks.exact_pass(order, sigma, pairwise, steps, w)[0])
        sums = average.iterates
        result, sums.mass, average.next_weight, average.ell_sum = self._blocks.averaged_pass(
            order, sigma, pairwise, steps, w, sums.q, sums.mass, average.next_weight, average.ell_sum
        )
        sums.total = sums.mass
        return float(result[0])

    def cached_pass(self, order: IntArray, sigma: float, steps: int, skip_below: float, w: FloatArray) -> float:
        return float(self._blocks.cached_pass(order, sigma, steps, skip_below, w)[0])


def _known(smoothing: Smoothing, mu: float) -> NativeSmoothing:
    known = native_smoothing(smoothing, mu)
    assert known is not None, "the objective sends unknown smoothings to the composed kernel"
    return known
