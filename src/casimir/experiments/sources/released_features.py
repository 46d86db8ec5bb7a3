"""The features of the code released with the paper, and the hash of a feature with a tag.

    score(x, y) = sum_t sum_k w[h(k, v_k(x, t), y_t)] + w[h(k', v_k(x, t), y_{t-1})] + w[h(10, y_{t-1}, y_t)]
    h(k, a, b) = ((17 * 31 + k) * 31 + a) * 31 + b  modulo the number of weights

k       a template: words at t-2 .. t+2, parts of speech and chunk tags at t-1 .. t+1; k' the same for the tag before
v_k     the number of its word or tag: words by first occurrence from 1 on, 0 for all those seen at most twice; -1
        before the sentence and -2 behind it. Two words away there is no feature then
y_0     the tag before the first is -1

V, the weights of the tag before, belongs to the token before: its features are here those of that token.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from casimir.features import PackedSequences
from casimir.scores import IntArray, offsets_of
from casimir.tasks.tag.corpus import Sentence

RARE = 2
BEGUN, ENDED, UNSEEN = -1, -2, -3  # numbers of what is no word or tag; what is unseen makes no feature
_PAIRS = 10  # the template of pairs of tags; those of words are before it, and those of columns come from 15 on
_WORD_PLACES, _TAG_PLACES, _FIRST_TAG = (0, -2, 2, -1, 1), (0, 1, -1), 15

Numbers = Mapping[str, int]


class Template(NamedTuple):
    """number     k in the hash
    column     0: words; 1, 2, ...: columns of tags
    place      so many tokens from its own one
    of_before  whether it belongs to the tag of the token before
    """

    number: int
    column: int
    place: int
    of_before: bool


def templates(n_columns: int) -> list[Template]:
    """In the order in which the release numbers them; pairs of tags are left out."""
    words = [Template(2 * j + before, 0, o, bool(before)) for j, o in enumerate(_WORD_PLACES) for before in (0, 1)]
    tags = [(column, o) for column in range(1, n_columns + 1) for o in _TAG_PLACES]
    return words + [
        Template(_FIRST_TAG + before * len(tags) + j, column, o, bool(before))
        for before in (0, 1)
        for j, (column, o) in enumerate(tags)
    ]


def hashed(template: int, a: IntArray | int, b: IntArray | int, n_weights: int) -> IntArray:
    """h(template, a, b)"""
    return np.asarray((((17 * 31 + template) * 31 + a) * 31 + b) % n_weights, dtype=np.int64)


def word_numbers(sentences: Iterable[Sentence], rare: int = RARE) -> Numbers:
    """Those that occur more than `rare` times, from 1 on, in the order of their first occurrence; all others are 0."""
    counts = Counter(word for sentence in sentences for word in sentence.words)
    return {word: j for j, word in enumerate((word for word, count in counts.items() if count > rare), start=1)}


def tag_numbers(sequences: Iterable[Sequence[str]]) -> Numbers:
    """From 0 on, in the order of their first occurrence."""
    return {tag: j for j, tag in enumerate(dict.fromkeys(tag for one in sequences for tag in one))}


@dataclass(frozen=True)
class Numbering:
    """What the training file tells: numbers of words, and of the tags of every column."""

    words: Numbers
    columns: Mapping[str, Numbers]

    @classmethod
    def of(cls, sentences: Sequence[Sentence]) -> Numbering:
        names = list(sentences[0].columns)
        return cls(word_numbers(sentences), {name: tag_numbers(s.columns[name] for s in sentences) for name in names})

    @property
    def templates(self) -> list[Template]:
        return templates(len(self.columns))

    @property
    def first_rows(self) -> IntArray:
        """int64[templates + 1]: where the features of a template begin, BEGUN and ENDED included; then the start's."""
        sizes = [max(self.words.values(), default=0) + 1, *(len(numbers) for numbers in self.columns.values())]
        return offsets_of([sizes[template.column] - ENDED for template in self.templates])

    @property
    def n_features(self) -> int:
        return int(self.first_rows[-1]) + 1

    def pack(self, sentences: Sequence[Sentence]) -> PackedSequences:
        """The features of every token, by template, and one more of first tokens."""
        offsets = offsets_of([len(sentence.words) for sentence in sentences])
        columns = [np.array([self.words.get(word, 0) for s in sentences for word in s.words], dtype=np.int64)]
        for name, known in self.columns.items():
            columns.append(np.array([known.get(tag, UNSEEN) for s in sentences for tag in s.columns[name]], np.int64))
        rows = np.stack([_values(columns[t.column], offsets, t.place, t.of_before) for t in self.templates], axis=1)
        rows = np.where(rows == UNSEEN, -1, rows - ENDED + self.first_rows[:-1])
        starts = np.full((len(rows), 1), -1)
        starts[offsets[:-1]] = self.n_features - 1
        rows = np.hstack([rows, starts])
        indptr = offsets_of((rows >= 0).sum(axis=1))
        return PackedSequences(offsets, indptr, rows[rows >= 0].astype(np.uint32), None, self.n_features)

    def cells(self, labels: IntArray, n_weights: int) -> IntArray:
        """int64[n_features + L, L]: h of every feature and label, and of pairs, [tag, tag before]; labels are numbers.

        The release has words before the label, and the label before other tags.
        """
        found = []
        for template, count in zip(self.templates, np.diff(self.first_rows), strict=True):
            values = np.arange(count)[:, None] + ENDED
            a, b = (values, labels) if template.column == 0 else (labels, values)
            found.append(hashed(template.number, a, b, n_weights))
        found.append(hashed(_PAIRS, BEGUN, labels[None], n_weights))
        return np.concatenate([*found, hashed(_PAIRS, labels[None], labels[:, None], n_weights)])


def _values(column: IntArray, offsets: IntArray, place: int, of_before: bool) -> IntArray:
    """int64[T]: the number at `place` from every token, or from the next one where it belongs to the tag before."""
    lengths = np.diff(offsets)
    length = np.repeat(lengths, lengths)
    own = np.arange(len(column)) - np.repeat(offsets[:-1], lengths) + of_before
    at = own + place
    found = column[np.clip(np.arange(len(column)) + of_before + place, 0, len(column) - 1)]
    found = np.where(at < 0, BEGUN, np.where(at >= length, ENDED, found))
    is_far = (abs(place) == 2) & ((at < 0) | (at >= length))
    return np.where(is_far | (own >= length), UNSEEN, found)
