"""The simplest tagger: every word gets the label that it had most often. A baseline to compare with."""

from __future__ import annotations

import itertools
import os
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
        pairs, seen = np.unique(words.ids * np.int64(len(labels.tags)) + labels.numbers, return_counts=True)
        word, label = np.divmod(pairs, len(labels.tags))
        place = np.argsort(np.argsort(labels.tags))  # in the alphabet
        other = np.lexsort((place, -np.bincount(label, seen, minlength=len(place))))[0]
        order = np.lexsort((place[label], -seen, word))
        best = order[np.flatnonzero(np.diff(word[order], prepend=-1))]  # the first of every word
        best = best[label[best] != other]
        pairs_of_text = zip(word[best].tolist(), label[best].tolist(), strict=True)
        return cls({words.strings[w]: labels.tags[l] for w, l in pairs_of_text}, labels.tags[other], kind)

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
