"""A tagger of text: a SequenceTagger with its features, its columns and its tagging schemes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from casimir.estimators.saved_tagger import GivenTagger, SavedTagger, given_tagger, present_tagger, whole_tagger
from casimir.estimators.state import encode_tagger
from casimir.features import PackedSequences
from casimir.metrics.entities import EntityScores, entity_scores
from casimir.metrics.schemes import Scheme
from casimir.metrics.tag_numbers import TagNumbers
from casimir.metrics.tokens import TokenScores, token_scores
from casimir.persistence import save_folder
from casimir.persistence.load import load
from casimir.scores import ragged_rows
from casimir.tasks.tag.averages import mean_of
from casimir.tasks.tag.boost import best_boost, boosted
from casimir.tasks.tag.columns import FIRST_AND_LAST, Layout
from casimir.tasks.tag.corpus import Corpus
from casimir.tasks.tag.lexicons import NO_LEXICONS, Lexicons
from casimir.tasks.tag.most_frequent import FORM, MostFrequent
from casimir.tasks.tag.templates.extract import extract, features_for
from casimir.tasks.tag.templates.template_set import FEATURE_SETS, FIRST_DEFAULT, TemplateSet
from casimir.tasks.tag.tokens import Tokens, TokenSentences
from casimir.tasks.training import Run

if TYPE_CHECKING:  # scikit-learn takes a second to load, which predictions need not wait for
    from casimir.estimators.chain_tagger import ChainTagger, TaggerCallback
    from casimir.estimators.sequence_tagger import SequenceTagger

KIND = "ner"
PAPER_N_FEATURES = 2**16 - 1
DEFAULT_SCHEME = Scheme.IOBES  # on CoNLL-2003 .002 of F1 better than IOB2 for sentences that come alone
FEATURES_VERSION = 2  # 1: sentences without documents were taken in blocks
OWN_TEMPLATES = "templates"  # the feature set of models with templates of their own
_ALONE = "alone."  # begins the names of the arrays of the second tagger
_ALONE_TOL = 10.0  # times tol: on CoNLL-2003 F1 is no worse at gaps up to .13


@dataclass(frozen=True, eq=False)
class TagModel:
    """given        a fitted SequenceTagger, or one that was just trained or loaded; `tagger` is the SequenceTagger
    given_alone   another for sentences that come without a document, where features read documents and the training
                  file had them; None: `tagger` is for all sentences
    features      the templates that features are made by
    columns       the columns besides the word that the features read
    scheme        of the labels that the tagger was trained with; None: labels write no spans
    file_scheme   of the labels in the training file, for files that come without labels
    layout        where word and label stand in the training file
    kind          of the model folder: the name of the task
    lexicons      clusters and gazetteers that the features read
    boosts        what the scores of O in `tagger` and `alone` were lowered by after training, see `boost`
    width         how many columns the training file had; None: not known
    """

    given: GivenTagger
    features: TemplateSet
    columns: tuple[str, ...]
    scheme: Scheme | None
    file_scheme: Scheme | None
    layout: Layout = FIRST_AND_LAST
    kind: str = KIND
    given_alone: GivenTagger | None = None
    lexicons: Lexicons = NO_LEXICONS
    boosts: tuple[float, float] = (0.0, 0.0)
    width: int | None = None

    @cached_property
    def tagger(self) -> SequenceTagger:
        """The scikit-learn estimator."""
        return whole_tagger(self.given)

    @cached_property
    def alone(self) -> SequenceTagger | None:
        """That for sentences that come alone, if they have one of their own."""
        return None if self.given_alone is None else whole_tagger(self.given_alone)

    @property
    def present(self) -> tuple[ChainTagger, ChainTagger | None]:
        """`tagger` and `alone`, which need not be estimators where they were just trained."""
        return present_tagger(self.given), None if self.given_alone is None else present_tagger(self.given_alone)

    @property
    def run(self) -> Run:
        """How training ended; interrupted, if that of either tagger was."""
        tagger, alone = self.present
        run = Run.of_tagger(tagger)
        return run if alone is None or alone.status_ != "interrupted" else replace(run, status=alone.status_)

    def tag(self, corpus: Corpus) -> list[list[str]]:
        """Labels of every sentence; spans in the scheme that came in, or else in that of the training file."""
        return self.tag_numbers(corpus).lists()

    def tag_numbers(self, corpus: Corpus) -> TagNumbers:
        """The same labels of all tokens, as numbers."""
        offsets = corpus.tokens.offsets
        numbers, tags = np.zeros(offsets[-1], dtype=np.int64), dict[str, int]()
        for tagger, places, X in self.parts(corpus):
            classes = [tags.setdefault(str(label), len(tags)) for label in tagger.predictor_.classes]
            tokens, _ = ragged_rows(offsets, np.asarray(places, dtype=np.int64))
            numbers[tokens] = np.array(classes)[tagger.predictor_.best(X)]
        found, wanted = TagNumbers(numbers, offsets, list(tags)), corpus.scheme or self.file_scheme
        return found if wanted is None else found.convert(wanted)

    def parts(self, corpus: Corpus) -> Iterator[tuple[GivenTagger, list[int], PackedSequences]]:
        """(tagger, numbers of its sentences, their features): sentences of documents, and those that come alone."""
        missing = [name for name in self.columns if name not in corpus.columns]
        if missing:
            raise ValueError(
                f"The model reads the column {missing[0]!r}, which {corpus.name} does not have; its columns are "
                f"{['word', *corpus.columns]}. Add it, or train a model that reads fewer columns (--columns word)."
            )
        tokens = corpus.tokens.keep(self.columns)
        if self.given_alone is None:
            given = tokens if self.features.alone > 1 else tokens.apart()
            yield self.given, list(range(len(tokens))), self._packed(self.given, given)
            return
        company = tokens.has_company()
        for tagger, mine in ((self.given, company), (self.given_alone, ~company)):
            chosen = np.flatnonzero(mine)
            if len(chosen):
                given = tokens if len(chosen) == len(tokens) else tokens.select(chosen)
                packed = self._packed(tagger, given if tagger is self.given else given.apart())
                yield tagger, chosen.tolist(), packed

    def _packed(self, tagger: GivenTagger, tokens: Tokens) -> PackedSequences:
        return features_for(tagger.predictor_, tokens, self.features, self.lexicons)

    def calibrate(self, corpus: Corpus) -> None:
        """Sets the temperatures of the taggers on a labelled corpus that was not trained on."""
        gold = corpus.labels_for(None if corpus.scheme is None else self.scheme)
        alone = replace(corpus, sentences=TokenSentences(corpus.tokens.apart()))
        for given in (corpus,) if self.given_alone is None else (corpus, alone):
            for tagger, places, X in self.parts(given):
                present_tagger(tagger).calibrate(X, [gold[i] for i in places])

    def evaluate(self, corpus: Corpus) -> EntityScores | TokenScores:
        """Entity precision, recall and F1 of spans, accuracy of other labels, on a labelled corpus."""
        return scores_of(corpus, self.tag(corpus), self.scheme)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model folder that `casimir.load` reads."""
        tagger, others = self.present
        meta, arrays = encode_tagger(tagger)
        alone, alone_arrays = (None, {}) if others is None else encode_tagger(others)
        arrays |= {f"{_ALONE}{name}": array for name, array in alone_arrays.items()} | self.lexicons.arrays()
        description = {
            **self._described_features(),
            "columns": list(self.columns),
            "scheme": None if self.scheme is None else self.scheme.value,
            "file_scheme": None if self.file_scheme is None else self.file_scheme.value,
            "layout": asdict(self.layout),
            "tagger": meta,
            "alone": alone,
            "boosts": list(self.boosts),
            "width": self.width,
        }
        save_folder(path, self.kind, description, arrays)

    def _described_features(self) -> dict[str, Any]:
        if self.features.is_own:
            own = {"text": self.features.text, "name": self.features.name}
            return {"features_version": FEATURES_VERSION, "feature_set": OWN_TEMPLATES, "templates": own}
        version = 1 if self.features.alone > 1 else FEATURES_VERSION
        return {"features_version": version, "feature_set": self.features.name}


def scores_of(corpus: Corpus, predicted: Sequence[Sequence[str]], scheme: Scheme | None) -> EntityScores | TokenScores:
    """Of entities where labels write spans, else of tokens."""
    if scheme is None:
        return token_scores(corpus.labels, predicted)
    return entity_scores(corpus.labels, predicted)


def train(
    corpus: Corpus,
    tagger: ChainTagger | None = None,
    *,
    feature_set: str | TemplateSet = "default",
    scheme: Scheme | None = DEFAULT_SCHEME,
    callbacks: Iterable[TaggerCallback] = (),
    layout: Layout = FIRST_AND_LAST,
    kind: str = KIND,
    lexicons: Lexicons = NO_LEXICONS,
    boost: float | Corpus = 0.0,
) -> TagModel:
    """Fit a copy of `tagger` to a labelled corpus.

    tagger       a SequenceTagger or a ChainTagger, whose parameters are used; None is a tagger with the defaults
    feature_set  the name of one, or templates
    scheme       to train with; None is that of the corpus. Labels that write no spans stay as they are
    callbacks    as in `SequenceTagger.fit`; `HeldOut` gives scores there
    boost        what the score of O is lowered by after training, or labelled data on which to choose it by F1
    """
    from casimir.estimators.chain_tagger import ChainTagger
    from casimir.solvers.checkpoint import Checkpoint, part_of

    fresh = (ChainTagger() if tagger is None else tagger).unfitted()
    wanted = None if corpus.scheme is None else scheme or corpus.scheme
    features = TemplateSet.named(feature_set) if isinstance(feature_set, str) else feature_set
    lexicons = lexicons.learnt(corpus, features.learns(corpus.scheme is not None))
    plan = _Plan(corpus.labels_for(wanted), features, lexicons, boost if wanted is not None else 0.0)
    tokens = corpus.tokens
    has_documents = features.reads_documents and bool(np.any(tokens.has_company()))
    boosts = [plan.fit(fresh, tokens if has_documents else tokens.apart(), has_documents, callbacks), 0.0]
    alone = None
    if has_documents and fresh.status_ != "interrupted":
        part = part_of(Checkpoint.of(fresh.checkpoint), "alone")
        alone = fresh.unfitted(tol=_ALONE_TOL * fresh.tol, checkpoint=part)
        boosts[1] = plan.fit(alone, tokens.apart(), False)
    about = (features, corpus.columns, wanted, corpus.scheme, layout, kind)
    given_alone = None if alone is None else given_tagger(alone)
    return TagModel(given_tagger(fresh), *about, given_alone, lexicons, (boosts[0], boosts[1]), corpus.width)


@dataclass(frozen=True)
class _Plan:
    """What the training of the two taggers of a model shares."""

    labels: list[list[str]]
    features: TemplateSet
    lexicons: Lexicons
    boost: float | Corpus

    def fit(
        self,
        tagger: ChainTagger,
        tokens: Tokens,
        has_documents: bool,
        callbacks: Iterable[TaggerCallback] = (),
    ) -> float:
        """Trains the tagger; the boost that it has then."""
        X = extract(tokens, self.features, self.lexicons, tagger.n_features)
        tagger.fit(X, self.labels, callbacks=callbacks)
        if self.features.averages and self.lexicons.known is not None and tagger.status_ != "interrupted":
            self._average(tagger, tokens)
        boost = self._chosen(tagger, has_documents) if isinstance(self.boost, Corpus) else self.boost
        tagger.predictor_ = boosted(tagger.predictor_, boost)
        return boost

    def _average(self, tagger: ChainTagger, tokens: Tokens) -> None:
        """With a tagger trained in the same way without what words were, in the same features; unless interrupted."""
        from casimir.solvers.checkpoint import Checkpoint, part_of

        X = features_for(tagger.predictor_, tokens, self.features, replace(self.lexicons, known=None))
        other = tagger.unfitted(checkpoint=part_of(Checkpoint.of(tagger.checkpoint), "plain"))
        other.fit(X, self.labels)
        if other.status_ == "interrupted":
            tagger.status_ = other.status_
        else:
            tagger.predictor_ = mean_of([tagger.predictor_, other.predictor_])

    def _chosen(self, tagger: ChainTagger, has_documents: bool) -> float:
        assert isinstance(self.boost, Corpus)
        tokens = self.boost.tokens if has_documents else self.boost.tokens.apart()
        X = features_for(tagger.predictor_, tokens, self.features, self.lexicons)
        return best_boost(tagger.predictor_, X, self.boost.labels)


def load_model(path: str | os.PathLike[str]) -> TagModel:
    """The tagger in the folder `path`."""
    model = load(path)
    if not isinstance(model, TagModel):
        raise ValueError(
            f"'{path}' holds a {type(model).__name__}, not a TagModel. Give a folder made by `casimir train tag`, or "
            "use casimir.load in Python."
        )
    return model


class _Later(ValueError):
    """Features that this casimir does not know."""


def features_of_meta(meta: Mapping[str, Any]) -> TemplateSet:
    """The templates that a description names."""
    feature_set, version = str(meta["feature_set"]), int(meta.get("features_version", 1))
    if feature_set not in (*FEATURE_SETS, OWN_TEMPLATES):
        raise _Later(f"it has the feature set {feature_set!r}, which this casimir does not know; upgrade casimir.")
    if version > FEATURES_VERSION:
        raise _Later("it was trained with features of a later version; upgrade casimir.")
    if feature_set == OWN_TEMPLATES:
        return TemplateSet(str(meta["templates"]["text"]), str(meta["templates"]["name"]))
    return TemplateSet.named(FIRST_DEFAULT if feature_set == "default" and version == 1 else feature_set)


def decode_model(
    meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray], kind: str = KIND
) -> TagModel | MostFrequent:
    """The model that `TagModel.save` or `MostFrequent.save` wrote."""
    if meta.get("form") == FORM:
        return MostFrequent.from_meta(meta, kind)
    try:
        columns = tuple(map(str, meta["columns"]))
        scheme, file_scheme = (None if meta[k] is None else Scheme(meta[k]) for k in ("scheme", "file_scheme"))
        layout = Layout(**{name: int(place) for name, place in meta.get("layout", {}).items()})
        tagger_meta, alone_meta = dict(meta["tagger"]), meta.get("alone")
        first, second = map(float, meta.get("boosts", (0.0, 0.0)))
        width = None if meta.get("width") is None else int(meta["width"])
        lexicons = Lexicons.from_arrays(arrays)
        features = features_of_meta(meta)
    except _Later:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"the model file is damaged: its description has no proper {error}.") from None
    own = {name: a for name, a in arrays.items() if not name.startswith(_ALONE) and not Lexicons.is_mine(name)}
    others = {name.removeprefix(_ALONE): array for name, array in arrays.items() if name.startswith(_ALONE)}
    alone = None if alone_meta is None else SavedTagger.of(alone_meta, others)
    about = (features, columns, scheme, file_scheme, layout, kind)
    return TagModel(SavedTagger.of(tagger_meta, own), *about, alone, lexicons, (first, second), width)
