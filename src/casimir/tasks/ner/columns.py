"""CoNLL column files: one token per line, a blank line after each sentence, `-DOCSTART-` lines between documents.

    columns    labelled                            unlabelled
    1                                              word
    2          word label                          word pos
    3          word pos label                      word pos chunk
    4          word pos chunk label                word lemma pos chunk
    5          word lemma pos chunk label

Columns are separated by tabs, if the first token's line has one, or else by any run of blanks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from sys import intern

from casimir.tasks.ner.corpus import Corpus, Sentence
from casimir.tasks.ner.schemes import detect_scheme, parse_tag
from casimir.tasks.text import numbered_lines, read_text

DOCUMENT_START = "-DOCSTART-"
_NAMES: dict[int, tuple[str, ...]] = {1: (), 2: ("pos",), 3: ("pos", "chunk"), 4: ("lemma", "pos", "chunk")}
_BLANKS = re.compile(r"[ \t]+")


def read_conll(
    path: str | Path,
    *,
    labelled: bool | None = True,
    columns: Sequence[str] | None = None,
    encoding: str = "utf-8",
) -> Corpus:
    """Read a column file.

    path        the file
    labelled    True: the last column is the label; False: there is none; None: there is one if the file has one column
                more than `columns` asks for
    columns     names of the columns besides word and label that the file must have, e.g. those of the training file;
                None takes what the file has
    encoding    of the file; a byte order mark is skipped
    """
    return parse_conll(
        read_text(path, encoding, "a CoNLL column file"), labelled=labelled, columns=columns, name=str(path)
    )


def parse_conll(
    text: str, *, labelled: bool | None = True, columns: Sequence[str] | None = None, name: str = "input"
) -> Corpus:
    """`read_conll` for text already in memory; `name` is used in messages."""
    table = _split(text, name)
    labelled = _has_labels(table, labelled, columns)
    names = _NAMES[table.width - labelled]
    sentences = [_sentence(block, names, labelled, table) for block in table.blocks]
    scheme = detect_scheme([s.labels for s in sentences if s.labels is not None]) if labelled else None
    return Corpus(sentences, names, scheme, table.separator, table.boundaries, name)


@dataclass(slots=True)
class _Block:
    line: int
    document: int | None
    rows: list[list[str]] = field(default_factory=list)


@dataclass(slots=True)
class _Table:
    name: str
    separator: str
    width: int
    blocks: list[_Block]
    boundaries: dict[int, tuple[str, ...]]


def _split(text: str, name: str) -> _Table:
    """Lines -> blocks of rows. Only "\\n", "\\t" and " " are structure: other blanks may be part of a word."""
    table = _Table(name, " ", 0, [], {})
    document: int | None = None
    open_block: _Block | None = None
    for number, line in numbered_lines(text):
        if not line.strip(" \t"):
            open_block = None
            continue
        if not table.blocks:
            table.separator = "\t" if "\t" in line else " "
        row = line.split("\t") if table.separator == "\t" else _BLANKS.split(line.strip(" \t"))
        if row[0].startswith(DOCUMENT_START):
            document = 0 if document is None else document + 1
            table.boundaries[len(table.blocks)] = tuple(row)
            open_block = None
            continue
        _check_row(row, number, table)
        if open_block is None:
            if document is None and table.boundaries:
                document = 0
            open_block = _Block(number, document)
            table.blocks.append(open_block)
        open_block.rows.append(row)
    if not table.blocks:
        raise ValueError(
            f"{name} holds no sentences; a column file has one token per line, such as 'Paris NNP I-NP B-LOC'"
        )
    return table


def _check_row(row: list[str], number: int, table: _Table) -> None:
    if not table.width:
        table.width = len(row)
    separator = "tabs" if table.separator == "\t" else "blanks"
    if len(row) != table.width:
        first = table.blocks[0].line
        raise ValueError(
            f"{table.name}, line {number}: {len(row)} columns separated by {separator}, but line {first} has "
            f"{table.width}; every token needs the same columns. The line is {_shown(row, table)}"
        )
    if "" in row:
        raise ValueError(
            f"{table.name}, line {number}: column {row.index('') + 1} is empty. "
            f"The line, split at {separator}, is {_shown(row, table)}"
        )


def _shown(row: list[str], table: _Table) -> str:
    line = table.separator.join(row)
    return repr(line if len(line) <= 80 else line[:77] + "...")


def _has_labels(table: _Table, labelled: bool | None, columns: Sequence[str] | None) -> bool:
    width = table.width
    if columns is not None:
        wanted = len(columns) + 1
        if labelled is None and width in (wanted, wanted + 1):
            labelled = width == wanted + 1
        if labelled is None or width != wanted + labelled or _NAMES.get(wanted) != tuple(columns):
            needed = " ".join(["word", *columns])
            with_label = {True: f"'{needed} label'", False: f"'{needed}'", None: f"'{needed}' or '{needed} label'"}[
                labelled
            ]
            more = " For a file with more columns say whether the last one is a label: --labelled or --unlabelled."
            hint = more if labelled is None and width > wanted + 1 else ""
            raise ValueError(f"{table.name} has {width} columns; the model needs {with_label}.{hint}")
    if labelled is None:
        raise ValueError("labelled=None needs columns, the names that the file must have; or give True or False")
    low, high = (2, 5) if labelled else (1, 4)
    if not low <= width <= high:
        kind = "labelled" if labelled else "unlabelled"
        raise ValueError(
            f"{table.name} has {width} columns; a {kind} file has {low} to {high}: the word"
            + (", others, and the label last" if labelled else " first, then others")
        )
    return labelled


def _sentence(block: _Block, names: tuple[str, ...], labelled: bool, table: _Table) -> Sentence:
    words, *others = (tuple(map(intern, column)) for column in zip(*block.rows, strict=True))
    labels = others.pop() if labelled else None
    for i, label in enumerate(labels or ()):
        try:
            parse_tag(label)
        except ValueError as error:
            raise ValueError(f"{table.name}, line {block.line + i}: {error}") from None
    return Sentence(words, dict(zip(names, others, strict=True)), labels, block.document)
