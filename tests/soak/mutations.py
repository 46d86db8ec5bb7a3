"""Random damage to bytes, and random changes of what JSON says."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

STRANGE = [b"\0", b"\xff" * 8, b"\r", b"\n\n", b"\t", b"0" * 40, b"-1", b"1e400", b"{", b"]", b'"', b"\xe3\x80\x80"]
VALUES: list[Any] = [None, True, -1, 0, 2**31, 2**63, 10**30, -0.5, 1e308, "", "x", [], {}, [[]], {"a": 1}, ["O", "O"]]


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    """One to four changes of the bytes."""
    changed = bytearray(data)
    for _ in range(int(rng.integers(1, 5))):
        rng.choice(np.array(_CHANGES, dtype=object))(changed, rng)
    return bytes(changed)


def _flip(data: bytearray, rng: np.random.Generator) -> None:
    if data:
        data[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))


def _cut(data: bytearray, rng: np.random.Generator) -> None:
    del data[int(rng.integers(len(data) + 1)) :]


def _remove(data: bytearray, rng: np.random.Generator) -> None:
    start = int(rng.integers(len(data) + 1))
    del data[start : start + int(rng.integers(1, 30))]


def _double(data: bytearray, rng: np.random.Generator) -> None:
    start = int(rng.integers(len(data) + 1))
    data[start:start] = data[start : start + int(rng.integers(1, 60))]


def _insert(data: bytearray, rng: np.random.Generator) -> None:
    start = int(rng.integers(len(data) + 1))
    data[start:start] = STRANGE[int(rng.integers(len(STRANGE)))]


def _overwrite(data: bytearray, rng: np.random.Generator) -> None:
    start, size = int(rng.integers(len(data) + 1)), int(rng.integers(1, 9))
    data[start : start + size] = rng.bytes(min(size, len(data) - start))


_CHANGES: list[Callable[[bytearray, np.random.Generator], None]] = [
    _flip,
    _flip,
    _cut,
    _remove,
    _double,
    _insert,
    _overwrite,
]


def changed_json(given: Any, rng: np.random.Generator) -> Any:
    """A copy in which one entry, somewhere, is another one, is missing, or comes twice."""
    whole = {"": copy.deepcopy(given)}
    inner: Any = whole
    key: Any = ""
    while isinstance(inner[key], dict | list) and len(inner[key]) and (key == "" or rng.random() < 0.8):
        inner = inner[key]
        places = list(inner) if isinstance(inner, dict) else range(len(inner))
        key = places[int(rng.integers(len(places)))]
    how = rng.integers(4)
    if how == 0 and inner is not whole:
        del inner[key]
    elif how == 1 and isinstance(inner, list):
        inner.append(inner[key])
    elif how == 2 and isinstance(inner[key], int | float) and not isinstance(inner[key], bool):
        inner[key] = inner[key] * int(rng.integers(-3, 1000)) + int(rng.integers(-2, 3))
    else:
        inner[key] = VALUES[int(rng.integers(len(VALUES)))]
    return whole[""]


def changed_arrays(arrays: dict[str, np.ndarray], rng: np.random.Generator) -> dict[str, np.ndarray]:
    """One array is of another shape, type or content, or is missing."""
    found = {name: array.copy() for name, array in arrays.items()}
    if not found:
        return {"extra": np.zeros(3)}
    name = sorted(found)[int(rng.integers(len(found)))]
    array, how = found[name], rng.integers(6)
    if how == 0:
        del found[name]
    elif how == 1:
        found[name] = array[: int(rng.integers(len(array) + 1))] if array.ndim else array
    elif how == 2:
        found[name] = np.concatenate([array, array[: int(rng.integers(1, 4))]])
    elif how == 3:
        kinds = ["float64", "float32", "int64", "uint32", "uint8", "bool"]
        with np.errstate(all="ignore"):
            found[name] = array.astype(kinds[int(rng.integers(len(kinds)))])
    elif how == 4:
        found[name] = array[None] if rng.random() < 0.5 else array.reshape(-1)
    elif array.size:
        place = int(rng.integers(array.size))
        strange = [np.nan, np.inf, -1.0, 2.0**62, 0.0, 1e308] if array.dtype.kind == "f" else [0, 1, 255, 127]
        with np.errstate(all="ignore"):
            array.reshape(-1)[place] = strange[int(rng.integers(len(strange)))]
    return found
