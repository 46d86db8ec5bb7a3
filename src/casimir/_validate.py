"""Input checks. Every message says what was given, what is needed and, where it helps, what to try."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from casimir._frames import is_frame
from casimir._outputs import Outputs
from casimir.scores import FloatArray, IntArray, offsets_of

_SMALL = 4096  # entries
_TOO_LARGE = 2**62  # leaves room in an int64 of the core
_LEAST_SUM, _LARGEST_SUM = 1e-300, 1e100  # of weights of examples


def positive_int(value: Any, name: str) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}={value!r}; it must be a whole number, 1 or larger.") from None
    if isinstance(value, bool | np.bool_) or number < 1:
        raise ValueError(f"{name}={value!r}; it must be a whole number, 1 or larger.")
    if number >= _TOO_LARGE:
        raise ValueError(f"{name}={value!r}; it must be below 2^62.")
    return number


def positive_float(value: Any, name: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name}={value!r}; it must be a number larger than 0.") from None
    if not (number > 0 and math.isfinite(number)):
        raise ValueError(f"{name}={value!r}; it must be finite and larger than 0.")
    return number


def weights_of(given: Any, n: int, name: str = "sample_weight") -> FloatArray:
    """float64[n]: weights of n examples, 0 or larger. They may all be 0; else their sum is one to divide by."""
    weights = np.asarray(given)
    if weights.dtype.kind not in "fiub" or weights.shape != (n,):
        raise ValueError(f"{name} has shape {list(weights.shape)}; it must be {n} numbers, one per example.")
    weights = weights.astype(np.float64)
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0.0)))
    if len(bad):
        raise ValueError(f"{name}[{bad[0]}] is {weights[bad[0]]}; weights must be finite, 0 or larger.")
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    if weights.any() and not _LEAST_SUM <= total <= _LARGEST_SUM:
        raise ValueError(
            f"{name} adds up to {total:g}; it must be {_LEAST_SUM:g} at the least and {_LARGEST_SUM:g} at the most. "
            "Divide the weights by their mean."
        )
    return weights


def as_float(x: Any, name: str) -> FloatArray:
    """A C-contiguous float64 array of the same shape; finiteness is checked by `all_finite`."""
    try:
        array = np.asarray(x)
    except ValueError:
        raise ValueError(f"{name} is ragged; it must be a rectangular array of numbers.") from None
    if array.size and array.dtype.kind not in "fiub":
        raise TypeError(f"{name} has dtype {array.dtype}; it must hold real numbers.")
    return np.asarray(array, dtype=np.float64, order="C")


def all_finite(array: npt.NDArray[np.floating[Any]]) -> bool:
    """One sum is several times cheaper than np.isfinite; it is wrong only on overflow, which is looked at again.

    Where there is little to add up, what np.errstate costs is more.
    """
    if array.size < _SMALL:
        return bool(np.isfinite(array).all())
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(array.sum())) or bool(np.isfinite(array).all())


def finite_float(x: Any, name: str) -> FloatArray:
    array = as_float(x, name)
    if not all_finite(array):
        raise ValueError(_not_finite(array, name))
    return array


def _not_finite(array: FloatArray, name: str) -> str:
    where = tuple(int(j) for j in np.argwhere(~np.isfinite(array))[0])
    return (
        f"{name} has {array[where]} at index {list(where)}; scores must be finite. "
        "To forbid a part, give it a large negative score such as -1e6."
    )


def sequence_of(x: Any, name: str) -> Sequence[Any]:
    """x itself if it has one entry per example."""
    if isinstance(x, str | bytes | dict) or is_frame(x) or not hasattr(x, "__len__") or not hasattr(x, "__getitem__"):
        raise TypeError(f"{name} is a {type(x).__name__}; it must be a list with one entry per example.")
    if isinstance(x, np.ndarray) and x.ndim == 0:
        raise TypeError(f"{name} is a scalar; it must be a list with one entry per example.")
    result: Sequence[Any] = x
    return result


def ragged_float(arrays: Any, name: str, tail: tuple[int, ...]) -> tuple[FloatArray, IntArray]:
    """float64[N, *tail] and offsets int64[n + 1] from a list of finite arrays [p_i, *tail], p_i >= 1."""
    given = sequence_of(arrays, name)
    parts = [as_float(a, f"{name}[{i}]") for i, a in enumerate(given)]
    needed = "[" + ", ".join(["p", *map(str, tail)]) + "]"
    for i, part in enumerate(parts):
        if part.ndim != 1 + len(tail) or part.shape[1:] != tail:
            hint = f" For a single example pass [{name}]." if i == 0 and part.ndim == len(tail) else ""
            raise ValueError(f"{name}[{i}] has shape {list(part.shape)}; it must be {needed} with p >= 1.{hint}")
        if not len(part):
            raise ValueError(f"{name}[{i}] is empty; every example needs at least one row. Leave empty examples out.")
    offsets = offsets_of([len(part) for part in parts])
    flat = np.concatenate(parts) if parts else np.zeros((0, *tail))
    check_finite_parts(flat, parts, name)
    return flat, offsets


def check_finite_parts(flat: FloatArray, parts: Sequence[FloatArray], name: str) -> None:
    """One pass over all examples; only when it fails is the example looked for."""
    if not all_finite(flat):
        i = next(i for i, part in enumerate(parts) if not np.isfinite(part).all())
        raise ValueError(_not_finite(parts[i], f"{name}[{i}]"))


def flat_labels(outputs: Any, lengths: IntArray, n_labels: int | IntArray, name: str = "outputs") -> IntArray:
    """int64[sum lengths] from a list of integer arrays; n_labels bounds the labels (one number, or one per example)."""
    if isinstance(outputs, Outputs) and np.array_equal(np.diff(outputs.offsets), lengths):
        flat = outputs.flat
    else:
        flat = _joined(outputs, lengths, name)
    bounds = n_labels if np.ndim(n_labels) == 0 else np.repeat(n_labels, lengths)
    bad = np.flatnonzero((flat < 0) | (flat >= bounds))
    if len(bad):
        example = int(np.searchsorted(np.cumsum(lengths), bad[0], side="right"))
        last = np.broadcast_to(bounds, flat.shape)[bad[0]] - 1
        raise ValueError(f"{name}[{example}] holds {flat[bad[0]]}; example {example} has the labels 0 to {last}.")
    return flat


def _joined(outputs: Any, lengths: IntArray, name: str) -> IntArray:
    """int64[sum lengths] from a list of integer arrays of these lengths."""
    given = sequence_of(outputs, name)
    if len(given) != len(lengths):
        raise ValueError(f"{name} has {len(given)} entries for {len(lengths)} examples; give one output per example.")
    parts = [np.asarray(y) for y in given]
    for i, (part, length) in enumerate(zip(parts, lengths, strict=True)):
        if part.ndim != 1 or len(part) != length:
            raise ValueError(f"{name}[{i}] has shape {list(part.shape)}; example {i} needs [{length}].")
        if part.dtype.kind not in "iu":
            raise TypeError(f"{name}[{i}] has dtype {part.dtype}; an output is an array of integers.")
    return np.concatenate(parts).astype(np.int64) if parts else np.zeros(0, dtype=np.int64)
