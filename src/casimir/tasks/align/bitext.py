"""Sentence pairs and their links, in two text files.

text    one pair per line, words separated by blanks, `|||` between the two sentences
gold    one line per pair, links separated by blanks: `i-j` is sure, `ipj` possible; words are counted from 1

Blanks are spaces and tabs. Anything else may be part of a word, such as the no-break space of French numbers, so that
words are counted as other programs count them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from casimir.scores import IntArray
from casimir.tasks.text import numbered_lines, read_text

SEPARATOR = "|||"
_BLANKS = " \t"
_LINK = re.compile(r"([0-9]{1,9})([-p])([0-9]{1,9})")


@dataclass(frozen=True, eq=False, slots=True)
class Links:
    """The links of one pair, counted from 0 and sorted.

    sure      int64[s, 2]: (source word, target word)
    possible  int64[t, 2]: all links that are no mistake; the sure ones are among them
    """

    sure: IntArray
    possible: IntArray


@dataclass(frozen=True, eq=False, slots=True)
class Bitext:
    """source, target  the words of every pair
    links           of every pair, or None
    name            where it comes from, for messages
    """

    source: Sequence[Sequence[str]]
    target: Sequence[Sequence[str]]
    links: Sequence[Links] | None = None
    name: str = "bitext"

    def __len__(self) -> int:
        return len(self.source)

    @property
    def gold(self) -> Sequence[Links]:
        """The links; a ValueError where there are none."""
        if self.links is None:
            raise ValueError(f"{self.name} has no links; give the gold file too.")
        return self.links

    def select(self, pairs: Any) -> Bitext:
        """The given pairs: an index array or a mask."""
        chosen = np.arange(len(self))[pairs].tolist()
        links = None if self.links is None else [self.links[i] for i in chosen]
        return Bitext([self.source[i] for i in chosen], [self.target[i] for i in chosen], links, self.name)


def read_bitext(text: str | Path, gold: str | Path | None = None, *, encoding: str = "utf-8") -> Bitext:
    """Read sentence pairs and, with `gold`, their links; errors name the file and the line."""
    content = read_text(text, encoding, "a file of sentence pairs")
    links = None if gold is None else read_text(gold, encoding, "a file of links")
    return parse_bitext(content, links, name=str(text), gold_name=str(gold))


def parse_bitext(text: str, gold: str | None = None, *, name: str = "text", gold_name: str = "gold") -> Bitext:
    """`read_bitext` for text already in memory; the names are used in messages."""
    lines = _lines(text)
    if not lines:
        raise ValueError(f"{name} is empty; it needs one sentence pair per line.")
    pairs = [_parse_pair(line, f"{name}, line {k}") for k, line in enumerate(lines, 1)]
    source, target = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    if gold is None:
        return Bitext(source, target, None, name)
    rows = _lines(gold, len(lines))  # an empty line is a pair without links
    if len(rows) != len(lines):
        raise ValueError(f"{gold_name} has {len(rows)} lines and {name} has {len(lines)}; give one line per pair.")
    sizes = zip(rows, source, target, strict=True)
    links = [parse_links(row, (len(s), len(t)), f"{gold_name}, line {k}") for k, (row, s, t) in enumerate(sizes, 1)]
    return Bitext(source, target, links, name)


def parse_links(text: str, shape: tuple[int, int], where: str = "links") -> Links:
    """The links in one line, of sentences with shape[0] and shape[1] words."""
    sure, possible = set(), set()
    for token in _words(text):
        match = _LINK.fullmatch(token)
        if match is None:
            raise ValueError(f"{where}: {token!r} is no link; write 3-4 for a sure link, 3p4 for a possible one.")
        link = (int(match[1]) - 1, int(match[3]) - 1)
        if not (0 <= link[0] < shape[0] and 0 <= link[1] < shape[1]):
            raise ValueError(
                f"{where}: the link {token!r} names a word that is not there; the sentences have {shape[0]} and "
                f"{shape[1]} words, counted from 1."
            )
        possible.add(link)
        if match[2] == "-":
            sure.add(link)
    return Links(_as_array(sure), _as_array(possible))


def format_links(links: IntArray) -> str:
    """`i-j` for every row (i, j) of int64[s, 2], counted from 1."""
    return " ".join(f"{i + 1}-{j + 1}" for i, j in np.asarray(links).tolist())


def _parse_pair(line: str, where: str) -> tuple[list[str], list[str]]:
    sides = line.split(SEPARATOR)
    if len(sides) != 2:
        raise ValueError(f"{where}: it has {len(sides) - 1} separators `{SEPARATOR}`; a pair of sentences needs one.")
    source, target = _words(sides[0]), _words(sides[1])
    if not source or not target:
        raise ValueError(f"{where}: the {'first' if not source else 'second'} sentence has no words.")
    return source, target


def _words(text: str) -> list[str]:
    """What stands between blanks."""
    return [word for word in re.split(f"[{_BLANKS}]", text) if word]


def _lines(text: str, least: int = 0) -> list[str]:
    """Lines without the empty ones at the end, but at least `least` of them where there are so many."""
    lines = [line for _, line in numbered_lines(text)]
    if not lines[-1]:
        lines.pop()  # what follows the last line end
    while len(lines) > least and not lines[-1].strip(_BLANKS):
        lines.pop()
    return lines


def _as_array(links: Iterable[tuple[int, int]]) -> IntArray:
    return np.array(sorted(links), dtype=np.int64).reshape(-1, 2)
