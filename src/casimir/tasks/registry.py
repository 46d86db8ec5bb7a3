"""The tasks: those of this package, one folder each, and those that other packages bring."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from functools import cache

from casimir import tasks as home
from casimir.tasks.task import Task

GROUP = "casimir.tasks"  # of entry points; each names a Task


@cache
def tasks() -> dict[str, Task]:
    """All tasks by their names, in their order."""
    from importlib.metadata import entry_points

    own = [
        importlib.import_module(f"{home.__name__}.{one.name}.task")
        for one in pkgutil.iter_modules(home.__path__)
        if one.ispkg
    ]
    found = {module.TASK.name: module.TASK for module in own}
    for entry in entry_points(group=GROUP):
        task = entry.load()
        if not isinstance(task, Task):
            raise TypeError(f"The entry point {entry.name!r} of {GROUP} gives a {type(task).__name__}, not a Task.")
        if task.name in found:
            raise ValueError(
                f"There are two tasks called {task.name!r}; uninstall the package that brings {entry.value!r}."
            )
        found[task.name] = task
    return dict(sorted(found.items()))


def task_of(kind: str) -> Task | None:
    """The task of a kind of models. One of this package is loaded alone: the others may take their time."""
    folder = importlib.util.find_spec(f"{home.__name__}.{kind}") if kind.isidentifier() else None
    is_package = folder is not None and folder.submodule_search_locations is not None
    if is_package and importlib.util.find_spec(f"{home.__name__}.{kind}.task") is not None:
        own = importlib.import_module(f"{home.__name__}.{kind}.task").TASK
        if isinstance(own, Task) and own.name == kind:
            return own
    return tasks().get(kind)
