"""The loss of a batch and its gradient, by the oracles of the structure: one node of torch's graph."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx

from casimir._outputs import Outputs, as_outputs
from casimir.costs import Cost
from casimir.scores import FloatArray, IntArray, Scores
from casimir.smoothing import Entropy, Smoothing
from casimir.structures.base import SharedGradient, Structure, WeightedPairs, indicator
from casimir.torch.batch import as_float64, flat_array, scattered
from casimir.torch.edges import Edges, read_edges
from casimir.torch.nodes import Nodes
from casimir.torch.targets import Targets


@dataclass(frozen=True, eq=False)
class Problem:
    """A batch as a structure reads it: scores_i for the examples that are left, and the tensors they came from.

    chosen   int64[n]: which of the B examples these are
    tensors  (nodes, edges, start, stop), None where there is none; gradients go back through them
    """

    nodes: Nodes
    structure: Structure
    chosen: IntArray
    scores: Scores
    edges: Edges | None
    tensors: tuple[Tensor | None, ...]

    @classmethod
    def of(cls, nodes: Nodes, pairwise: Any, start: Tensor | None, stop: Tensor | None) -> Problem:
        chosen = nodes.chosen()
        structure = nodes.structure if len(chosen) == len(nodes) else nodes.structure.select(chosen)
        values, offsets, shapes = nodes.arrays()
        edges = None if pairwise is None else read_edges(nodes, pairwise)
        for name, tensor, rows in (("start", start, offsets[:-1]), ("stop", stop, offsets[1:] - 1)):
            if tensor is not None:
                added = _end_scores(nodes, tensor, name)
                values = values.copy() if np.may_share_memory(values, flat_array(nodes.tensor, nodes.tail)) else values
                values[rows] += added
        if edges is None:
            scores = Scores.unchecked(values, offsets, shapes=shapes)
        else:
            scores = Scores.unchecked(values, offsets, edges.values, edges.offsets if edges.values.ndim == 3 else None)
        tensors = (nodes.tensor, None if edges is None else edges.tensor, start, stop)
        return cls(nodes, structure, chosen, scores, edges, tensors)

    def solve(self, targets: Targets, cost: Cost | None, smoothing: Smoothing, mu: float) -> Solved:
        """Losses f_mu(s + cost) - s(y) and their gradient by the scores, marginals - parts(y)."""
        structure: Any = self.structure
        s, truth = self.scores, self._truth(targets)
        y = truth if self.nodes.layout.output_per_row else list(truth)  # small ones are read one by one, and often
        if not len(self.chosen):
            labels = s.nodes.shape[1:]
            return Solved(np.zeros(0), Scores.unchecked(s.nodes, s.offsets, np.zeros((0, *labels, *labels)), s.offsets))
        if hasattr(structure, "check_allowed"):
            structure.check_allowed(s, y, "target")
        if cost is not None:  # y costs nothing, so that its score stays as it is
            s = s + cost.parts(structure, s, y)
        if isinstance(smoothing, Entropy) and hasattr(structure, "soft_loss"):
            losses, gradient = structure.soft_loss(s, truth.flat, mu)
            if isinstance(gradient, SharedGradient):
                return Solved(losses, gradient.nodes, gradient.pairs)
            return Solved(losses, gradient)
        answer = smoothing(structure, s, mu)
        used = indicator(structure, s, y)
        return Solved(answer.value - s.dot(used), answer.marginals - used)

    def gradients(
        self, difference: Scores, weights: FloatArray, wanted: tuple[bool, ...], pairs: WeightedPairs | None = None
    ) -> tuple[Tensor | None, ...]:
        """sum_i weights[i] difference_i, given by the scores, for each of the tensors that is wanted.

        pairs  where those of edges that share their scores come apart
        """
        offsets, nodes = difference.offsets, _weighted(difference.nodes, weights, difference.offsets)
        found: list[Tensor | None] = [None] * 4
        like = self.tensors
        if wanted[0] and like[0] is not None:
            found[0] = scattered(nodes, self.nodes.index(), like[0], self.nodes.tail)
        if wanted[1] and self.edges is not None:
            shared = None if pairs is None else torch.from_numpy(pairs.weighted(weights)).to(self.edges.tensor)
            found[1] = _edge_gradient(difference, weights, self.edges) if shared is None else shared
        for place, rows in ((2, offsets[:-1]), (3, offsets[1:] - 1)):
            end = like[place]
            if wanted[place] and end is not None:
                found[place] = torch.from_numpy(nodes[rows].sum(axis=0)).to(end)
        return tuple(found)

    def _truth(self, targets: Targets) -> Outputs:
        """The targets; the best output stands in where there is none, for a loss that does not count."""
        if not len(targets.unknown):
            return targets.outputs
        outputs, unknown = list(targets.outputs), targets.unknown
        best = self.structure.select(unknown).max(self.scores.select(unknown)).outputs
        for i, output in zip(unknown.tolist(), best, strict=True):
            outputs[i] = output
        found = as_outputs(outputs)
        assert isinstance(found, Outputs)
        return found


class Solved(NamedTuple):
    """Losses float64[n], and marginals minus the parts of the truth; those of shared pairs may come apart."""

    losses: FloatArray
    difference: Scores
    pairs: WeightedPairs | None = None


def _edge_gradient(difference: Scores, weights: FloatArray, edges: Edges) -> Tensor | None:
    if difference.edges is None or difference.edge_offsets is None:
        return None
    if not edges.shared:
        pairs = _weighted(difference.edges, weights, difference.edge_offsets)
        return scattered(pairs, edges.index, edges.tensor, 2)
    per_edge = np.repeat(weights, np.diff(difference.edge_offsets))
    rows, *labels = difference.edges.shape
    total = per_edge @ difference.edges.reshape(rows, math.prod(labels))
    return torch.from_numpy(total.reshape(labels)).to(edges.tensor)


def _weighted(rows: FloatArray, weights: FloatArray, offsets: IntArray) -> FloatArray:
    """rows [N, ...], those of example i times weights[i]; rows themselves where all weights are 1."""
    if (weights == 1.0).all():
        return rows
    if len(weights) and (weights == weights[0]).all():
        found: FloatArray = rows * weights[0]
        return found
    per_row = np.repeat(weights, np.diff(offsets))
    found = rows * per_row.reshape(-1, *(1,) * (rows.ndim - 1))
    return found


def _end_scores(nodes: Nodes, tensor: Any, name: str) -> FloatArray:
    labels = nodes.layout.n_labels
    if nodes.layout.missing_edges != 1:
        raise ValueError(f"{name} scores are for chains; a {nodes.name} has no first and last row.")
    if not isinstance(tensor, Tensor) or tuple(tensor.shape) != (labels,) or not tensor.is_floating_point():
        given = f"{tensor.dtype}{list(tensor.shape)}" if isinstance(tensor, Tensor) else type(tensor).__name__
        raise ValueError(f"{name} is {given}; it must be a floating point tensor [{labels}], one score per label.")
    values = as_float64(flat_array(tensor, 1)[0])
    if not np.isfinite(values).all():
        raise ValueError(f"{name} has entries that are NaN or infinite; scores must be finite.")
    return values


class LossFunction(torch.autograd.Function):
    """(nodes, edges, start, stop) -> losses [B], those of examples that are left out 0."""

    @staticmethod
    def forward(ctx: Any, problem: Problem, settings: tuple[Any, ...], *tensors: Tensor | None) -> Tensor:
        ctx.problem, ctx.weights, ctx.solved = problem, settings[0].weights, problem.solve(*settings)
        losses = np.zeros(len(problem.nodes))
        losses[problem.chosen] = ctx.solved.losses
        scores = problem.nodes.tensor
        dtype = torch.promote_types(scores.dtype, torch.float32)
        return torch.from_numpy(losses * ctx.weights).to(scores.device, dtype)

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        problem: Problem = ctx.problem
        given = upstream[0].detach().to("cpu", torch.float64).numpy()
        weights = (given * ctx.weights)[problem.chosen]
        _, difference, pairs = ctx.solved
        found = problem.gradients(difference, weights, ctx.needs_input_grad[2:], pairs)
        return None, None, *differentiated_once(found, upstream, problem.tensors)


def differentiated_once(found: Sequence[Tensor | None], *used: Sequence[Tensor | None]) -> tuple[Tensor | None, ...]:
    """Gradients whose own gradients, by the tensors that are used, are errors; as they are where none is asked for."""
    if not torch.is_grad_enabled():  # it is enabled by create_graph=True
        return tuple(found)
    once: Any = _Once.apply
    return tuple(None if g is None else once(g, *itertools.chain(*used)) for g in found)


class _Once(torch.autograd.Function):
    """The gradient, which cannot be differentiated again; `used` are the tensors that it depends on."""

    @staticmethod
    def forward(ctx: FunctionCtx, gradient: Tensor, *used: Tensor | None) -> Tensor:
        return gradient.clone()

    @staticmethod
    def backward(ctx: FunctionCtx, *upstream: Tensor) -> None:
        raise RuntimeError(
            "StructuredLoss has no second derivatives, and its marginals have only first ones: gradients come from "
            "oracles outside of torch. Leave create_graph=True out, or use it for other terms of the loss only."
        )
