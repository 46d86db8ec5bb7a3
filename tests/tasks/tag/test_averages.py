"""Two taggers as one: means of weights, and taggers of plain labels that are trained with and without known words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import casimir as cs
from casimir.estimators.chain_tagger import ChainTagger
from casimir.estimators.known_features import KnownFeatures
from casimir.estimators.predictor import ChainPredictor
from casimir.models.weight_rows import CHAIN_ENDS, WeightRows
from casimir.tasks.ner import parse_conll
from casimir.tasks.tag.averages import mean_of
from casimir.tasks.tag.lexicons import Lexicons
from casimir.tasks.tag.model import load_model, train
from casimir.tasks.tag.templates.extract import extract, features_for
from casimir.tasks.tag.templates.template_set import TemplateSet

PAIRS = TemplateSet.named("pairs")
LABELS = ("A", "B", "C")
CORPUS = parse_conll("a DET\ndog NOUN\nran VERB\n\nthe DET\ndog VERB\nthe DET\ncat NOUN\n\n" * 6, spans=False)


def predictor(n_features: int, used: list[int] | None, seed: int) -> ChainPredictor:
    n_rows = n_features if used is None else len(used)
    layout = WeightRows(n_rows, len(LABELS), CHAIN_ENDS)
    w = layout.weights(np.random.default_rng(seed).normal(size=(layout.n_rows, len(LABELS))))
    known = None if used is None else KnownFeatures(n_features, np.array(used))
    return ChainPredictor(w, LABELS, n_features, None, known=known)


@pytest.mark.parametrize("one", [None, [0, 2, 5], [3], [0, 1, 2, 4]])
@pytest.mark.parametrize("two", [None, [0, 2, 5], [3, 5], [3, 5, 6]])
def test_weights_of_a_mean_are_the_means_of_weights(one: list[int] | None, two: list[int] | None) -> None:
    first, second = predictor(7, one, 0), predictor(7, two, 1)
    found = mean_of([first, second])
    np.testing.assert_allclose(found.rows, (first.rows + second.rows) / 2, rtol=1e-15)
    assert (found.known is None) == (found.rows[:7].all(axis=1).all())
    X = cs.pack([[["a"], ["b", "f"]], [["c"]], [["d"], ["a", "g"], ["e"]]], n_features=7)
    whole = ChainPredictor.of_rows((first.rows + second.rows) / 2, LABELS, None)
    assert found.best(X).tolist() == whole.best(X).tolist()


def trained(lexicons: Lexicons, n_features: int | None, like: ChainPredictor | None = None) -> ChainPredictor:
    """By hand, in the features of another predictor if one is given."""
    tokens = CORPUS.tokens.apart()
    given = (
        extract(tokens, PAIRS, lexicons, n_features) if like is None else features_for(like, tokens, PAIRS, lexicons)
    )
    found: ChainPredictor = cs.SequenceTagger(n_features=n_features).fit(given, CORPUS.labels).predictor_
    return found


@pytest.mark.parametrize("n_features", [2**12, None])
def test_taggers_of_plain_labels_are_means_of_two(n_features: int | None, tmp_path: Path) -> None:
    model = train(CORPUS, cs.SequenceTagger(n_features=n_features), feature_set=PAIRS)
    first = trained(Lexicons().learnt(CORPUS), n_features)
    second = trained(Lexicons(), n_features, first)
    assert not np.allclose(first.rows, second.rows)
    np.testing.assert_allclose(model.tagger.predictor_.rows, (first.rows + second.rows) / 2, rtol=1e-12)
    model.save(tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    np.testing.assert_array_equal(loaded.tagger.predictor_.rows, model.tagger.predictor_.rows)
    new = parse_conll("the\ncat\nran\n\n", labelled=False)
    assert loaded.tag(new) == model.tag(new)


def test_templates_of_ones_own_and_spans_are_trained_once(monkeypatch: pytest.MonkeyPatch) -> None:
    fits = []
    fit = ChainTagger.fit
    monkeypatch.setattr(ChainTagger, "fit", lambda self, *a, **k: fits.append(self) or fit(self, *a, **k))
    train(CORPUS, feature_set=TemplateSet("w={word}\nknown={word known @-1}"))
    train(parse_conll("Ada B-PER\nran O\n\n" * 5), feature_set="pairs")
    assert len(fits) == 2
    train(CORPUS, feature_set="pairs")
    assert len(fits) == 4


def test_ctrl_c_in_the_second_training_leaves_the_first_tagger(monkeypatch: pytest.MonkeyPatch) -> None:
    fits = []
    fit = cs.SequenceTagger.fit

    def interrupted(self: cs.SequenceTagger, *arguments: Any, **options: Any) -> cs.SequenceTagger:
        fits.append(fit(self, *arguments, **options))
        if len(fits) == 2:
            self.status_ = "interrupted"
        return self

    monkeypatch.setattr(cs.SequenceTagger, "fit", interrupted)
    model = train(CORPUS, cs.SequenceTagger(n_features=2**12), feature_set="pairs")
    assert len(fits) == 2
    assert model.run.status == "interrupted"
    monkeypatch.undo()
    first = trained(Lexicons().learnt(CORPUS), 2**12)
    np.testing.assert_array_equal(model.tagger.predictor_.rows, first.rows)
