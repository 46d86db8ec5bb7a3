"""Which parts each example may use, given as arrays of bool, one per example."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from casimir._validate import sequence_of
from casimir.scores import IntArray, offsets_of, ragged_rows

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Masks:
    """True where a part is allowed.

    rows     bool[M] or bool[M, L]: the masks of all examples one after another
    offsets  int64[n + 1]: example i owns rows offsets[i]:offsets[i + 1]
    given    bool[n]: False where an example has no mask; it owns no rows, and everything is allowed
    shapes   int64[n, 2]: the shape of each mask when they are matrices that rows hold in C order; else None
    """

    rows: BoolArray
    offsets: IntArray
    given: BoolArray
    shapes: IntArray | None = None

    @classmethod
    def of(cls, masks: Any, name: str, tail: tuple[int, ...]) -> Masks:
        """From a list of bool[p_i, *tail], or None for an example whose parts are all allowed."""
        if isinstance(masks, Masks):
            return masks
        needed = "[" + ", ".join(["p", *map(str, tail)]) + "]"
        parts = [_mask(a, f"{name}[{i}]", 1 + len(tail), needed) for i, a in enumerate(sequence_of(masks, name))]
        for i, part in enumerate(parts):
            if part is not None and part.shape[1:] != tail:
                raise ValueError(f"{name}[{i}] has shape {list(part.shape)}; it must be {needed}.")
        return _join(parts, tail)

    @classmethod
    def of_matrices(cls, masks: Any, name: str) -> Masks:
        """From a list of bool[p_i, q_i], or None for an example whose parts are all allowed."""
        parts = [_mask(a, f"{name}[{i}]", 2, "[p, q]") for i, a in enumerate(sequence_of(masks, name))]
        flat = _join([None if part is None else part.reshape(-1) for part in parts], ())
        shapes = np.array([(0, 0) if part is None else part.shape for part in parts], dtype=np.int64).reshape(-1, 2)
        return cls(flat.rows, flat.offsets, flat.given, shapes)

    def __len__(self) -> int:
        return len(self.given)

    @cached_property
    def allow_all(self) -> bool:
        """Whether nothing is forbidden."""
        return bool(self.rows.all())

    def __getitem__(self, i: int) -> BoolArray | None:
        """The mask of example i."""
        i = range(len(self))[i]
        if not self.given[i]:
            return None
        rows = self.rows[self.offsets[i] : self.offsets[i + 1]]
        return rows if self.shapes is None else rows.reshape(self.shapes[i])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Masks) and all(
            np.array_equal(a, b)
            for a, b in ((self.rows, other.rows), (self.offsets, other.offsets), (self.given, other.given))
        )

    __hash__ = None  # type: ignore[assignment]

    def __and__(self, other: Masks) -> Masks:
        """What both allow, example by example."""
        if len(self) != len(other):
            raise ValueError(
                f"allowed has {len(other)} entries for {len(self)} examples; give one per example, or None."
            )
        for i in np.flatnonzero(self.given & other.given).tolist():
            mine, yours = self._shape(i), other._shape(i)
            if mine != yours:
                raise ValueError(f"allowed[{i}] has shape {yours}; example {i} needs {mine}.")
        parts = [_both(self[i], other[i]) for i in range(len(self))]
        if self.shapes is None or other.shapes is None:
            return _join(parts, self.rows.shape[1:])
        shapes = np.where(self.given[:, None], self.shapes, other.shapes)
        flat = _join([None if part is None else part.reshape(-1) for part in parts], ())
        return Masks(flat.rows, flat.offsets, flat.given, shapes)

    def select(self, examples: Any) -> Masks:
        chosen = np.arange(len(self))[examples]
        rows, offsets = ragged_rows(self.offsets, chosen)
        shapes = None if self.shapes is None else self.shapes[chosen]
        return Masks(self.rows[rows], offsets, self.given[chosen], shapes)

    def check(self, offsets: IntArray, owner: str, shapes: IntArray | None = None) -> None:
        """Whether the masks belong to examples with the given offsets and, if they are matrices, shapes."""
        if len(offsets) - 1 != len(self):
            raise ValueError(
                f"{owner} has the allowed parts of {len(self)} examples and got scores of {len(offsets) - 1}. "
                f"For a sub-batch use {owner}.select(examples)."
            )
        here, needed = np.diff(self.offsets), np.diff(offsets)
        bad = np.flatnonzero(self.given & (here != needed))
        if len(bad):
            i = bad[0]
            raise ValueError(
                f"Example {i} has scores of {needed[i]} rows, and {here[i]} rows say what is allowed in it. "
                f"For a sub-batch use {owner}.select(examples)."
            )
        if shapes is None or self.shapes is None:
            return
        for i in np.flatnonzero(self.given & (shapes != self.shapes).any(axis=1)).tolist():
            raise ValueError(f"allowed[{i}] has shape {self._shape(i)}; example {i} has scores {shapes[i].tolist()}.")

    def over(self, offsets: IntArray) -> BoolArray:
        """bool[N] or bool[N, L]: the masks in the layout of scores with the given offsets; not to be written to."""
        if self.given.all():
            return self.rows
        full = np.ones((offsets[-1], *self.rows.shape[1:]), dtype=np.bool_)
        full[ragged_rows(offsets, np.flatnonzero(self.given))[0]] = self.rows
        return full

    def _shape(self, i: int) -> list[int]:
        mask = self[i]
        return [] if mask is None else list(mask.shape)


class Seen:
    """Examples that were looked at before, shared by all sub-batches: what is found once need not be asked again.

    size  the number of examples, or None where only the length of an example counts
    """

    def __init__(self, size: int | None) -> None:
        self._known: set[int] = set()
        self._length = np.zeros(size or 0, dtype=np.int64)
        self._which = None if size is None else np.arange(size)

    def covers(self, lengths: IntArray) -> bool:
        if self._which is None:
            return self._known.issuperset(lengths.tolist())
        return np.array_equal(self._length[self._which], lengths)

    def add(self, lengths: IntArray) -> None:
        if self._which is None:
            self._known.update(lengths.tolist())
        else:
            self._length[self._which] = lengths

    def select(self, chosen: IntArray) -> Seen:
        part = object.__new__(Seen)
        part._known, part._length = self._known, self._length
        part._which = None if self._which is None else self._which[chosen]
        return part


def bool_array(x: Any, name: str, shape: tuple[int, ...]) -> BoolArray:
    """A read-only bool[shape]."""
    array = np.array(x, order="C")
    if array.dtype != np.bool_:
        raise TypeError(f"{name} has dtype {array.dtype}; it must be bool{list(shape)}, True where it is allowed.")
    if array.shape != shape:
        raise ValueError(f"{name} has shape {list(array.shape)}; it must be bool{list(shape)}.")
    array.flags.writeable = False
    return array


def _mask(x: Any, name: str, ndim: int, needed: str) -> BoolArray | None:
    if x is None:
        return None
    array = np.asarray(x)
    if array.dtype != np.bool_:
        raise TypeError(
            f"{name} has dtype {array.dtype}; it must be bool{needed}, True where a part is allowed, or None."
        )
    if array.ndim != ndim or not len(array):
        raise ValueError(f"{name} has shape {list(array.shape)}; it must be {needed} with p >= 1, or None.")
    return array


def _both(a: BoolArray | None, b: BoolArray | None) -> BoolArray | None:
    if a is None or b is None:
        return a if b is None else b
    return a & b


def _join(parts: Sequence[BoolArray | None], tail: tuple[int, ...]) -> Masks:
    there = [part for part in parts if part is not None]
    rows = np.ascontiguousarray(np.concatenate([np.zeros((0, *tail), dtype=np.bool_), *there]))
    given = np.array([part is not None for part in parts], dtype=np.bool_)
    return Masks(rows, offsets_of([0 if part is None else len(part) for part in parts]), given)
