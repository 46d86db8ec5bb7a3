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
from typing import Any, BinaryIO

import numpy as np

from casimir.persistence import files
from casimir.persistence.state import Later, decode, encode

FILE = "run.checkpoint"
VERSION = 1
_FIRST_WORDS = b"casimir checkpoint "
_FIRST_LINE = re.compile(rb"casimir checkpoint (\d{1,6}) ([0-9a-f]{64})\n")
_LONGEST_LINE = 100
_DTYPES = {"f8": "F64", "f4": "F32", "f2": "F16", "b1": "BOOL", "i1": "I8", "i2": "I16", "i4": "I32", "i8": "I64"}
_DTYPES |= {"u1": "U8", "u2": "U16", "u4": "U32", "u8": "U64"}
_NAMES = {name: f"<{dtype}" for dtype, name in _DTYPES.items()}


class Unreadable(ValueError):
    """A checkpoint of another format, or one that is not as it was written."""


def check_folder(folder: Path) -> None:
    """An OSError or ValueError now where `write` could not write; the folder is made if there is none."""
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(f"'{folder}' is a file; a checkpoint is kept in a folder. Give another one.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with files.locked(folder):
            _clear(folder)
            files.try_to_write(folder)
    except OSError as error:
        raise _like(
            error, f"No checkpoint can be written to '{folder}' ({reason(error)}). Give a folder you may write to."
        ) from error
    if (folder / FILE).exists() and not _is_ours(folder / FILE):
        raise FileExistsError(f"'{folder / FILE}' is no checkpoint of casimir, so it is left alone. Give another one.")


def write(folder: Path, key: Mapping[str, Any], state: Any) -> None:
    """Put a checkpoint in the place of the last one. No array is copied, and those that are made later are there one
    by one."""
    text, arrays = encode(state)
    header = _header(arrays, {"key": json.dumps(dict(key)), "state": text})

    def fill(stream: BinaryIO) -> None:
        digest = hashlib.sha256()
        stream.write(_first_line(digest))  # which is written once more
        for array in (header, *arrays.values()):
            data = _bytes(array)
            digest.update(data)
            stream.write(data)
        stream.seek(0)
        stream.write(_first_line(digest))

    with files.locked(folder):
        _clear(folder)
        files.replace_by(folder / FILE, fill)


def _clear(folder: Path) -> None:
    """Removes what killed writers left behind; the folder is locked."""
    for name in os.listdir(folder):
        if files.is_leftover(name):
            with contextlib.suppress(OSError):
                (folder / name).unlink()


def _first_line(digest: Any) -> bytes:
    return b"%s%d %s\n" % (_FIRST_WORDS, VERSION, digest.hexdigest().encode())


def _header(arrays: Mapping[str, np.ndarray | Later], described: dict[str, str]) -> bytes:
    """That of safetensors: its length, and JSON which says where in what follows every array lies."""
    places: dict[str, Any] = {"__metadata__": described}
    end = 0
    for name, array in arrays.items():
        if isinstance(array, Later):
            dtype, shape, size = "U8", [array.size], array.size
        else:
            dtype, shape, size = _name_of(array.dtype), list(array.shape), array.nbytes
        begin, end = end, end + size
        places[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(places).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def _name_of(dtype: np.dtype[Any]) -> str:
    found = _DTYPES.get(dtype.str[1:])
    if found is None:
        raise TypeError(f"a state has an array of {dtype}; it may have whole numbers, real ones and bools")
    return found


def _bytes(array: np.ndarray | Later | bytes) -> memoryview:
    if isinstance(array, bytes):
        return memoryview(array)
    made = array.make() if isinstance(array, Later) else array
    return np.ascontiguousarray(made).reshape(-1).view(np.uint8).data


def read(folder: Path) -> tuple[dict[str, Any], Any] | None:
    """(key, function that gives the state) of the last one; None where there is none."""
    try:
        data = files.map_regular(folder / FILE)
    except FileNotFoundError:
        return None
    line = _FIRST_LINE.match(bytes(data[:_LONGEST_LINE]))
    if line is None:
        raise Unreadable("is damaged: its first line is not that of a checkpoint")
    if int(line[1]) != VERSION:
        raise Unreadable(f"has the format {int(line[1])}, and this casimir knows {VERSION}")
    payload = data[line.end() :]
    if hashlib.sha256(payload).hexdigest().encode() != line[2]:
        raise Unreadable("is damaged: its digest does not match")
    key, text, arrays = _parts(payload)

    def state() -> Any:
        try:
            return decode(text, arrays)
        except ValueError as error:
            raise Unreadable(f"is damaged: {error}") from None

    return key, state


def _parts(payload: memoryview) -> tuple[dict[str, Any], str, dict[str, np.ndarray]]:
    """(key, JSON of the state, arrays)"""
    try:
        start = 8 + int.from_bytes(payload[:8], "little")
        if start > len(payload):
            raise ValueError("it ends before its arrays begin")
        places = json.loads(bytes(payload[8:start]))
        described = places.pop("__metadata__")
        arrays = {name: _array(payload[start:], **place) for name, place in places.items()}
        key = json.loads(described["key"])
        if not all(isinstance(one[part], str) for one in key.values() for part in ("digest", "shown")):
            raise ValueError("what the run was given is missing")
        return key, described["state"], arrays
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
        raise Unreadable(f"is damaged: {_in_a_line(error)}") from None
    except RecursionError:
        raise Unreadable("is damaged: what it says is nested too deeply") from None


def _array(data: memoryview, dtype: str, shape: list[int], data_offsets: list[int]) -> np.ndarray:
    """The array that lies there, in the memory of `data`."""
    begin, end = data_offsets
    if not 0 <= begin <= end <= len(data) or any(one < 0 for one in shape):
        raise ValueError("an array lies outside")
    return np.frombuffer(data[begin:end], _NAMES[dtype]).reshape(shape)


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
