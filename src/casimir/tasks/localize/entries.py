"""The file of one picture's candidates: safetensors, mapped into memory when it is read.

boxes       int32[m, 4]
features    float16[m, dim]
metadata    casimir-features (format), key, height, width, crc32 of both arrays
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy

from casimir.scores import IntArray
from casimir.tasks.localize.candidates import Features

FORMAT = 1

_TYPES: dict[str, tuple[str, np.dtype[Any]]] = {"boxes": ("I32", np.dtype("<i4")), "features": ("F16", np.dtype("<f2"))}
_LONGEST_HEADER = 100_000  # bytes; ours have some 300
_OLD = 3600.0  # seconds; unfinished files that nobody can be writing any more


class Damaged(Exception):
    """What is wrong with a file."""


@dataclass(frozen=True)
class Mapped:
    """Where float16[rows, columns] lies in a file. Mapping it when it is asked for, not before, keeps no file open: a
    process may have only some 1000 files open, and there may be more pictures."""

    file: Path
    offset: int
    rows: int
    columns: int

    def array(self) -> Features:
        try:
            return np.memmap(self.file, np.dtype("<f2"), "r", self.offset, (self.rows, self.columns))
        except (OSError, ValueError) as error:
            raise type(error)(
                f"The features in '{self.file}' are gone or cut since they were collected ({error}). Collect again."
            ) from None


@dataclass(frozen=True, eq=False)
class Entry:
    """boxes int64[m, 4]; features float16[m, dim] or where they lie; shape (height, width) of the picture"""

    boxes: IntArray
    features: Features | Mapped
    shape: tuple[int, int]


class MappedFeatures(Sequence[Features]):
    """Features of pictures, in memory or in files; a file is mapped when its element is asked for."""

    def __init__(self, items: Sequence[Features | Mapped]) -> None:
        self._items = list(items)

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return MappedFeatures(self._items[i])
        item = self._items[i]
        return item.array() if isinstance(item, Mapped) else item


def write_entry(file: Path, key: str, entry: Entry) -> None:
    """Written under another name and moved to its place in the end, so that a file is whole or not there."""
    assert isinstance(entry.features, np.ndarray)
    arrays = {
        "boxes": np.ascontiguousarray(entry.boxes, dtype="<i4"),
        "features": np.ascontiguousarray(entry.features, dtype="<f2"),
    }
    height, width = entry.shape
    facts = {"casimir-features": FORMAT, "key": key, "height": height, "width": width, "crc32": _checksum(arrays)}
    payload = safetensors.numpy.save(arrays, {name: str(value) for name, value in facts.items()})
    fresh = file.with_name(f".{file.name}.writing-{secrets.token_hex(4)}")
    try:
        fresh.write_bytes(payload)
        fresh.replace(file)
    except OSError as error:
        raise type(error)(
            f"Features could not be written to '{file.parent}' ({error.strerror}); those of the pictures before are "
            "kept. Free some space or choose another folder, then run the same again."
        ) from error
    finally:
        with contextlib.suppress(OSError):
            fresh.unlink(missing_ok=True)


def map_entry(file: Path, key: str, dim: int) -> Entry:
    """What `write_entry` wrote; Damaged when it is not that."""
    try:
        with open(file, "rb") as stream:
            header, start = _read_header(stream)
            arrays = {name: _read_array(stream, header, name, start) for name in _TYPES}
        facts = header["__metadata__"]
        shape = (int(facts["height"]), int(facts["width"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise Damaged(str(error) or type(error).__name__) from None
    boxes, features = arrays["boxes"], arrays["features"]
    if facts.get("casimir-features") != str(FORMAT) or facts.get("key") != key:
        raise Damaged("it is not the file of this picture")
    if facts.get("crc32") != str(_checksum(arrays)):
        raise Damaged("its checksum does not match")
    if len(boxes) == 0 or boxes.shape[1:] != (4,) or features.shape != (len(boxes), dim):
        raise Damaged(f"its arrays have the shapes {list(boxes.shape)} and {list(features.shape)}")
    place = Mapped(file, start + header["features"]["data_offsets"][0], len(boxes), dim)
    return Entry(boxes.astype(np.int64), place, shape)


def remove_leftovers(folder: Path) -> None:
    """Unfinished files of runs that were killed."""
    for file in folder.glob(".*.writing-*"):
        with contextlib.suppress(OSError):
            if time.time() - file.stat().st_mtime > _OLD:
                file.unlink()


def _checksum(arrays: dict[str, np.ndarray]) -> int:
    return zlib.crc32(arrays["features"].data, zlib.crc32(arrays["boxes"].data))


def _read_header(stream: Any) -> tuple[dict[str, Any], int]:
    """(header, where the arrays begin); safetensors is a length, a JSON object and then the arrays."""
    length = int.from_bytes(stream.read(8), "little")
    if not 2 <= length <= _LONGEST_HEADER:
        raise ValueError("its header is not that of a feature file")
    header = json.loads(stream.read(length))
    if not isinstance(header, dict) or not isinstance(header.get("__metadata__"), dict):
        raise ValueError("its header is not that of a feature file")
    return header, 8 + length


def _read_array(stream: Any, header: dict[str, Any], name: str, start: int) -> np.ndarray:
    code, dtype = _TYPES[name]
    rows, columns = header[name]["shape"]
    begin, end = header[name]["data_offsets"]
    size = os.fstat(stream.fileno()).st_size
    if header[name]["dtype"] != code or end - begin != rows * columns * dtype.itemsize or start + end > size:
        raise ValueError("it is cut, or its header is not that of a feature file")
    stream.seek(start + begin)
    return np.frombuffer(stream.read(end - begin), dtype).reshape(rows, columns)
