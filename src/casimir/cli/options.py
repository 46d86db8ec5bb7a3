"""Options that several commands share, and what a dataclass of options declares."""

from __future__ import annotations

import dataclasses
import typing
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Any

from casimir.tasks.task import Opt, opt


@dataclass(frozen=True)
class Using:
    """What every command on a model takes, whatever the task."""

    model: Path = opt("Folder to save to.", MISSING, metavar="DIR")
    jobs: int | None = opt("Threads. Default: all CPUs.", metavar="N", low=1)
    encoding: str = opt("Encoding of the files, such as latin-1.", "utf-8", metavar="NAME")
    quiet: bool = opt("No progress on stderr.", False, name="--quiet -q")


@dataclass(frozen=True)
class Manner(Using):
    """How training behaves, whatever the task."""

    pictures: Path | None = opt("Folder for pictures of held-out results.", metavar="DIR")
    no_baselines: bool = opt("Train no simpler models to compare with.", False)
    json: bool = opt("Write the results to stdout as JSON.", False)


Declared = tuple[dataclasses.Field[Any], Any, Opt]  # an option's field, its type and how it looks


def declared(options: type) -> dict[str, Declared]:
    """The options of a dataclass by name: fields made by `opt`, or annotated with an `Opt`."""
    hints = typing.get_type_hints(options, include_extras=True)
    found = {}
    for one in dataclasses.fields(options):
        kind, opt = hints[one.name], one.metadata.get(Opt)
        if opt is None:
            kind, opt = typing.get_args(kind)
        found[one.name] = one, kind, opt
    return found


def taken(options: type, given: dict[str, Any]) -> Any:
    """An object of these options, which are taken out of what was given."""
    return options(**{one.name: given.pop(one.name) for one in dataclasses.fields(options) if one.name in given})
