"""What a module returns, as part scores: tensors in the order of Scores, so that products by Jacobians are theirs."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from casimir.scores import FloatArray, IntArray, Scores
from casimir.structures.base import Structure


class Parts(NamedTuple):
    """The scores of a batch as tensors.

    nodes  list of tensors, the first argument of structure.scores, one per example
    edges  None, one tensor [L, L] that all edges share, or a list of [m_i, L, L], one per example
    """

    nodes: list[Tensor]
    edges: Tensor | list[Tensor] | None

    def flat(self) -> tuple[Tensor, ...]:
        """(nodes [*], edges [*]): all scores of all examples one after another; shared edges once."""
        nodes = torch.cat([part.reshape(-1) for part in self.nodes])
        if self.edges is None:
            return (nodes,)
        edges = [self.edges] if isinstance(self.edges, Tensor) else self.edges
        return nodes, torch.cat([part.reshape(-1) for part in edges])

    def scores(self, structure: Any) -> Scores:
        """The Scores that the structure makes of them, which checks them too."""
        nodes = [_numpy(part) for part in self.nodes]
        if self.edges is None:
            made: Scores = structure.scores(nodes)
        elif isinstance(self.edges, Tensor):
            made = structure.scores(nodes, _numpy(self.edges))
        else:
            made = structure.scores(nodes, [_numpy(part) for part in self.edges])
        if made.nodes.size != sum(part.size for part in nodes):
            raise TypeError(f"{type(structure).__name__}.scores rearranges its arguments; TorchModel cannot follow it.")
        return made


def parts_of(output: Any, structure: Structure, lengths: IntArray | None) -> Parts:
    """Takes the output of a module apart.

    output   what structure.scores takes, as tensors: `nodes`, or the pair (nodes, edges)
    lengths  int64[B]: rows that count of each example where tensors are padded; None is all
    """
    if not takes_pairs(structure):
        return Parts(_rows(output, lengths, 0, "scores"), None)
    if not isinstance(output, tuple | list) or len(output) != 2:
        raise TypeError(
            f"The module returned {_described(output)}; for a {type(structure).__name__} it must return the pair "
            "(unary, pairwise), as tensors or lists of tensors."
        )
    nodes, edges = output
    unary = _rows(nodes, lengths, 0, "unary")
    if isinstance(edges, Tensor) and edges.ndim == 2:
        return Parts(unary, edges)
    # A padded tensor has the same number of rows too many in both.
    short = nodes.shape[1] - edges.shape[1] if isinstance(nodes, Tensor) and isinstance(edges, Tensor) else 0
    return Parts(unary, _rows(edges, lengths, short, "pairwise"))


def takes_pairs(structure: Any) -> bool:
    """Whether structure.scores needs (unary, pairwise), and not the scores of nodes alone."""
    kind: Any = type(structure)
    return _needs_two(kind)


@functools.cache
def _needs_two(kind: Any) -> bool:
    if not callable(getattr(kind, "scores", None)):
        raise TypeError(f"structure is a {kind.__name__}, which has no method `scores`. Try casimir.Chain.")
    _, *parameters = inspect.signature(kind.scores).parameters.values()
    return sum(p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters) > 1


def as_scores(flat: Sequence[FloatArray], layout: Scores, shared: bool) -> Scores:
    """Numbers in the order of Parts.flat as Scores in the layout of others: those of the same examples."""
    nodes = flat[0].reshape(layout.nodes.shape)
    if layout.edges is None or len(flat) == 1:
        return dataclasses.replace(layout, nodes=nodes, edges=None, edge_offsets=None, whole=None)
    edges = flat[1].reshape(-1, *layout.edges.shape[-2:])
    if shared:
        edges = edges[0] if layout.edges.ndim == 2 else np.repeat(edges, len(layout.edges), axis=0)
    return dataclasses.replace(layout, nodes=nodes, edges=edges, whole=None)


def as_flat(s: Scores, layout: Scores, shared: bool) -> tuple[FloatArray, ...]:
    """The adjoint of as_scores: s.dot(as_scores(x)) = <as_flat(s), x>."""
    if s.nodes.shape != layout.nodes.shape or not np.array_equal(s.offsets, layout.offsets):
        raise ValueError(
            f"TorchModel got marginals of {len(s)} examples with nodes {list(s.nodes.shape)}; it needs {len(layout)} "
            f"examples with nodes {list(layout.nodes.shape)}: those of the scores of the same examples."
        )
    nodes = s.nodes.reshape(-1)
    if layout.edges is None:
        return (nodes,)
    n_edges = len(layout.edges) if layout.edges.ndim == 3 else len(layout.nodes) - len(layout)
    if s.edges is None:
        edges = np.zeros(layout.edges.shape[-2:] if shared else layout.edges.shape)
    elif shared:
        edges = s.edges.sum(axis=0) if s.edges.ndim == 3 else n_edges * s.edges
    else:
        edges = np.broadcast_to(s.edges, (n_edges, *s.edges.shape[-2:]))
    return nodes, np.ascontiguousarray(edges).reshape(-1)


def _rows(given: Any, lengths: IntArray | None, short: int, name: str) -> list[Tensor]:
    """One tensor per example; of padded ones the first lengths[i] - short rows."""
    if not isinstance(given, Tensor | tuple | list) or (isinstance(given, Tensor) and given.ndim < 2):
        raise TypeError(
            f"The module returned {name} as {_described(given)}; it must be a list with one tensor per example, or one "
            "tensor whose first dimension counts the examples."
        )
    rows = list(given)
    bad = next((i for i, part in enumerate(rows) if not isinstance(part, Tensor)), None)
    if bad is not None:
        raise TypeError(f"The module returned {name}[{bad}] as {_described(rows[bad])}; it must be a tensor.")
    if lengths is None or not isinstance(given, Tensor):
        return rows
    if len(rows) != len(lengths):
        raise ValueError(f"The module returned {name} of {len(rows)} examples for {len(lengths)} inputs.")
    return [part[: max(int(length) - short, 0)] for part, length in zip(rows, lengths, strict=True)]


def _numpy(tensor: Tensor) -> FloatArray:
    """float64 of the same shape, on the CPU."""
    array: FloatArray = tensor.detach().to("cpu", torch.float64).numpy()
    return array


def _described(x: Any) -> str:
    if isinstance(x, Tensor):
        return f"a tensor {list(x.shape)}"
    if isinstance(x, tuple | list):
        return f"a {type(x).__name__} of {len(x)}"
    return f"a {type(x).__name__}"
