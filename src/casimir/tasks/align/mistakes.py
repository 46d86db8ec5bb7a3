"""Which words the mistakes are about: sure links that were missed, and links that are not even possible."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from casimir.scores import IntArray
from casimir.tasks.align.bitext import Bitext


@dataclass(frozen=True, slots=True)
class WordPair:
    """How often the link of two words was missed, and how often it was wrong."""

    source: str
    target: str
    missed: int
    wrong: int


def mistakes(bitext: Bitext, found: Sequence[IntArray]) -> tuple[WordPair, ...]:
    """The pairs of words with mistakes, those with most of them first, then by the alphabet."""
    missed: Counter[tuple[str, str]] = Counter()
    wrong: Counter[tuple[str, str]] = Counter()
    for source, target, links, given in zip(bitext.source, bitext.target, bitext.gold, found, strict=True):
        chosen, sure, possible = ({tuple(link) for link in a.tolist()} for a in (given, links.sure, links.possible))
        missed.update((source[i], target[j]) for i, j in sure - chosen)
        wrong.update((source[i], target[j]) for i, j in chosen - possible)
    both = missed + wrong
    return tuple(
        WordPair(*words, missed[words], wrong[words]) for words in sorted(both, key=lambda words: (-both[words], words))
    )
