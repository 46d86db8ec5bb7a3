"""A tagger of text: a SequenceTagger with its features, its columns and its tagging schemes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from casimir.estimators.predictor import ChainPredictor
from casimir.estimators.saved_tagger import SavedTagger, whole_tagger
from casimir.estimators.state import encode_tagger
from casimir.features import PackedSequences, pack
from casimir.persistence import save_folder
from casimir.tasks.tag.columns import FIRST_AND_LAST, Layout
from casimir.tasks.tag.corpus import Corpus, Sentence
from casimir.tasks.tag.documents import have_company
from casimir.tasks.tag.features import FEATURE_SETS, OLD_SETS, READ_DOCUMENTS, iter_features
from casimir.tasks.tag.metrics import EntityScores, entity_scores
from casimir.tasks.tag.most_frequent import FORM, MostFrequent
from casimir.tasks.tag.schemes import Scheme, convert
from casimir.tasks.tag.tokens import TokenScores, token_scores
from casimir.tasks.training import Run, load_as

if TYPE_CHECKING:  # scikit-learn takes a second to load, which predictions need not wait for
    from casimir.estimators.sequence_tagger import SequenceTagger, TaggerCallback

KIND = "ner"
PAPER_N_FEATURES = 2**16 - 1
FEATURES_VERSION = 2  # 1: sentences without documents were taken in blocks
_ALONE = "alone."  # begins the names of the arrays of the second tagger


@dataclass(frozen=True, eq=False)
class TagModel:
    """given        a fitted SequenceTagger, or one from a model folder; `tagger` is the SequenceTagger
    given_alone   another for sentences that come without a document, where features read documents and the training
                  file had them; None: `tagger` is for all sentences
    feature_set   "default", "pairs" or "paper"
    columns       the columns besides the word that the features read
    scheme        of the labels that the tagger was trained with; None: labels write no spans
    file_scheme   of the labels in the training file, for files that come without labels
    layout        where word and label stand in the training file
    kind          of the model folder: the name of the task
    """

    given: SequenceTagger | SavedTagger
    feature_set: str
    columns: tuple[str, ...]
    scheme: Scheme | None
    file_scheme: Scheme | None
    layout: Layout = FIRST_AND_LAST
    kind: str = KIND
    given_alone: SequenceTagger | SavedTagger | None = None

    @cached_property
    def tagger(self) -> SequenceTagger:
        return whole_tagger(self.given)

    @cached_property
    def alone(self) -> SequenceTagger | None:
        return None if self.given_alone is None else whole_tagger(self.given_alone)

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
        labels = self._predict(corpus.keep_columns(self.columns).sentences)
        wanted = corpus.scheme or self.file_scheme
        return labels if wanted is None else [convert(tags, wanted) for tags in labels]

    def _predict(self, sentences: Sequence[Sentence]) -> list[list[str]]:
        """Sentences of documents by one tagger, sentences that come alone by the other."""
        if self.given_alone is None:
            given = sentences if self.feature_set in OLD_SETS else [apart(sentence) for sentence in sentences]
            return self._labels(self.given, given)
        found: list[list[str]] = [[]] * len(sentences)
        company = np.fromiter(have_company(sentences), dtype=np.bool_, count=len(sentences))
        for tagger, mine in ((self.given, company), (self.given_alone, ~company)):
            chosen = np.flatnonzero(mine).tolist()
            given = [sentences[i] if tagger is self.given else apart(sentences[i]) for i in chosen]
            for i, labels in zip(chosen, self._labels(tagger, given), strict=True):
                found[i] = labels
        return found

    def _labels(self, tagger: SequenceTagger | SavedTagger, sentences: Sequence[Sentence]) -> list[list[str]]:
        if not sentences:
            return []
        return cast(list[list[str]], tagger.predictor_.predict(iter_features(sentences, self.feature_set)))

    def evaluate(self, corpus: Corpus) -> EntityScores | TokenScores:
        """Entity precision, recall and F1 of spans, accuracy of other labels, on a labelled corpus."""
        return scores_of(corpus, self.tag(corpus), self.scheme)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model folder that `casimir.load` reads."""
        meta, arrays = encode_tagger(self.tagger)
        alone, alone_arrays = (None, {}) if self.alone is None else encode_tagger(self.alone)
        arrays |= {f"{_ALONE}{name}": array for name, array in alone_arrays.items()}
        description = {
            "features_version": 1 if self.feature_set in OLD_SETS else FEATURES_VERSION,
            "feature_set": self.feature_set.removesuffix("-1"),
            "columns": list(self.columns),
            "scheme": None if self.scheme is None else self.scheme.value,
            "file_scheme": None if self.file_scheme is None else self.file_scheme.value,
            "layout": asdict(self.layout),
            "tagger": meta,
            "alone": alone,
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
    from sklearn.base import clone

    from casimir.estimators.sequence_tagger import SequenceTagger

    fresh = clone(SequenceTagger() if tagger is None else tagger)
    wanted = None if corpus.scheme is None else scheme or corpus.scheme
    labels, apart_sentences = corpus.labels_for(wanted), [apart(sentence) for sentence in corpus.sentences]
    has_documents = feature_set in READ_DOCUMENTS and any(have_company(corpus.sentences))
    X = pack(iter_features(corpus.sentences if has_documents else apart_sentences, feature_set), fresh.n_features)
    fresh.fit(X, labels, callbacks=callbacks)
    alone = None
    if has_documents and fresh.status_ != "interrupted":
        alone = clone(fresh).fit(pack(iter_features(apart_sentences, feature_set), fresh.n_features), labels)
    return TagModel(fresh, feature_set, corpus.columns, wanted, corpus.scheme, layout, kind, alone)


def apart(sentence: Sentence) -> Sentence:
    """The sentence without its document."""
    return sentence if sentence.document is None else replace(sentence, document=None)


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
        tagger_meta, alone_meta = dict(meta["tagger"]), meta.get("alone")
        version = int(meta.get("features_version", 1))
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"the model file is damaged: its description has no proper {error}.") from None
    if feature_set not in FEATURE_SETS:
        raise ValueError(f"it has the feature set {feature_set!r}, which this casimir does not know; upgrade casimir.")
    if feature_set == "default" and version == 1:
        feature_set = "default-1"
    elif version > FEATURES_VERSION:
        raise ValueError("it was trained with features of a later version; upgrade casimir.")
    own = {name: array for name, array in arrays.items() if not name.startswith(_ALONE)}
    others = {name.removeprefix(_ALONE): array for name, array in arrays.items() if name.startswith(_ALONE)}
    alone = None if alone_meta is None else SavedTagger.of(alone_meta, others)
    return TagModel(SavedTagger.of(tagger_meta, own), feature_set, columns, scheme, file_scheme, layout, kind, alone)
