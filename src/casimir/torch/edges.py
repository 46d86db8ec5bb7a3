"""Pairwise scores of labelled structures, padded, ragged or shared, as the edges of Scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from casimir._validate import all_finite
from casimir.scores import FloatArray, IntArray, chain_edge_offsets, offsets_of, ragged_rows
from casimir.structures.chain import Chain
from casimir.structures.tree import Tree
from casimir.torch.batch import as_float64, flat_array
from casimir.torch.layout import Layout, tensors_of


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


def read_edges(layout: Layout, pairwise: Any) -> Edges:
    """The edges between the rows that are left.

    Chains join the rows that are left: the transition into a position is the one given for it, pairwise[t - 1],
    whichever position came before. Trees have the row of every node. Other graphs have all edges that are given.
    """
    if isinstance(pairwise, Tensor) and pairwise.ndim == 2:
        _check_labels(layout, pairwise)
        return _shared(layout, pairwise)
    tensor, bounds = _all_edges(layout, pairwise)
    index, offsets = _chosen(layout, bounds)
    flat = flat_array(tensor, 2)
    values = as_float64(flat if index is None else flat[index])
    if not all_finite(values):
        row, i, j = np.argwhere(~np.isfinite(values))[0].tolist()
        number = row if index is None else int(index[row])
        example = int(np.searchsorted(bounds, number, side="right")) - 1
        raise ValueError(_not_finite([example, number - int(bounds[example]), i, j], values[row, i, j]))
    return Edges(tensor, False, index, values, offsets)


def _shared(layout: Layout, pairwise: Tensor) -> Edges:
    values = as_float64(flat_array(pairwise, 2)[0])
    if not all_finite(values):
        i, j = np.argwhere(~np.isfinite(values))[0].tolist()
        raise ValueError(_not_finite([i, j], values[i, j]))
    offsets = layout.rows.left
    if isinstance(layout.structure, Chain):
        return Edges(pairwise, True, None, values, chain_edge_offsets(offsets))
    if not isinstance(layout.structure, Tree):
        structure: Any = layout.structure.select(layout.chosen())
        offsets = offsets_of([len(structure.edges(i)) for i in range(len(offsets) - 1)])
    return Edges(pairwise, True, None, np.repeat(values[None], offsets[-1], axis=0), offsets)


def _all_edges(layout: Layout, pairwise: Any) -> tuple[Tensor, IntArray]:
    """One tensor with all edges given, and int64[B + 1]: where those of each example lie in it."""
    if isinstance(pairwise, Tensor):
        _check_labels(layout, pairwise)
        if pairwise.ndim != 4 or len(pairwise) != len(layout):
            raise ValueError(_wrong_shape(layout, pairwise, ""))
        counts, tensor = np.full(len(layout), pairwise.shape[1]), pairwise
    else:
        parts = tensors_of(pairwise, "pairwise")
        if len(parts) != len(layout):
            raise ValueError(f"pairwise has {len(parts)} entries for {len(layout)} examples.")
        for i, part in enumerate(parts):
            if part.ndim != 3:
                raise ValueError(_wrong_shape(layout, part, f"[{i}]"))
            _check_labels(layout, part)
        counts, tensor = np.array([len(part) for part in parts]), torch.cat(list(parts))
    short = {Chain: 1, Tree: 0}.get(type(layout.structure))
    if short is not None:
        needed = np.diff(layout.rows.bounds) - short
        bad = np.flatnonzero(counts != needed)
        if len(bad):
            given = pairwise if isinstance(pairwise, Tensor) else pairwise[bad[0]]
            raise ValueError(_wrong_shape(layout, given, "" if isinstance(pairwise, Tensor) else f"[{bad[0]}]"))
    return tensor, offsets_of(counts)


def _chosen(layout: Layout, bounds: IntArray) -> tuple[IntArray | None, IntArray]:
    """Which of the edges given are left, and their offsets by example."""
    rows, left = layout.rows, layout.rows.left
    if isinstance(layout.structure, Tree):
        return rows.kept, left
    if not isinstance(layout.structure, Chain):
        index, offsets = ragged_rows(bounds, layout.chosen())
        return index, offsets
    if rows.kept is None:
        return None, chain_edge_offsets(left)
    into = np.delete(np.arange(len(rows.kept)), left[:-1])  # every row but the first of its example
    return bounds[rows.example[into]] + rows.position[into] - 1, chain_edge_offsets(left)


def _check_labels(layout: Layout, pairwise: Tensor) -> None:
    labels = layout.nodes.shape[-1]
    if tuple(pairwise.shape[-2:]) != (labels, labels):
        raise ValueError(f"pairwise has shape {list(pairwise.shape)}; {labels} labels need [..., {labels}, {labels}].")
    if not pairwise.is_floating_point():
        raise TypeError(f"pairwise has dtype {pairwise.dtype}; scores are floating point numbers.")


def _wrong_shape(layout: Layout, pairwise: Tensor, at: str) -> str:
    labels = layout.nodes.shape[-1]
    size = {Chain: "T - 1", Tree: "T"}.get(type(layout.structure), "edges")
    example = f"[{size}, {labels}, {labels}]" if at else f"[B, {size}, {labels}, {labels}]"
    return (
        f"pairwise{at} has shape {list(pairwise.shape)}; {layout.name} needs {example} for scores of T rows, or one "
        f"[{labels}, {labels}] for all edges."
    )


def _not_finite(place: list[int], value: float) -> str:
    return (
        f"pairwise{place} is {value}. Scores must be finite; to forbid a transition, give it a large negative score "
        "such as -1e6."
    )
