"""CoNLL-U files: dependency trees, one word per line in ten columns, a blank line after each sentence.

    ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC        separated by tabs, "_" where there is nothing

Lines that begin with "#" are comments. Multiword tokens (ID 3-4) and empty nodes (ID 3.1) are no nodes of the tree;
they are kept when a file is written again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from casimir.tasks.text import numbered, numbered_lines, read_text

_COLUMNS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
_NOT_A_NODE = re.compile(r"\d+(-|\.)\d+")
_HEAD, _DEPREL, _DEPS = 6, 7, 8


@dataclass(frozen=True, slots=True)
class DependencyTree:
    """One sentence; node v is its word v, counted from 0.

    words, lemmas, upos, xpos, feats   columns of the file, "_" where empty
    parents   the head of each node, -1 at a root
    labels    DEPREL of each node; None when the file has none
    lines     all lines of the sentence as they were, comments included
    rows      the line of each node
    first     the number of the first line in the file
    """

    words: tuple[str, ...]
    lemmas: tuple[str, ...]
    upos: tuple[str, ...]
    xpos: tuple[str, ...]
    feats: tuple[str, ...]
    parents: tuple[int, ...]
    labels: tuple[str, ...] | None
    lines: tuple[str, ...]
    rows: tuple[int, ...]
    first: int

    def __len__(self) -> int:
        return len(self.words)


@dataclass(frozen=True, slots=True)
class Treebank:
    """trees, and the name of the file they come from, for messages."""

    trees: list[DependencyTree]
    name: str = "input"

    def __len__(self) -> int:
        return len(self.trees)

    def select(self, examples: Iterable[int]) -> Treebank:
        """The trees with these numbers, in this order."""
        return replace(self, trees=[self.trees[i] for i in examples])

    @property
    def n_nodes(self) -> int:
        """Words of all trees together."""
        return sum(map(len, self.trees))

    def labels(self) -> list[tuple[str, ...]]:
        """DEPREL of every tree; a ValueError names the first sentence without."""
        found = []
        for tree in self.trees:
            if tree.labels is None:
                raise ValueError(
                    f"{self.name}, line {tree.first}: the sentence has no labels (DEPREL, column 8); "
                    "training and evaluation need them."
                )
            found.append(tree.labels)
        return found


def read_conllu(path: str | Path, *, encoding: str = "utf-8") -> Treebank:
    """The trees in a CoNLL-U file."""
    return parse_conllu(read_text(path, encoding, "a CoNLL-U file"), name=str(path))


def parse_conllu(text: str, *, name: str = "input") -> Treebank:
    """`read_conllu` for text already in memory; `name` is used in messages."""
    trees = [tree for first, lines in _blocks(text) if (tree := _tree(lines, first, name)) is not None]
    if not trees:
        raise ValueError(f"{name} holds no sentences; a CoNLL-U file has one word per line in ten columns.")
    return Treebank(trees, name)


def format_conllu(treebank: Treebank, labels: Sequence[Sequence[str]]) -> Iterator[str]:
    """The lines of the file with the given labels as DEPREL; DEPS, which repeats them, becomes "_"."""
    for tree, given in zip(treebank.trees, labels, strict=True):
        lines = list(tree.lines)
        for row, label in zip(tree.rows, given, strict=True):
            columns = lines[row].split("\t")
            columns[_DEPREL], columns[_DEPS] = label, "_"
            lines[row] = "\t".join(columns)
        yield "".join(f"{line}\n" for line in [*lines, ""])


def _blocks(text: str) -> Iterator[tuple[int, list[str]]]:
    """(number of the first line, lines) of every sentence."""
    lines: list[str] = []
    first = 1
    for number, line in numbered_lines(text):
        if line.strip():
            if not lines:
                first = number
            lines.append(line)
        elif lines:
            yield first, lines
            lines = []
    if lines:
        yield first, lines


def _tree(lines: list[str], first: int, name: str) -> DependencyTree | None:
    """One sentence; None when it has comments only."""
    table: list[list[str]] = []
    rows: list[int] = []
    for row, line in enumerate(lines):
        if line.startswith("#"):
            continue
        columns = line.split("\t")
        where = f"{name}, line {first + row}"
        if len(columns) != len(_COLUMNS):
            raise ValueError(
                f"{where}: {numbered(len(columns), 'columns')} separated by tabs; CoNLL-U has {len(_COLUMNS)}: "
                f"{' '.join(_COLUMNS)}."
            )
        if _NOT_A_NODE.fullmatch(columns[0]):
            continue
        if columns[0] != str(len(table) + 1):
            raise ValueError(
                f"{where}: ID is {columns[0]!r}; the words of a sentence are numbered 1, 2, 3, ..., so it must be "
                f"{len(table) + 1}. Is a blank line missing?"
            )
        table.append(columns)
        rows.append(row)
    if not table:
        return None
    words, lemmas, upos, xpos, feats, _, deprels = (tuple(column) for column in list(zip(*table, strict=True))[1:8])
    parents = tuple(_parent(columns[_HEAD], v, len(table), first + rows[v], name) for v, columns in enumerate(table))
    _check_tree(parents, [first + row for row in rows], name)
    labels = _labels(deprels, [first + row for row in rows], name)
    return DependencyTree(words, lemmas, upos, xpos, feats, parents, labels, tuple(lines), tuple(rows), first)


def _parent(head: str, v: int, p: int, line: int, name: str) -> int:
    if not head.isdecimal() or int(head) > p:
        raise ValueError(
            f"{name}, line {line}: HEAD is {head!r}; it must be 0 (a root) or the ID of a word, 1 to {p}. "
            "Labels are predicted for given trees."
        )
    if int(head) == v + 1:
        raise ValueError(f"{name}, line {line}: the word is its own HEAD; a root has the HEAD 0.")
    return int(head) - 1


def _check_tree(parents: tuple[int, ...], lines: list[int], name: str) -> None:
    """Following heads must end at a root."""
    good = {-1}
    for v in range(len(parents)):
        path: list[int] = []
        u = v
        while u not in good:
            if u in path:
                raise ValueError(
                    f"{name}, line {lines[u]}: following HEAD from this word leads back to it; "
                    "a tree has no cycle, and its root has the HEAD 0."
                )
            path.append(u)
            u = parents[u]
        good.update(path)


def _labels(deprels: tuple[str, ...], lines: list[int], name: str) -> tuple[str, ...] | None:
    """All labels of a sentence, or None when there are none at all."""
    empty = [line for line, label in zip(lines, deprels, strict=True) if label in ("", "_")]
    if len(empty) == len(deprels):
        return None
    if empty:
        raise ValueError(f"{name}, line {empty[0]}: DEPREL is empty, though other words of the sentence have one.")
    return deprels
