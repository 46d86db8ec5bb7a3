"""A digest of what a run is given: it tells whether two runs are given the same.

Arrays, numbers, strings and functions count by what they are, other objects by their class and by what they hold. An
object may say itself what it stands for, by a method `fingerprint()` that returns something of these kinds; what it
makes for later use, in cached properties and in private attributes that a class lists as `not_in_fingerprint`, does not
count.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import cached_property, partial
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np


def fingerprint(value: Any) -> str:
    """32 hexadecimal digits."""
    walk = _Walk()
    walk.see(value)
    return walk.digest.hexdigest()


class _Walk:
    def __init__(self) -> None:
        self.digest = hashlib.blake2b(digest_size=16)
        self._seen: dict[int, tuple[int, Any]] = {}

    def _word(self, *words: object) -> None:
        self.digest.update(repr(words).encode())

    def see(self, value: Any) -> None:
        if value is None or isinstance(value, bool | int | float | complex | str | bytes):
            self._word(type(value).__name__, value)
        elif isinstance(value, type | ModuleType | BuiltinFunctionType):
            self._word(getattr(value, "__qualname__", value))
        elif isinstance(value, np.generic | np.dtype | np.ufunc):
            self._word(type(value).__name__, str(value))
        elif id(value) in self._seen:
            self._word("again", self._seen[id(value)][0])
        else:
            self._seen[id(value)] = len(self._seen), value
            self._object(value)

    def _object(self, value: Any) -> None:
        if isinstance(value, np.ndarray):
            self._array(value)
        elif isinstance(value, Mapping):
            self._word("dict", len(value))
            self._all(part for item in value.items() for part in item)
        elif isinstance(value, set | frozenset):
            self._word("set", sorted(map(repr, value)))
        elif isinstance(value, list | tuple | range):
            self._word(type(value).__name__, len(value))
            self._all(value)
        elif isinstance(value, FunctionType | MethodType | CodeType | partial):
            self._function(value)
        else:
            self._instance(value)

    def _all(self, values: Iterable[Any]) -> None:
        for value in values:
            self.see(value)

    def _array(self, array: np.ndarray) -> None:
        self._word("array", array.dtype.str, array.shape)
        if array.dtype.hasobject:
            self._all(array.ravel().tolist())
        else:
            self.digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)

    def _function(self, value: Any) -> None:
        """By its code and what it closes over: its name may be that of another function in the next process."""
        if isinstance(value, partial):
            self._all([value.func, value.args, value.keywords])
        elif isinstance(value, MethodType):
            self._all([value.__func__, value.__self__])
        elif isinstance(value, CodeType):
            self._word("code", value.co_name, value.co_code, value.co_names)
            self._all(value.co_consts)
        else:
            self._all([value.__code__, value.__defaults__, value.__kwdefaults__])
            self._all(cell.cell_contents for cell in value.__closure__ or ())

    def _instance(self, value: Any) -> None:
        cls = type(value)
        self._word(cls.__module__, cls.__qualname__)
        if hasattr(value, "fingerprint"):
            self.see(value.fingerprint())
        elif hasattr(value, "detach") and hasattr(value, "numpy"):  # a tensor
            self._array(value.detach().cpu().numpy())
        elif hasattr(value, "tocsr") and hasattr(value, "data"):  # a sparse matrix
            rows = value.tocsr()
            self._all([value.shape, rows.data, rows.indices, rows.indptr])
        elif is_dataclass(value):
            self._all(getattr(value, one.name) for one in fields(value))
        else:
            self._all(part for item in sorted(_attributes(value).items()) for part in item)


def _attributes(value: Any) -> dict[str, Any]:
    cls = type(value)
    left_out = set(getattr(cls, "not_in_fingerprint", ()))
    found = dict(getattr(value, "__dict__", {}))
    for base in cls.__mro__:
        slots = base.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(value, name) and not name.startswith("__"):
                found[name] = getattr(value, name)
        left_out |= {name for name, made in base.__dict__.items() if isinstance(made, cached_property)}
    return {name: found[name] for name in found if name not in left_out}
