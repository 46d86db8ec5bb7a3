"""What sentence pairs without links tell about words that translate each other.

Dice      2 c(e, f) / (c(e) + c(f)), c counting the sentence pairs in which the words occur
t(f | e)  translation probabilities of IBM model 1 with a prior for the diagonal (Brown et al. 1993; Dyer et al. 2013):
          word j of the target comes from word i of the source with probability
              p(i | j) ~ exp(-tension |i/m - j/n|) t(f_j | e_i),
          or from no word; and the other way round.

Words are compared in lower case, in a lexicon of stems by their first letters alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from casimir.persistence.labels import distinct_strings
from casimir.scores import FloatArray, IntArray
from casimir.tasks.align.translation import posterior, translations
from casimir.tasks.arrays import checked_array

Sentences = Sequence[Sequence[str]]


@dataclass(frozen=True, eq=False, slots=True)
class Lookup:
    """The words of one sentence pair as numbers; -1 is not in the lexicon.

    source, target  int64[m], int64[n]
    pair            int64[m, n]: where the two words stand together in Lexicon.keys
    """

    source: IntArray
    target: IntArray
    pair: IntArray


@dataclass(frozen=True, eq=False, slots=True)
class PairTables:
    """What the lexicon says about one sentence pair of m and n words.

    dice                        float64[m, n]
    forward, backward           float64[m, n]: the probability that target word j comes from source word i; the reverse
    source_count, target_count  float64[m], float64[n]: sentence pairs in which the word occurs
    """

    dice: FloatArray
    forward: FloatArray
    backward: FloatArray
    source_count: FloatArray
    target_count: FloatArray


@dataclass(frozen=True, eq=False)
class Lexicon:
    """letters                      how many letters of a word count; None for all
    source, target               word -> number, S and T of them
    keys                         int64[K], sorted: source number * T + target number of words seen in one sentence pair
    together                     float64[K]: sentence pairs with both words
    forward, backward            float64[K]: t(target word | source word), t(source word | target word)
    forward_null, backward_null  float64[T], float64[S]: t(target word | no word), t(source word | no word)
    source_count, target_count   float64[S], float64[T]: sentence pairs with the word
    """

    letters: int | None
    source: Mapping[str, int]
    target: Mapping[str, int]
    keys: IntArray
    together: FloatArray
    forward: FloatArray
    backward: FloatArray
    forward_null: FloatArray
    backward_null: FloatArray
    source_count: FloatArray
    target_count: FloatArray

    @classmethod
    def of(cls, source: Sentences, target: Sentences, letters: int | None = None) -> Lexicon:
        """From sentence pairs; no links are needed."""
        source = [[_form(w, letters) for w in sentence] for sentence in source]
        target = [[_form(w, letters) for w in sentence] for sentence in target]
        left, right = _numbered(source), _numbered(target)
        s, t = _encoded(source, left), _encoded(target, right)
        keys, forward, forward_null = translations(s, t, len(left), len(right))
        turned, backward, backward_null = translations(t, s, len(right), len(left))
        order = np.argsort(turned % len(left) * len(right) + turned // len(left))
        words = [(np.unique(a), np.unique(b)) for a, b in zip(s, t, strict=True)]
        both = np.concatenate([(a[:, None] * len(right) + b).ravel() for a, b in words])
        return cls(
            letters,
            left,
            right,
            keys,
            _counts(np.searchsorted(keys, both), len(keys)),
            forward,
            backward[order],
            forward_null,
            backward_null,
            _counts(np.concatenate([a for a, _ in words]), len(left)),
            _counts(np.concatenate([b for _, b in words]), len(right)),
        )

    def look_up(self, source: Sequence[str], target: Sequence[str]) -> Lookup:
        s = np.array([self.source.get(_form(w, self.letters), -1) for w in source], dtype=np.int64)
        t = np.array([self.target.get(_form(w, self.letters), -1) for w in target], dtype=np.int64)
        key = np.where((s >= 0)[:, None] & (t >= 0), s[:, None] * len(self.target) + t, -1)
        at = np.minimum(np.searchsorted(self.keys, key), len(self.keys) - 1)
        return Lookup(s, t, np.where(self.keys[at] == key, at, -1))

    def tables(self, words: Lookup) -> PairTables:
        """Unknown words have no Dice, and come from any word and make any word with the same probability."""
        s, t, pair = words.source, words.target, words.pair
        source_count, target_count = taken(self.source_count, s), taken(self.target_count, t)
        either = np.maximum(source_count[:, None] + target_count, 1.0)
        any_source, any_target = 1.0 / len(self.source), 1.0 / len(self.target)
        forward = posterior(taken(self.forward, pair, any_target), taken(self.forward_null, t, any_target))
        backward = posterior(taken(self.backward, pair, any_source).T, taken(self.backward_null, s, any_source))
        dice = 2.0 * taken(self.together, pair) / either
        return PairTables(dice, forward, np.ascontiguousarray(backward.T), source_count, target_count)

    def to_parts(self, name: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Words for a JSON file, and arrays whose names begin with `name`."""
        meta = {"letters": self.letters, "source": list(self.source), "target": list(self.target)}
        return meta, {f"{name}.{k}": getattr(self, k) for k in _ARRAYS}

    @classmethod
    def from_parts(cls, name: str, meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Lexicon:
        """What `to_parts` gave; a ValueError when it does not fit together."""
        letters = None if meta["letters"] is None else int(meta["letters"])
        words = (distinct_strings(meta[side], "words") for side in ("source", "target"))
        source, target = ({word: i for i, word in enumerate(own)} for own in words)
        keys = checked_array(arrays, f"{name}.keys", (None,), np.int64)
        sizes = {"forward_null": target, "target_count": target, "backward_null": source, "source_count": source}
        given = {k: checked_array(arrays, f"{name}.{k}", (len(sizes.get(k, keys)),)) for k in _ARRAYS if k != "keys"}
        if np.any(np.diff(keys) <= 0) or not 0 <= keys[0] <= keys[-1] < len(source) * len(target):
            raise ValueError("the model file is damaged: the keys of its lexicon are not sorted pairs of words.")
        return cls(letters, source, target, keys, **given)


_ARRAYS = [one.name for one in fields(Lexicon)][3:]  # letters and words come before


def taken(values: FloatArray, index: IntArray, unknown: float = 0.0) -> FloatArray:
    """values[index], and `unknown` where the index is -1."""
    return np.where(index >= 0, values[index], unknown)


def _counts(index: IntArray, size: int) -> FloatArray:
    return np.bincount(index, minlength=size).astype(np.float64)


def _form(word: str, letters: int | None) -> str:
    return word.lower()[:letters]


def _numbered(sentences: Sentences) -> dict[str, int]:
    return {word: i for i, word in enumerate(sorted({w for sentence in sentences for w in sentence}))}


def _encoded(sentences: Sentences, numbers: Mapping[str, int]) -> list[IntArray]:
    return [np.array([numbers[w] for w in sentence], dtype=np.int64) for sentence in sentences]
