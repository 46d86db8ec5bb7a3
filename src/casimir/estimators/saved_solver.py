"""Solvers <-> JSON: BCFW(light_passes=3) is {"class": "BCFW", "light_passes": 3, ...}, and so are objects in fields.

This is for frozen dataclasses with a public name in `casimir.solvers` or `casimir.smoothing` whose fields are numbers,
strings, None or such objects. A name is looked up there and nowhere else; nothing is ever evaluated.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

_HOMES = ("casimir.solvers", "casimir.smoothing")


def encode_solver(solver: Any) -> Any:
    """A name as it is, a solver of casimir as a dict; the text of any other object, which tells readers what it was."""
    if isinstance(solver, str):
        return solver
    try:
        return _encoded(solver)
    except TypeError:
        return repr(solver)


def decode_solver(saved: Any) -> Any:
    """What `encode_solver` was given; a text where this casimir has no such solver, which `fit` then refuses."""
    try:
        return _decoded(saved)
    except (TypeError, ValueError, AttributeError):
        return _text(saved)


def _encoded(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    kind = type(value)
    if _public_class(kind.__name__) is not kind:
        raise TypeError(f"{value!r} is no solver, schedule or smoothing of casimir.")
    names = [f.name for f in dataclasses.fields(value) if f.init]
    return {"class": kind.__name__} | {name: _encoded(getattr(value, name)) for name in names}


def _decoded(saved: Any) -> Any:
    if not isinstance(saved, Mapping):
        return saved
    kind = _public_class(saved.get("class"))
    if kind is None:
        raise TypeError(f"casimir has no class {saved.get('class')!r}.")
    return kind(**{name: _decoded(value) for name, value in saved.items() if name != "class"})


def _public_class(name: Any) -> Any:
    """The frozen dataclass of this name that is defined in one of the homes, or None."""
    if not isinstance(name, str) or name.startswith("_"):
        return None
    for home in map(import_module, _HOMES):
        kind = getattr(home, name, None)
        if isinstance(kind, type) and kind.__module__.startswith(home.__name__) and _is_frozen(kind):
            return kind
    return None


def _is_frozen(kind: type) -> bool:
    parameters = getattr(kind, "__dataclass_params__", None)
    return parameters is not None and bool(parameters.frozen)


def _text(saved: Any) -> str:
    """As the object would be written: SVRG(smoothing=L2(k=5), mu=0.1)."""
    if not isinstance(saved, Mapping):
        return repr(saved)
    fields = ", ".join(f"{name}={_text(value)}" for name, value in saved.items() if name != "class")
    return f"{saved.get('class')}({fields})"
