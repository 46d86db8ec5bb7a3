"""`cs.Tagger`: a tagger from a file or from lists in one line, and tags of plain text in another."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from casimir.metrics.entities import EntityScores
from casimir.metrics.schemes import detect_scheme, spans, write_spans
from casimir.metrics.tokens import TokenScores
from casimir.tasks.tag.columns import Layout, parse_conll
from casimir.tasks.tag.corpus import Corpus, Sentence
from casimir.tasks.tag.jsonlines import is_json_lines, parse_json_lines
from casimir.tasks.tag.model import TagModel, load_model
from casimir.tasks.tag.options import Options
from casimir.tasks.tag.plain import parse_plain
from casimir.tasks.tag.task import train
from casimir.tasks.task import Fit, Given
from casimir.tasks.text import read_text

File = str | os.PathLike[str]
Labelled = File | tuple[Sequence[Sequence[str]], Sequence[Sequence[str]]]  # a file, or (sentences, tags)


class TextSpan(NamedTuple):
    """Characters start..end-1 of a text, which are `text`, have the type or label `type`."""

    start: int
    end: int
    type: str
    text: str


@dataclass(frozen=True, eq=False)
class Tagger:
    """A tagger of text with features of its own: what `casimir train tag` makes.

    >>> tagger = Tagger.train(([["Ada", "slept"], ["Bob", "ran"]], [["B-PER", "O"], ["B-PER", "O"]]))
    >>> tagger.tag(["Bob", "slept"])
    ['B-PER', 'O']
    >>> tagger.tag_text("Yesterday Ada ran.")[0].text
    'Ada'
    """

    model: TagModel

    @classmethod
    def train(
        cls,
        data: Labelled,
        dev: Labelled | None = None,
        *,
        word: int = 1,
        label: int | None = None,
        columns: Iterable[str] = (),
        features: str | None = None,
        templates: File | None = None,
        loss: str = "hinge",
        lam: float | None = None,
        clusters: File | None = None,
        gazetteers: Iterable[File] = (),
        seed: int = 0,
    ) -> Tagger:
        """Train until the certified gap is at most 1 %, as `casimir train tag` does.

        data        a column file or JSON lines, or a pair (sentences, tags): lists of words, lists of labels
        dev         the same, to choose how eager the tagger is to find spans
        word, label columns of a file, counted from 1; label None is the last
        columns     other columns of the file to read, such as "pos"; the words alone unless said
        features    "default", "pairs", "chunks" or "paper"; None is what suits the labels
        templates   a file of templates of your own instead of a feature set; those of CRF++ and Wapiti are read too
        loss        "hinge" or "crf"
        lam         regularisation; None is 3 / n for n sentences
        clusters    a file of word clusters, see `casimir cluster`
        gazetteers  files of names
        """
        options = Options(
            word=word,
            label=label,
            columns=",".join(("word", *columns)),
            features=features,
            templates=None if templates is None else Path(templates),
            loss=loss,
            clusters=None if clusters is None else Path(clusters),
            gazetteer=[Path(path) for path in gazetteers] or None,
        )
        layout = Layout(word, -1 if label is None else label)
        if features is not None and templates is not None:
            raise ValueError("features names a set, and templates takes its place. Give one of them.")
        judge = None if dev is None else _corpus(dev, layout)
        given = Given(options, Fit(lam=None if lam is None else repr(float(lam)), seed=seed), dev=judge)
        return cls(train(_corpus(data, layout), given, ()))

    @classmethod
    def load(cls, path: File) -> Tagger:
        """The tagger in a folder that `save` or `casimir train` wrote."""
        return cls(load_model(path))

    def save(self, path: File) -> None:
        """Write a model folder, which `casimir predict` reads too."""
        self.model.save(path)

    def tag(self, words: Sequence[str]) -> list[str]:
        """The labels of one sentence."""
        return self.tag_all([words])[0]

    def tag_all(self, sentences: Iterable[Sequence[str]]) -> list[list[str]]:
        """The labels of sentences that have nothing to do with each other."""
        corpus = Corpus([Sentence(_words(words)) for words in sentences], name="sentences")
        return self.model.tag(corpus) if corpus.sentences else []

    def tag_text(self, text: str) -> list[TextSpan]:
        """The spans of a plain text, with their characters; where labels are no spans, every word with its label.

        The text is one document, split into sentences and words by rules.
        """
        if not isinstance(text, str):
            raise TypeError(f"tag_text reads a str, not a {type(text).__name__}; tag is for a list of words.")
        if not text.strip():
            return []
        corpus = parse_plain(text, name="text")
        assert corpus.places is not None
        has_spans, shift = self.model.scheme is not None, len(text) - len(corpus.text)
        found = []
        for places, labels in zip(corpus.places, self.model.tag(corpus), strict=True):
            parts = spans(labels) if has_spans else [(i, i + 1, label) for i, label in enumerate(labels)]
            for first, end, kind in parts:
                start, stop = places[first][0] + shift, places[end - 1][1] + shift
                found.append(TextSpan(start, stop, kind, text[start:stop]))
        return found

    def evaluate(self, data: Labelled) -> EntityScores | TokenScores:
        """Precision, recall and F1 of spans, accuracy of other labels; data as in `train`."""
        return self.model.evaluate(_corpus(data, self.model.layout, self.model.scheme is not None))


def _corpus(data: Labelled, layout: Layout, has_spans: bool | None = None) -> Corpus:
    if isinstance(data, tuple):
        return _of_lists(*data)
    if not isinstance(data, str | os.PathLike):
        raise TypeError(
            f"A {type(data).__name__} is no labelled text; give the path of a file, or a pair (sentences, labels)."
        )
    name = os.fspath(data)
    text = read_text(name, "utf-8", "a column file or a file of JSON lines")
    if is_json_lines(text):
        return parse_json_lines(text, labelled=True, name=name, has_spans=has_spans)
    return parse_conll(text, name=name, layout=layout, spans=has_spans)


def _of_lists(sentences: Sequence[Sequence[str]], tags: Sequence[Sequence[str]]) -> Corpus:
    if len(sentences) != len(tags):
        raise ValueError(f"{len(sentences)} sentences but {len(tags)} lists of tags; give one list for each sentence.")
    for i, (words, labels) in enumerate(zip(sentences, tags, strict=True)):
        if len(_words(words)) != len(labels) or isinstance(labels, str):
            raise ValueError(f"Sentence {i} has {len(words)} words, and its labels are {labels!r}; each needs one.")
    scheme = detect_scheme(tags) if write_spans(tags) else None
    pairs = zip(sentences, tags, strict=True)
    return Corpus([Sentence(_words(words), {}, tuple(labels)) for words, labels in pairs], scheme=scheme, name="lists")


def _words(words: Sequence[str]) -> tuple[str, ...]:
    if isinstance(words, str):
        raise TypeError(f"A sentence is a list of words, not the text {words[:40]!r}; use tag_text for text.")
    return tuple(words)
