"""One file of arrays that is mapped into memory, not read.

    8 bytes    b"CASSHARD"
    8 bytes    the number of bytes of the header, little-endian
    header     JSON: {"version": 1, "sha256": of all that follows, "bytes": of it,
                      "arrays": {name: {"dtype": ..., "length": ..., "offset": ...}}}, padded with blanks
    arrays     little-endian, each at a multiple of 64 bytes

Offsets are counted from the first byte behind the header, which is at a multiple of 64.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import mmap
import os
import secrets
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

MAGIC, VERSION = b"CASSHARD", 1
_ALIGNMENT = 64
_DTYPES = ("int64", "int32", "uint32", "float64", "float32", "uint8")
_LARGEST_HEADER = 2**16
_WRITTEN_AT_ONCE = 2**24


class DamagedShard(ValueError):
    """A shard that is not as it was written, or is not there."""


def write_shard(folder: Path, stem: str, arrays: Mapping[str, np.ndarray]) -> tuple[str, int, str]:
    """Write the arrays into a new file; (its name, its bytes, the digest of its arrays).

    The file has its name once all of it is on disk.
    """
    entries, parts, place = {}, [], 0
    for name, array in arrays.items():
        padding = -place % _ALIGNMENT
        place += padding
        entries[name] = {"dtype": array.dtype.name, "length": len(array), "offset": place}
        parts += [memoryview(bytes(padding)), np.ascontiguousarray(array).data.cast("B")]
        place += array.nbytes
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    about = {"version": VERSION, "sha256": digest.hexdigest(), "bytes": place, "arrays": entries}
    header = json.dumps(about).encode()
    header += b" " * (-(len(header) + 16) % _ALIGNMENT)
    name = f"{stem}-{digest.hexdigest()[:16]}.bin"
    fresh = folder / f".casimir-{secrets.token_hex(4)}.tmp"
    try:
        with open(fresh, "xb") as stream:
            stream.write(MAGIC + len(header).to_bytes(8, "little") + header)
            for part in parts:
                for start in range(0, len(part), _WRITTEN_AT_ONCE):
                    stream.write(part[start : start + _WRITTEN_AT_ONCE])
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(fresh, folder / name)
    finally:
        with contextlib.suppress(OSError):
            fresh.unlink(missing_ok=True)
    return name, 16 + len(header) + place, digest.hexdigest()


@dataclass(frozen=True, eq=False)
class ShardFile:
    """The arrays of a shard, read-only and mapped: nothing is read before it is looked at.

    stamp  what the file was when it was opened, see `check_unchanged`
    """

    path: Path
    arrays: Mapping[str, np.ndarray]
    memory: mmap.mmap
    body: int
    stamp: tuple[int, ...]

    @classmethod
    def open(cls, path: Path, n_bytes: int, sha256: str) -> ShardFile:
        """The file, which has to be as its manifest says; `check_content` looks at the bytes of its arrays."""
        try:
            descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0))
        except OSError as error:
            raise DamagedShard(f"{path.name} cannot be read ({error.strerror})") from None
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise DamagedShard(f"{path.name} is no regular file")
            if found.st_size != n_bytes:
                raise DamagedShard(f"{path.name} has {found.st_size} bytes instead of {n_bytes}")
            memory = mmap.mmap(descriptor, n_bytes, access=mmap.ACCESS_READ)
        finally:
            os.close(descriptor)
        body, about = _header(memory, path.name)
        if about["sha256"] != sha256:
            raise DamagedShard(f"{path.name} is another shard than the one that was packed")
        arrays = {name: _mapped(memory, body, entry, path.name) for name, entry in about["arrays"].items()}
        return cls(path, arrays, memory, body, _stamp(found))

    def check_content(self, sha256: str) -> None:
        """Raise unless every byte of the arrays is as it was written. Reads all of the file."""
        digest = hashlib.sha256()
        with memoryview(self.memory) as view:
            for start in range(self.body, len(view), _WRITTEN_AT_ONCE):
                digest.update(view[start : start + _WRITTEN_AT_ONCE])
        if digest.hexdigest() != sha256:
            raise DamagedShard(f"the checksum of {self.path.name} does not match")

    def check_unchanged(self) -> None:
        """Raise where the file is no longer the one that was opened."""
        try:
            now = _stamp(os.stat(self.path))
        except OSError as error:
            raise DamagedShard(f"{self.path.name} is gone ({error.strerror})") from None
        if now != self.stamp:
            raise DamagedShard(f"{self.path.name} has changed since it was opened")

    def will_need(self) -> None:
        """Ask the system to read the file ahead of time, where it can."""
        if hasattr(mmap, "MADV_WILLNEED"):
            self.memory.madvise(mmap.MADV_WILLNEED)


def _stamp(found: os.stat_result) -> tuple[int, ...]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _header(memory: mmap.mmap, name: str) -> tuple[int, dict[str, Any]]:
    """(where the arrays begin, what the header says)"""
    size = int.from_bytes(memory[8:16], "little")
    if memory[:8] != MAGIC or not 0 < size <= min(_LARGEST_HEADER, len(memory) - 16):
        raise DamagedShard(f"{name} is no shard of casimir")
    try:
        about = json.loads(memory[16 : 16 + size])
        version, arrays, n_bytes, _ = about["version"], about["arrays"], about["bytes"], about["sha256"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise DamagedShard(f"the header of {name} is damaged") from None
    if version != VERSION:
        raise DamagedShard(f"{name} has the shard version {version!r}; this casimir reads version {VERSION}")
    if n_bytes != len(memory) - 16 - size or not isinstance(arrays, dict) or (16 + size) % _ALIGNMENT:
        raise DamagedShard(f"the header of {name} is damaged")
    return 16 + size, about


def _mapped(memory: mmap.mmap, body: int, entry: Any, name: str) -> np.ndarray:
    try:
        dtype, length, offset = entry["dtype"], entry["length"], entry["offset"]
        fits = dtype in _DTYPES and type(length) is int and type(offset) is int
        fits = fits and length >= 0 and offset >= 0 and offset % _ALIGNMENT == 0
        fits = fits and body + offset + length * np.dtype(dtype).itemsize <= len(memory)
    except (KeyError, TypeError):
        fits = False
    if not fits:
        raise DamagedShard(f"the header of {name} is damaged")
    return np.frombuffer(memory, dtype=dtype, count=length, offset=body + offset)
