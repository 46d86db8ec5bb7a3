"""The node scores of a batch: which tensors they come from, and what a structure reads of them."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch
from torch import Tensor

from casimir._validate import all_finite, sequence_of
from casimir.scores import FloatArray, IntArray, offsets_of, ragged_rows
from casimir.structures.base import Structure
from casimir.structures.layout import TensorLayout
from casimir.torch.batch import BoolArray, Rows, TensorOrList, as_float64, as_mask, flat_array, read_rows

_FORBID = "Scores must be finite; to forbid a part, give it a large negative score such as -1e6."


class Nodes:
    """The node scores of a batch, in the layout that the structure declares.

    given    as the user gave them: padded [B, T, ...], or a list of tensors
    tensor   one tensor with the scores of all examples, through which gradients go back
    tail     how many of its last dimensions belong to one row of Scores.nodes
    rows     which entries of the first axis are there
    columns  which of the second, where examples may differ in it
    """

    def __init__(self, structure: Structure, given: Any, mask: Any = None, lengths: Any = None) -> None:
        self.structure, self.layout = structure, _declared(structure)
        self.tail = 0 if self.layout.n_labels is None else 1
        self.given = self._checked(given)
        self.tensor = self._one_tensor()
        mask, self._columns = self._split(mask)
        self.rows = read_rows(self.given, mask, lengths, "scores")
        self._check_holes()

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def name(self) -> str:
        return type(self.structure).__name__

    @property
    def columns(self) -> Rows | None:
        return self.rows if self.layout.is_square else self._columns

    def axis(self, name: str) -> Rows:
        """The entries of the axis with this name."""
        return self.rows if self.columns is None or name == self.layout.nodes[0] else self.columns

    def without(self, drop: BoolArray) -> Nodes:
        """The same without the kept rows that drop bool[N] marks."""
        if not drop.any():
            return self
        left = copy.copy(self)
        left.rows = self.rows.without(drop)
        left._check_holes()
        return left

    def chosen(self) -> IntArray:
        """int64[n]: the examples that have rows left."""
        return np.flatnonzero(self.rows.counts)

    def index(self) -> IntArray | None:
        """int64[N]: the rows of tensor.reshape(-1, ...) that Scores.nodes holds, or None for all of them."""
        rows, columns = self.rows, self.columns
        if columns is None or (rows.kept is None and columns.kept is None):
            return rows.kept
        width = np.diff(columns.bounds)  # of every example, as given
        starts = offsets_of(np.diff(rows.bounds) * width)[:-1]
        example = rows.example
        cells, offsets = ragged_rows(columns.offsets, example)
        return np.repeat(starts[example] + rows.position * width[example], np.diff(offsets)) + columns.position[cells]

    def arrays(self) -> tuple[FloatArray, IntArray, IntArray | None]:
        """nodes float64[N, ...], offsets int64[n + 1] and shapes int64[n, 2] of the examples that are left; finite."""
        index, flat = self.index(), flat_array(self.tensor, self.tail)
        nodes = as_float64(flat if index is None else flat[index])
        if not all_finite(nodes):
            row, *rest = np.argwhere(~np.isfinite(nodes))[0].tolist()
            place = self._place(row if index is None else int(index[row]))
            raise ValueError(f"scores{[*place, *rest]} is {nodes[(row, *rest)]}. {_FORBID}")
        if self.columns is None:
            return nodes, self.rows.left, None
        shapes = np.stack([self.rows.counts, self.columns.counts], axis=1)[self.chosen()]
        return nodes, offsets_of(shapes.prod(axis=1)), shapes

    def row_shape(self) -> tuple[int, ...] | list[int]:
        """Of integers that come with the rows, as `read_integers` takes it."""
        if isinstance(self.given, Tensor):
            return tuple(self.given.shape[:2])
        sizes: list[int] = np.diff(self.rows.bounds).tolist()
        return sizes

    def _place(self, number: int) -> list[int]:
        """Where a row of tensor.reshape(-1, ...) is in what was given."""
        if isinstance(self.given, Tensor):
            return [int(j) for j in np.unravel_index(number, self.tensor.shape[: self.tensor.ndim - self.tail])]
        shapes = [part.shape[: part.ndim - self.tail] for part in self.given]
        bounds = offsets_of([shape.numel() for shape in shapes])
        example = int(np.searchsorted(bounds, number, side="right")) - 1
        return [example, *(int(j) for j in np.unravel_index(number - bounds[example], shapes[example]))]

    def _checked(self, given: Any) -> TensorOrList:
        """A tensor whose axes are those of the layout, or a list of such tensors."""
        if isinstance(given, Tensor):
            if not self.layout.fits(given.shape[1:]):
                hint = " For a single example pass scores[None]." if self.layout.fits(given.shape) else ""
                raise ValueError(f"scores has shape {list(given.shape)}; {self.name} needs [B, {self.layout}].{hint}")
            check_floating(given, "scores")
            return given
        parts = tensors_of(given, "scores")
        for i, part in enumerate(parts):
            if not self.layout.fits(part.shape):
                raise ValueError(f"scores[{i}] has shape {list(part.shape)}; {self.name} needs [{self.layout}].")
        if not parts:
            raise ValueError("scores is an empty list; a batch needs one example or more.")
        return parts

    def _one_tensor(self) -> Tensor:
        if isinstance(self.given, Tensor):
            return self.given
        return torch.cat([part.reshape(-1, *part.shape[part.ndim - self.tail :]) for part in self.given])

    def _split(self, mask: Any) -> tuple[Any, Rows | None]:
        """The mask of rows, and the columns where examples may differ in them."""
        if not self.layout.has_columns or self.layout.is_square:
            return mask, None
        if not isinstance(self.given, Tensor):
            return mask, Rows.of(np.array([part.shape[1] for part in self.given]), None, None)
        size, _, width = self.given.shape
        if mask is None or np.ndim(mask) != 3:
            return mask, Rows.of(np.full(size, width), width, None)
        cells = as_mask(mask, "mask")
        if cells.shape != tuple(self.given.shape):
            raise ValueError(f"mask has shape {list(cells.shape)}; scores {list(self.given.shape)} need the same.")
        rows, columns = np.any(cells, axis=2), np.asarray(np.any(cells, axis=1))
        if not np.array_equal(cells, rows[:, :, None] & columns[:, None]):
            raise ValueError(
                "mask leaves out single cells; it can leave out whole rows and columns. To forbid a cell, give it "
                "a large negative score such as -1e6."
            )
        if self.layout.keeps_last_column and not columns[:, -1].all():
            raise ValueError(f"mask leaves out the last column of [B, {self.layout}], which a {self.name} needs.")
        return rows, Rows.of(np.full(size, width), width, columns.reshape(-1))

    def _check_holes(self) -> None:
        for axis in () if self.layout.holes else (self.rows, self.columns):
            hole = None if axis is None else axis.first_hole()
            if hole is not None:
                raise ValueError(
                    f"{'Row' if axis is self.rows else 'Column'} {hole[1]} of example {hole[0]} is left out and a "
                    f"later one is not; a {self.name} has no holes, only its last ones may be left out."
                )


def _declared(structure: Any) -> TensorLayout:
    layout = getattr(structure, "layout", None)
    if not isinstance(layout, TensorLayout):
        raise TypeError(
            f"{type(structure).__name__} has no `layout`, a casimir.structures.TensorLayout that says how its scores "
            "and outputs lie in tensors, such as TensorLayout(nodes=('T', 2), output=(2,), numbers='T')."
        )
    return layout


def tensors_of(given: Any, name: str) -> list[Tensor]:
    """A list of tensors, floating point ones."""
    parts = list(sequence_of(given, name))
    for i, part in enumerate(parts):
        if not isinstance(part, Tensor):
            raise TypeError(f"{name}[{i}] is a {type(part).__name__}; it must be a torch.Tensor.")
        check_floating(part, f"{name}[{i}]")
    return parts


def check_floating(tensor: Tensor, name: str) -> None:
    if not tensor.is_floating_point():
        raise TypeError(f"{name} has dtype {tensor.dtype}; scores are floating point numbers, such as torch.float32.")
