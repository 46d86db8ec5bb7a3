"""A named-entity tagger: a SequenceTagger with its features, its columns and its tagging schemes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from sklearn.base import clone

from casimir.estimators.predictor import ChainPredictor
from casimir.estimators.sequence_tagger import SequenceTagger, TaggerCallback
from casimir.estimators.state import decode_tagger, encode_tagger
from casimir.features import PackedSequences, pack
from casimir.persistence import save_folder
from casimir.tasks.ner.corpus import Corpus
from casimir.tasks.ner.features import FEATURE_SETS, iter_features
from casimir.tasks.ner.metrics import EntityScores, entity_scores
from casimir.tasks.ner.schemes import Scheme, convert
from casimir.tasks.training import Run, load_as

KIND = "ner"
PAPER_N_FEATURES = 2**16 - 1


@dataclass(frozen=True, eq=False)
class NERModel:
    """tagger       a fitted SequenceTagger
    feature_set   "default" or "paper"
    columns       the columns besides the word that the features read
    scheme        of the labels that the tagger was trained with
    file_scheme   of the labels in the training file, for files that come without labels
    """

    tagger: SequenceTagger
    feature_set: str
    columns: tuple[str, ...]
    scheme: Scheme
    file_scheme: Scheme

    @property
    def run(self) -> Run:
        """How training ended."""
        t = self.tagger
        return Run.of_trace(t.status_, t.objective_, t.dual_, t.gap_, t.lam_, t.trace_)

    def tag(self, corpus: Corpus) -> list[list[str]]:
        """Labels of every sentence in the scheme that came in, or else in that of the training file."""
        missing = [name for name in self.columns if name not in corpus.columns]
        if missing:
            raise ValueError(
                f"The model reads the column {missing[0]!r}, which {corpus.name} does not have; its columns are "
                f"{['word', *corpus.columns]}. Add it, or train with fewer columns (--columns)."
            )
        features = iter_features(corpus.keep_columns(self.columns).sentences, self.feature_set)
        labels = cast(list[list[str]], self.tagger.predict(features))
        return [convert(tags, corpus.scheme or self.file_scheme) for tags in labels]

    def evaluate(self, corpus: Corpus) -> EntityScores:
        """Entity precision, recall and F1 on a labelled corpus."""
        return entity_scores(corpus.labels, self.tag(corpus))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model folder that `casimir.load` reads."""
        meta, arrays = encode_tagger(self.tagger)
        description = {
            "feature_set": self.feature_set,
            "columns": list(self.columns),
            "scheme": self.scheme.value,
            "file_scheme": self.file_scheme.value,
            "tagger": meta,
        }
        save_folder(path, KIND, description, arrays)


def train(
    corpus: Corpus,
    tagger: SequenceTagger | None = None,
    *,
    feature_set: str = "default",
    scheme: Scheme | None = Scheme.IOB2,
    callbacks: Iterable[TaggerCallback] = (),
) -> NERModel:
    """Fit a copy of `tagger` to a labelled corpus.

    tagger       its parameters are used; None is SequenceTagger()
    scheme       to train with; None is that of the corpus. IOB2 scored better than IOB1 on CoNLL-2003
    callbacks    as in `SequenceTagger.fit`; `HeldOut` gives scores there
    """
    fresh = clone(SequenceTagger() if tagger is None else tagger)
    labels = corpus.labels if scheme is None else corpus.labels_in(scheme)
    assert corpus.scheme is not None, "a labelled corpus has a scheme"
    X = pack(iter_features(corpus.sentences, feature_set), fresh.n_features)
    fresh.fit(X, labels, callbacks=callbacks)
    return NERModel(fresh, feature_set, corpus.columns, scheme or corpus.scheme, corpus.scheme)


class HeldOut:
    """Entity scores of a predictor on a labelled corpus, whose features are extracted once.

    scheme  of the predictor's labels; tokens are compared in it
    """

    def __init__(self, corpus: Corpus, feature_set: str = "default", scheme: Scheme | None = None) -> None:
        self._sentences, self._feature_set = corpus.sentences, feature_set
        self._labels = corpus.labels if scheme is None else corpus.labels_in(scheme)
        self._packed: PackedSequences | None = None

    def scores(self, predictor: ChainPredictor) -> EntityScores:
        if self._packed is None:
            self._packed = predictor.pack(iter_features(self._sentences, self._feature_set))
        return entity_scores(self._labels, cast(list[list[str]], predictor.predict(self._packed)))

    def f1(self, predictor: ChainPredictor) -> float:
        return self.scores(predictor).f1


def load_model(path: str | os.PathLike[str]) -> NERModel:
    """The named-entity model in the folder `path`."""
    return load_as(path, NERModel, "casimir train ner")


def decode_model(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> NERModel:
    """The model that `NERModel.save` wrote."""
    try:
        feature_set, columns = str(meta["feature_set"]), tuple(map(str, meta["columns"]))
        scheme, file_scheme = Scheme(meta["scheme"]), Scheme(meta["file_scheme"])
        tagger_meta = dict(meta["tagger"])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"the model file is damaged: its description has no proper {error}.") from None
    if feature_set not in FEATURE_SETS:
        raise ValueError(f"it has the feature set {feature_set!r}, which this casimir does not know; upgrade casimir.")
    return NERModel(decode_tagger(tagger_meta, arrays), feature_set, columns, scheme, file_scheme)
