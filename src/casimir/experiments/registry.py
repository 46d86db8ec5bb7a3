"""The experiments: every module of `casimir.experiments.catalog` has one as EXPERIMENT."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from casimir.experiments import catalog
from casimir.experiments.base import SMALL_NAME, Experiment, View

SMOKE = "smoke"  # tiny versions of all of them


@cache
def _all() -> dict[str, Experiment]:
    modules = [
        importlib.import_module(f"{catalog.__name__}.{one.name}") for one in pkgutil.iter_modules(catalog.__path__)
    ]
    found = {module.EXPERIMENT.name: module.EXPERIMENT for module in modules if hasattr(module, "EXPERIMENT")}
    return dict(sorted(found.items()))


def names() -> list[str]:
    """Of all experiments, "smoke" last."""
    return [*_all(), SMOKE]


def find(name: str) -> list[Experiment]:
    """The experiment of that name; for "smoke" a tiny version of each."""
    if name == SMOKE:
        return [experiment.small() for experiment in _all().values()]
    if name not in _all():
        raise ValueError(f"There is no experiment {name!r}; choose one of {', '.join(names())}.")
    return [_all()[name]]


def known_view(name: str) -> View | None:
    """The view of an experiment, or of its tiny version; None where it is not in the catalogue or has none."""
    found = _all().get(name.removesuffix(SMALL_NAME))
    return None if found is None else found.view
