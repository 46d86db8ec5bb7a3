"""One file that says where a run stands: a line with a digest of the rest, then arrays with a description in JSON.

    casimir checkpoint 1 <sha256 of what follows>
    <safetensors: the arrays, and as metadata {"key": JSON, "state": JSON}>

It is written whole or not at all; what a killed process left behind is removed by the next one that writes.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from casimir.persistence import files
from casimir.persistence.state import decode, encode

FILE = "run.checkpoint"
VERSION = 1
_FIRST_WORDS = b"casimir checkpoint "
_FIRST_LINE = re.compile(rb"casimir checkpoint (\d{1,6}) ([0-9a-f]{64})\n")
_LONGEST_LINE = 100


class Unreadable(ValueError):
    """A checkpoint of another format, or one that is not as it was written."""


def check_folder(folder: Path) -> None:
    """An OSError or ValueError now where `write` could not write; the folder is made if there is none."""
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(f"'{folder}' is a file; a checkpoint is kept in a folder. Give another one.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        files.try_to_write(folder)
    except OSError as error:
        raise _like(
            error, f"No checkpoint can be written to '{folder}' ({reason(error)}). Give a folder you may write to."
        ) from error
    if (folder / FILE).exists() and not _is_ours(folder / FILE):
        raise FileExistsError(f"'{folder / FILE}' is no checkpoint of casimir, so it is left alone. Give another one.")


def write(folder: Path, key: Mapping[str, Any], state: Any) -> None:
    """Put a checkpoint in the place of the last one."""
    import safetensors.numpy

    text, arrays = encode(state)
    described = {"key": json.dumps(dict(key)), "state": text}
    payload = safetensors.numpy.save(arrays, described)
    first = b"%s%d %s\n" % (_FIRST_WORDS, VERSION, hashlib.sha256(payload).hexdigest().encode())
    with files.locked(folder):
        for name in os.listdir(folder):
            if files.is_leftover(name):
                with contextlib.suppress(OSError):
                    (folder / name).unlink()
        files.replace(folder / FILE, first, payload)


def read(folder: Path) -> tuple[dict[str, Any], Any] | None:
    """(key, function that gives the state) of the last one; None where there is none."""
    try:
        data = files.read_regular(folder / FILE)
    except FileNotFoundError:
        return None
    line = _FIRST_LINE.match(data[:_LONGEST_LINE])
    if line is None:
        raise Unreadable("is damaged: its first line is not that of a checkpoint")
    if int(line[1]) != VERSION:
        raise Unreadable(f"has the format {int(line[1])}, and this casimir knows {VERSION}")
    payload = memoryview(data)[line.end() :]
    if hashlib.sha256(payload).hexdigest().encode() != line[2]:
        raise Unreadable("is damaged: its digest does not match")
    key, text, arrays = _parts(bytes(payload))

    def state() -> Any:
        try:
            return decode(text, arrays)
        except ValueError as error:
            raise Unreadable(f"is damaged: {error}") from None

    return key, state


def _parts(payload: bytes) -> tuple[dict[str, Any], str, dict[str, np.ndarray]]:
    """(key, JSON of the state, arrays)"""
    import safetensors.numpy

    try:
        arrays = safetensors.numpy.load(payload)
        length = int.from_bytes(payload[:8], "little")
        described = json.loads(payload[8 : 8 + length])["__metadata__"]
        key = json.loads(described["key"])
        if not all(isinstance(one[part], str) for one in key.values() for part in ("digest", "shown")):
            raise ValueError("what the run was given is missing")
        return key, described["state"], arrays
    except (safetensors.SafetensorError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
        raise Unreadable(f"is damaged: {_in_a_line(error)}") from None
    except RecursionError:
        raise Unreadable("is damaged: what it says is nested too deeply") from None


def _in_a_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


def _is_ours(file: Path) -> bool:
    return files.first_bytes(file, len(_FIRST_WORDS)) == _FIRST_WORDS


def reason(error: BaseException) -> str:
    """Why something could not be written, in a few words."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _like(error: OSError, message: str) -> OSError:
    copy = type(error)(message)
    copy.errno = error.errno
    return copy
