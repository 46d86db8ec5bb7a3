"""Products by the Jacobian of a function of a module's parameters: J^T m, J dw and its rows."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt
import torch
from torch import Tensor

from casimir.scores import IntArray

Tensors = Mapping[str, Tensor]
Function = Callable[[Tensors], tuple[Tensor, ...]]


@dataclass(frozen=True, eq=False)
class Graph:
    """Values f(parameters) with the graph that reverse mode walks back, kept as long as this object.

    at      the parameters, leaves of the graph
    values  tensors that were computed from them
    """

    at: Tensors
    values: tuple[Tensor, ...]

    def vjp(self, cotangents: Sequence[Tensor], create_graph: bool = False) -> list[Tensor | None]:
        """J^T m by parameter; None where no value depends on it."""
        pairs = [(v, m) for v, m in zip(self.values, cotangents, strict=True) if v.requires_grad]
        if not pairs:
            return [None] * len(self.at)
        values, given = zip(*pairs, strict=True)
        found = torch.autograd.grad(
            values, list(self.at.values()), given, retain_graph=True, create_graph=create_graph, allow_unused=True
        )
        return list(found)

    def jvp(self, tangents: Tensors) -> tuple[Tensor, ...]:
        """J dw by reverse mode alone: m -> <J^T m, dw> is linear in m, and J dw is its gradient."""
        with torch.enable_grad():
            cotangents = [torch.zeros_like(v).requires_grad_() for v in self.values]
            backward = self.vjp(cotangents, create_graph=True)
            terms = [
                (g * t).sum()
                for g, t in zip(backward, tangents.values(), strict=True)
                if g is not None and g.requires_grad
            ]
        if not terms:
            return tuple(torch.zeros_like(v) for v in self.values)
        found = torch.autograd.grad(torch.stack(terms).sum(), cotangents, allow_unused=True)
        return tuple(torch.zeros_like(v) if t is None else t for v, t in zip(self.values, found, strict=True))

    def is_product(self, product: Sequence[Tensor], tangents: Tensors) -> bool:
        """Whether <J dw, m> = <dw, J^T m> for some m, up to rounding.

        torch leaves out of `jvp`, without an error, what an operation has no second derivative for.
        """
        generator = torch.Generator().manual_seed(0)
        m = [torch.randn(v.shape, generator=generator, dtype=torch.float64).to(v) for v in self.values]
        ours = sum(float((a * b).sum()) for a, b in zip(product, m, strict=True))
        backward = zip(self.vjp(m), tangents.values(), strict=True)
        terms = [g * t for g, t in backward if g is not None]
        theirs, size = sum(float(t.sum()) for t in terms), sum(float(t.abs().sum()) for t in terms)
        return abs(ours - theirs) <= 1e-3 * size

    def rows(self, rows_at_a_time: int) -> Iterator[tuple[int, list[Tensor | None]]]:
        """Jacobian of the first value [N], some rows at a time: how many, and [rows, *shape] by parameter."""
        value = self.values[0]
        if not value.requires_grad:
            yield len(value), [None] * len(self.at)
            return
        for first in range(0, len(value), rows_at_a_time):
            some = torch.arange(first, min(first + rows_at_a_time, len(value)), device=value.device)
            units = torch.zeros(len(some), len(value), dtype=value.dtype, device=value.device)
            units[torch.arange(len(some)), some] = 1.0
            yield len(units), self._batched_vjp(value, units)

    def _batched_vjp(self, value: Tensor, units: Tensor) -> list[Tensor | None]:
        at = list(self.at.values())
        try:
            found = torch.autograd.grad(value, at, units, retain_graph=True, allow_unused=True, is_grads_batched=True)
        except RuntimeError:  # an operation without a batched derivative: one row after the other
            single = [torch.autograd.grad(value, at, u, retain_graph=True, allow_unused=True) for u in units]
            by_leaf = zip(*single, strict=True)
            return [None if rows[0] is None else torch.stack(rows) for rows in by_leaf]
        return list(found)


def leaves(at: Tensors) -> dict[str, Tensor]:
    """The same tensors as leaves of a new graph."""
    return {name: tensor.detach().requires_grad_() for name, tensor in at.items()}


def forward_mode(f: Function, at: Tensors, tangents: Tensors) -> tuple[Tensor, ...]:
    """J dw by one pass in forward mode. Not every operation of torch has it."""
    _load_forward_mode()
    found: tuple[Tensor, ...] = torch.func.jvp(f, (dict(at),), (dict(tangents),))[1]
    return found


@functools.cache
def _load_forward_mode() -> None:
    """torch loads its forward mode at the first use, by functions that it calls deprecated itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.func.jvp(torch.sin, (torch.zeros(1),), (torch.ones(1),))


def rowwise_gradients(f: Callable[[Tensors, Tensor], Tensor], at: Tensors, rows: Tensor) -> list[Tensor]:
    """Gradients of f(parameters, row) for every row: one [rows, *shape] per parameter."""
    gradients = torch.func.vmap(torch.func.grad(f), in_dims=(None, 0))(dict(at), rows)
    return list(gradients.values())


def rows_within(n_params: int, dtype: torch.dtype, megabytes: int = 64) -> int:
    """How many rows of a Jacobian fit into so much memory; one at least."""
    return int(max(megabytes * 2**20 // max(n_params * dtype.itemsize, 1), 1))


def write_rows(out: npt.NDArray[Any], gradients: Sequence[Tensor | None], bounds: IntArray) -> None:
    """out [rows, d] from one [rows, *shape] per parameter; None is zero."""
    for part, first, last in zip(gradients, bounds[:-1], bounds[1:], strict=True):
        if part is None:
            out[:, first:last] = 0.0
        else:
            plain = part.detach().reshape(len(out), -1).to(torch.promote_types(part.dtype, torch.float32))
            out[:, first:last] = plain.cpu().numpy()
