"""A report on a tagger of text: its predictions on a labelled corpus, with the words of the corpus."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from casimir.estimators.reporting import report_of, sentence_views
from casimir.metrics.schemes import convert
from casimir.report import Report, SentenceView
from casimir.tasks.tag.corpus import Corpus
from casimir.tasks.tag.model import TagModel


def corpus_report(model: TagModel, corpus: Corpus) -> Report:
    """A page on the sentences of a labelled corpus, whose labels are compared in the scheme of the model."""
    scheme = None if corpus.scheme is None else model.scheme
    gold = corpus.labels_for(scheme)
    views: dict[int, SentenceView] = {}
    for tagger, places, X in model.parts(corpus):
        words = [corpus.sentences[i].words for i in places]
        found = sentence_views(tagger.predictor_, X, [gold[i] for i in places], words)
        views |= dict(zip(places, found, strict=True))
    sentences = [views[i] for i in range(len(corpus))]
    if corpus.scheme is not None:  # as `evaluate` compares them: spans, in the scheme of the file
        there = corpus.scheme
        sentences = [
            replace(one, gold=convert(one.gold, there), predicted=convert(one.predicted, there)) for one in sentences
        ]
    return report_of(model.tagger, sentences, f"{model.kind}: {Path(corpus.name).name}")
