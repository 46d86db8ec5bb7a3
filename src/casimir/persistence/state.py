"""The state of a computation as named arrays and JSON, and back.

It may have None, numbers, strings, arrays, lists, tuples, dicts with strings as keys, and objects of classes that
`keeps` was told of. What is one object comes back as one object, so that arrays which share memory go on sharing it.
Another object with a method `state()` is written as what that gives. What is too large to be in memory twice is
given as `Later`, and comes back as bytes that are read when they are looked at.
Nothing but data is read: no pickle, and no class that is not known here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeVar

import numpy as np

from casimir._arrays import aligned_zeros

_KNOWN: dict[str, Any] = {}
Class = TypeVar("Class", bound=type)


def keeps(cls: Class) -> Class:
    """Decorates a dataclass whose objects may be part of a state."""
    assert is_dataclass(cls)
    _KNOWN[cls.__name__] = cls
    return cls


@dataclass(frozen=True, eq=False)
class Later:
    """uint8[size] that are made when they are written."""

    size: int
    make: Callable[[], np.ndarray]


def encode(state: Any) -> tuple[str, dict[str, np.ndarray | Later]]:
    """(JSON, arrays); a TypeError where something is of a type that no state has."""
    writer = _Writer()
    tree = writer.plain(state)
    return json.dumps(tree), writer.arrays


def decode(text: str, arrays: Mapping[str, np.ndarray]) -> Any:
    """What `encode` was given; a ValueError where that cannot be told."""
    try:
        return _Reader(arrays).object(json.loads(text))
    except (LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"it holds no proper state: {error}") from None


class _Writer:
    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray | Later] = {}
        self._seen: dict[int, tuple[Any, dict[str, Any]]] = {}  # the objects are kept, so that no id comes twice

    def plain(self, value: Any) -> Any:
        if value is None or type(value) in (bool, int, float, str):
            return value
        if isinstance(value, np.generic):
            return {"number": value.item(), "dtype": value.dtype.name}
        if isinstance(value, list):
            return [self.plain(one) for one in value]
        if isinstance(value, tuple) and type(value) is tuple:
            return {"tuple": [self.plain(one) for one in value]}
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            return {"dict": {key: self.plain(one) for key, one in value.items()}}
        if hasattr(value, "state"):
            return self.plain(value.state())
        if id(value) not in self._seen:
            self._seen[id(value)] = value, {"same": len(self._seen)}
            return self._first(value)
        return self._seen[id(value)][1]

    def _first(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            name = str(len(self.arrays))
            is_turned = value.flags.f_contiguous and not value.flags.c_contiguous
            self.arrays[name] = value.T if is_turned else np.ascontiguousarray(value)
            return {"array": name, "turned": is_turned}
        if isinstance(value, Later):
            name = str(len(self.arrays))
            self.arrays[name] = value
            return {"array": name, "turned": False}
        name = type(value).__name__
        if _KNOWN.get(name) is not type(value):
            raise TypeError(
                f"a state has a {name}; it may have numbers, strings, arrays, lists and dicts of them, and dataclasses "
                "decorated by casimir.solvers.base.keeps."
            )
        names = [one.name for one in fields(_KNOWN[name])]
        return {"class": name, "fields": {name: self.plain(getattr(value, name)) for name in names}}


class _Reader:
    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._arrays = arrays
        self._seen: list[Any] = []

    def object(self, tree: Any) -> Any:
        if isinstance(tree, list):
            return [self.object(one) for one in tree]
        if not isinstance(tree, dict):
            return tree
        if "number" in tree:
            return _number(tree["number"], np.dtype(tree["dtype"]))
        if "tuple" in tree:
            return tuple(self.object(one) for one in tree["tuple"])
        if "dict" in tree:
            return {key: self.object(one) for key, one in tree["dict"].items()}
        return self._seen[tree["same"]] if "same" in tree else self._first(tree)

    def _first(self, tree: dict[str, Any]) -> Any:
        if "array" in tree:
            array = _in_own_memory(self._arrays[tree["array"]])
            self._seen.append(array.T if tree["turned"] else array)
            return self._seen[-1]
        cls = _KNOWN[tree["class"]]
        if sorted(tree["fields"]) != sorted(one.name for one in fields(cls)):
            raise ValueError(f"it holds a {tree['class']} with other fields than this casimir knows")
        made: Any = object.__new__(cls)
        self._seen.append(made)
        for name, value in tree["fields"].items():
            object.__setattr__(made, name, self.object(value))
        return made


def _number(value: Any, dtype: np.dtype[Any]) -> Any:
    if dtype.kind not in "biuf" or not isinstance(value, bool | int | float):
        raise ValueError(f"it holds {value!r} as a number of the type {dtype}")
    return dtype.type(value)


def _in_own_memory(array: np.ndarray) -> np.ndarray:
    if array.dtype == np.uint8:  # which may lie anywhere
        return array
    if array.dtype != np.float64 or array.ndim != 1:
        return np.array(array)
    copy = aligned_zeros(len(array))
    copy[:] = array
    return copy
