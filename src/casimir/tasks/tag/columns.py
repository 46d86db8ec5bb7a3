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
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from sys import intern

from casimir.metrics.schemes import Scheme, detect_scheme, parse_tag, write_spans
from casimir.tasks.tag.corpus import Corpus, Sentence
from casimir.tasks.text import numbered_lines, read_text

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
                f"{name} has {width} columns; the word is looked for in column {self.word} and the label in column "
                f"{label}. Say where they are: --word N, --label N."
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
    table = _split(text, name)
    if labelled is None and width == table.width:
        labelled, columns = True, None
    labelled = _has_labels(table, labelled, columns, layout)
    order = layout.names(table.width, labelled, name)
    sentences = [_sentence(block, order) for block in table.blocks]
    scheme = _scheme(sentences, table, spans) if labelled else None
    others = tuple(one for one in order if one not in ("word", "label"))
    extras = {k: tuple(lines) for k, lines in table.extras.items()}
    about = (table.separator, table.boundaries, name, order)
    return Corpus(sentences, others, scheme, *about, width=table.width, extras=extras)


def _scheme(sentences: list[Sentence], table: _Table, spans: bool | None) -> Scheme | None:
    """None for labels that write no spans."""
    labels = [sentence.labels for sentence in sentences if sentence.labels is not None]
    if spans is None:
        spans = write_spans(labels)
    if not spans:
        return None
    for block, tags in zip(table.blocks, labels, strict=True):
        for i, tag in enumerate(tags):
            try:
                parse_tag(tag)
            except ValueError as error:
                raise ValueError(f"{table.name}, line {block.line + i}: {error}") from None
    return detect_scheme(labels)


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
    extras: defaultdict[int, list[tuple[int, str]]] = field(default_factory=lambda: defaultdict(list))

    def keep(self, line: str, block: _Block | None) -> None:
        """A line that is no word: of the sentence that is open, or of the next one."""
        at = (len(self.blocks), 0) if block is None else (len(self.blocks) - 1, len(block.rows))
        self.extras[at[0]].append((at[1], line))


def _split(text: str, name: str) -> _Table:
    """Lines -> blocks of rows. Only "\\n", "\\t" and " " are structure: other blanks may be part of a word."""
    table = _Table(name, " ", 0, [], {})
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


def is_comment(line: str) -> bool:
    """Of a CoNLL-U file; a line that begins with the word "#" is none."""
    return _COMMENT.match(line) is not None


def is_no_word(row: Sequence[str]) -> bool:
    """A multiword token or an empty node of a CoNLL-U file."""
    return len(row) == _CONLLU_WIDTH and _NO_WORD.fullmatch(row[0]) is not None


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
            raise ValueError(f"{table.name} has {width} columns; the model needs {with_label}.{hint}")
    if labelled is None:
        raise ValueError("labelled=None needs columns, the names that the file must have; or give True or False")
    if labelled and width < 2:
        raise ValueError(f"{table.name} has {width} columns; a labelled file has the word, others, and the label last")
    return labelled


def _others(layout: Layout, width: int, labelled: bool, name: str) -> list[str]:
    return [one for one in layout.names(width, labelled, name) if one not in ("word", "label")]


def _sentence(block: _Block, order: tuple[str, ...]) -> Sentence:
    values = {
        name: tuple(map(intern, column)) for name, column in zip(order, zip(*block.rows, strict=True), strict=True)
    }
    words, labels = values.pop("word"), values.pop("label", None)
    return Sentence(words, values, labels, block.document)
