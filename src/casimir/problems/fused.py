"""The problem whose passes and epochs run natively, and which models, structures, smoothings and penalties it takes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np

from casimir._arrays import aligned_zeros, frozen
from casimir._native import core
from casimir._threads import n_threads
from casimir._validate import flat_labels
from casimir.costs import Cost
from casimir.models.linear import LinearChainModel, native_edges
from casimir.models.linear_candidates import LinearCandidateModel
from casimir.models.linear_classes import LinearClassModel, sparse_parts
from casimir.models.linear_labels import LinearLabelModel
from casimir.models.linear_tree import LinearTreeModel
from casimir.models.shared import SharedWeights
from casimir.penalties import Penalty
from casimir.problems.base import Answer, BlockPass, DualIterate, Pass, Truth, fixed_scores
from casimir.problems.label_graphs import core_label_graph
from casimir.problems.parts import linear_parts
from casimir.scores import FloatArray, IntArray, Scores, segment_sums
from casimir.smoothing import L2, Entropy, Hard, Smoothing
from casimir.structures.automaton_chain import AutomatonChain
from casimir.structures.base import split_flat
from casimir.structures.candidates import Candidates
from casimir.structures.chain import Chain
from casimir.structures.tree import Tree


@singledispatch
def core_smoothing(smoothing: Smoothing, mu: float) -> Any | None:
    """The smoothing as the core takes it, or None for one that it does not know."""
    return None


@core_smoothing.register
def _hard(smoothing: Hard, mu: float) -> Any:
    return core.Smoothing("hard", 1, 0.0)


@core_smoothing.register
def _l2(smoothing: L2, mu: float) -> Any:
    return core.Smoothing("l2", smoothing.cap if smoothing.k is None else smoothing.k, mu)


@core_smoothing.register
def _entropy(smoothing: Entropy, mu: float) -> Any:
    return core.Smoothing("entropy", 1, mu)


def core_penalty(penalty: Penalty) -> Any | None:
    """The penalty as the core takes it, or None for one that it does not know."""
    quadratic = penalty.quadratic
    if quadratic is not None:
        if quadratic.center is None:
            return core.Penalty(0.0, quadratic.sigma, None, None, 0.0, None)
        return core.Penalty(0.0, 0.0, None, None, quadratic.sigma, np.ascontiguousarray(quadratic.center))
    own = getattr(penalty, "separable", None)
    if own is None:
        return None
    mask = None if own.nonnegative is None else own.nonnegative.view(np.uint8)
    return core.Penalty(own.l1, own.l2, own.strengths, mask, own.kappa, own.center)


@singledispatch
def core_problem(
    model: Any,
    structure: Any,
    cost: Cost | None,
    y: Sequence[Any],
    offset: Scores | None = None,
    truth: Truth | None = None,
) -> Any | None:
    """The core's Problem for this combination, or None when only the composed path can run it.

    truth: None is y, which has to be outputs then. Models that are not named below may have `parts`.
    """
    if not hasattr(model, "parts"):
        return None
    return linear_parts(model, structure, cost, y, offset, truth or Truth(y))


@core_problem.register
def _linear_chain(
    model: LinearChainModel,
    structure: Any,
    cost: Cost | None,
    y: Sequence[Any],
    offset: Scores | None = None,
    truth: Truth | None = None,
) -> Any | None:
    X, labels, truth = model.X, model.n_labels, truth or Truth(y)
    if not (isinstance(structure, Chain) and structure.n_labels == labels):
        return None
    if truth.marginals is not None and not truth.is_fused:  # those of the composed problem have another layout
        return None
    fixed = fixed_of_tokens(model, structure, cost, y, offset)
    if fixed is None:
        return None
    flat = _flat_truth(truth, np.diff(X.offsets), labels)
    features = X.offsets, X.indptr, X.indices, X.values, X.n_features
    automaton = structure.unfolded.native if isinstance(structure, AutomatonChain) else None
    if X.edges is not None and automaton is not None:
        return None
    return core.linear_chain(*features, labels, flat, *fixed, truth.marginals, automaton, *native_edges(X))


@core_problem.register
def _linear_tree(
    model: LinearTreeModel,
    structure: Any,
    cost: Cost | None,
    y: Sequence[Any],
    offset: Scores | None = None,
    truth: Truth | None = None,
) -> Any | None:
    return _trees(model, structure, cost, y, offset, truth or Truth(y))


@core_problem.register
def _shared_weights(
    model: SharedWeights,
    structure: Any,
    cost: Cost | None,
    y: Sequence[Any],
    offset: Scores | None = None,
    truth: Truth | None = None,
) -> Any | None:
    if not isinstance(model.model, LinearTreeModel):
        return None
    return _trees(model.model, structure, cost, y, offset, truth or Truth(y), model)


@core_problem.register
def _linear_candidates(
    model: LinearCandidateModel,
    structure: Any,
    cost: Cost | None,
    y: Sequence[Any],
    offset: Scores | None = None,
    truth: Truth | None = None,
) -> Any | None:
    truth = truth or Truth(y)
    if not isinstance(structure, Candidates):  # marginals of candidates have one layout
        return None
    sizes = np.diff(model.offsets)
    flat = _flat_truth(truth, np.ones_like(sizes), sizes)
    costs = _costs_above_truth(model, structure, cost, y, offset, flat, truth.marginals)
    return core.linear_candidates(model.offsets, model.features, flat, costs, truth.marginals)


@core_problem.register
def _linear_classes(
    model: LinearClassModel,
    structure: Any,
    cost: Cost | None,
    y: Sequence[Any],
    offset: Scores | None = None,
    truth: Truth | None = None,
) -> Any | None:
    truth, n, labels = truth or Truth(y), model.n_examples, model.n_classes
    if not isinstance(structure, Candidates) or (truth.marginals is not None and not truth.is_fused):
        return None
    flat = _flat_truth(truth, np.ones(n, dtype=np.int64), labels)
    padded = truth.marginals
    weights = None if padded is None else padded.reshape(n, model.stride)[:, :labels].ravel()
    costs = _costs_above_truth(model, structure, cost, y, offset, flat, weights)
    rest = model.bias, labels, flat, None if costs is None else costs.reshape(n, labels), padded
    sparse = sparse_parts(model.X)
    return (
        core.dense_classes(model.X, *rest) if sparse is None else core.sparse_classes(*sparse, model.n_features, *rest)
    )


@core_problem.register
def _linear_labels(
    model: LinearLabelModel,
    structure: Any,
    cost: Cost | None,
    y: Sequence[Any],
    offset: Scores | None = None,
    truth: Truth | None = None,
) -> Any | None:
    truth, graph = truth or Truth(y), core_label_graph(model, structure)
    if graph is None or (truth.marginals is not None and not truth.is_fused):
        return None
    fixed = fixed_scores(structure, model.layout(), cost, y, offset)
    if fixed is not None and fixed.edges is not None:
        return None
    flat = _flat_truth(truth, np.full(model.n_examples, model.n_labels), 2)
    rest = model.bias, flat, None if fixed is None else fixed.nodes, truth.marginals
    sparse = sparse_parts(model.X)
    if sparse is None:
        return core.dense_labels(graph, model.X, *rest)
    return core.sparse_labels(graph, *sparse, int(model.X.shape[1]), *rest)


def _costs_above_truth(
    model: Any,
    structure: Any,
    cost: Cost | None,
    y: Sequence[Any],
    offset: Scores | None,
    flat: Any | None,
    weights: FloatArray | None,
) -> FloatArray | None:
    """float64[N] of all candidates, less that of the truth, which the core takes as 0; None where there are none.

    The truth is the candidate `flat` of every example, or has these weights, or there is none.
    """
    layout = model.layout()
    fixed = fixed_scores(structure, layout, cost, y, offset)
    if fixed is None:
        return None
    if flat is not None:
        of_truth = fixed.nodes[layout.offsets[:-1] + flat]
    elif weights is not None:
        of_truth = segment_sums(fixed.nodes * weights, layout.offsets)
    else:
        of_truth = np.zeros(len(layout))
    costs: FloatArray = fixed.nodes - np.repeat(of_truth, np.diff(layout.offsets))
    return costs


def _trees(
    model: LinearTreeModel,
    structure: Any,
    cost: Cost | None,
    y: Sequence[Any],
    offset: Scores | None,
    truth: Truth,
    shared: SharedWeights | None = None,
) -> Any | None:
    if not isinstance(structure, Tree) or (truth.marginals is not None and not truth.is_fused):
        return None
    fixed = fixed_of_tokens(model, structure, cost, y, offset)
    if fixed is None:
        return None
    labels = _flat_truth(truth, np.diff(model.X.offsets), model.n_labels)
    return tree_problem(model, structure, labels, *fixed, truth.marginals, shared)


def _flat_truth(truth: Truth, lengths: IntArray, n_labels: Any) -> Any | None:
    """int32[N]: the true outputs of all examples, one after another, or None."""
    return None if truth.outputs is None else flat_labels(truth.outputs, lengths, n_labels, "y").astype(np.int32)


def fixed_of_tokens(
    model: Any, structure: Any, cost: Cost | None, y: Sequence[Any], offset: Scores | None
) -> tuple[FloatArray | None, FloatArray | None] | None:
    """(node scores [N, L], pair scores [L, L]) that do not depend on w; None where every pair has its own.

    -inf stands for what the structure does not allow.
    """
    layout = model.layout()
    fixed = fixed_scores(structure, layout, cost, y, offset)
    forbidden = structure.forbidden(layout) if structure.is_constrained else None
    if fixed is not None and fixed.edge_offsets is not None:
        return None
    if fixed is not None and forbidden is not None:
        fixed = fixed + forbidden
    found = forbidden if fixed is None else fixed
    return (None, None) if found is None else (found.nodes, found.edges)


def tree_problem(
    model: LinearTreeModel,
    structure: Tree,
    y: Any = None,
    fixed_nodes: FloatArray | None = None,
    fixed_pairs: FloatArray | None = None,
    truth: FloatArray | None = None,
    shared: SharedWeights | None = None,
) -> Any:
    """The core's Problem of trees, with the true labels y, int32[N], or their marginals, or without a truth.

    shared  what says which weights the cells of the model share, if they do
    """
    X = model.X
    if structure.n_labels != model.n_labels or not np.array_equal(structure.offsets, X.offsets):
        raise ValueError(
            f"The model has {len(X)} trees of {X.n_tokens} nodes and {model.n_labels} labels; the structure has "
            f"{len(structure)} of {structure.offsets[-1]} and {structure.n_labels}. They must agree, tree by tree."
        )
    features = X.offsets, X.indptr, X.indices, X.values, X.n_features
    weights = () if shared is None else (shared.cells, shared.n_weights)
    order = [frozen(positions) for positions in structure.order]  # those of an unpickled structure can be written to
    return core.linear_tree(*features, model.n_labels, *order, y, fixed_nodes, fixed_pairs, truth, *weights)


def decode_trees(model: LinearTreeModel, structure: Tree, w: FloatArray) -> list[IntArray]:
    """The outputs of structure.max(model.scores(w)), without a copy of the edge scores per edge."""
    fixed = fixed_of_tokens(model, structure, None, [], None)
    assert fixed is not None
    _, labels = tree_problem(model, structure, None, *fixed).decode(w, n_threads())
    return split_flat(labels, structure.offsets)


class FusedProblem:
    """Passes over a Problem of the core.

    at_once  oracles that dual passes ask together (see `oracles_at_once`)
    """

    def __init__(self, problem: Any, threads: int, scales: FloatArray | None = None, at_once: int = 1) -> None:
        self.core, self._threads, self._scales, self._at_once = problem, threads, scales, at_once
        self.active = problem.n_examples if scales is None else int(np.count_nonzero(scales))
        if scales is not None:
            problem.set_scales(scales)

    @property
    def n_examples(self) -> int:
        return int(self.core.n_examples)

    @property
    def n_params(self) -> int:
        return int(self.core.n_params)

    def runs(self, smoothing: Smoothing) -> bool:
        """Whether the core knows this smoothing, and has what it asks of the structure."""
        return core_smoothing(smoothing, 1.0) is not None and (
            self.core.has_expect or not isinstance(smoothing, Entropy)
        )

    def scale(self, i: int) -> float:
        return 1.0 if self._scales is None else float(self._scales[i])

    def marginal_offset(self, i: int) -> int:
        return int(self.core.marginal_offset(i))

    def full_pass(self, w: FloatArray, smoothing: Smoothing, mu: float, *, gradient: bool, keep: bool) -> Pass:
        out = aligned_zeros(self.n_params) if gradient else None
        marginals = np.empty(self.core.n_marginals) if keep else None
        found = self.core.full_pass(w, core_smoothing(smoothing, mu), self._threads, marginals, out)
        value, max_value, cost, upper, exact = found
        if out is not None:
            out /= max(self.active, 1)
        seen = None if isinstance(smoothing, Entropy) else max_value
        exact = exact.astype(np.bool_)
        if isinstance(smoothing, L2):
            smoothing.warn_if_capped(exact, mu)
        return Pass(value, seen, upper, cost, exact, out, marginals)

    def oracle(self, i: int, w: FloatArray, smoothing: Smoothing, mu: float) -> Answer:
        value, max_value, cost, marginals = self.core.oracle(i, w, core_smoothing(smoothing, mu))
        return Answer(value, cost, marginals, max_value)

    def truth(self, i: int) -> FloatArray:
        truth: FloatArray = self.core.truth(i)
        return truth

    def scatter(self, i: int, marginals: FloatArray, scale: float, out: FloatArray) -> None:
        self.core.scatter(i, marginals, scale, out)

    def squared_norm(self, i: int, marginals: FloatArray, zeros: FloatArray) -> float:
        return float(self.core.squared_norm(i, marginals, zeros))

    def decode(self, w: FloatArray) -> list[IntArray]:
        """The best output of every example, int64[p_i], fixed scores included."""
        _, labels = self.core.decode(w, self._threads)
        ends = [self.core.output_offset(i) for i in range(self.n_examples + 1)]
        return split_flat(labels, np.array(ends, dtype=np.int64))

    def dual_blocks(self) -> FusedDualBlocks:
        blocks = self.core.dual_blocks(self._threads)
        if self._at_once > 1:
            blocks.ask_together(self._at_once, self._threads)
        return FusedDualBlocks(blocks)

    def potential_blocks(self, mu: float, eta: float | None = None) -> FusedPotentialBlocks:
        return FusedPotentialBlocks(core.PotentialBlocks(self.core, mu, eta or 0.0))


class FusedDualBlocks:
    """Dual blocks held by the core."""

    def __init__(self, blocks: Any) -> None:
        self._blocks = blocks

    @property
    def ell(self) -> float:
        return float(self._blocks.ell)

    @property
    def cached_outputs(self) -> int:
        return int(self._blocks.cached_outputs)

    def new_average(self, n_params: int) -> Any:
        q = aligned_zeros(n_params)
        return _SharedAverage(core.DualAverage(q), q)

    def exact_pass(
        self, order: IntArray, pairwise: bool, steps: int, skip_below: float, iterate: DualIterate
    ) -> BlockPass:
        average = None if iterate.average is None else iterate.average.sums
        found = self._blocks.exact_pass(order, pairwise, steps, skip_below, *_arguments(iterate), average)
        return BlockPass(float(found.gap), int(found.oracle_calls))

    def cached_pass(self, order: IntArray, steps: int, skip_below: float, iterate: DualIterate) -> float:
        return float(self._blocks.cached_pass(order, steps, skip_below, *_arguments(iterate)))

    def answered_pass(self, order: IntArray, labels: Any, steps: int, iterate: DualIterate) -> float:
        """As an exact pass with pairwise steps, on answers that an oracle gave elsewhere: int32, in the given order.

        Returns the mean block gap; with steps=0 nothing moves, and it is that of the iterate.
        """
        return float(self._blocks.answered_pass(order, labels, steps, *_arguments(iterate)))

    def state(self) -> Any:
        return self._blocks.state()

    def restore(self, state: Any) -> None:
        self._blocks.restore(*state)


class FusedPotentialBlocks:
    """Potential blocks held by the core."""

    def __init__(self, blocks: Any) -> None:
        self._blocks = blocks

    @property
    def ell(self) -> float:
        return float(self._blocks.ell)

    def step_pass(self, order: IntArray, skip_below: float, iterate: DualIterate) -> BlockPass:
        found = self._blocks.step_pass(order, skip_below, *_arguments(iterate))
        return BlockPass(float(found.gap), int(found.oracle_calls))

    def state(self) -> Any:
        return self._blocks.state()

    def restore(self, state: Any) -> None:
        self._blocks.restore(*state)


class _SharedAverage:
    """A DualAverage of the core."""

    def __init__(self, sums: Any, q: FloatArray) -> None:
        self.sums, self.q = sums, q

    @property
    def mass(self) -> float:
        return float(self.sums.mass)

    @property
    def ell_sum(self) -> float:
        return float(self.sums.ell_sum)

    def state(self) -> Any:
        return [self.q, self.sums.mass, self.sums.next_weight, self.sums.ell_sum]

    def restore(self, state: Any) -> None:
        self.q[:], self.sums.mass, self.sums.next_weight, self.sums.ell_sum = state


def _arguments(iterate: DualIterate) -> tuple[Any, ...]:
    sigma = iterate.penalty.strong_convexity
    if iterate.g is None:  # w moves along straight lines, so the curvature is all that counts
        return core.Penalty(0.0, sigma, None, None, 0.0, None), sigma, iterate.w, None
    penalty = core_penalty(iterate.penalty)
    assert penalty is not None, "the objective sends unknown penalties to the composed problem"
    return penalty, sigma, iterate.w, iterate.g
