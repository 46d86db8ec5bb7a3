"""A tagger of text: a SequenceTagger with its features, its columns and its tagging schemes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

import numpy as np
from sklearn.base import clone

from casimir.estimators.predictor import ChainPredictor
from casimir.estimators.sequence_tagger import SequenceTagger, TaggerCallback
from casimir.estimators.state import decode_tagger, encode_tagger
from casimir.features import PackedSequences, pack
from casimir.persistence import save_folder
from casimir.tasks.tag.columns import FIRST_AND_LAST, Layout
from casimir.tasks.tag.corpus import Corpus
from casimir.tasks.tag.features import FEATURE_SETS, iter_features
from casimir.tasks.tag.metrics import EntityScores, entity_scores
from casimir.tasks.tag.most_frequent import FORM, MostFrequent
from casimir.tasks.tag.schemes import Scheme, convert
from casimir.tasks.tag.tokens import TokenScores, token_scores
from casimir.tasks.training import Run, load_as

KIND = "ner"
PAPER_N_FEATURES = 2**16 - 1


@dataclass(frozen=True, eq=False)
class TagModel:
    """tagger       a fitted SequenceTagger
    feature_set   "default" or "paper"
    columns       the columns besides the word that the features read
    scheme        of the labels that the tagger was trained with; None: labels write no spans
    file_scheme   of the labels in the training file, for files that come without labels
    layout        where word and label stand in the training file
    kind          of the model folder: the name of the task
    """

    tagger: SequenceTagger
    feature_set: str
    columns: tuple[str, ...]
    scheme: Scheme | None
    file_scheme: Scheme | None
    layout: Layout = FIRST_AND_LAST
    kind: str = KIND

    @property
    def run(self) -> Run:
        """How training ended."""
        t = self.tagger
        return Run.of_trace(t.status_, t.objective_, t.dual_, t.gap_, t.lam_, t.trace_)

    def tag(self, corpus: Corpus) -> list[list[str]]:
        """Labels of every sentence; spans in the scheme that came in, or else in that of the training file."""
        missing = [name for name in self.columns if name not in corpus.columns]
        if missing:
            raise ValueError(
                f"The model reads the column {missing[0]!r}, which {corpus.name} does not have; its columns are "
                f"{['word', *corpus.columns]}. Add it, or train a model that reads fewer columns (--columns word)."
            )
        features = iter_features(corpus.keep_columns(self.columns).sentences, self.feature_set)
        labels = cast(list[list[str]], self.tagger.predict(features))
        wanted = corpus.scheme or self.file_scheme
        return labels if wanted is None else [convert(tags, wanted) for tags in labels]

    def evaluate(self, corpus: Corpus) -> EntityScores | TokenScores:
        """Entity precision, recall and F1 of spans, accuracy of other labels, on a labelled corpus."""
        return scores_of(corpus, self.tag(corpus), self.scheme)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model folder that `casimir.load` reads."""
        meta, arrays = encode_tagger(self.tagger)
        description = {
            "feature_set": self.feature_set,
            "columns": list(self.columns),
            "scheme": None if self.scheme is None else self.scheme.value,
            "file_scheme": None if self.file_scheme is None else self.file_scheme.value,
            "layout": asdict(self.layout),
            "tagger": meta,
        }
        save_folder(path, self.kind, description, arrays)


def scores_of(corpus: Corpus, predicted: Sequence[Sequence[str]], scheme: Scheme | None) -> EntityScores | TokenScores:
    """Of entities where labels write spans, else of tokens."""
    if scheme is None:
        return token_scores(corpus.labels, predicted)
    return entity_scores(corpus.labels, predicted)


def train(
    corpus: Corpus,
    tagger: SequenceTagger | None = None,
    *,
    feature_set: str = "default",
    scheme: Scheme | None = Scheme.IOB2,
    callbacks: Iterable[TaggerCallback] = (),
    layout: Layout = FIRST_AND_LAST,
    kind: str = KIND,
) -> TagModel:
    """Fit a copy of `tagger` to a labelled corpus.

    tagger       its parameters are used; None is SequenceTagger()
    scheme       to train with; None is that of the corpus. IOB2 scored better than IOB1 on CoNLL-2003. Labels that
                 write no spans stay as they are
    callbacks    as in `SequenceTagger.fit`; `HeldOut` gives scores there
    """
    fresh = clone(SequenceTagger() if tagger is None else tagger)
    wanted = None if corpus.scheme is None else scheme or corpus.scheme
    X = pack(iter_features(corpus.sentences, feature_set), fresh.n_features)
    fresh.fit(X, corpus.labels_for(wanted), callbacks=callbacks)
    return TagModel(fresh, feature_set, corpus.columns, wanted, corpus.scheme, layout, kind)


class HeldOut:
    """Scores of a predictor on a labelled corpus, whose features are extracted once.

    scheme  of the predictor's labels, in which tokens are compared; None: that of the file
    """

    def __init__(self, corpus: Corpus, feature_set: str = "default", scheme: Scheme | None = None) -> None:
        self._sentences, self._feature_set = corpus.sentences, feature_set
        self._has_spans = corpus.scheme is not None
        self._labels = corpus.labels_for(scheme if self._has_spans else None)
        self._packed: PackedSequences | None = None

    def scores(self, predictor: ChainPredictor) -> EntityScores:
        """Of entities."""
        return entity_scores(self._labels, self._predicted(predictor))

    def f1(self, predictor: ChainPredictor) -> float:
        return self.scores(predictor).f1

    def accuracy(self, predictor: ChainPredictor) -> float:
        return token_scores(self._labels, self._predicted(predictor)).accuracy

    def _predicted(self, predictor: ChainPredictor) -> list[list[str]]:
        if self._packed is None:
            self._packed = predictor.pack(iter_features(self._sentences, self._feature_set))
        return cast(list[list[str]], predictor.predict(self._packed))


def load_model(path: str | os.PathLike[str]) -> TagModel:
    """The tagger in the folder `path`."""
    return load_as(path, TagModel, "casimir train tag")


def decode_model(
    meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray], kind: str = KIND
) -> TagModel | MostFrequent:
    """The model that `TagModel.save` or `MostFrequent.save` wrote."""
    if meta.get("form") == FORM:
        return MostFrequent.from_meta(meta, kind)
    try:
        feature_set, columns = str(meta["feature_set"]), tuple(map(str, meta["columns"]))
        scheme, file_scheme = (None if meta[k] is None else Scheme(meta[k]) for k in ("scheme", "file_scheme"))
        layout = Layout(**{name: int(place) for name, place in meta.get("layout", {}).items()})
        tagger_meta = dict(meta["tagger"])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"the model file is damaged: its description has no proper {error}.") from None
    if feature_set not in FEATURE_SETS:
        raise ValueError(f"it has the feature set {feature_set!r}, which this casimir does not know; upgrade casimir.")
    tagger = decode_tagger(tagger_meta, arrays)
    return TagModel(tagger, feature_set, columns, scheme, file_scheme, layout, kind)
