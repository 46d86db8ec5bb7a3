"""What the rest of the document tells about a word: the contexts of its other mentions, its case elsewhere, the topic.

A name is often ambiguous in one sentence and plain in another: "Jordan" beside "King Hussein of Jordan" or "Michael
Jordan". So every mention of a capitalised word gets the most frequent contexts of all its capitalised mentions in the
document:

    d[-1], d[1]         the words before and after the mention
    dleft, dright       the words around the run of capitalised words that holds it
    dfirst, dlast       the first and last word of that run, when it is longer than the mention
    dnotfirst, dnotlast it stood behind or before another capitalised word
    dcase               the case of its mentions that do not begin a sentence
    topic               the first word of the document, together with the word or its case

Headlines, where everything is in capitals, receive this evidence but give none.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice

import numpy as np

from casimir.tasks.tag.corpus import Corpus, Sentence
from casimir.tasks.tag.words import Word

_MAX_CONTEXTS = 16


def by_document(sentences: Iterable[Sentence], alone: int = 1) -> Iterator[list[Sentence]]:
    """Neighbouring sentences of the same document; where the source tells no documents, blocks of `alone` sentences."""
    for document, group in groupby(sentences, key=lambda sentence: sentence.document):
        if document is None:
            while block := list(islice(group, alone)):
                yield block
        else:
            yield list(group)


def have_company(sentences: Iterable[Sentence]) -> Iterator[bool]:
    """Whether each sentence is one of several in a document that the source tells."""
    for document in by_document(sentences):
        yield from [len(document) > 1] * len(document)


def held_out_part(corpus: Corpus, seed: int, share: float = 0.2) -> tuple[Corpus, Corpus]:
    """The rest, and a share of a corpus to judge by: whole documents where it has them, else sentences."""
    parts = list(by_numbers(corpus.sentences))
    order = np.random.default_rng(seed).permutation(len(parts))
    n_out = round(share * len(parts))
    if not 0 < n_out < len(parts):
        raise ValueError(f"{corpus.name} has too little to hold a fifth of it out; give labelled data as --dev.")
    out = sorted(i for k in order[:n_out] for i in parts[k])
    rest = sorted(i for k in order[n_out:] for i in parts[k])
    return corpus.select(rest), corpus.select(out)


def by_numbers(sentences: Iterable[Sentence]) -> Iterator[list[int]]:
    """The places of the sentences of every document; sentences without a document are by themselves."""
    place = 0
    for document in by_document(sentences):
        yield list(range(place, place + len(document)))
        place += len(document)


def capital_runs(words: Sequence[Word]) -> Iterator[tuple[int, int]]:
    """(start, end) of the longest runs of capitalised words."""
    for capitalised, group in groupby(range(len(words)), key=lambda i: words[i].capitalised):
        if capitalised:
            run = list(group)
            yield run[0], run[-1] + 1


def is_headline(words: Sequence[Word]) -> bool:
    """Nearly all words in capitals, so that a capital tells nothing."""
    letters = [word.case for word in words if word.case not in "dp"]
    return sum(case in "UI" for case in letters) >= 0.8 * len(letters) > 0


class Evidence:
    """Features of the words of one document, from all its sentences."""

    def __init__(self, sentences: Sequence[Sequence[Word]], topic: str | None) -> None:
        self._topic = topic
        self._contexts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._cases: defaultdict[str, set[str]] = defaultdict(set)
        self._features: dict[tuple[str, str], list[str]] = {}
        for words in sentences:
            if not is_headline(words):
                self._add(words)

    def features(self, word: Word) -> list[str]:
        """Features of any mention of `word`."""
        key = (word.lower, word.case)
        if key not in self._features:
            self._features[key] = list(self._compute(word))
        return self._features[key]

    def _add(self, words: Sequence[Word]) -> None:
        lower = ["<s>", *(word.lower for word in words), "</s>"]
        for word in words[1:]:
            self._cases[word.lower].add(word.case)
        for start, end in capital_runs(words):
            for i in range(start, end):
                contexts = self._contexts[words[i].lower]
                contexts.update((f"d[-1]={lower[i]}", f"d[1]={lower[i + 2]}"))
                if end - start < len(words):
                    contexts.update((f"dleft={lower[start]}", f"dright={lower[end + 1]}"))
                if end - start > 1:
                    contexts.update((f"dfirst={lower[start + 1]}", f"dlast={lower[end]}"))
                if i > start:
                    contexts["dnotfirst"] += 1
                if i < end - 1:
                    contexts["dnotlast"] += 1

    def _compute(self, word: Word) -> Iterator[str]:
        yield f"dcase={word.case}{''.join(sorted(self._cases.get(word.lower, ())))}"
        if self._topic is not None:
            yield f"topic={self._topic}|{word.case}"
            yield f"topic={self._topic}|{word.lower}"
        if word.capitalised and word.lower in self._contexts:
            for context, _ in self._contexts[word.lower].most_common(_MAX_CONTEXTS):
                yield context
