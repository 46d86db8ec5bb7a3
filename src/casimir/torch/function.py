"""The loss of a batch and its gradient, by the oracles of the structure: one node of torch's graph."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx

from casimir._native import core
from casimir._threads import n_threads
from casimir.costs import Cost
from casimir.scores import FloatArray, IntArray, Scores
from casimir.smoothing import Entropy, Smoothing
from casimir.structures.base import Structure, indicator
from casimir.structures.chain import Chain
from casimir.torch.batch import as_float64, flat_array, scattered
from casimir.torch.edges import Edges, read_edges
from casimir.torch.layout import Layout
from casimir.torch.layouts import Labels

_WORTH_A_THREAD = 400_000  # products of messages and transitions: about half a millisecond


@dataclass(frozen=True, eq=False)
class Problem:
    """A batch as a structure reads it: scores_i for the examples that are left, and the tensors they came from.

    chosen   int64[n]: which of the B examples these are
    tensors  (nodes, edges, start, stop), None where there is none; gradients go back through them
    """

    layout: Layout
    structure: Structure
    chosen: IntArray
    scores: Scores
    edges: Edges | None
    tensors: tuple[Tensor | None, ...]

    @classmethod
    def of(cls, layout: Layout, pairwise: Any, start: Tensor | None, stop: Tensor | None) -> Problem:
        chosen = layout.chosen()
        structure = layout.structure if len(chosen) == len(layout) else layout.structure.select(chosen)
        nodes, offsets = layout.arrays()
        edges = None
        if pairwise is not None:
            if not isinstance(layout, Labels):
                raise ValueError(f"A {layout.name} has no pairwise scores; leave pairwise out.")
            edges = read_edges(layout, pairwise)
        ends = (("start", start, offsets[:-1]), ("stop", stop, offsets[1:] - 1))
        for name, tensor, rows in ends:
            if tensor is not None:
                values = _end_scores(layout, tensor, name)
                nodes = nodes.copy() if np.may_share_memory(nodes, flat_array(layout.nodes, layout.tail)) else nodes
                nodes[rows] += values
        if edges is None:
            scores = Scores(nodes, offsets, shapes=layout.shapes())
        else:
            own = edges.values.ndim == 3
            scores = Scores(nodes, offsets, edges.values, edges.offsets if own else None)
        tensors = (layout.nodes, None if edges is None else edges.tensor, start, stop)
        return cls(layout, structure, chosen, scores, edges, tensors)

    def solve(self, cost: Cost | None, smoothing: Smoothing, mu: float) -> Solved:
        """Losses f_mu(s + cost) - s(y) and their gradient by the scores, marginals - parts(y)."""
        if not len(self.chosen):
            labels = self.scores.nodes.shape[1:]
            return Solved(np.zeros(0), np.zeros(self.scores.nodes.shape), np.zeros((0, *labels, *labels)))
        s = self.scores
        if hasattr(self.structure, "check_allowed"):
            self.structure.check_allowed(s, self.layout.outputs(), "target")
        if cost is not None:  # y costs nothing, so that its score stays as it is
            s = s + cost.parts(self.structure, s, self.layout.outputs())
        if isinstance(smoothing, Entropy) and isinstance(self.structure, Chain) and isinstance(self.layout, Labels):
            forbidden = self.structure.forbidden(s)
            return _soft_chain_loss(s if forbidden is None else s + forbidden, self.layout.flat_targets, mu)
        answer = smoothing(self.structure, s, mu)
        truth = indicator(self.structure, s, self.layout.outputs())
        edges = answer.marginals.edges
        if edges is not None and truth.edges is not None:
            edges = edges - truth.edges
        return Solved(answer.value - s.dot(truth), answer.marginals.nodes - truth.nodes, edges)

    def gradients(self, solved: Solved, weights: FloatArray, wanted: tuple[bool, ...]) -> tuple[Tensor | None, ...]:
        """sum_i weights[i] grad loss_i for each of the tensors that is wanted."""
        offsets, tail = self.scores.offsets, self.layout.tail
        per_row = np.repeat(weights, np.diff(offsets))
        nodes = solved.nodes * (per_row[:, None] if solved.nodes.ndim == 2 else per_row)
        found: list[Tensor | None] = [None] * 4
        like = self.tensors
        if wanted[0] and like[0] is not None:
            found[0] = scattered(nodes, self.layout.index(), like[0], tail)
        if wanted[1] and like[1] is not None and self.edges is not None and solved.edges is not None:
            found[1] = self._edge_gradient(solved.edges, solved.summed, weights, self.edges)
        for place, rows in ((2, offsets[:-1]), (3, offsets[1:] - 1)):
            end = like[place]
            if wanted[place] and end is not None:
                found[place] = torch.from_numpy(nodes[rows].sum(axis=0)).to(end)
        return tuple(found)

    def _edge_gradient(self, difference: FloatArray, summed: bool, weights: FloatArray, edges: Edges) -> Tensor:
        per_edge = weights if summed else np.repeat(weights, np.diff(edges.offsets))
        if edges.shared:
            total = np.tensordot(per_edge, difference, axes=1)
            return torch.from_numpy(total).to(edges.tensor)
        return scattered(difference * per_edge[:, None, None], edges.index, edges.tensor, 2)


class Solved(NamedTuple):
    """Losses float64[n], and marginals minus the parts of the truth.

    nodes   float64[N, ...]
    edges   float64[M, L, L], one per edge, or float64[n, L, L], the sum over the edges of each example
    summed  whether it is the latter
    """

    losses: FloatArray
    nodes: FloatArray
    edges: FloatArray | None
    summed: bool = False


def _soft_chain_loss(s: Scores, y: IntArray, mu: float) -> Solved:
    """The CRF loss of chains in one call of the core, which adds up the edges of a shared matrix itself."""
    labels = s.nodes.shape[1]
    edges = np.zeros((labels, labels)) if s.edges is None else s.edges
    threads = min(n_threads(), 1 + s.nodes.size * labels // _WORTH_A_THREAD)
    losses, nodes, pairs = core.chain_soft_loss(s.nodes, s.offsets, edges, y, mu, threads)
    return Solved(losses, nodes, pairs, edges.ndim == 2)


def _end_scores(layout: Layout, tensor: Any, name: str) -> FloatArray:
    if not isinstance(layout.structure, Chain):
        raise ValueError(f"{name} scores are for chains; a {layout.name} has no first and last row.")
    labels = layout.nodes.shape[-1]
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
        weights, *oracle = settings
        ctx.problem, ctx.weights, ctx.solved = problem, weights, problem.solve(*oracle)
        losses = np.zeros(len(problem.layout))
        losses[problem.chosen] = ctx.solved.losses
        nodes = problem.layout.nodes
        dtype = torch.promote_types(nodes.dtype, torch.float32)
        return torch.from_numpy(losses * weights).to(nodes.device, dtype)

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        problem: Problem = ctx.problem
        given = upstream[0].detach().to("cpu", torch.float64).numpy()
        weights = (given * ctx.weights)[problem.chosen]
        found = problem.gradients(ctx.solved, weights, ctx.needs_input_grad[2:])
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
