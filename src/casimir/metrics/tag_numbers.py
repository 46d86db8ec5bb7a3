"""Tags of many sentences at once, as numbers: where spans begin and end, and the same spans in another scheme.

Token t has the tag tags[numbers[t]]; sentence i owns the tokens offsets[i]:offsets[i + 1]. The rules are those of
`spans`, `convert` and `detect_scheme`, which do it sentence by sentence.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from casimir.metrics.schemes import Scheme, best_scheme, parse_tag

_PREFIXES = "OBIES"
_O, _B, _I, _E, _S = range(5)


@dataclass(frozen=True, eq=False)
class TagNumbers:
    """numbers  int[T];  offsets  int64[n + 1];  tags  the distinct tags, each well-formed"""

    numbers: np.ndarray
    offsets: np.ndarray
    tags: Sequence[str]

    @cached_property
    def _parsed(self) -> tuple[np.ndarray, np.ndarray, list[str]]:
        """Of every distinct tag the number of its prefix and of its type; the types."""
        pairs = [parse_tag(tag) for tag in self.tags]
        kinds = list(dict.fromkeys(kind for _, kind in pairs))
        prefixes = np.array([_PREFIXES.index(prefix) for prefix, _ in pairs], dtype=np.int64)
        return prefixes, np.array([kinds.index(kind) for _, kind in pairs], dtype=np.int64), kinds

    @cached_property
    def _edges(self) -> tuple[np.ndarray, ...]:
        """bool[T] each: tokens of spans, their first and last tokens, those with the same type just before."""
        prefix, kind = self._parsed[0][self.numbers], self._parsed[1][self.numbers]
        first = np.zeros(len(prefix), dtype=bool)
        first[self.offsets[:-1]] = True
        inside, before = prefix != _O, np.roll(prefix, 1)
        before[first] = _O
        same = np.roll(kind, 1) == kind
        begins = inside & ((prefix == _B) | (prefix == _S) | np.isin(before, (_O, _E, _S)) | ~same)
        goes_on = np.roll(inside & ~begins, -1) & ~np.roll(first, -1)
        return inside, begins, inside & ~goes_on, same & (before != _O)

    def prefixes(self, scheme: Scheme) -> np.ndarray:
        """int64[T]: the prefixes that the scheme gives the spans."""
        inside, begins, ends, touches = self._edges
        if scheme is Scheme.IOB1:
            found = np.where(begins & touches, _B, _I)
        elif scheme is Scheme.IOB2:
            found = np.where(begins, _B, _I)
        else:
            found = np.where(begins, np.where(ends, _S, _B), np.where(ends, _E, _I))
        return np.where(inside, found, _O)

    def convert(self, scheme: Scheme) -> TagNumbers:
        """The same spans in another scheme."""
        kinds = self._parsed[2]
        tags = ["O", *(f"{prefix}-{kind}" if kind else prefix for prefix in _PREFIXES[1:] for kind in kinds)]
        prefixes = self.prefixes(scheme)
        numbers = np.where(prefixes == _O, 0, 1 + (prefixes - 1) * len(kinds) + self._parsed[1][self.numbers])
        return TagNumbers(numbers, self.offsets, tags)

    def scheme(self) -> Scheme:
        """The one that the fewest sentences break; warns where it is more than a few."""
        prefix, inside = self._parsed[0][self.numbers], self._edges[0]
        plain = np.array(
            [
                _PREFIXES[p] + (f"-{self._parsed[2][k]}" if self._parsed[2][k] else "") == tag
                for p, k, tag in zip(*self._parsed[:2], self.tags, strict=True)
            ],
            dtype=bool,
        )[self.numbers]
        broken = {one: self._sentences(~plain | (prefix != self.prefixes(one))) for one in Scheme}
        return best_scheme(broken, bool(np.any(prefix >= _E)), self._sentences(inside))

    def _sentences(self, tokens: np.ndarray) -> int:
        """How many sentences have such a token."""
        if not len(tokens):
            return 0
        return int(np.count_nonzero(np.add.reduceat(tokens, self.offsets[:-1], dtype=np.int64)))

    def lists(self) -> list[list[str]]:
        """The tags of every sentence."""
        table: Any = np.array(self.tags, dtype=object)
        flat, ends = table[self.numbers].tolist() if len(self.tags) else [], self.offsets.tolist()
        return [flat[a:b] for a, b in itertools.pairwise(ends)]
