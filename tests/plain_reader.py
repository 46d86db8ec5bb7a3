"""Column files read line by line in plain Python: the judge of the native reader."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field

from casimir.tasks.tag.columns import DOCUMENT_START, is_comment, is_no_word
from casimir.tasks.tag.sentence import Sentence
from casimir.tasks.text import numbered, numbered_lines

_BLANKS = re.compile(r"[ \t]+")


@dataclass(slots=True)
class _Block:
    line: int
    document: int | None
    rows: list[list[str]] = field(default_factory=list)


@dataclass(slots=True)
class PlainTable:
    name: str
    separator: str
    width: int
    blocks: list[_Block]
    boundaries: dict[int, tuple[str, ...]]
    extras: defaultdict[int, list[tuple[int, str]]] = field(default_factory=lambda: defaultdict(list))

    def keep(self, line: str, block: _Block | None) -> None:
        """A line that is no word: of the sentence that is open, or of the next one."""
        at = (len(self.blocks), 0) if block is None else (len(self.blocks) - 1, len(block.rows))
        self.extras[at[0]].append((at[1], line))


def read_plainly(text: str, name: str) -> PlainTable:
    """Lines -> blocks of rows. Only "\\n", "\\t" and " " are structure: other blanks may be part of a word."""
    table = PlainTable(name, " ", 0, [], {})
    document: int | None = None
    open_block: _Block | None = None
    for number, line in numbered_lines(text):
        if not line.strip(" \t"):
            open_block = None
            continue
        if is_comment(line):
            table.keep(line, open_block)
            continue
        if not table.blocks:
            table.separator = "\t" if "\t" in line else " "
        row = line.split("\t") if table.separator == "\t" else _BLANKS.split(line.strip(" \t"))
        if row[0].startswith(DOCUMENT_START):
            document = 0 if document is None else document + 1
            table.boundaries[len(table.blocks)] = tuple(row)
            open_block = None
            continue
        if is_no_word(row):
            table.keep(line, open_block)
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


def _check_row(row: list[str], number: int, table: PlainTable) -> None:
    if not table.width:
        table.width = len(row)
    separator = "tabs" if table.separator == "\t" else "blanks"
    if len(row) != table.width:
        first = table.blocks[0].line
        raise ValueError(
            f"{table.name}, line {number}: {numbered(len(row), 'columns')} separated by {separator}, but line "
            f"{first} has {table.width}; every token needs the same columns. The line is {_shown(row, table)}"
        )
    if "" in row:
        raise ValueError(
            f"{table.name}, line {number}: column {row.index('') + 1} is empty. "
            f"The line, split at {separator}, is {_shown(row, table)}"
        )


def _shown(row: list[str], table: PlainTable) -> str:
    line = table.separator.join(row)
    return repr(line if len(line) <= 80 else line[:77] + "...")


def sentence_of(block: _Block, order: tuple[str, ...]) -> Sentence:
    values = {name: tuple(column) for name, column in zip(order, zip(*block.rows, strict=True), strict=True)}
    words, labels = values.pop("word"), values.pop("label", None)
    return Sentence(words, values, labels, block.document)
