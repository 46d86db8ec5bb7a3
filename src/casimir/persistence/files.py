"""Files that are read whole or not at all, and written whole or not at all."""

from __future__ import annotations

import contextlib
import mmap
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from casimir._limits import check_model_file

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_PATIENCE = 60.0  # seconds that one saver waits for another
_PAUSE = 0.01
_TMP = (".casimir-", ".tmp")


def read_regular(file: Path) -> bytes:
    """The bytes of a regular file of a model; pipes and devices, which may never end, are refused."""
    with _regular(file) as stream:
        check_model_file(os.fstat(stream.fileno()).st_size, f"'{file}'")
        return stream.read()


def map_regular(file: Path) -> memoryview:
    """The bytes, mapped: pages are read when they are looked at, and those that are changed change in memory alone."""
    with _regular(file) as stream:
        size = os.fstat(stream.fileno()).st_size
        return memoryview(mmap.mmap(stream.fileno(), size, access=mmap.ACCESS_COPY) if size else b"")


def first_bytes(file: Path, count: int) -> bytes:
    """So many bytes at the beginning of a regular file, or fewer."""
    with _regular(file) as stream:
        return stream.read(count)


@contextlib.contextmanager
def _regular(file: Path) -> Iterator[BinaryIO]:
    descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError(f"'{file}' is no regular file; only regular ones are read.")
        with open(descriptor, "rb", closefd=False) as stream:
            yield stream
    finally:
        os.close(descriptor)


def replace(file: Path, *parts: bytes) -> None:
    """Put a file in its place when all of it is on disk; until then the old one stays."""
    replace_by(file, lambda stream: stream.writelines(parts))


def replace_by(file: Path, fill: Callable[[BinaryIO], None]) -> None:
    """The same of a file that `fill` writes piece by piece."""
    fresh = _fresh(file.parent)
    try:
        write_by(fresh, fill)
        os.replace(fresh, file)
    finally:
        with contextlib.suppress(OSError):
            fresh.unlink(missing_ok=True)
    sync_folder(file.parent)


def try_to_write(folder: Path) -> None:
    """Raise where no file can be written into the folder; none stays."""
    fresh = _fresh(folder)
    write(fresh, b"")
    fresh.unlink()


def _fresh(folder: Path) -> Path:
    return folder / f"{_TMP[0]}{secrets.token_hex(4)}{_TMP[1]}"


def is_leftover(name: str) -> bool:
    """Whether a killed save left a file of this name."""
    return name.startswith(_TMP[0]) and name.endswith(_TMP[1])


def write(file: Path, *parts: bytes) -> None:
    """A new file, on disk when this returns."""
    write_by(file, lambda stream: stream.writelines(parts))


def write_by(file: Path, fill: Callable[[BinaryIO], None]) -> None:
    with open(file, "xb") as stream:
        fill(stream)
        stream.flush()
        os.fsync(stream.fileno())


def sync_folder(folder: Path) -> None:
    """Make names and renames durable; not every system can, and there it is not needed."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """A folder that is there, while nobody else may claim it; a ValueError at once where someone has."""
    if fcntl is None:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(f"Someone else is writing to '{folder}'. Wait for them, or give another folder.") from None
        except OSError:  # no locks here
            pass
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """The folder, made where there is none, while nobody else saves there; a new one goes again when it stays empty.

    Where folders cannot be locked (Windows, some network file systems), savers do not wait for one another.
    """
    existed = folder.exists()
    try:
        is_new, descriptor = _open_locked(folder)
    except BaseException:
        if not existed:
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise
    try:
        yield
    finally:
        if is_new:
            with contextlib.suppress(OSError):  # not empty: a model is there now
                folder.rmdir()
        if descriptor is not None:
            os.close(descriptor)


def _open_locked(folder: Path) -> tuple[bool, int | None]:
    """(whether the folder was made, what holds the lock)"""
    is_new = False
    while True:
        if not folder.exists():
            with contextlib.suppress(FileExistsError):
                folder.mkdir(parents=True)
                is_new = True
        if fcntl is None:
            return is_new, None
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            _wait_for(descriptor, folder)
            if _is_at(descriptor, folder):
                return is_new, descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # another saver has taken the folder away meanwhile


def _wait_for(descriptor: int, folder: Path) -> None:
    """Until the lock is held; at once where there are no locks."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > until:
                raise TimeoutError(f"someone else has been saving to '{folder}' for {_PATIENCE:.0f} s") from None
            time.sleep(_PAUSE)
        except OSError:
            return


def _is_at(descriptor: int, folder: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(folder))
    except FileNotFoundError:
        return False
