"""What the reference shows: the public names of every module, and what is said of a method in its interface."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import casimir
import casimir.tasks

# Modules with names of their own that `casimir` does not export.
MORE = [
    "casimir.torch",
    "casimir.dask",
    "casimir.experiments",
    "casimir.plotting",
    "casimir.testing",
    "casimir.datasets",
]
# Methods without a docstring of their own do what their interface says.
INTERFACES = [
    "casimir.structures.base.Structure",
    "casimir.costs.Cost",
    "casimir.losses.base.Loss",
    "casimir.penalties.base.Penalty",
    "casimir.smoothing.Smoothing",
    "casimir.models.base.LinearModel",
    "casimir.models.base.NonlinearModel",
    "casimir.solvers.base.Solver",
    "casimir.solvers.base.Inner",
    "casimir.solvers.schedules.Schedule",
    "casimir.experiments.rules.Rule",
    "casimir.problems.base.Problem",
]


@cache
def homes() -> dict[str, str]:
    """The names of `casimir` and the modules that they live in, as its stub says."""
    tree = ast.parse(Path(casimir.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module]
    return {alias.name: f"casimir.{node.module}" for node in imports for alias in node.names}


@cache
def pages() -> dict[str, list[str]]:
    """Module -> the full names on its page; a name of `casimir` stands on the page of the module that it lives in."""
    found: dict[str, list[str]] = {}
    for name, home in homes().items():
        found.setdefault(home, []).append(f"casimir.{name}")
    tasks = [f"casimir.tasks.{one.name}" for one in pkgutil.iter_modules(casimir.tasks.__path__) if one.ispkg]
    for home in [*found, *MORE, "casimir.tasks", *tasks]:
        exported = getattr(importlib.import_module(home), "__all__", [])
        own = [f"{home}.{name}" for name in exported if f"casimir.{name}" not in found.get(home, [])]
        found.setdefault(home, []).extend(own)
    shown = {home: [name for name in names if not inspect.ismodule(value_of(name))] for home, names in found.items()}
    values = [value_of(name) for names in shown.values() for name in names]
    for name in INTERFACES:
        if not any(value_of(name) is value for value in values):
            shown.setdefault(_public_home(name, shown), []).append(name)
    return {home: sorted(names, key=str.lower) for home, names in sorted(shown.items()) if names}


def _public_home(name: str, shown: dict[str, list[str]]) -> str:
    """casimir.models of casimir.models.base.LinearModel: the longest module that has a page."""
    known = [home for home in shown if name.startswith(f"{home}.")]
    return max(known, key=len) if known else name.rpartition(".")[0]


def value_of(name: str) -> Any:
    """The object behind a full name."""
    home, _, last = name.rpartition(".")
    try:
        return getattr(importlib.import_module(home), last)
    except ModuleNotFoundError:
        return getattr(value_of(home), last)


def summary_of(module: ModuleType) -> str:
    """The first sentence of a module's docstring."""
    return (inspect.getdoc(module) or module.__name__).split("\n\n")[0].replace("\n", " ")


def said_of_method(name: str) -> str | None:
    """What an interface says of a method of that name, in its docstring or in a row of the interface's own."""
    for one in INTERFACES:
        interface = value_of(one)
        member = inspect.getattr_static(interface, name, None)
        text = inspect.getdoc(member) if _is_method(member) else _row(interface, name)
        if text:
            return text
    return None


def _row(kind: type, name: str) -> str | None:
    """What a class's docstring says of a name in a row: `name   what it is`, and indented lines after it."""
    found = re.search(rf"^(?:\w+, )*{name}\b.*?  +(\S.*(?:\n +\S.*)*)", inspect.getdoc(kind) or "", re.MULTILINE)
    return None if found is None else " ".join(found[1].split())


def methods_of(kind: type) -> dict[str, Any]:
    """The public methods and properties that casimir itself gives a class."""
    fields = getattr(kind, "__dataclass_fields__", {})  # their defaults may be functions
    names = [name for name in dir(kind) if not name.startswith("_") and name not in fields]
    found = {name: inspect.getattr_static(kind, name) for name in names}
    return {name: member for name, member in found.items() if _is_method(member) and is_ours(member)}


def is_ours(member: Any) -> bool:
    """Whether a method or property is written in casimir, and not in scikit-learn or PyTorch."""
    function = next((getattr(member, at) for at in ("fget", "__func__", "func") if hasattr(member, at)), member)
    return str(getattr(function, "__module__", "")).startswith("casimir")


def docstring_of(kind: type, name: str) -> str | None:
    """What is said of a method: its own docstring, a row of the class's, or the interface's."""
    member = inspect.getattr_static(kind, name)
    own = inspect.getdoc(getattr(member, "__func__", member))
    return own or _row(kind, name) or said_of_method(name)


def _is_method(member: Any) -> bool:
    kinds = (property, classmethod, staticmethod)
    return inspect.isfunction(member) or isinstance(member, kinds) or type(member).__name__ == "cached_property"
