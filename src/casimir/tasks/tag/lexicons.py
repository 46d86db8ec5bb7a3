"""What is known about words: clusters, gazetteers, what they were in training; and how model folders keep it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from casimir.tasks.tag.clusters import Clusters, parse_clusters
from casimir.tasks.tag.corpus import Corpus, Sentence
from casimir.tasks.tag.gazetteers import Gazetteer, parse_gazetteer
from casimir.tasks.tag.known_words import KnownWords
from casimir.tasks.tag.words import case_of

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
        """With what words were in training, where labels write spans and the features read it."""
        if corpus.scheme is None or not wanted:
            return self
        return replace(self, known=KnownWords.of(corpus))

    def added(self, sentences: Iterable[Sentence], features: Iterable[list[list[str]]]) -> Iterator[list[list[str]]]:
        """The features of each sentence, and those of its words' clusters and names."""
        for sentence, tokens in zip(sentences, features, strict=True):
            if self.clusters is not None:
                _add_clusters([self.clusters.levels(word) for word in sentence.words], tokens)
            if self.gazetteer is not None:
                _add_names(sentence.words, self.gazetteer.marks(sentence.words), tokens)
            if self.known is not None:
                self.known.add(sentence.words, tokens)
            yield tokens

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


def _add_clusters(levels: Sequence[tuple[str, ...]], tokens: list[list[str]]) -> None:
    """Clusters at offsets -2..+2, and pairs of neighbouring ones."""
    padded = [(), (), *levels, (), ()]
    for i, token in enumerate(tokens):
        for offset in range(-2, 3):
            token += [f"cluster[{offset}]{level}" for level in padded[i + 2 + offset]]
        before, own, after = (found[0] if found else "" for found in padded[i + 1 : i + 4])
        token += (f"cluster[-1,0]{before}{own}", f"cluster[0,1]{own}{after}", f"cluster[-1,1]{before}{after}")


def _add_names(words: Sequence[str], marks: Sequence[Sequence[str]], tokens: list[list[str]]) -> None:
    """Names that a word is part of, its place in them and its case; names that its neighbours are part of."""
    padded = [(), *marks, ()]
    for i, token in enumerate(tokens):
        case = case_of(words[i])
        for mark in padded[i + 1]:
            kind = mark.partition("-")[2]
            token += (f"name={mark}", f"name={kind}", f"name={mark}|{case}")
        token += [f"name[-1]={mark}" for mark in padded[i]] + [f"name[1]={mark}" for mark in padded[i + 2]]
