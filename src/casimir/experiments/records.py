"""Records of runs: one line of JSON each, in a file of its own that is there in full or not at all.

    {"format": "casimir-run", "format_version": 1, "sha256": of the rest, "key": of the settings, "settings": {...},
     "solver": ..., "n": ..., "status": ..., "trace": {column: [...]}, "clocks": {column: [...]}, "machine": {...}}

A record is written beside its place, synced to disk and moved there, so it survives a kill at any moment. `cat *.jsonl`
makes one JSON-lines file of many. All but `clocks` is the same when a run is made again.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from casimir.persistence.files import read_regular
from casimir.persistence.seal import unread
from casimir.scores import FloatArray

FORMAT, FORMAT_VERSION = "casimir-run", 1
_KEPT = "It was left as it is; move it away to make that run again, or choose another folder."


@dataclass(frozen=True)
class Record:
    """What was measured in one run; `column` gives its trace, clocks included, as float64[rows]."""

    fields: Mapping[str, Any]

    @property
    def settings(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.fields["settings"]
        return found

    @property
    def n(self) -> int:
        return int(self.fields["n"])

    @property
    def status(self) -> str:
        return str(self.fields["status"])

    def __len__(self) -> int:
        return len(self.fields["trace"].get("epoch", ()))

    def has(self, name: str) -> bool:
        return name in self.fields["trace"] or name in self.fields["clocks"]

    def column(self, name: str) -> FloatArray:
        """NaN where a value is missing, all of them where the solver has no such column."""
        found = self.fields["trace"].get(name) or self.fields["clocks"].get(name) or [None] * len(self)
        return np.array([np.nan if value is None else value for value in found], dtype=np.float64)


def key_of(settings: Mapping[str, Any]) -> str:
    """The name of the record of a run with these settings."""
    return hashlib.sha256(_canonical(settings)).hexdigest()[:24]


def is_key(text: Any) -> bool:
    """Whether it is the name of a record, and of no file elsewhere."""
    return isinstance(text, str) and re.fullmatch(r"[0-9a-f]{24}", text) is not None


def record_path(folder: Path, key: str) -> Path:
    return folder / "runs" / f"{key}.jsonl"


def write_record(folder: Path, fields: Mapping[str, Any]) -> None:
    """Puts a record into its place, at once."""
    key = key_of(fields["settings"])
    whole = {"key": key, **fields, "machine": machine()}
    head = {"format": FORMAT, "format_version": FORMAT_VERSION, "sha256": hashlib.sha256(_canonical(whole)).hexdigest()}
    write_at_once(record_path(folder, key), json.dumps({**head, **whole}, allow_nan=False).encode() + b"\n")


def write_at_once(path: Path, content: bytes) -> None:
    """A file that holds either what it held or all of the content, whatever happens; one writer at a time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.new")  # what a kill leaves of it is overwritten by the next one
    with open(fresh, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(fresh, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def read_record(path: Path, *, same_version: bool = False) -> Record:
    """The record in the file; refuses one that is damaged, of another format or, on demand, of another casimir."""
    data = read_regular(path)
    try:
        fields = unread(data)
        found = {name: fields.pop(name) for name in ("format", "format_version", "sha256")}
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
        raise ValueError(f"{path} is not the record of a run, or is damaged. {_KEPT}") from None
    if (found["format"], found["format_version"]) != (FORMAT, FORMAT_VERSION):
        raise ValueError(
            f"{path} has format {found['format']} {found['format_version']}; this casimir reads {FORMAT} "
            f"{FORMAT_VERSION}. {_KEPT}"
        )
    if found["sha256"] != hashlib.sha256(_canonical(fields)).hexdigest() or fields.get("key") != path.stem:
        raise ValueError(f"{path} is damaged: its contents do not match its checksum. {_KEPT}")
    if not _is_proper(fields):
        raise ValueError(f"{path} is damaged: it is not what a run writes. {_KEPT}")
    theirs = fields["machine"]["casimir"]
    if same_version and theirs != version("casimir"):
        raise ValueError(f"{path} was made by casimir {theirs}; this is {version('casimir')}. {_KEPT}")
    return Record(fields)


def _is_proper(fields: Mapping[str, Any]) -> bool:
    """Whether the entries are of their types, and columns have a number or nothing for every row."""
    kinds = {"settings": dict, "trace": dict, "clocks": dict, "machine": dict, "status": str, "n": int}
    if not all(isinstance(fields.get(name), kind) for name, kind in kinds.items()):
        return False
    columns = [*fields["trace"].values(), *fields["clocks"].values()]
    if not all(isinstance(column, list) for column in columns) or len(set(map(len, columns))) > 1:
        return False
    are_numbers = all(value is None or isinstance(value, bool | int | float) for column in columns for value in column)
    return are_numbers and isinstance(fields["machine"].get("casimir"), str)


@cache
def machine() -> dict[str, str]:
    """What a run was made with."""
    return {
        "casimir": version("casimir"),
        "numpy": np.__version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "cpu": _cpu_name(),
    }


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
