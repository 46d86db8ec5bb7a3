"""Sentences of text files without labels, a line or a block at a time, so that files of any size can be read."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from casimir.tasks.tag.columns import is_comment, is_no_word
from casimir.tasks.tag.plain import sentences_of


def read_sentences(
    paths: Iterable[str | Path], word: int | None = None, encoding: str = "utf-8"
) -> Iterator[list[str]]:
    """The words of every sentence.

    word   None: plain text, a paragraph per line; else the column of the word in files with a word per line, counted
           from 1
    """
    for path in map(Path, paths):
        try:
            with _opened(path, encoding) as lines:
                yield from _of_text(lines) if word is None else _of_columns(lines, word)
        except (OSError, EOFError, UnicodeError, LookupError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ValueError(
                f"cannot read {path} as {encoding} text: {reason}; give a text file, or its --encoding"
            ) from None


def _opened(path: Path, encoding: str) -> IO[str]:
    if path.suffix == ".gz":
        return io.TextIOWrapper(gzip.open(path), encoding=encoding)
    return path.open(encoding=encoding)


def _of_text(lines: Iterable[str]) -> Iterator[list[str]]:
    for line in lines:
        for places in sentences_of(line):
            yield [line[start:end] for start, end in places]


def _of_columns(lines: Iterable[str], word: int) -> Iterator[list[str]]:
    """Lines with fewer columns, such as blank ones, end a sentence; what is no word of a CoNLL-U file is skipped."""
    sentence: list[str] = []
    for line in lines:
        row = line.rstrip("\r\n").split("\t") if "\t" in line else line.split()
        if is_comment(line) or is_no_word(row):
            continue
        if len(row) >= word:
            sentence.append(row[word - 1])
        elif sentence:
            yield sentence
            sentence = []
    if sentence:
        yield sentence
