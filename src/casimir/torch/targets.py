"""Targets and outputs as tensors, whose numbers count entries as they were given; a structure counts those left."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from casimir._outputs import Outputs
from casimir._validate import sequence_of
from casimir.scores import FloatArray, IntArray, offsets_of
from casimir.structures.base import split_flat
from casimir.torch.batch import Rows, read_integers
from casimir.torch.nodes import Nodes


class Targets(NamedTuple):
    """The true outputs of a batch.

    outputs  those of the examples that have rows left, as the structure numbers them
    weights  float64[B]: 1 for examples that count, 0 for those without a target
    unknown  int64[*]: the examples among the outputs that have no target; what stands there is no output
    """

    outputs: Outputs
    weights: FloatArray
    unknown: IntArray


def read_targets(nodes: Nodes, target: Any, ignore_index: int) -> tuple[Nodes, Targets]:
    """The targets, and the nodes without the rows that have none."""
    if nodes.layout.output_per_row:
        return _targets_of_rows(nodes, target, ignore_index)
    if nodes.layout.output_size is None:
        y, offsets = _targets_of_own_sizes(nodes, target, ignore_index)
        known = np.diff(offsets) > 0
    else:
        y = read_integers(target, (len(nodes), *map(int, nodes.layout.output)), "target")
        offsets = np.arange(len(nodes) + 1) * nodes.layout.output_size
        known = (y.reshape(-1, nodes.layout.output_size) != ignore_index).any(axis=1)
    example = np.repeat(np.arange(len(nodes)), np.diff(offsets))
    if known.all():
        y = _numbers_left(nodes, y, example, ignore_index)
    else:
        y, there = y.copy(), np.flatnonzero(known[example])
        y[there] = _numbers_left(nodes, y[there], example[there], ignore_index)
    return nodes, Targets(Outputs(y, offsets), known.astype(np.float64), np.flatnonzero(~known))


def _targets_of_rows(nodes: Nodes, target: Any, ignore_index: int) -> tuple[Nodes, Targets]:
    flat = read_integers(target, nodes.row_shape(), "target")
    nodes = nodes.without(nodes.rows.take(flat) == ignore_index)
    y = _numbers_left(nodes, nodes.rows.take(flat), None, ignore_index)
    weights = (nodes.rows.counts > 0).astype(np.float64)
    return nodes, Targets(Outputs(y, nodes.rows.left), weights, np.zeros(0, dtype=np.int64))


def _targets_of_own_sizes(nodes: Nodes, target: Any, ignore_index: int) -> tuple[IntArray, IntArray]:
    """All numbers and their offsets by example, without the ignore_index that pads them."""
    given = sequence_of(target, "target")
    if len(given) != len(nodes):
        raise ValueError(f"target has {len(given)} entries for {len(nodes)} examples.")
    parts = [read_integers(y, tuple(np.shape(y)), f"target[{i}]") for i, y in enumerate(given)]
    ends = [int(np.max(np.flatnonzero(y != ignore_index), initial=-1)) + 1 for y in parts]
    kept = [y[:end] for y, end in zip(parts, ends, strict=True)]
    return np.concatenate([np.zeros(0, dtype=np.int64), *kept]), offsets_of(ends)


def _numbers_left(nodes: Nodes, y: IntArray, example: IntArray | None, ignore_index: int) -> IntArray:
    """y as the structure counts; example int64[N] of each number, None where there is one number per row."""
    numbers = nodes.layout.numbers
    if numbers is None:
        return y
    axis = None if isinstance(numbers, int) else nodes.axis(numbers)
    if axis is not None and example is None:
        example = nodes.rows.example
    bound: Any = numbers if axis is None else np.diff(axis.bounds)[example]
    bad = np.flatnonzero((y < 0) | (y >= bound))
    if len(bad):
        last = int(np.broadcast_to(bound, y.shape)[bad[0]]) - 1
        raise ValueError(
            f"target{_place(nodes, example, bad[0])} is {y[bad[0]]}; there are 0 to {last}, and {ignore_index} for "
            "what is to be ignored."
        )
    if axis is None or axis.kept is None:
        return y
    left: IntArray = axis.ranks()[axis.bounds[:-1][example] + y]
    hidden = np.flatnonzero(left < 0)
    if len(hidden):
        raise ValueError(
            f"target{_place(nodes, example, hidden[0])} is {y[hidden[0]]}, which the mask leaves out of {numbers}."
        )
    return left


def _place(nodes: Nodes, example: IntArray | None, k: int) -> list[int]:
    """Where the k'th number is in the target."""
    if nodes.layout.output_per_row or example is None:
        return nodes.rows.place(k)
    first = int(np.searchsorted(example, example[k]))
    return [int(example[k]), int(k) - first][: 1 + len(nodes.layout.output)]


def as_given(nodes: Nodes, outputs: list[IntArray], ignore_index: int) -> Tensor | list[Tensor]:
    """Outputs of the examples that are left, numbered as in the tensors given; what is not there is ignore_index."""
    y, sizes = np.concatenate([np.zeros(0, dtype=np.int64), *outputs]), np.zeros(len(nodes), dtype=np.int64)
    sizes[nodes.chosen()] = [len(part) for part in outputs]
    _check_sizes(nodes, sizes)
    if isinstance(nodes.layout.numbers, str):
        axis, example = nodes.axis(nodes.layout.numbers), np.repeat(np.arange(len(nodes)), sizes)
        y = y if axis.kept is None else axis.position[axis.offsets[:-1][example] + y]
    device, size = nodes.tensor.device, nodes.layout.output_size
    if size is not None:
        found = np.full((len(nodes), size), ignore_index)
        found[nodes.chosen()] = y.reshape(-1, size)
        return torch.from_numpy(found.reshape(len(nodes), *map(int, nodes.layout.output))).to(device)
    rows = nodes.rows if nodes.layout.output_per_row else _rows_of_own(sizes, isinstance(nodes.given, Tensor))
    flat = np.full(rows.bounds[-1], ignore_index)
    flat[rows.numbers] = y
    if rows.padded is not None:
        return torch.from_numpy(flat.reshape(len(nodes), rows.padded)).to(device)
    return [torch.from_numpy(part).to(device) for part in split_flat(flat, rows.bounds)]


def _check_sizes(nodes: Nodes, sizes: IntArray) -> None:
    """Whether outputs have as many numbers as the layout says."""
    left, size = nodes.chosen(), nodes.rows.counts if nodes.layout.output_per_row else nodes.layout.output_size
    needed = sizes if size is None else np.broadcast_to(size, sizes.shape)
    bad = left[sizes[left] != needed[left]]
    if len(bad):
        i = int(bad[0])
        raise ValueError(
            f"{nodes.name} gave example {i} an output of {sizes[i]} numbers; its layout says {nodes.layout!r}."
        )


def _rows_of_own(sizes: IntArray, padded: bool) -> Rows:
    """The places of outputs that have sizes of their own."""
    if not padded:
        return Rows.of(sizes, None, None)
    width = int(np.max(sizes, initial=0))
    return Rows.of(np.full(len(sizes), width), width, (np.arange(width) < sizes[:, None]).reshape(-1))
