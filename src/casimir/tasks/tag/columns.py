"""CoNLL column files: one token per line, a blank line after each sentence, `-DOCSTART-` lines between documents.

    columns    labelled                            unlabelled
    1                                              word
    2          word label                          word pos
    3          word pos label                      word pos chunk
    4          word pos chunk label                word lemma pos chunk
    5          word lemma pos chunk label

Other numbers and orders of columns are told by a `Layout`; the rest is then called c2, c3, ... by its place. Columns
are separated by tabs, if the first token's line has one, or else by any run of blanks. Of CoNLL-U files, comments and
lines that are no words are kept aside, to be written back.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from casimir._native import core
from casimir.metrics.schemes import Scheme, parse_tag, write_spans
from casimir.metrics.tag_numbers import TagNumbers
from casimir.scores import IntArray
from casimir.tasks.tag.corpus import Corpus
from casimir.tasks.tag.tokens import LABEL, WORD, Column, Tokens, TokenSentences
from casimir.tasks.text import encoded, numbered, read_text

DOCUMENT_START = "-DOCSTART-"
_NAMES: dict[int, tuple[str, ...]] = {1: (), 2: ("pos",), 3: ("pos", "chunk"), 4: ("lemma", "pos", "chunk")}
_BLANKS = re.compile(r"[ \t]+")
# of CoNLL-U files: comments, and lines of multiword tokens (3-4) and empty nodes (3.1)
_COMMENT, _NO_WORD, _CONLLU_WIDTH = re.compile(r"#\s*(?:\S+\s*=\s|newdoc\b|newpar\b)"), re.compile(r"\d+[-.]\d+"), 10


@dataclass(frozen=True)
class Layout:
    """Where words and labels stand in a line: columns counted from 1; label -1 is the last column."""

    word: int = 1
    label: int = -1

    def __post_init__(self) -> None:
        if self.word < 1 or (self.label < 1 and self.label != -1) or self.word == self.label:
            raise ValueError(
                f"The word is in column {self.word} and the label in column {self.label}; columns are counted from 1, "
                "and the two are different."
            )

    def names(self, width: int, labelled: bool, name: str) -> tuple[str, ...]:
        """What the columns of a file are called, in its order: "word", "label", and the others."""
        label = (width if self.label == -1 else self.label) if labelled else 0
        if max(self.word, label) > width or self.word == label:
            raise ValueError(
                f"{name} has {numbered(width, 'columns')}; the word is looked for in column {self.word} and the label "
                f"in column {label}. Say where they are: --word N, --label N."
            )
        known = _NAMES.get(width - bool(label)) if self == Layout() else None
        others = iter(known or ())
        found = []
        for k in range(1, width + 1):
            shifted = k + (not labelled and self.label != -1 and k >= self.label)  # as in a file with labels
            found.append("label" if k == label else "word" if shifted == self.word else next(others, f"c{shifted}"))
        return tuple(found)


FIRST_AND_LAST = Layout()


def read_conll(
    path: str | Path,
    *,
    labelled: bool | None = True,
    columns: Sequence[str] | None = None,
    encoding: str = "utf-8",
    layout: Layout = FIRST_AND_LAST,
    spans: bool | None = True,
) -> Corpus:
    """Read a column file.

    path        the file; "-" is stdin, and .gz is unpacked
    labelled    True: there is a label; False: there is none; None: there is one if the file has one column more than
                `columns` asks for
    columns     names of the columns besides word and label that the file must have, e.g. those of the training file;
                None takes what the file has
    encoding    of the file; a byte order mark is skipped
    layout      where the word and the label stand
    spans       whether labels write spans (IOB1, IOB2, IOBES), others being an error; None: if all of them look like it
    """
    text = read_text(path, encoding, "a CoNLL column file")
    return parse_conll(text, labelled=labelled, columns=columns, name=str(path), layout=layout, spans=spans)


def parse_conll(
    text: str,
    *,
    labelled: bool | None = True,
    columns: Sequence[str] | None = None,
    name: str = "input",
    layout: Layout = FIRST_AND_LAST,
    spans: bool | None = True,
    width: int | None = None,
) -> Corpus:
    """`read_conll` for text already in memory.

    name    is used in messages
    width   columns of files with labels, where that is known: then a file as wide has them, and need not have the
            `columns` alone
    """
    table = _read(text, name)
    if labelled is None and width == table.width:
        labelled, columns = True, None
    labelled = _has_labels(table, labelled, columns, layout)
    order = layout.names(table.width, labelled, name)
    others = tuple(one for one in order if one not in (WORD, LABEL))
    by_name = dict(zip(order, table.columns, strict=True))
    kept = {one: by_name[one] for one in (WORD, *others, LABEL) if one in by_name}
    tokens = Tokens(table.offsets, table.documents, kept)
    scheme = _scheme(tokens, table, spans) if labelled else None
    about = (table.separator, table.boundaries, name, order)
    return Corpus(TokenSentences(tokens), others, scheme, *about, width=table.width, extras=table.extras)


def _scheme(tokens: Tokens, table: _Table, spans: bool | None) -> Scheme | None:
    """None for labels that write no spans."""
    labels = tokens.columns[LABEL]
    if spans is None:
        spans = write_spans([labels.strings])
    if not spans:
        return None
    for number, tag in enumerate(labels.strings):
        try:
            parse_tag(tag)
        except ValueError as error:
            token = int(np.argmax(labels.ids == number))
            i = int(np.searchsorted(tokens.offsets, token, side="right")) - 1
            line = int(table.lines[i]) + token - int(tokens.offsets[i])
            raise ValueError(f"{table.name}, line {line}: {error}") from None
    return TagNumbers(labels.ids, tokens.offsets, labels.strings).scheme()


@dataclass(frozen=True, eq=False)
class _Table:
    """What the core read: columns in the order of the file, and lines that are no tokens."""

    name: str
    separator: str
    offsets: IntArray
    documents: IntArray
    lines: IntArray  # number of the first line of every sentence
    columns: list[Column]
    boundaries: dict[int, tuple[str, ...]]
    extras: dict[int, tuple[tuple[int, str], ...]]

    @property
    def width(self) -> int:
        return len(self.columns)


def _read(text: str, name: str) -> _Table:
    """Lines -> sentences. Only "\\n", "\\t" and " " are structure: other blanks may be part of a word."""
    if not text.isascii():
        encoded(text, name, "utf-8")  # an error that says what is wrong with damaged text
    found = core.read_columns(text, DOCUMENT_START, _CONLLU_WIDTH, is_comment, _is_range)
    separator = found["separator"]
    if found["problem"] is not None:
        _complain(found, name)
    boundaries = {i: tuple(_cells(line, separator if i else _separator(line))) for i, _, line in found["boundaries"]}
    extras: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)
    for i, at, line in found["extras"]:
        extras[i].append((at, line))
    if not len(found["lines"]):
        raise ValueError(
            f"{name} holds no sentences; a column file has one token per line, such as 'Paris NNP I-NP B-LOC'"
        )
    about = found["offsets"], found["documents"], found["lines"], [Column(*one) for one in found["columns"]]
    return _Table(name, separator, *about, boundaries, {i: tuple(lines) for i, lines in extras.items()})


def _separator(line: str) -> str:
    """As long as there is no token, every line tells its own."""
    return "\t" if "\t" in line else " "


def _cells(line: str, separator: str) -> list[str]:
    return line.split("\t") if separator == "\t" else _BLANKS.split(line.strip(" \t"))


def _is_range(cell: str) -> bool:
    return _NO_WORD.fullmatch(cell) is not None


def is_comment(line: str) -> bool:
    """Of a CoNLL-U file; a line that begins with the word "#" is none."""
    return _COMMENT.match(line) is not None


def is_no_word(row: Sequence[str]) -> bool:
    """A multiword token or an empty node of a CoNLL-U file."""
    return len(row) == _CONLLU_WIDTH and _NO_WORD.fullmatch(row[0]) is not None


def _complain(found: Mapping[str, Any], name: str) -> NoReturn:
    """About a line that does not fit the first one, or has an empty column."""
    _, number, line = found["problem"]
    row, width = _cells(line, found["separator"]), len(found["columns"])
    separator = "tabs" if found["separator"] == "\t" else "blanks"
    joined = found["separator"].join(row)
    shown = repr(joined if len(joined) <= 80 else joined[:77] + "...")
    if len(row) != width:
        raise ValueError(
            f"{name}, line {number}: {numbered(len(row), 'columns')} separated by {separator}, but line "
            f"{found['lines'][0]} has {width}; every token needs the same columns. The line is {shown}"
        )
    raise ValueError(
        f"{name}, line {number}: column {row.index('') + 1} is empty. The line, split at {separator}, is {shown}"
    )


def _has_labels(table: _Table, labelled: bool | None, columns: Sequence[str] | None, layout: Layout) -> bool:
    width = table.width
    if columns is not None:
        wanted = len(columns) + 1
        if labelled is None and width in (wanted, wanted + 1):
            labelled = width == wanted + 1
        fits = labelled is not None and width == wanted + labelled
        if not fits or sorted(_others(layout, width, bool(labelled), table.name)) != sorted(columns):
            needed = " ".join(["word", *columns])
            with_label = {True: f"'{needed} label'", False: f"'{needed}'", None: f"'{needed}' or '{needed} label'"}[
                labelled
            ]
            more = " For a file with more columns say whether the last one is a label: --labelled or --unlabelled."
            fewer = " To do without them, train a model with --columns word."
            hint = fewer if width < wanted else more if labelled is None and width > wanted + 1 else ""
            raise ValueError(f"{table.name} has {numbered(width, 'columns')}; the model needs {with_label}.{hint}")
    if labelled is None:
        raise ValueError("labelled=None needs columns, the names that the file must have; or give True or False")
    if labelled and width < 2:
        raise ValueError(
            f"{table.name} has {numbered(width, 'columns')}; a labelled file has the word, others, and the label last"
        )
    return labelled


def _others(layout: Layout, width: int, labelled: bool, name: str) -> list[str]:
    return [one for one in layout.names(width, labelled, name) if one not in ("word", "label")]
