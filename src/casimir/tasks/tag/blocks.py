"""Labelled files some sentences at a time, so that a file need not fit into memory.

A block ends where a document does, if the file tells documents, else behind a sentence.
"""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from casimir.tasks.tag.arrow_files import is_arrow, read_arrow
from casimir.tasks.tag.columns import DOCUMENT_START, Layout, parse_conll
from casimir.tasks.tag.corpus import Corpus
from casimir.tasks.tag.jsonlines import TAGS, TOKENS, corpus_of_records, is_json_lines, parse_json_lines
from casimir.tasks.text import check_text

_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")
_LONGEST = 2**28  # characters without an end of a sentence or document: no file of sentences has such
_NEAR_THE_END = 2**16
_CHARACTERS_OF_A_SENTENCE = 128  # about, tags and all
BLOCK = 2**24

_Parse = Callable[[bool | None], Corpus]  # whether labels write spans -> the sentences of a block


@dataclass(frozen=True)
class BlockReader:
    """layout    of the columns
    encoding  of the files
    spans     whether labels write spans; None: if all of the first block look like it
    fields    the columns of Arrow and Parquet files that hold tokens and tags
    size      characters of a block, at least
    progress  called with the bytes read of a file, and those it has
    """

    layout: Layout
    encoding: str = "utf-8"
    spans: bool | None = None
    size: int = BLOCK
    fields: tuple[str, str] = (TOKENS, TAGS)
    progress: Callable[[int, int], None] = lambda done, total: None

    def read(self, path: Path, like: Corpus | None = None) -> Iterator[Corpus]:
        """The blocks of a file; they have the columns of `like`, or of the first block."""
        for parse in self._of_arrow(path) if is_arrow(path) else self._of_text(path):
            corpus = parse(self.spans if like is None else like.scheme is not None)
            name = corpus.name
            if like is not None and (corpus.columns, corpus.width) != (like.columns, like.width):
                raise ValueError(
                    f"{name} has the columns {['word', *corpus.columns]}, and {like.name} has "
                    f"{['word', *like.columns]}; files of one pack need the same columns."
                )
            like = corpus if like is None else like
            yield corpus

    def _of_text(self, path: Path) -> Iterator[_Parse]:
        line, is_json = 1, None
        for text in _cut(path, self.encoding, self.size, self.progress):
            is_json = is_json_lines(text) if is_json is None else is_json
            name = f"{path}" if line == 1 else f"{path} (from line {line:,})"
            line += text.count("\n")
            if not text.strip():
                continue
            if is_json:
                yield partial(_of_json, text, name)
            else:
                yield partial(_of_columns, text, name, self.layout)

    def _of_arrow(self, path: Path) -> Iterator[_Parse]:
        rows = max(self.size // _CHARACTERS_OF_A_SENTENCE, 1)
        for first, records in read_arrow(path, self.fields, rows, self.progress):
            yield partial(_of_records, records, f"{path}" if first == 0 else f"{path} (from row {first + 1:,})")


def _of_json(text: str, name: str, spans: bool | None) -> Corpus:
    return parse_json_lines(text, labelled=True, name=name, has_spans=spans)


def _of_columns(text: str, name: str, layout: Layout, spans: bool | None) -> Corpus:
    return parse_conll(text, name=name, layout=layout, spans=spans)


def _of_records(records: list[dict[str, Any]], name: str, spans: bool | None) -> Corpus:
    return corpus_of_records(records, labelled=True, name=name, has_spans=spans)


def _cut(path: Path, encoding: str, size: int, progress: Callable[[int, int], None]) -> Iterator[str]:
    """The text of a file in pieces of about `size` characters."""
    try:
        total = path.stat().st_size
        with open(path, "rb") as raw:
            packed: Any = gzip.GzipFile(fileobj=raw) if path.suffix == ".gz" else raw
            stream, rest = io.TextIOWrapper(packed, encoding, newline=""), ""
            is_json: bool | None = None
            while fresh := stream.read(size):
                progress(raw.tell(), total)
                check_text(fresh, str(path), encoding)
                text = rest + (fresh.removeprefix("\ufeff") if is_json is None else fresh)
                is_json = is_json_lines(text) if is_json is None else is_json
                end = text.rfind("\n") + 1 if is_json else _end(text)
                if end == 0 and len(text) > _LONGEST:
                    raise ValueError(
                        f"{path} has {len(text):,} characters without a blank line; it holds no sentences."
                    )
                rest = text[end:]
                if end:
                    yield text[:end]
            if rest:
                yield rest
    except LookupError:
        raise ValueError(f"unknown encoding {encoding!r}; try utf-8, latin-1, cp1252 or utf-16") from None
    except UnicodeError as error:
        reason = getattr(error, "reason", error)
        raise ValueError(f"{path} is not {encoding} text ({reason}); try --encoding latin-1") from None
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise ValueError(f"cannot read {path}: {reason}; give the path of a column file or of JSON lines") from None


def _end(text: str) -> int:
    """How much of a text is whole documents, or sentences where there are no documents; 0: nothing."""
    found = text.rfind(f"\n{DOCUMENT_START}")
    if found > 0 or text.startswith(DOCUMENT_START):
        return found + 1 if found > 0 else 0
    for start in (max(0, len(text) - _NEAR_THE_END), 0):
        ends = [found.end() for found in _BLANK_LINE.finditer(text, start)]
        if ends:
            return ends[-1]
    return 0
