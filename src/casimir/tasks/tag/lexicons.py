"""What is known about words: clusters, gazetteers, what they were in training; and how model folders keep it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from casimir.tasks.tag.clusters import Clusters, parse_clusters
from casimir.tasks.tag.corpus import Corpus
from casimir.tasks.tag.gazetteers import Gazetteer, parse_gazetteer
from casimir.tasks.tag.known_words import KnownWords

# arrays of a model folder, each the text of a file
_CLUSTERS, _GAZETTEER, _KNOWN = _NAMES = ("lexicons.clusters", "lexicons.gazetteer", "lexicons.known")


@dataclass(frozen=True)
class Lexicons:
    clusters: Clusters | None = None
    gazetteer: Gazetteer | None = None
    known: KnownWords | None = None

    def __bool__(self) -> bool:
        return any(one is not None for one in self._all)

    @property
    def _all(self) -> tuple[Clusters | None, Gazetteer | None, KnownWords | None]:
        return self.clusters, self.gazetteer, self.known

    @property
    def names(self) -> tuple[str, ...]:
        """What there is, of "clusters", "gazetteer" and "known"."""
        found = zip(_NAMES, self._all, strict=True)
        return tuple(name.partition(".")[2] for name, lexicon in found if lexicon is not None)

    def learnt(self, corpus: Corpus, wanted: bool = True) -> Lexicons:
        """With what words were in training, where the features read it."""
        return replace(self, known=KnownWords.of(corpus)) if wanted else self

    def arrays(self) -> dict[str, np.ndarray]:
        """uint8 each, for a model folder."""
        found: dict[str, np.ndarray] = {}
        for name, lexicon in zip(_NAMES, self._all, strict=True):
            if lexicon is not None:
                found[name] = np.frombuffer("".join(lexicon.lines()).encode(), dtype=np.uint8)
        return found

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Lexicons:
        texts = {name: arrays[name].tobytes().decode() for name in _NAMES if name in arrays}
        return cls(
            parse_clusters(texts[_CLUSTERS]) if _CLUSTERS in texts else None,
            parse_gazetteer(texts[_GAZETTEER], "name") if _GAZETTEER in texts else None,
            KnownWords.parse(texts[_KNOWN]) if _KNOWN in texts else None,
        )

    @staticmethod
    def is_mine(array: str) -> bool:
        return array in _NAMES


NO_LEXICONS = Lexicons()
