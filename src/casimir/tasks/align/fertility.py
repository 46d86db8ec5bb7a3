"""Words with several links: a sentence pair is dealt out into parts, and each part has a matching of its own.

part (a, b) of a pair    source words a, a + f, a + 2f, ... and target words b, b + f, b + 2f, ...,    a, b in {0..f-1}

Each cell lies in one part. A source word lies in f of them and has at most one link in each, so it has at most f links,
and so has a target word. Words that stand next to each other never compete, so a phrase of up to f words may be linked
to a phrase of up to f words, each word to each. With f = 1 the only part is the pair itself.

One matching over f copies of every row and column would be simpler to say, but it takes a good link twice, between the
first copies of two words and between the second ones. Parts cannot, and small matchings are faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from casimir.scores import FloatArray, IntArray
from casimir.tasks.align.baselines import links_of
from casimir.tasks.align.bitext import Links

LIMIT = 4  # the largest fertility that is chosen by itself
_RARE = 0.05  # share of the linked words that may need more links than they get


def needed_fertility(links: Sequence[Links]) -> int:
    """The least f, 4 at most, such that no more than 5 % of the linked words have more than f sure links."""
    counts = [np.bincount(pair.sure[:, side]) for pair in links for side in (0, 1)]
    degrees = np.concatenate([np.zeros(0, dtype=np.int64), *counts])
    linked = degrees[degrees > 0]
    return next((f for f in range(1, LIMIT) if np.sum(linked > f) <= _RARE * len(linked)), LIMIT)


@dataclass(frozen=True, eq=False)
class Deal:
    """Sentence pairs in parts.

    pairs      (m, n + 1) of every pair; the last column is no link
    fertility  f
    """

    pairs: Sequence[tuple[int, int]]
    fertility: int

    @cached_property
    def parts(self) -> list[tuple[int, int, int]]:
        """(pair, a, b) of every part that has words on both sides, pair after pair."""
        f = self.fertility
        return [
            (k, a, b) for k, (m, n) in enumerate(self.pairs) for a in range(min(f, m)) for b in range(min(f, n - 1))
        ]

    @property
    def shapes(self) -> list[tuple[int, int]]:
        """(m, n + 1) of every part."""
        f, pairs = self.fertility, self.pairs
        return [(len(range(a, pairs[k][0], f)), len(range(b, pairs[k][1] - 1, f)) + 1) for k, a, b in self.parts]

    def matrices(self, features: Sequence[FloatArray]) -> list[FloatArray]:
        """Features float64[m (n + 1), d] of every part, from those of every pair."""
        tables = [matrix.reshape(*shape, -1) for matrix, shape in zip(features, self.pairs, strict=True)]
        return [self._cells(tables[k], a, b) for k, a, b in self.parts]

    def links(self, links: Sequence[Links]) -> list[Links]:
        """The links of every part, words counted within the part."""
        return [Links(self._own(links[k].sure, a, b), self._own(links[k].possible, a, b)) for k, a, b in self.parts]

    def joined(self, outputs: Sequence[IntArray]) -> list[IntArray]:
        """int64[k_i, 2]: the links of every pair, sorted, from the matchings of its parts."""
        found: list[list[IntArray]] = [[np.zeros((0, 2), dtype=np.int64)] for _ in self.pairs]
        for (k, a, b), links in zip(self.parts, links_of(outputs, self.shapes), strict=True):
            found[k].append(links * self.fertility + (a, b))
        pairs = [np.concatenate(links) for links in found]
        return [links[np.lexsort((links[:, 1], links[:, 0]))] for links in pairs]

    def _cells(self, table: FloatArray, a: int, b: int) -> FloatArray:
        if self.fertility == 1:
            return table.reshape(-1, table.shape[2])
        columns = np.append(np.arange(b, table.shape[1] - 1, self.fertility), table.shape[1] - 1)
        return table[a :: self.fertility][:, columns].reshape(-1, table.shape[2])

    def _own(self, links: IntArray, a: int, b: int) -> IntArray:
        own: IntArray = links[(links % self.fertility == (a, b)).all(axis=1)] // self.fertility
        return own
