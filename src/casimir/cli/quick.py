"""`casimir predict` and `evaluate` as most people write them, with nothing loaded but what the model needs.

The commands of typer know every task, every spelling, all help and all errors, and take most of the time of a short
prediction to be put together. Words that are plainly right need none of that.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from casimir.cli.options import Using, declared, taken
from casimir.tasks.task import Opt, Task, opt


@dataclass(frozen=True)
class _Predict(Using):
    output: Path | None = opt("", None, name="--output -o")


@dataclass(frozen=True)
class _Evaluate(Using):
    json: bool = opt("", False)


_KINDS = {"predict": _Predict, "evaluate": _Evaluate}


def understood(words: Sequence[str]) -> Callable[[], None] | None:
    """What to run for these words; None where they are for the full commands to judge."""
    if len(words) < 3 or words[0] not in _KINDS or "_CASIMIR_COMPLETE" in os.environ:
        return None
    task = _task_of(words[1])
    given = None if task is None else _given(words, task)
    return None if given is None else lambda: _run(words[0], given)


def _task_of(folder: str) -> Task | None:
    """That of the model in a folder, if there is one."""
    from casimir.persistence.files import read_regular
    from casimir.tasks.registry import task_of

    try:
        return task_of(json.loads(read_regular(Path(folder, "model.json")))["kind"])
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _given(words: Sequence[str], task: Task) -> dict[str, Any] | None:
    """Values by name: DIR and FILE, then flags and options with a value behind a blank."""
    command, folder, file, *rest = words
    own = {name: one for name, one in declared(task.use_options).items() if one[2].only in (None, command)}
    kinds = own | declared(_KINDS[command])
    names: dict[str, tuple[str, Any]] = {}
    for name, (field, kind, look) in kinds.items():
        if name != "model":
            names |= {spelt: (name, how) for spelt, how in _spellings(field.name, kind, look)}
    given: dict[str, Any] = {"model": Path(folder), "file": Path(file)}
    given |= {name: kinds[name][0].default for name, _ in names.values()}
    while rest:
        name, how = names.get(rest.pop(0), ("", None))
        if how is None or (callable(how) and not rest):
            return None
        try:
            given[name] = how(rest.pop(0)) if callable(how) else how
        except ValueError:
            return None
    plain = all(not word.startswith("-") or word == "-" for word in (folder, file))
    return given if plain and (given["jobs"] is None or given["jobs"] > 0) else None


def _spellings(name: str, kind: Any, look: Opt) -> list[tuple[str, Any]]:
    """(word, its value, or a function of the value behind it); none for what the full commands must check."""
    spelt = (look.name or f"--{name.replace('_', '-')}").split()
    if kind in (bool, bool | None):
        yes, _, no = spelt[0].partition("/")
        return [*((word, True) for word in (yes, *spelt[1:])), *([(no, False)] if no else [])]
    if look.check is not None or look.choices:
        return []
    how = {str: str, str | None: str, Path: Path, Path | None: Path, int: int, int | None: int}.get(kind)
    return [] if how is None else [(word, how) for word in spelt]


def _run(command: str, given: dict[str, Any]) -> None:
    from casimir.cli.console import clear_ends
    from casimir.cli.parallel import threads
    from casimir.cli.run import evaluate, predict

    try:
        with clear_ends(), threads(given["jobs"]):
            act, last = (predict, "output") if command == "predict" else (evaluate, "json")
            act(taken(Using, given), given.pop("file"), given.pop(last), given)
    except BrokenPipeError:  # such as `casimir predict ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
