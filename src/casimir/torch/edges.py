"""Pairwise scores of labelled structures, padded, ragged or shared, as the edges of Scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from casimir._validate import all_finite
from casimir.scores import FloatArray, IntArray, chain_edge_offsets, offsets_of, ragged_rows
from casimir.torch.batch import as_float64, flat_array
from casimir.torch.nodes import Nodes, check_floating, tensors_of


@dataclass(frozen=True, eq=False, slots=True)
class Edges:
    """Edge scores of a batch.

    tensor   [L, L] shared by all edges, or the scores of all edges [..., L, L], through which gradients go back
    shared   whether it is the former
    index    int64[M]: the rows of tensor.reshape(-1, L, L) that belong to the M edges; None for all of them
    values   float64[M, L, L]; of chains with shared scores [L, L]
    offsets  int64[n + 1] into the M edges
    """

    tensor: Tensor
    shared: bool
    index: IntArray | None
    values: FloatArray
    offsets: IntArray


def read_edges(nodes: Nodes, pairwise: Any) -> Edges:
    """The edges between the rows that are left.

    Chains join the rows that are left: the transition into a position is the one given for it, pairwise[t - 1],
    whichever position came before. Trees have an edge per row. Edges that the structure lists are all there.
    """
    if nodes.layout.edges is None:
        raise ValueError(f"A {nodes.name} has no pairwise scores; leave pairwise out.")
    if isinstance(pairwise, Tensor) and pairwise.ndim == 2:
        _check_labels(nodes, pairwise)
        return _shared(nodes, pairwise)
    tensor, bounds = _all_edges(nodes, pairwise)
    index, offsets = chosen_edges(nodes, bounds)
    flat = flat_array(tensor, 2)
    values = as_float64(flat if index is None else flat[index])
    if not all_finite(values):
        row, i, j = np.argwhere(~np.isfinite(values))[0].tolist()
        number = row if index is None else int(index[row])
        example = int(np.searchsorted(bounds, number, side="right")) - 1
        raise ValueError(_not_finite([example, number - int(bounds[example]), i, j], values[row, i, j]))
    return Edges(tensor, False, index, values, offsets)


def _shared(nodes: Nodes, pairwise: Tensor) -> Edges:
    values = as_float64(flat_array(pairwise, 2)[0])
    if not all_finite(values):
        i, j = np.argwhere(~np.isfinite(values))[0].tolist()
        raise ValueError(_not_finite([i, j], values[i, j]))
    offsets, missing = nodes.rows.left, nodes.layout.missing_edges
    if missing == 1:
        return Edges(pairwise, True, None, values, chain_edge_offsets(offsets))
    if missing is None:
        structure: Any = nodes.structure.select(nodes.chosen())
        offsets = offsets_of([len(structure.edges(i)) for i in range(len(offsets) - 1)])
    return Edges(pairwise, True, None, np.repeat(values[None], offsets[-1], axis=0), offsets)


def _all_edges(nodes: Nodes, pairwise: Any) -> tuple[Tensor, IntArray]:
    """One tensor with all edges given, and int64[B + 1]: where those of each example lie in it."""
    if isinstance(pairwise, Tensor):
        _check_labels(nodes, pairwise)
        if pairwise.ndim != 4 or len(pairwise) != len(nodes):
            raise ValueError(_wrong_shape(nodes, pairwise, ""))
        counts, tensor = np.full(len(nodes), pairwise.shape[1]), pairwise
    else:
        parts = tensors_of(pairwise, "pairwise")
        if len(parts) != len(nodes):
            raise ValueError(f"pairwise has {len(parts)} entries for {len(nodes)} examples.")
        for i, part in enumerate(parts):
            if part.ndim != 3:
                raise ValueError(_wrong_shape(nodes, part, f"[{i}]"))
            _check_labels(nodes, part)
        counts, tensor = np.array([len(part) for part in parts]), torch.cat(list(parts))
    missing = nodes.layout.missing_edges
    if missing is not None:
        needed = np.diff(nodes.rows.bounds) - missing
        bad = np.flatnonzero(counts != needed)
        if len(bad):
            given = pairwise if isinstance(pairwise, Tensor) else pairwise[bad[0]]
            raise ValueError(_wrong_shape(nodes, given, "" if isinstance(pairwise, Tensor) else f"[{bad[0]}]"))
    return tensor, offsets_of(counts)


def chosen_edges(nodes: Nodes, bounds: IntArray) -> tuple[IntArray | None, IntArray]:
    """Which are left of edges where example i owns bounds[i]:bounds[i + 1], and their offsets by example."""
    rows, left, missing = nodes.rows, nodes.rows.left, nodes.layout.missing_edges
    if missing == 0:
        return rows.kept, left
    if missing is None:
        return ragged_rows(bounds, nodes.chosen())
    if rows.kept is None:
        return None, chain_edge_offsets(left)
    into = np.delete(np.arange(len(rows.kept)), left[:-1])  # every row but the first of its example
    return bounds[rows.example[into]] + rows.position[into] - 1, chain_edge_offsets(left)


def _check_labels(nodes: Nodes, pairwise: Tensor) -> None:
    labels = nodes.layout.n_labels
    if tuple(pairwise.shape[-2:]) != (labels, labels):
        raise ValueError(f"pairwise has shape {list(pairwise.shape)}; {labels} labels need [..., {labels}, {labels}].")
    check_floating(pairwise, "pairwise")


def _wrong_shape(nodes: Nodes, pairwise: Tensor, at: str) -> str:
    labels, size = nodes.layout.n_labels, nodes.layout.edges
    example = f"[{size}, {labels}, {labels}]" if at else f"[B, {size}, {labels}, {labels}]"
    return (
        f"pairwise{at} has shape {list(pairwise.shape)}; {nodes.name} needs {example} for scores of "
        f"{nodes.layout.nodes[0]} rows, or one [{labels}, {labels}] for all edges."
    )


def _not_finite(place: list[int], value: float) -> str:
    return (
        f"pairwise{place} is {value}. Scores must be finite; to forbid a transition, give it a large negative score "
        "such as -1e6."
    )
