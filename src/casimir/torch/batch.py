"""A batch of tensors, padded or ragged, as a structure reads it: which rows are there, and where they came from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from casimir.scores import FloatArray, IntArray, offsets_of

BoolArray = npt.NDArray[np.bool_]
TensorOrList = Tensor | Sequence[Tensor]


@dataclass(frozen=True, eq=False, slots=True)
class Rows:
    """The rows of a batch of B examples, and which of them are kept.

    A row is what a mask can leave out: a position of a chain, a node, a candidate, a row of a matching. The rows of
    all examples lie one after another; a padded example has T of them, a ragged one its own number.

    bounds   int64[B + 1]: example i owns the rows bounds[i]:bounds[i + 1]
    kept     int64[N]: the rows that are kept, or None for all of them
    offsets  int64[B + 1] into the kept ones
    counts   int64[B]: kept rows of each example
    padded   T, or None where the batch is ragged
    """

    bounds: IntArray
    kept: IntArray | None
    offsets: IntArray
    counts: IntArray
    padded: int | None

    @classmethod
    def of(cls, sizes: IntArray, padded: int | None, keep: BoolArray | None) -> Rows:
        """sizes int64[B]: rows of each example; keep bool[sum sizes]."""
        bounds = offsets_of(sizes)
        if keep is None or keep.all():
            return cls(bounds, None, bounds, sizes, padded)
        offsets = np.concatenate([[0], np.cumsum(keep)])[bounds]
        return cls(bounds, np.flatnonzero(keep), offsets, np.diff(offsets), padded)

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @property
    def left(self) -> IntArray:
        """int64[n + 1]: offsets of the examples that have rows left."""
        there = self.counts > 0
        return self.offsets if there.all() else self.offsets[np.concatenate([[True], there])]

    @property
    def numbers(self) -> IntArray:
        """int64[N]: the number of each kept row among all rows."""
        return np.arange(self.bounds[-1]) if self.kept is None else self.kept

    @property
    def example(self) -> IntArray:
        """int64[N]: the example of each kept row."""
        return np.repeat(np.arange(len(self)), self.counts)

    @property
    def position(self) -> IntArray:
        """int64[N]: the place of each kept row in its example, as it was given."""
        return self.numbers - np.repeat(self.bounds[:-1], self.counts)

    def ranks(self) -> IntArray:
        """int64[sum sizes]: the place of each row among the kept ones of its example, -1 where it is not kept."""
        ranks = np.full(self.bounds[-1], -1)
        ranks[self.numbers] = self._rank
        return ranks

    def first_hole(self) -> list[int] | None:
        """[example, position] of the first row that is not kept though a later one of its example is."""
        if self.kept is None:
            return None
        behind = np.flatnonzero(self.position != self._rank)
        return [int(self.example[behind[0]]), int(self._rank[behind[0]])] if len(behind) else None

    @property
    def _rank(self) -> IntArray:
        """int64[N]: the place of each kept row among those of its example."""
        return np.arange(self.offsets[-1]) - np.repeat(self.offsets[:-1], self.counts)

    def take(self, flat: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The kept entries of flat [sum sizes, ...]; flat itself where all are kept."""
        return flat if self.kept is None else flat[self.kept]

    def place(self, row: int) -> list[int]:
        """[example, position] of the row'th kept row."""
        number = int(self.numbers[row])
        example = int(np.searchsorted(self.bounds, number, side="right")) - 1
        return [example, number - int(self.bounds[example])]

    def without(self, drop: BoolArray) -> Rows:
        """The same without the kept rows that drop bool[N] marks."""
        if not drop.any():
            return self
        keep = np.zeros(self.bounds[-1], dtype=np.bool_)
        keep[self.numbers[~drop]] = True
        return Rows.of(np.diff(self.bounds), self.padded, keep)


def read_rows(given: TensorOrList, mask: Any, lengths: Any, name: str) -> Rows:
    """The rows of scores [B, T, ...] or of a list of [p_i, ...], without those that mask or lengths leave out."""
    if mask is not None and lengths is not None:
        raise ValueError("Both mask and lengths are given; give one of them.")
    if not isinstance(given, Tensor):
        return _ragged_rows(given, mask, lengths, name)
    size, width = given.shape[:2]
    sizes = np.full(size, width)
    if lengths is not None:
        return Rows.of(sizes, width, (np.arange(width) < _read_lengths(lengths, size, width)[:, None]).reshape(-1))
    if mask is None:
        return Rows.of(sizes, width, None)
    keep = as_mask(mask, "mask")
    if keep.shape != (size, width):
        raise ValueError(f"mask has shape {list(keep.shape)}; {name} {list(given.shape)} need {[size, width]}.")
    return Rows.of(sizes, width, keep.reshape(-1))


def _ragged_rows(given: Sequence[Tensor], mask: Any, lengths: Any, name: str) -> Rows:
    sizes = np.array([len(part) for part in given], dtype=np.int64)
    if lengths is not None:
        raise ValueError(f"{name} is a list, whose tensors have lengths of their own; leave lengths out.")
    if mask is None:
        return Rows.of(sizes, None, None)
    if isinstance(mask, Tensor) or len(mask) != len(given):
        raise ValueError(f"{name} is a list of {len(given)} tensors; mask must be a list of as many, one per example.")
    masks = [as_mask(m, f"mask[{i}]") for i, m in enumerate(mask)]
    for i, part in enumerate(masks):
        if part.shape != (sizes[i],):
            raise ValueError(f"mask[{i}] has shape {list(part.shape)}; {name}[{i}] needs {[int(sizes[i])]}.")
    return Rows.of(sizes, None, np.concatenate([np.zeros(0, dtype=np.bool_), *masks]))


def as_mask(mask: Any, name: str) -> BoolArray:
    """bool of the same shape; True and 1 are kept."""
    array = _as_array(mask)
    if array.dtype == np.bool_:
        return array
    if array.dtype.kind not in "iu" or not np.isin(array, (0, 1)).all():
        raise TypeError(f"{name} has dtype {array.dtype}; it must be bool, or integers 0 and 1: True or 1 is kept.")
    return array.astype(np.bool_)


def _read_lengths(lengths: Any, size: int, width: int) -> IntArray:
    array = _as_array(lengths)
    if array.shape != (size,) or array.dtype.kind not in "iu":
        raise ValueError(f"lengths is {array.dtype}{list(array.shape)}; it must be {size} whole numbers.")
    bad = np.flatnonzero((array < 0) | (array > width))
    if len(bad):
        raise ValueError(f"lengths[{bad[0]}] is {array[bad[0]]}; the scores have room for 0 to {width} rows.")
    return array.astype(np.int64)


def read_integers(given: Any, shape: tuple[int, ...] | list[int], name: str) -> IntArray:
    """Flat int64 from a tensor of the given shape, or from a list with shape[i] entries per example."""
    if isinstance(shape, tuple):
        try:
            array = _as_array(given)
        except ValueError:
            raise ValueError(f"{name} is ragged; the scores are one tensor, so it must be {list(shape)} too.") from None
        if array.shape != shape:
            raise ValueError(f"{name} has shape {list(array.shape)}; the scores need {list(shape)}.")
    else:
        if isinstance(given, Tensor) or len(given) != len(shape):
            raise ValueError(f"{name} must be a list of {len(shape)} tensors, as the scores are.")
        parts = [_as_array(part) for part in given]
        for i, (part, size) in enumerate(zip(parts, shape, strict=True)):
            if part.shape != (size,):
                raise ValueError(f"{name}[{i}] has shape {list(part.shape)}; the scores need {[size]}.")
        array = np.concatenate([np.zeros(0, dtype=np.int64), *parts])
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} has dtype {array.dtype}; it must hold whole numbers, such as torch.int64.")
    return np.ascontiguousarray(array.reshape(-1), dtype=np.int64)


def _as_array(given: Any) -> npt.NDArray[Any]:
    if isinstance(given, list | tuple):
        given = [_as_array(part) if isinstance(part, Tensor) else part for part in given]
    return np.asarray(given.detach().cpu() if isinstance(given, Tensor) else given)


def flat_array(tensor: Tensor, tail: int) -> npt.NDArray[Any]:
    """The tensor as an array [*, ...] that keeps the last `tail` dimensions; a view where it can be one."""
    plain = tensor.detach()
    if plain.dtype not in (torch.float32, torch.float64):
        plain = plain.to(torch.float64)
    array: npt.NDArray[Any] = plain.cpu().numpy()
    return array.reshape(-1, *array.shape[array.ndim - tail :])


def as_float64(array: npt.NDArray[Any]) -> FloatArray:
    return np.ascontiguousarray(array, dtype=np.float64)


def scattered(values: FloatArray, kept: IntArray | None, like: Tensor, tail: int) -> Tensor:
    """A tensor like another with the values in the kept rows and 0 elsewhere; one copy."""
    dtype = torch.promote_types(like.dtype, torch.float32)
    if kept is None:
        return torch.from_numpy(values.reshape(like.shape)).to(like.device, like.dtype, copy=True)
    out = torch.zeros(like.shape, dtype=dtype)
    flat_array(out, tail)[kept] = values
    return out.to(like)
