"""The composed problem: any model, structure, cost and smoothing, in plain Python."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from casimir._arrays import dot
from casimir.costs import Cost
from casimir.models.base import Linearization, ScoreModel, batches, linearize, scores_in_batches
from casimir.problems.base import Answer, DualBlocks, Pass, PotentialBlocks, Truth
from casimir.problems.combination import Combination
from casimir.problems.composed_dual import ComposedDualBlocks
from casimir.problems.composed_potentials import ComposedPotentialBlocks
from casimir.problems.flat import FlatLayout
from casimir.scores import FloatArray, Scores
from casimir.smoothing import Smoothed, Smoothing
from casimir.structures.base import Structure, indicator


class ComposedProblem:
    """scores -> + cost and offset -> smoothed max -> adjoint, written as the formulas are.

    A model that has `batch_size` sees that many examples at a time in a full pass, one that has none all of them.

    at_once  oracles that dual passes ask together (see `ComposedDualBlocks`)
    """

    core = None

    def __init__(
        self,
        model: ScoreModel,
        structure: Structure,
        cost: Cost | None,
        y: Sequence[Any],
        offset: Scores | None = None,
        scales: FloatArray | None = None,
        truth: Truth | None = None,
        at_once: int = 1,
    ) -> None:
        """truth: None is y, which has to be outputs then."""
        self.model, self.structure, self._at_once = model, structure, at_once
        self.truth_outputs = y if truth is None else truth.outputs
        self.scales = np.ones(model.n_examples) if scales is None else scales
        self.active = int(np.count_nonzero(self.scales))
        layout = scores_in_batches(model, np.zeros(model.n_params))
        self.fixed = Combination(structure, cost, y, truth or Truth(y), offset).fixed_scores(layout)
        layout = layout if self.fixed is None else layout + self.fixed
        if self.truth_outputs is None:
            self.true_parts = _no_parts(structure, layout)
        else:
            self.true_parts = indicator(structure, layout, self.truth_outputs)
        self._flat = FlatLayout.of(self.true_parts)
        if truth is not None and truth.marginals is not None:
            assert not truth.is_fused, "marginals of the core have another layout"
            self.true_parts = self._flat.restore_all(truth.marginals)
        self._last: tuple[int, Linearization] | None = None

    @property
    def n_examples(self) -> int:
        return self.model.n_examples

    @property
    def n_params(self) -> int:
        return self.model.n_params

    def scale(self, i: int) -> float:
        return float(self.scales[i])

    def share(self, i: int) -> float:
        """p_i"""
        return self.scale(i) / self.active

    def marginal_offset(self, i: int) -> int:
        return int(self._flat.offsets[i])

    def full_pass(self, w: FloatArray, smoothing: Smoothing, mu: float, *, gradient: bool, keep: bool) -> Pass:
        n = self.n_examples
        total = np.zeros(self.n_params) if gradient else None
        value, upper, over, cost = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
        exact, sees_max = np.ones(n, dtype=np.bool_), True
        kept = np.zeros(self.marginal_offset(n)) if keep else None
        for examples in self._batches():
            batch = self._batch(w, smoothing, mu, examples, gradient)
            found, rows = batch.smoothed, slice(None) if examples is None else examples
            if total is not None:
                total += batch.gradient_of(self._scaled(found.marginals - self._truth(examples), examples))
            value[rows], cost[rows], exact[rows] = batch.loss, batch.cost, found.exact
            upper[rows] = batch.loss if found.upper is None else batch.loss + (found.upper - found.value)
            sees_max = sees_max and found.max_value is not None
            if found.max_value is not None:
                over[rows] = batch.loss + (found.max_value - found.value)
            if kept is not None:
                self._flat.write(found.marginals, examples, kept)
        mean = None if total is None else total / self.active
        return Pass(value, over if sees_max else None, upper, cost, exact, mean, kept)

    def oracle(self, i: int, w: FloatArray, smoothing: Smoothing, mu: float) -> Answer:
        batch = self._batch(w, smoothing, mu, [i], True)
        assert batch.around is not None
        self._last = i, batch.around
        found, loss = batch.smoothed, float(batch.loss[0])
        over = math.nan if found.max_value is None else loss + float(found.max_value[0] - found.value[0])
        return Answer(loss, float(batch.cost[0]), self._flat.flatten(found.marginals), over)

    def truth(self, i: int) -> FloatArray:
        return self._flat.flatten(self.true_parts.select([i]))

    def scatter(self, i: int, marginals: FloatArray, scale: float, out: FloatArray) -> None:
        if self._last is None or self._last[0] != i:
            self._last = i, linearize(self.model, np.zeros(self.n_params), [i])
        parts = self._flat.restore(marginals, self.true_parts.select([i]))
        out += scale * self._last[1].adjoint(parts)

    def squared_norm(self, i: int, marginals: FloatArray, zeros: FloatArray) -> float:
        self.scatter(i, marginals, 1.0, zeros)
        square = dot(zeros, zeros)
        zeros[:] = 0.0
        return square

    def dual_blocks(self) -> DualBlocks:
        assert self.truth_outputs is not None, "dual blocks start at a true output"
        return ComposedDualBlocks(self, self.truth_outputs, self._at_once)

    def potential_blocks(self, mu: float, eta: float | None = None) -> PotentialBlocks:
        return ComposedPotentialBlocks(self, mu, eta)

    def augmented(self, w: FloatArray, examples: Any) -> Scores:
        """Scores of the examples plus their costs and offsets."""
        return self.plus_fixed(self.model.scores(w, examples), examples)

    def cost_above_truth(self, parts: Scores, examples: Any) -> FloatArray:
        """float64[m]: <parts, ell> - <truth, ell>, what the fixed scores add to the loss."""
        if self.fixed is None:
            return np.zeros(len(parts))
        fixed = _select(self.fixed, examples)
        return parts.dot(fixed) - self._truth(examples).dot(fixed)

    def _batches(self) -> Iterator[Any]:
        """The examples of a full pass, some at a time; None is all of them. Those of scale 0 are left out."""
        if self.active == self.n_examples:
            yield from batches(self.model)
            return
        chosen, size = np.flatnonzero(self.scales), getattr(self.model, "batch_size", None) or self.n_examples
        for first in range(0, len(chosen), size):
            yield chosen[first : first + size]

    def _truth(self, examples: Any) -> Scores:
        return _select(self.true_parts, examples)

    def _scaled(self, parts: Scores, examples: Any) -> Scores:
        """The parts of every example times its scale."""
        scales = self.scales if examples is None else self.scales[examples]
        return parts if (scales == 1.0).all() else _times(parts, scales)

    def plus_fixed(self, s: Scores, examples: Any) -> Scores:
        """Scores of the examples and what does not depend on w."""
        return s if self.fixed is None else s + _select(self.fixed, examples)

    def _batch(self, w: FloatArray, smoothing: Smoothing, mu: float, examples: Any, gradient: bool = True) -> _Batch:
        """The losses of the examples; None is all of them."""
        around = None
        if gradient:
            around = linearize(self.model, w, examples)
            s = self.plus_fixed(around.scores, examples)
        else:
            s = self.augmented(w, examples)
        structure = self.structure if examples is None else self.structure.select(examples)
        smoothed = smoothing(structure, s, mu)
        loss = smoothed.value - s.dot(self._truth(examples))
        return _Batch(loss, self.cost_above_truth(smoothed.marginals, examples), smoothed, around)


class _Batch(NamedTuple):
    """What the oracle tells of some examples at w.

    loss      float64[m]
    cost      float64[m]: <u, ell>
    smoothed  value and marginals of the smoothed max
    around    the model at w, or None when no gradient is wanted
    """

    loss: FloatArray
    cost: FloatArray
    smoothed: Smoothed
    around: Linearization | None

    def gradient_of(self, parts: Scores) -> FloatArray:
        """float64[d]: J^T parts."""
        assert self.around is not None
        return self.around.adjoint(parts)


def _select(s: Scores, examples: Any) -> Scores:
    return s if examples is None else s.select(examples)


def _no_parts(structure: Structure, s: Scores) -> Scores:
    """The marginals of no outputs at all: zeros."""
    none = np.zeros((0, 1), dtype=np.int64)
    return structure.mixture(s, [none] * len(s), [np.zeros(0)] * len(s))


def _times(parts: Scores, scales: FloatArray) -> Scores:
    """Every example's parts, edges of its own included, times its scale."""
    of_nodes = np.repeat(scales, np.diff(parts.offsets))
    edges = parts.edges
    if edges is not None:
        assert parts.edge_offsets is not None, "marginals have edges of their own"
        edges = edges * np.repeat(scales, np.diff(parts.edge_offsets))[:, None, None]
    nodes = parts.nodes * of_nodes.reshape(-1, *[1] * (parts.nodes.ndim - 1))
    whole = None if parts.whole is None else parts.whole * scales
    return Scores.unchecked(nodes, parts.offsets, edges, parts.edge_offsets, parts.shapes, whole, parts.reference)
