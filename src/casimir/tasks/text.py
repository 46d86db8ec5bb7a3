"""Text files of tasks: decoding with errors that name file and line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


def read_text(path: str | Path, encoding: str, what: str) -> str:
    """The text of a file; `what` names what it should be, such as "a CoNLL-U file"."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror or error}; give the path of {what}") from error
    try:
        text = data.decode(encoding)
    except LookupError:
        raise ValueError(f"unknown encoding {encoding!r}; try utf-8, latin-1, cp1252 or utf-16") from None
    except UnicodeError as error:
        where = ""
        if isinstance(error, UnicodeDecodeError) and error.start < len(data):
            line = data.count(b"\n", 0, error.start) + 1
            where = f", line {line}: byte 0x{data[error.start]:02x} at position {error.start}"
        guess = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "latin-1"
        raise ValueError(f"{path}{where} is not {encoding} text; try --encoding {guess}") from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise ValueError(f"{path}, line {line}: NUL character, so this is not {encoding} text; try --encoding utf-16")
    return text


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """(number, line) without line ends; a byte order mark is skipped. Only "\\n" and "\\r\\n" end a line."""
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        yield number, line.removesuffix("\r")
