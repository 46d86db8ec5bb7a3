"""Sentences in flat arrays: every distinct text has a number, and a token is a number per column.

    tokens.columns["word"].ids      uint32[T], the numbers of the words of all sentences, one after another
    tokens.columns["word"].texts    the distinct words

Reading and features work on these arrays; `Sentence` objects are made where somebody asks for them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, overload

import numpy as np

from casimir._native import core
from casimir.scores import IntArray, ragged_rows
from casimir.tasks.tag.sentence import Sentence

WORD, LABEL = "word", "label"
NO_DOCUMENT = -1


@dataclass(frozen=True, eq=False)
class Column:
    """ids    uint32[T]
    texts  a core.FeatureTable: the distinct texts in the order of their first appearance
    """

    ids: np.ndarray
    texts: Any

    @cached_property
    def strings(self) -> list[str]:
        """The distinct texts."""
        ends, blob = self.texts.offsets().tolist(), self.texts.blob().tobytes()
        return [blob[a:b].decode() for a, b in itertools.pairwise(ends)]

    @classmethod
    def of(cls, values: Iterable[Sequence[str]]) -> Column:
        """The texts of all sentences."""
        return cls(*core.intern_tokens(values))


@dataclass(frozen=True, eq=False)
class Tokens:
    """offsets    int64[n + 1]: sentence i owns the tokens offsets[i]:offsets[i + 1]
    documents  int64[n]: the number of each sentence's document, -1 where the source does not tell
    columns    "word" first, then the others; "label" where there are labels
    """

    offsets: IntArray
    documents: IntArray
    columns: Mapping[str, Column]

    def __len__(self) -> int:
        return len(self.documents)

    @property
    def others(self) -> tuple[str, ...]:
        """The columns besides the word and the label."""
        return tuple(name for name in self.columns if name not in (WORD, LABEL))

    @classmethod
    def of(cls, sentences: Sequence[Sentence]) -> Tokens:
        """Of sentences with the same columns."""
        if isinstance(sentences, TokenSentences):
            return sentences.tokens
        lengths = np.fromiter(map(len, sentences), dtype=np.int64, count=len(sentences))
        documents = [NO_DOCUMENT if one.document is None else one.document for one in sentences]
        names = tuple(sentences[0].columns) if sentences else ()
        if any(tuple(one.columns) != names for one in sentences):
            raise ValueError("the sentences have different columns; give all of them the same.")
        columns = {WORD: Column.of(one.words for one in sentences)}
        columns |= {name: Column.of(one.columns[name] for one in sentences) for name in names}
        if sentences and all(one.labels is not None for one in sentences):
            columns[LABEL] = Column.of(one.labels or () for one in sentences)
        return cls(np.concatenate(([0], np.cumsum(lengths))), np.array(documents, dtype=np.int64), columns)

    def apart(self) -> Tokens:
        """Without documents."""
        return replace(self, documents=np.full(len(self), NO_DOCUMENT, dtype=np.int64))

    def keep(self, names: Sequence[str]) -> Tokens:
        """With the word, the label and these columns."""
        return replace(self, columns={k: v for k, v in self.columns.items() if k in (WORD, LABEL, *names)})

    def select(self, examples: Any) -> Tokens:
        """The sentences with these numbers, in this order."""
        chosen = np.asarray(examples, dtype=np.int64)
        places, offsets = ragged_rows(self.offsets, chosen)
        columns = {name: Column(one.ids[places], one.texts) for name, one in self.columns.items()}
        return Tokens(offsets, self.documents[chosen], columns)

    def has_company(self) -> np.ndarray:
        """bool[n]: whether each sentence is one of several in a document that the source tells."""
        same = (self.documents[1:] == self.documents[:-1]) & (self.documents[1:] != NO_DOCUMENT)
        return np.concatenate((same, [False])) | np.concatenate(([False], same))

    def sentence(self, i: int) -> Sentence:
        a, b = int(self.offsets[i]), int(self.offsets[i + 1])
        values = {
            name: tuple(map(one.strings.__getitem__, one.ids[a:b].tolist())) for name, one in self.columns.items()
        }
        words, labels = values.pop(WORD), values.pop(LABEL, None)
        document = int(self.documents[i])
        return Sentence(words, values, labels, None if document == NO_DOCUMENT else document)


class TokenSentences(Sequence[Sentence]):
    """The sentences of `tokens`, each made when it is asked for."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens

    def __len__(self) -> int:
        return len(self.tokens)

    @overload
    def __getitem__(self, key: int) -> Sentence: ...

    @overload
    def __getitem__(self, key: slice) -> TokenSentences: ...

    def __getitem__(self, key: int | slice) -> Sentence | TokenSentences:
        if isinstance(key, slice):
            return TokenSentences(self.tokens.select(np.arange(len(self))[key]))
        return self.tokens.sentence(range(len(self))[key])

    def __iter__(self) -> Iterator[Sentence]:
        return map(self.tokens.sentence, range(len(self)))

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"TokenSentences({len(self)} sentences, {int(self.tokens.offsets[-1])} tokens)"
