"""Clusters of words: a file of them, and what a word's cluster tells.

    bits <tab> word <tab> count     Brown's format, as `casimir cluster` writes it; bits are a path of 0 and 1
    word <tab> cluster              any name of a cluster

Digits count as 0, and a word that has no cluster has that of its small letters, if there is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from casimir.tasks.text import numbered_lines, read_text

_BITS = re.compile(r"[01]+")
_DIGIT = re.compile(r"\d")
_BEGINNINGS = (4, 6, 8, 10)


@dataclass(frozen=True)
class Clusters:
    """names    word -> name of its cluster
    counts   word -> how often it was seen, where that is known
    """

    names: Mapping[str, str]
    counts: Mapping[str, int] = field(default_factory=dict)

    def of(self, word: str) -> str | None:
        """The name of the word's cluster."""
        known = plain(word)
        return self.names.get(known) or self.names.get(known.lower())

    def levels(self, word: str) -> tuple[str, ...]:
        """The word's cluster and, where its name is a path, the path's beginnings; nothing for unknown words."""
        name = self.of(word)
        if name is None:
            return ()
        beginnings = _BEGINNINGS if _BITS.fullmatch(name) else ()
        return (f"={name}", *(f"{k}={name[:k]}" for k in beginnings if k < len(name)))

    def lines(self) -> Iterator[str]:
        """In Brown's format: clusters together, frequent words first."""
        for word in sorted(self.names, key=lambda one: (self.names[one], -self.counts.get(one, 0), one)):
            yield f"{self.names[word]}\t{word}\t{self.counts.get(word, 0)}\n"


def plain(word: str) -> str:
    """The word as clusters know it."""
    return _DIGIT.sub("0", word)


def read_clusters(path: str | Path, encoding: str = "utf-8") -> Clusters:
    """A file in one of the two formats; .gz is unpacked."""
    return parse_clusters(read_text(path, encoding, "a file of clusters"), str(path))


def parse_clusters(text: str, name: str = "clusters") -> Clusters:
    names: dict[str, str] = {}
    counts: dict[str, int] = {}
    for number, line in numbered_lines(text):
        if not line.strip():
            continue
        parts = line.split("\t")
        if len(parts) == 3 and parts[0] and parts[2].isdecimal():
            names[plain(parts[1])], counts[plain(parts[1])] = parts[0], int(parts[2])
        elif len(parts) == 2 and all(parts):
            names[plain(parts[0])] = parts[1]
        else:
            raise ValueError(
                f"{name}, line {number}: {line[:60]!r} is no cluster of a word; write 'bits<tab>word<tab>count' or "
                "'word<tab>cluster'."
            )
    if not names:
        raise ValueError(f"{name} holds no clusters; `casimir cluster TEXT --out FILE` learns some.")
    return Clusters(names, counts)
