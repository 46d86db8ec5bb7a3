"""Gazetteers: lists of names, each of one or more words, with a type.

One name per line, with its type behind a tab, or without one: then the type is the name of the file. Names are found in
any case, the longest ones first; a word tells that it is part of one, and where in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from casimir.metrics.schemes import Scheme, Span, tags_of
from casimir.tasks.text import numbered_lines, read_text

Name = tuple[str, ...]  # its words, in small letters


@dataclass(frozen=True)
class Gazetteer:
    """names    type -> the names of that type"""

    names: Mapping[str, frozenset[Name]]

    @cached_property
    def _lengths(self) -> dict[str, dict[str, list[int]]]:
        """type -> first word -> lengths of the names that begin with it, the longest first."""
        found: dict[str, dict[str, set[int]]] = {}
        for kind, names in self.names.items():
            of_kind = found.setdefault(kind, {})
            for name in names:
                of_kind.setdefault(name[0], set()).add(len(name))
        return {k: {first: sorted(n, reverse=True) for first, n in v.items()} for k, v in found.items()}

    def matches(self, words: Sequence[str], kind: str) -> list[Span]:
        """Names of a type from left to right: the longest that begins at a word, and on behind it."""
        lower = tuple(word.lower() for word in words)
        names, lengths, found, i = self.names[kind], self._lengths[kind], [], 0
        while i < len(lower):
            length = next(
                (n for n in lengths.get(lower[i], ()) if i + n <= len(lower) and lower[i : i + n] in names), 0
            )
            if length:
                found.append(Span(i, i + length, kind))
            i += max(length, 1)
        return found

    def marks(self, words: Sequence[str]) -> list[list[str]]:
        """For every word the names that it is part of: "S-city", "B-person", "E-person"."""
        found: list[list[str]] = [[] for _ in words]
        for kind in self.names:
            for marks, tag in zip(found, tags_of(self.matches(words, kind), len(words), Scheme.IOBES), strict=True):
                if tag != "O":
                    marks.append(tag)
        return found

    def lines(self) -> Iterator[str]:
        """As a file with types."""
        for kind, names in self.names.items():
            for name in sorted(names):
                yield f"{' '.join(name)}\t{kind}\n"


def read_gazetteers(paths: Iterable[str | Path], encoding: str = "utf-8") -> Gazetteer:
    """The names of all files together."""
    texts = [(read_text(path, encoding, "a list of names"), Path(path)) for path in paths]
    parsed = [parse_gazetteer(text, path.name.removesuffix(".gz").split(".")[0], str(path)) for text, path in texts]
    kinds = sorted({kind for one in parsed for kind in one.names})
    return Gazetteer({kind: frozenset().union(*(one.names.get(kind, ()) for one in parsed)) for kind in kinds})


def parse_gazetteer(text: str, kind: str, name: str = "gazetteer") -> Gazetteer:
    """kind: the type of names that come without one."""
    found: dict[str, set[Name]] = {}
    for number, line in numbered_lines(text):
        entry, _, given = line.partition("\t")
        if entry.split():
            found.setdefault(given.strip() or kind, set()).add(tuple(entry.lower().split()))
        elif given.strip():
            raise ValueError(f"{name}, line {number}: the type {given.strip()!r} without a name before it.")
    if not found:
        raise ValueError(f"{name} holds no names; write one per line, such as 'New York' or 'New York<tab>city'.")
    return Gazetteer({one: frozenset(found[one]) for one in sorted(found)})
