"""The corpus that a column file holds: sentences with their columns and labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from casimir.metrics.schemes import Scheme
from casimir.metrics.tag_numbers import TagNumbers
from casimir.tasks.tag.sentence import Sentence
from casimir.tasks.tag.tokens import LABEL, Tokens, TokenSentences

__all__ = ["Corpus", "Sentence"]


@dataclass(frozen=True, slots=True)
class Corpus:
    """What a column file holds, so that it can be written back.

    sentences   all with the same columns; those of a file are made when they are asked for, see `tokens`
    columns     names of the columns between the word and the label
    scheme      of the labels; None when unlabelled, or when labels write no spans
    separator   between columns, "\\t" or " "
    boundaries  index of a sentence -> the document line that stands before it, split into its columns
    name        of the file, for messages
    order       names of the file's columns, "word" and "label" among them; (): word, columns, label
    records     of a file of JSON lines: what each line held; empty for other files
    places      of a plain text: the first character of every word, and the one behind its last; None for other files
    text        the plain text
    width       how many columns the file has; None: it is no column file
    extras      of CoNLL-U files: number of a sentence -> its lines that are no words, each with the number of words
                before it; behind the last sentence stand comments that no sentence follows
    """

    sentences: Sequence[Sentence]
    columns: tuple[str, ...] = ()
    scheme: Scheme | None = None
    separator: str = " "
    boundaries: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    name: str = "corpus"
    order: tuple[str, ...] = ()
    records: Sequence[Mapping[str, Any]] = ()
    places: Sequence[Sequence[tuple[int, int]]] | None = None
    text: str = ""
    width: int | None = None
    extras: Mapping[int, tuple[tuple[int, str], ...]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.sentences)

    @property
    def is_labelled(self) -> bool:
        """Whether its sentences have labels."""
        return bool(self.sentences) and self.sentences[0].labels is not None

    @property
    def tokens(self) -> Tokens:
        """The sentences in flat arrays."""
        return Tokens.of(self.sentences)

    def select(self, examples: Iterable[int]) -> Corpus:
        """The sentences with these numbers, in this order, without the lines between documents."""
        chosen = list(examples)
        records = [self.records[i] for i in chosen] if self.records else ()
        places = None if self.places is None else [self.places[i] for i in chosen]
        sentences = TokenSentences(self.tokens.select(chosen))
        extras = {k: self.extras[i] for k, i in enumerate(chosen) if i in self.extras}
        return replace(self, sentences=sentences, boundaries={}, records=records, places=places, extras=extras)

    @property
    def labels(self) -> list[tuple[str, ...]]:
        """The labels of every sentence as they stand in the file."""
        return [tuple(labels) for labels in self.labels_for(None)]

    def labels_in(self, scheme: Scheme) -> list[list[str]]:
        """The labels of every sentence in the given scheme (for training, or for comparison)."""
        return self.labels_for(scheme)

    def labels_for(self, scheme: Scheme | None) -> list[list[str]]:
        """The labels in a scheme; None: as they stand in the file."""
        found = self.label_numbers
        return (found if scheme is None else found.convert(scheme)).lists()

    @property
    def label_numbers(self) -> TagNumbers:
        """The labels of all tokens as numbers."""
        tokens = self.tokens
        if LABEL not in tokens.columns:
            raise ValueError(f"{self.name} has no labels; give a file whose last column is the label")
        labels = tokens.columns[LABEL]
        return TagNumbers(labels.ids, tokens.offsets, labels.strings)

    def keep_columns(self, names: tuple[str, ...] = ()) -> Corpus:
        """The same corpus with fewer columns; with none, the words alone. Of lines that are no words, comments stay."""
        unknown = sorted(set(names) - set(self.columns))
        if unknown:
            raise ValueError(f"{self.name} has no column {unknown[0]!r}; its columns are {['word', *self.columns]}")
        kept = tuple(name for name in self.columns if name in names)
        sentences = TokenSentences(self.tokens.keep(kept))
        order = tuple(name for name in self.order if name in ("word", "label", *kept))
        comments = {k: tuple(one for one in lines if one[1].startswith("#")) for k, lines in self.extras.items()}
        return replace(self, sentences=sentences, columns=kept, order=order, extras=comments)
