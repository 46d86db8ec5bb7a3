"""The node scores of a batch: which tensors they come from, and what a structure reads of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from casimir._validate import all_finite, sequence_of
from casimir.scores import FloatArray, IntArray
from casimir.structures.base import Structure, split_flat
from casimir.torch.batch import Rows, TensorOrList, as_float64, flat_array, read_rows

_FORBID = "Scores must be finite; to forbid a part, give it a large negative score such as -1e6."


class Layout:
    """The node scores of a batch.

    given   as the user gave them: padded [B, T, ...], or a list of tensors
    nodes   one tensor with the scores of all examples, through which gradients go back
    tail    how many of its last dimensions belong to one row of Scores.nodes
    rows    which rows are there
    """

    tail: int = 0
    shape: str

    def __init__(self, structure: Structure, given: TensorOrList, mask: Any, lengths: Any, ignore_index: int) -> None:
        self.structure, self.ignore_index = structure, ignore_index
        self.given: TensorOrList = self._checked(given)
        self.nodes = self._one_tensor()
        self.rows = self._read_rows(mask, lengths)
        empty = np.flatnonzero(self.rows.counts == 0)
        if len(empty):
            raise ValueError(
                f"Example {empty[0]} has nothing left: its mask is False everywhere, or it is empty. Leave it out of "
                "the batch."
            )

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def name(self) -> str:
        return type(self.structure).__name__

    @property
    def is_padded(self) -> bool:
        return isinstance(self.given, Tensor)

    def index(self) -> IntArray | None:
        """int64[N]: the rows of nodes.reshape(-1, ...) that Scores.nodes holds, or None for all of them."""
        return self.rows.kept

    def offsets(self) -> IntArray:
        """int64[n + 1] into Scores.nodes, for the examples that are left."""
        return self.rows.left

    def shapes(self) -> IntArray | None:
        return None

    def read_targets(self, target: Any) -> FloatArray:
        """float64[B]: 1 for examples that count, 0 for those without a target. Drops rows that have none."""
        raise NotImplementedError

    def outputs(self) -> list[IntArray]:
        """The targets as outputs, one int64[p_i] per example that is left."""
        raise NotImplementedError

    def padded_outputs(self, outputs: list[IntArray]) -> Tensor | list[Tensor]:
        """Outputs of all examples in the numbering of the tensors given; what is not there is ignore_index."""
        raise NotImplementedError

    def chosen(self) -> IntArray:
        """int64[n]: the examples that have rows left."""
        return np.flatnonzero(self.rows.counts)

    def arrays(self) -> tuple[FloatArray, IntArray]:
        """nodes float64[N, ...] and offsets int64[n + 1] of the examples that are left; finite."""
        index, flat = self.index(), flat_array(self.nodes, self.tail)
        nodes = as_float64(flat if index is None else flat[index])
        if not all_finite(nodes):
            self._raise_not_finite(nodes, index)
        return nodes, self.offsets()

    def _raise_not_finite(self, nodes: FloatArray, index: IntArray | None) -> None:
        row, *rest = np.argwhere(~np.isfinite(nodes))[0].tolist()
        number = row if index is None else int(index[row])
        if isinstance(self.given, Tensor):
            leading = self.given.shape[: self.given.ndim - self.tail]
            place = [int(j) for j in np.unravel_index(number, leading)]
        else:
            place = self._ragged_place(row)
        value = nodes[(row, *rest)]
        raise ValueError(f"scores{[*place, *rest]} is {value}. {_FORBID}")

    def _ragged_place(self, row: int) -> list[int]:
        """Where a row of Scores.nodes is in a list of tensors."""
        return self.rows.place(row)

    def _checked(self, given: Any) -> TensorOrList:
        """A tensor of the right number of dimensions, or a list of such tensors."""
        dims = self.shape.count(",") + 1
        if isinstance(given, Tensor):
            if given.ndim != dims + 1:
                hint = " For a single example pass scores[None]." if given.ndim == dims else ""
                raise ValueError(f"scores has shape {list(given.shape)}; {self.name} needs [B, {self.shape}].{hint}")
            check_floating(given, "scores")
            return given
        parts = list(sequence_of(given, "scores"))
        for i, part in enumerate(parts):
            if not isinstance(part, Tensor):
                raise TypeError(f"scores[{i}] is a {type(part).__name__}; it must be a torch.Tensor.")
            if part.ndim != dims:
                raise ValueError(f"scores[{i}] has shape {list(part.shape)}; {self.name} needs [{self.shape}].")
            check_floating(part, f"scores[{i}]")
        if not parts:
            raise ValueError("scores is an empty list; a batch needs one example or more.")
        return parts

    def _one_tensor(self) -> Tensor:
        if isinstance(self.given, Tensor):
            return self.given
        return torch.cat([part.reshape(-1, *part.shape[part.ndim - self.tail :]) for part in self.given])

    def _read_rows(self, mask: Any, lengths: Any) -> Rows:
        return read_rows(self.given, mask, lengths, "scores")

    def _row_shape(self) -> tuple[int, ...] | list[int]:
        """Of integers that come with the rows, as `read_integers` takes it."""
        if isinstance(self.given, Tensor):
            return tuple(self.given.shape[:2])
        sizes: list[int] = np.diff(self.rows.bounds).tolist()
        return sizes

    def _padded_rows(self, values: IntArray) -> Tensor | list[Tensor]:
        """One number per kept row in its place, ignore_index elsewhere."""
        flat = np.full(self.rows.bounds[-1], self.ignore_index)
        flat[self.rows.numbers] = values
        if isinstance(self.given, Tensor):
            return torch.from_numpy(flat.reshape(self.given.shape[:2])).to(self.nodes.device)
        return [torch.from_numpy(part).to(self.nodes.device) for part in split_flat(flat, self.rows.bounds)]

    def _bad_target(self, row: int, value: int, largest: int) -> ValueError:
        place = self.rows.place(row)
        return ValueError(
            f"target{place} is {value}; there are 0 to {largest}, and {self.ignore_index} for what is to be ignored."
        )


def tensors_of(given: Any, name: str) -> Sequence[Tensor]:
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
