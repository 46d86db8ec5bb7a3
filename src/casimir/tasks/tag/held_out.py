"""How good a tagger is at any moment of its training, on labelled data that it does not learn from."""

from __future__ import annotations

from typing import cast

from casimir.estimators.predictor import ChainPredictor
from casimir.features import PackedSequences
from casimir.metrics.entities import EntityScores, entity_scores
from casimir.metrics.schemes import convert
from casimir.metrics.tokens import token_scores
from casimir.tasks.tag.corpus import Corpus
from casimir.tasks.tag.lexicons import NO_LEXICONS, Lexicons
from casimir.tasks.tag.templates.extract import features_for
from casimir.tasks.tag.templates.template_set import DEFAULT, TemplateSet


class HeldOut:
    """Scores of a predictor on a labelled corpus, whose features are extracted once."""

    def __init__(self, corpus: Corpus, templates: TemplateSet = DEFAULT, lexicons: Lexicons = NO_LEXICONS) -> None:
        self._tokens, self._templates, self._lexicons = corpus.tokens, templates, lexicons
        self._labels, self._scheme = corpus.labels, corpus.scheme
        self._packed: PackedSequences | None = None

    def scores(self, predictor: ChainPredictor) -> EntityScores:
        """Of entities; tokens are compared in the scheme of the file."""
        predicted = self._predicted(predictor)
        scheme = self._scheme
        return entity_scores(
            self._labels, predicted if scheme is None else [convert(tags, scheme) for tags in predicted]
        )

    def f1(self, predictor: ChainPredictor) -> float:
        return entity_scores(self._labels, self._predicted(predictor)).f1

    def accuracy(self, predictor: ChainPredictor) -> float:
        """Of labels that write no spans."""
        return token_scores(self._labels, self._predicted(predictor)).accuracy

    def _predicted(self, predictor: ChainPredictor) -> list[list[str]]:
        if self._packed is None:
            self._packed = features_for(predictor, self._tokens, self._templates, self._lexicons)
        return cast(list[list[str]], predictor.predict(self._packed))
