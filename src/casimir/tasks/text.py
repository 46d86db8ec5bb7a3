"""Text files of tasks, plain or .gz: errors that name file and line, and writing that leaves no half of a file."""

from __future__ import annotations

import gzip
import os
import secrets
import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path

from casimir.tasks.data_files import read_data, unpacked

STDIO = "-"  # stdin in the place of a file to read, stdout in the place of one to write


def read_text(path: str | Path, encoding: str, what: str) -> str:
    """The text of a file; `what` names what it should be, such as "a CoNLL-U file". "-" is stdin."""
    try:
        data = _bytes(Path(path))
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise ValueError(f"cannot read {path}: {reason}; give the path of {what}.") from error
    try:
        text = data.decode(encoding)
    except LookupError:
        raise ValueError(_unknown(encoding)) from None
    except UnicodeError as error:
        where = ""
        if isinstance(error, UnicodeDecodeError) and error.start < len(data):
            line = data.count(b"\n", 0, error.start) + 1
            where = f", line {line}: byte 0x{data[error.start]:02x} at position {error.start}"
        guess = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "latin-1"
        raise ValueError(f"{path}{where} is not {encoding} text; try --encoding {guess}") from None
    check_text(text, str(path), encoding)
    return text


def check_text(text: str, name: str, encoding: str) -> None:
    """Refuses characters that text has not, and files of old Macs, which would be one long line."""
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise ValueError(f"{name}, line {line}: NUL character, so this is not {encoding} text; try --encoding utf-16")
    if "\r" in text and text.count("\r") - text.count("\r\n") > text.count("\n"):
        raise ValueError(
            f"{name} has lines that end in a carriage return alone. Convert it, as by: tr '\\r' '\\n' < {name}"
        )


def _bytes(path: Path) -> bytes:
    """Of a file, unpacked if its name ends in .gz; "-" is stdin."""
    data = read_data(path, is_stdin=str(path) == STDIO)
    return unpacked(data, str(path)) if path.suffix == ".gz" else data


def numbered(n: int, things: str) -> str:
    """So many things, which are named in the plural: 1 word, 2,000 words."""
    return f"{n:,} {things.removesuffix('s') if n == 1 else things}"


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """(number, line) without line ends; a byte order mark is skipped. Only "\\n" and "\\r\\n" end a line."""
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        yield number, line.removesuffix("\r")


def write_text(path: str | Path, text: str, encoding: str = "utf-8") -> None:
    """Write a file, which appears only when it is complete. Devices and pipes are written to as they are."""
    data = encoded(text, str(path), encoding)
    if Path(path).suffix == ".gz":
        data = gzip.compress(data, mtime=0)
    try:
        _write(Path(path).resolve(), data)
    except OSError as error:
        raise ValueError(
            f"cannot write {path}: {error.strerror or error}; choose a file in a folder that exists and is writable"
        ) from error


def encoded(text: str, name: str, encoding: str) -> bytes:
    """The bytes of a text; `name` says where they go, for messages."""
    try:
        return text.encode(encoding)
    except LookupError:
        raise ValueError(_unknown(encoding)) from None
    except UnicodeEncodeError as error:
        raise ValueError(f"cannot write {name} as {encoding}: {error.reason}; try --encoding utf-8") from None


def _unknown(encoding: str) -> str:
    return f"unknown encoding {encoding!r}; try utf-8, latin-1, cp1252 or utf-16"


def _write(target: Path, data: bytes) -> None:
    if target.exists() and not target.is_file():  # a rename would put a file where the device was
        target.write_bytes(data)
        return
    fresh = target.with_name(f".{target.name}.writing-{secrets.token_hex(4)}")
    try:
        fresh.write_bytes(data)
        if target.exists():
            shutil.copymode(target, fresh)
        os.replace(fresh, target)
    finally:
        fresh.unlink(missing_ok=True)
