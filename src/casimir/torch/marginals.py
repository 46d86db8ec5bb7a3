"""Marginals of a batch and their derivative: one node of torch's graph."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from casimir._threads import at_most
from casimir.curvature import hessian_product
from casimir.scores import FloatArray, IntArray, Scores
from casimir.smoothing import Smoothing
from casimir.torch.batch import as_float64, flat_array, scattered
from casimir.torch.edges import chosen_edges
from casimir.torch.function import Problem, differentiated_once


class Marginals(NamedTuple):
    """How much the outputs use each part: probabilities with Entropy smoothing and mu = 1.

    unary     in the shape of the scores, 0 where there is nothing; a list where the scores were a list
    pairwise  None without pairwise scores; [B, T - 1, L, L] for padded chains, [B, T, L, L] for padded trees, where
              [b, t] belongs to the edge into position t + 1, or to that of node t; a list otherwise
    """

    unary: Tensor | list[Tensor]
    pairwise: Tensor | list[Tensor] | None


def marginals_of(problem: Problem, smoothing: Smoothing, mu: float) -> Marginals:
    """The gradient of f_mu at the scores, through which gradients go back to them."""
    given, apply = problem.nodes.given, _MarginalsFunction.apply
    grid = _edge_grid(problem)
    nodes, edges = apply(problem, grid, smoothing, mu, *problem.tensors)  # type: ignore[no-untyped-call]
    if not isinstance(given, Tensor):
        sizes = [part.numel() // max(nodes[:1].numel(), 1) for part in given]
        nodes = [u.reshape(g.shape) for u, g in zip(torch.split(nodes, sizes), given, strict=True)]
    if edges is not None and problem.edges is not None and grid is None:
        edges = list(torch.split(edges, np.diff(problem.edges.offsets).tolist()))
    return Marginals(nodes, edges)


class _Grid(NamedTuple):
    """Where edges lie in a padded tensor: its shape, and the rows int64[M] of reshape(-1, L, L); None for all."""

    shape: tuple[int, ...]
    rows: IntArray | None


def _edge_grid(problem: Problem) -> _Grid | None:
    """Of padded chains and trees, whose pairwise marginals have the shape of scores that every edge has for itself."""
    nodes, labels, missing = problem.nodes, problem.nodes.layout.n_labels, problem.nodes.layout.missing_edges
    if problem.edges is None or nodes.rows.padded is None or missing is None or labels is None:
        return None
    count = nodes.rows.padded - missing
    rows, _ = chosen_edges(nodes, np.arange(len(nodes) + 1) * count)
    return _Grid((len(nodes), count, labels, labels), rows)


class _MarginalsFunction(torch.autograd.Function):
    """(nodes, edges, start, stop) -> marginals in the shape of nodes, and [..., L, L] or None."""

    @staticmethod
    def forward(
        ctx: Any, problem: Problem, grid: _Grid | None, smoothing: Smoothing, mu: float, *tensors: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        given = problem.nodes
        found = smoothing(problem.structure, problem.scores, mu).marginals
        ctx.problem, ctx.grid, ctx.oracle, ctx.found = problem, grid, (smoothing, mu), found
        ctx.set_materialize_grads(False)
        nodes = scattered(found.nodes, given.index(), given.tensor, given.tail)
        if problem.edges is None or found.edges is None:
            return nodes, None
        like = given.tensor.new_empty(found.edges.shape if grid is None else grid.shape)
        return nodes, scattered(found.edges, None if grid is None else grid.rows, like, 2)

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor | None) -> tuple[Tensor | None, ...]:
        problem: Problem = ctx.problem
        v = _direction(problem, ctx.found, ctx.grid, *upstream)
        with at_most(torch.get_num_threads()):
            moved = hessian_product(ctx.oracle[0], problem.structure, problem.scores, ctx.oracle[1], ctx.found, v)
        found = problem.gradients(moved, np.ones(len(problem.chosen)), ctx.needs_input_grad[4:])
        return None, None, None, None, *differentiated_once(found, upstream, problem.tensors)


def _direction(
    problem: Problem, found: Scores, grid: _Grid | None, nodes: Tensor | None, edges: Tensor | None
) -> Scores:
    """Gradients by the marginals, in the layout of the marginals; None is zero."""
    index, shape = problem.nodes.index(), found.nodes.shape
    a = np.zeros(shape) if nodes is None else _taken(nodes, problem.nodes.tail, index)
    if edges is None:
        return Scores(a, found.offsets, shapes=found.shapes)
    b = _taken(edges, 2, None if grid is None else grid.rows)
    return Scores(a, found.offsets, b, found.edge_offsets, found.shapes)


def _taken(tensor: Tensor, tail: int, rows: IntArray | None) -> FloatArray:
    flat = flat_array(tensor, tail)
    return as_float64(flat if rows is None else flat[rows])
