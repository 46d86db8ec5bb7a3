"""Outputs of all examples in one array: they are checked and joined once, and then only handed on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from casimir.scores import IntArray, offsets_of

_INT64 = np.dtype(np.int64)


@dataclass(frozen=True, eq=False, slots=True)
class Outputs(Sequence[IntArray]):
    """Output i is flat[offsets[i]:offsets[i + 1]], a view; reads like the list of all of them.

    flat     int64[N]
    offsets  int64[n + 1]
    """

    flat: IntArray
    offsets: IntArray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return [self[i] for i in range(len(self))[key]]
        i = range(len(self))[key]
        return self.flat[self.offsets[i] : self.offsets[i + 1]]

    def __iter__(self) -> Iterator[IntArray]:
        return (self.flat[a:b] for a, b in pairwise(self.offsets.tolist()))


@dataclass(frozen=True, eq=False, slots=True)
class ShardedOutputs(Sequence[IntArray]):
    """The outputs of several shards, one after another; those of a shard are int32 and may be mapped.

    flats    int32[N_s] of every shard
    offsets  int64[n_s + 1] of every shard
    """

    flats: Sequence[npt.NDArray[np.int32]]
    offsets: Sequence[IntArray]

    def __len__(self) -> int:
        return sum(len(own) - 1 for own in self.offsets)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return [self[i] for i in range(len(self))[key]]
        i = range(len(self))[key]
        for flat, own in zip(self.flats, self.offsets, strict=True):
            if i < len(own) - 1:
                return flat[own[i] : own[i + 1]].astype(np.int64)
            i -= len(own) - 1
        raise IndexError(key)

    def shard(self, number: int) -> Outputs:
        """The outputs of one shard."""
        return Outputs(self.flats[number].astype(np.int64), self.offsets[number])


def in_shards(y: Outputs | ShardedOutputs) -> Iterator[tuple[int, Outputs]]:
    """(number of its first example, outputs) of every shard; of all at once where there are no shards."""
    if isinstance(y, Outputs):
        yield 0, y
        return
    first = 0
    for k, own in enumerate(y.offsets):
        yield first, y.shard(k)
        first += len(own) - 1


def as_outputs(y: Any) -> Outputs | ShardedOutputs | list[Any]:
    """The outputs in y, one per example; a list where some are masks of those that may be true, bool arrays."""
    if isinstance(y, Outputs | ShardedOutputs):
        return y
    given = list(y)
    if not _are_outputs(given):
        given = [_checked_output(output, i) for i, output in enumerate(given)]
        if not _are_outputs(given):
            return given
    return Outputs(np.concatenate([np.zeros(0, dtype=np.int64), *given]), offsets_of(list(map(len, given))))


def _are_outputs(given: list[Any]) -> bool:
    return all(isinstance(output, np.ndarray) and output.dtype == _INT64 and output.ndim == 1 for output in given)


def _checked_output(output: Any, example: int) -> Any:
    """int64[p] of one output, or a mask; numbers with a fraction are no labels."""
    array = np.atleast_1d(np.asarray(output))
    if array.dtype == np.bool_:
        return array
    if array.size and array.dtype.kind not in "iu":
        raise ValueError(f"y[{example}] has {array.dtype} entries; outputs are whole numbers such as label numbers.")
    return array.astype(np.int64, copy=False)
