"""The simplest tagger: every word gets the label that it had most often. A baseline to compare with."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from casimir.persistence import save_folder
from casimir.tasks.tag.corpus import Corpus
from casimir.tasks.training import Run

FORM = "most-frequent"


@dataclass(frozen=True, eq=False)
class MostFrequent:
    """labels   word -> its label
    other    the label of all other words
    kind     of the model folder: the task's name
    """

    labels: Mapping[str, str]
    other: str
    kind: str = "tag"

    @property
    def run(self) -> Run:
        """Nothing was optimised."""
        return Run("converged", 0.0, 0.0, 0.0, 0.0, 0, 0, 0.0)

    @classmethod
    def of(cls, corpus: Corpus, kind: str = "tag") -> MostFrequent:
        """Ties go to the label that comes first in the alphabet; words that were never seen get the most frequent."""
        counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for sentence, labels in zip(corpus.sentences, corpus.labels, strict=True):
            for word, label in zip(sentence.words, labels, strict=True):
                counts[word][label] += 1
        total = sum(counts.values(), Counter())
        other = _first(total)
        best = {word: _first(seen) for word, seen in counts.items()}
        return cls({word: label for word, label in best.items() if label != other}, other, kind)

    def tag(self, corpus: Corpus) -> list[list[str]]:
        return [[self.labels.get(word, self.other) for word in sentence.words] for sentence in corpus.sentences]

    def save(self, path: str | os.PathLike[str]) -> None:
        save_folder(path, self.kind, {"form": FORM, "labels": dict(self.labels), "other": self.other}, {})

    @classmethod
    def from_meta(cls, meta: Mapping[str, Any], kind: str) -> MostFrequent:
        labels = meta.get("labels")
        if not isinstance(labels, dict) or not all(
            isinstance(one, str) for one in (*labels.values(), meta.get("other"))
        ):
            raise ValueError("the model file is damaged: it has no proper labels of words.")
        return cls(labels, meta["other"], kind)


def _first(counts: Counter[str]) -> str:
    return min(counts, key=lambda label: (-counts[label], label))
