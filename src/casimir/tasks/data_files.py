"""Data files as bytes: whole ones, unpacked ones and .npz archives, none larger than is asked for."""

from __future__ import annotations

import gzip
import io
import os
import sys
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

import numpy as np

from casimir._limits import check_unpacked, input_limit, too_large

_CHUNK = 2**20
_DAMAGED = (OSError, ValueError, EOFError, LookupError, ArithmeticError, RuntimeError, zlib.error, zipfile.BadZipFile)


def read_data(path: Path, is_stdin: bool = False) -> bytes:
    """A file or pipe, whole; one that does not end before the limit is refused."""
    if is_stdin:
        return _limited(sys.stdin.buffer, "stdin")
    if path.is_file() and path.stat().st_size > input_limit():
        raise too_large(str(path))
    with open(path, "rb") as stream:
        return _limited(stream, str(path))


def unpacked(data: bytes, name: str) -> bytes:
    """What gzip packed, as long as it is not far more than it should be."""
    parts, size = [], 0
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
        while part := stream.read(_CHUNK):
            size += len(part)
            check_unpacked(size, len(data), name)
            parts.append(part)
    return b"".join(parts)


def read_npz(file: str | os.PathLike[str], names: Iterable[str] | None = None) -> dict[str, np.ndarray]:
    """The arrays of an .npz file, all or those with these names; a ValueError says what is wrong with it.

    No array is made that is larger than what the archive holds of it.
    """
    data = read_data(Path(file))
    try:
        if data.startswith(b"\x93NUMPY"):
            raise ValueError("it holds one array without a name")
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {one.filename.removesuffix(".npy"): one for one in archive.infolist()}
            check_unpacked(sum(one.file_size for one in members.values()), len(data), str(file))
            wanted = list(members) if names is None else [name for name in names if name in members]
            return {name: _read_member(archive, members[name]) for name in wanted}
    except _DAMAGED as error:
        what = str(error) or type(error).__name__
        raise ValueError(f"{file} is no .npz file of arrays, or it is damaged: {what}") from None


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    with archive.open(member) as stream:
        content = stream.read(member.file_size + 1)
    header = io.BytesIO(content)
    version = np.lib.format.read_magic(header)
    read: Any = {(1, 0): np.lib.format.read_array_header_1_0}.get(version, np.lib.format.read_array_header_2_0)
    shape, _, dtype = read(header)
    needed, held = _size(shape, dtype.itemsize), len(content) - header.tell()
    if dtype.hasobject or needed != held:
        raise ValueError(f"{member.filename} says that it is {dtype}{list(shape)} and has {held} bytes.")
    return np.asarray(np.lib.format.read_array(io.BytesIO(content), allow_pickle=False))


def _size(shape: tuple[int, ...], itemsize: int) -> int:
    """In whole numbers of any size."""
    total = itemsize
    for length in shape:
        total *= length
    return total


def _limited(stream: IO[bytes], name: str) -> bytes:
    limit, parts, size = input_limit(), [], 0
    while part := stream.read(_CHUNK):
        size += len(part)
        if size > limit:
            raise too_large(name)
        parts.append(part)
    return b"".join(parts)
