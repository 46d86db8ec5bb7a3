"""Parameters of parameters: `solver__steps` is the field `steps` of a solver, as grids of scikit-learn write it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any, Self


class NestedParameters:
    """For estimators whose parameters may be frozen dataclasses, such as solvers. Inherit it before BaseEstimator.

    get_params() names the fields of such a parameter, and those of its own fields; set_params puts a new object with
    other fields in its place, and never changes the old one.
    """

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; with `deep` also the fields of those that are dataclasses."""
        parameters: dict[str, Any] = super().get_params(deep=deep)  # type: ignore[misc]
        if deep:
            for name, value in list(parameters.items()):
                parameters.update(_fields_of(name, value))
        return parameters

    def set_params(self, **params: Any) -> Self:
        """Set parameters, or with `name__field` fields of them."""
        own = {name: value for name, value in params.items() if "__" not in name}
        super().set_params(**own)  # type: ignore[misc]
        others = {}
        for name, value in params.items():
            if name in own:
                continue
            first, _, rest = name.partition("__")
            current = getattr(self, first, None)
            if _has_fields(current):
                setattr(self, first, _with_field(current, rest, value, f"{first} of {type(self).__name__}"))
            else:
                others[name] = value
        super().set_params(**others)  # type: ignore[misc]
        return self


def _has_fields(value: Any) -> bool:
    return is_dataclass(value) and not isinstance(value, type)


def _fields_of(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if not _has_fields(value):
        return
    for field in fields(value):
        if field.init:
            inner = getattr(value, field.name)
            yield f"{name}__{field.name}", inner
            yield from _fields_of(f"{name}__{field.name}", inner)


def _with_field(value: Any, path: str, new: Any, where: str) -> Any:
    """A copy of the dataclass with another value at the path `field` or `field__field`."""
    name, _, rest = path.partition("__")
    names = [field.name for field in fields(value) if field.init]
    if name not in names:
        raise ValueError(f"{where} is {value!r}, which has no parameter {name!r}; it has {names}.")
    if rest:
        inner = getattr(value, name)
        if not _has_fields(inner):
            raise ValueError(f"{name} of {where} is {inner!r}, which has no parameters of its own.")
        new = _with_field(inner, rest, new, f"{name} of {where}")
    return replace(value, **{name: new})
