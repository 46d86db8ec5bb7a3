"""The simplest tagger: every word gets the label that it had most often. A baseline to compare with."""

from __future__ import annotations

import itertools
import os
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from casimir.persistence import save_folder
from casimir.tasks.tag.corpus import Corpus
from casimir.tasks.tag.tokens import WORD
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
        words, labels = corpus.tokens.columns[WORD], corpus.label_numbers
        counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        pairs, seen = np.unique(words.ids * np.int64(len(labels.tags)) + labels.numbers, return_counts=True)
        total: Counter[str] = Counter()
        for pair, n in zip(pairs.tolist(), seen.tolist(), strict=True):
            word, label = divmod(pair, len(labels.tags))
            counts[words.strings[word]][labels.tags[label]] += n
            total[labels.tags[label]] += n
        other = _first(total)
        best = {word: _first(seen) for word, seen in counts.items()}
        return cls({word: label for word, label in best.items() if label != other}, other, kind)

    def tag(self, corpus: Corpus) -> list[list[str]]:
        tokens = corpus.tokens
        words = tokens.columns[WORD]
        best = [self.labels.get(word, self.other) for word in words.strings]
        labels, ends = [best[word] for word in words.ids.tolist()], tokens.offsets.tolist()
        return [labels[a:b] for a, b in itertools.pairwise(ends)]

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
