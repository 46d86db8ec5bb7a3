"""How often words were linked in the labelled pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np

from casimir.scores import FloatArray, IntArray
from casimir.tasks.align.bitext import Bitext, Links
from casimir.tasks.align.lexicon import Lexicon, Lookup, taken
from casimir.tasks.arrays import checked_array

_SHRINK = 1.0  # k links among n chances are a rate of k / (n + _SHRINK)
_WORD_CHANCES, _WORD_LINKS = 2.0, 1.4  # what a word counts before it is seen: 7 of 10 words have a sure link


@dataclass(frozen=True, eq=False, slots=True)
class RateTables:
    """Of one sentence pair of m and n words.

    seen            float64[m, n]: cells with these two words in labelled pairs
    sure, possible  float64[m, n]: the share of them that is linked, shrunk towards 0
    source, target  float64[m], float64[n]: the share of the word's occurrences that have a sure link
    """

    seen: FloatArray
    sure: FloatArray
    possible: FloatArray
    source: FloatArray
    target: FloatArray


@dataclass(frozen=True, eq=False, slots=True)
class LinkRates:
    """Counts in labelled pairs, numbered as in a lexicon.

    seen, sure, possible        float64[K]: cells of each word pair, those with a sure link, with any link
    source_seen, source_linked  float64[S]: occurrences of each source word, those with a sure link
    target_seen, target_linked  float64[T]
    """

    seen: FloatArray
    sure: FloatArray
    possible: FloatArray
    source_seen: FloatArray
    source_linked: FloatArray
    target_seen: FloatArray
    target_linked: FloatArray

    @classmethod
    def of(cls, bitext: Bitext, lexicon: Lexicon) -> LinkRates:
        """All words of the bitext must be in the lexicon."""
        sizes = [len(lexicon.keys)] * 3 + [len(lexicon.source)] * 2 + [len(lexicon.target)] * 2
        counts = [np.zeros(size) for size in sizes]
        for source, target, links in zip(bitext.source, bitext.target, bitext.gold, strict=True):
            for count, index in zip(counts, _events(lexicon.look_up(source, target), links), strict=True):
                np.add.at(count, index, 1.0)
        return cls(*counts)

    def tables(self, words: Lookup, own: Links | None = None) -> RateTables:
        """The rates for a sentence pair. `own` are its links if it is one of the labelled pairs: they are left out, so
        that a training example looks as a new one would."""
        where = [words.pair] * 3 + [words.source] * 2 + [words.target] * 2
        events: list[IntArray | None] = [None] * 7 if own is None else list(_events(words, own))
        names = [f.name for f in fields(self)]
        seen, sure, possible, s_seen, s_linked, t_seen, t_linked = (
            _without(getattr(self, name), index, event) for name, index, event in zip(names, where, events, strict=True)
        )
        return RateTables(
            seen,
            sure / (seen + _SHRINK),
            possible / (seen + _SHRINK),
            (s_linked + _WORD_LINKS) / (s_seen + _WORD_CHANCES),
            (t_linked + _WORD_LINKS) / (t_seen + _WORD_CHANCES),
        )

    def to_arrays(self) -> dict[str, np.ndarray]:
        return {f"rates.{f.name}": getattr(self, f.name) for f in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], lexicon: Lexicon) -> LinkRates:
        """What `to_arrays` gave; a ValueError when it does not fit the lexicon."""
        sizes = {"source": len(lexicon.source), "target": len(lexicon.target)}
        names = [f.name for f in fields(cls)]
        return cls(
            *(checked_array(arrays, f"rates.{k}", (sizes.get(k.partition("_")[0], len(lexicon.keys)),)) for k in names)
        )


def _events(words: Lookup, links: Links) -> tuple[IntArray, ...]:
    """What one labelled pair adds one to, for each of the counts."""
    i, j = np.unique(links.sure[:, 0]), np.unique(links.sure[:, 1])
    return (
        words.pair.ravel(),
        words.pair[links.sure[:, 0], links.sure[:, 1]],
        words.pair[links.possible[:, 0], links.possible[:, 1]],
        words.source,
        words.source[i],
        words.target,
        words.target[j],
    )


def _without(count: FloatArray, index: IntArray, events: IntArray | None) -> FloatArray:
    """count[index], 0 for unknown words, less the number of the events at the same place."""
    total = taken(count, index)
    if events is None or not len(events):
        return total
    place, inverse = np.unique(index, return_inverse=True)
    own = np.bincount(np.searchsorted(place, events), minlength=len(place))
    return np.asarray(total - own[inverse].reshape(index.shape))
