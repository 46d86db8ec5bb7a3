"""NER models: labels in the scheme that came in, folders that round-trip, columns that are checked."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

import casimir as cs
from casimir.datasets import news_path
from casimir.persistence import load_folder, save_folder
from casimir.tasks.ner import Corpus, Scheme, convert, parse_conll, read_conll, spans
from casimir.tasks.tag.held_out import HeldOut
from casimir.tasks.tag.model import TagModel, load_model, train


def first(corpus: Corpus, n: int) -> Corpus:
    boundaries = {i: line for i, line in corpus.boundaries.items() if i < n}
    return Corpus(corpus.sentences[:n], corpus.columns, corpus.scheme, corpus.separator, boundaries, corpus.name)


@pytest.fixture(scope="module")
def news() -> Corpus:
    return first(read_conll(news_path("train")), 60)


@pytest.fixture(scope="module")
def model(news: Corpus) -> TagModel:
    return train(news, cs.SequenceTagger(tol=0.1, n_features=2**14))


def in_scheme(corpus: Corpus, scheme: Scheme) -> Corpus:
    sentences = [s.with_labels(tuple(convert(s.labels or (), scheme))) for s in corpus.sentences]
    return Corpus(sentences, corpus.columns, scheme, corpus.separator, corpus.boundaries, corpus.name)


def without_labels(corpus: Corpus) -> Corpus:
    sentences = [s.with_labels(None) for s in corpus.sentences]
    return Corpus(sentences, corpus.columns, None, corpus.separator, corpus.boundaries, corpus.name)


def test_it_learns_its_training_sentences(model: TagModel, news: Corpus) -> None:
    scores = model.evaluate(news)
    assert scores.f1 > 0.95
    assert set(scores.by_type) == {"LOC", "MISC", "ORG", "PER"}


@pytest.mark.parametrize("scheme", list(Scheme))
def test_labels_come_back_in_the_scheme_that_came_in(model: TagModel, news: Corpus, scheme: Scheme) -> None:
    tags = model.tag(in_scheme(news, scheme))
    assert tags == [convert(labels, scheme) for labels in tags]
    assert [spans(labels) for labels in tags] == [spans(labels) for labels in model.tag(news)]


def test_files_without_labels_get_the_scheme_of_the_training_file(news: Corpus) -> None:
    iob1 = train(in_scheme(news, Scheme.IOB1), cs.SequenceTagger(tol=0.5, n_features=2**12), scheme=Scheme.IOBES)
    assert iob1.scheme is Scheme.IOBES
    assert iob1.file_scheme is Scheme.IOB1
    assert any(label.startswith("S-") for label in iob1.tagger.classes_)
    tags = iob1.tag(without_labels(news))
    assert tags == [convert(labels, Scheme.IOB1) for labels in tags]


@pytest.mark.parametrize("n_features", [None, 2**12])
def test_save_and_load_give_the_same_model(news: Corpus, tmp_path: Path, n_features: int | None) -> None:
    model = train(news, cs.SequenceTagger(tol=0.5, n_features=n_features), feature_set="paper")
    model.save(tmp_path / "m")
    loaded = cs.load(tmp_path / "m")
    assert isinstance(loaded, TagModel)
    assert loaded.tag(news) == model.tag(news)
    assert (loaded.features.name, loaded.columns, loaded.scheme) == ("paper", (), Scheme.IOBES)


def alone(corpus: Corpus) -> Corpus:
    return replace(corpus, sentences=[replace(s, document=None) for s in corpus.sentences], boundaries={})


def test_a_sentence_without_a_document_does_not_depend_on_the_rest_of_the_file(model: TagModel, news: Corpus) -> None:
    assert model.alone is not None
    together = model.tag(alone(news))
    assert together == [model.tag(alone(news.select([i])))[0] for i in range(len(news))]
    assert together == [model.tag(news.select([i]))[0] for i in range(len(news))]  # a document of one sentence


def test_documents_and_single_sentences_have_weights_of_their_own(
    model: TagModel, news: Corpus, tmp_path: Path
) -> None:
    mixed = replace(news, sentences=[*news.sentences, *alone(news).sentences], boundaries={})
    assert model.tag(mixed) == [*model.tag(news), *model.tag(alone(news))]
    model.save(tmp_path / "m")
    assert load_model(tmp_path / "m").tag(mixed) == model.tag(mixed)


def test_both_taggers_are_calibrated_and_predictions_stay(model: TagModel, tmp_path: Path) -> None:
    dev = first(read_conll(news_path("heldout")), 40)
    before = model.tag(dev)
    model.save(tmp_path / "raw")
    calibrated = load_model(tmp_path / "raw")
    with pytest.warns(UserWarning, match="3 of 40 sentences have labels that were not seen"):
        calibrated.calibrate(dev)
    assert calibrated.tag(dev) == before
    calibrated.save(tmp_path / "calibrated")
    again = load_model(tmp_path / "calibrated")
    for one, raw in ((again.tagger, model.tagger), (again.alone, model.alone)):
        assert one is not None
        assert raw is not None
        assert one.temperature_ != raw.temperature_ == 1.0


def test_a_file_without_documents_trains_one_set_of_weights(news: Corpus) -> None:
    trained = train(alone(news), cs.SequenceTagger(tol=0.5, n_features=2**12))
    assert trained.alone is None
    assert trained.tag(news) == trained.tag(alone(news))


def test_held_out_scores_are_those_of_evaluate(model: TagModel, news: Corpus) -> None:
    held_out = HeldOut(news, lexicons=model.lexicons)
    assert held_out.scores(model.tagger.predictor_) == model.evaluate(news)
    assert held_out.f1(model.tagger.predictor_) == model.evaluate(news).f1


def test_a_file_needs_the_columns_of_the_training_file() -> None:
    corpus = parse_conll("Paris NNP B-LOC\nsleeps VBZ O\n\n")
    model = train(corpus, cs.SequenceTagger(n_features=64))
    assert model.columns == ("pos",)
    wider = parse_conll("Paris NNP I-NP B-LOC\nsleeps VBZ I-VP O\n\n")
    assert model.tag(wider) == [["B-LOC", "O"]]
    with pytest.raises(ValueError, match="reads the column 'pos', which input does not have"):
        model.tag(parse_conll("Paris B-LOC\n\n"))


def test_training_needs_labels(news: Corpus) -> None:
    with pytest.raises(ValueError, match="has no labels"):
        train(without_labels(news))


def test_loading_refuses_other_models_and_damage(tmp_path: Path, model: TagModel) -> None:
    model.tagger.save(tmp_path / "tagger")
    with pytest.raises(ValueError, match="holds a SequenceTagger"):
        load_model(tmp_path / "tagger")
    model.save(tmp_path / "m")
    kind, meta, arrays = load_folder(tmp_path / "m")
    for change, message in [
        ({"feature_set": "newer"}, "'newer'"),
        ({"scheme": "XYZ"}, "damaged"),
        ({"tagger": {}}, "damaged"),
    ]:
        save_folder(tmp_path / "m", kind, {**meta, **change}, arrays)
        with pytest.raises(ValueError, match=message):
            load_model(tmp_path / "m")


@pytest.mark.realdata
def test_conll_2003_subset_reaches_a_useful_f1() -> None:
    folder = Path(os.environ.get("CASIMIR_DATA", "")) / "conll2003"
    if not os.environ.get("CASIMIR_DATA") or not folder.is_dir():
        pytest.skip("CASIMIR_DATA does not point at conll2003")
    corpus, dev = first(read_conll(folder / "eng.train"), 1000), first(read_conll(folder / "eng.testa"), 500)
    assert corpus.scheme is Scheme.IOB1
    assert train(corpus, cs.SequenceTagger(tol=0.1)).evaluate(dev).f1 > 0.70
