"""Valid labels: schemes found in the labels, rules in training and decoding, known labels in decoding."""

from __future__ import annotations

import pickle
import warnings
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import casimir as cs
from casimir.estimators.constraints import LabelRules, label_rules
from casimir.estimators.labels import LabelSequences
from casimir.estimators.predictor import ChainPredictor
from casimir.estimators.span_schemes import detect, scheme_mask
from casimir.metrics.schemes import Scheme, convert, spans, tags_of

TAGS = {
    "IOB1": ["B-x", "B-y", "I-x", "I-y", "O"],
    "IOB2": ["B-x", "B-y", "I-x", "I-y", "O"],
    "IOBES": ["B-x", "B-y", "E-x", "E-y", "I-x", "I-y", "O", "S-x", "S-y"],
}
SENTENCES = ["Ada Lee met Bob", "Bob slept", "Paris is large", "Ada saw New York City", "a cat ran", "Leeds"]
IOB2 = ["B-x I-x O B-x", "B-x O", "B-y O O", "B-x O B-y I-y I-y", "O O O", "B-y"]
X = [[{"word": word, "title": word.istitle()} for word in text.split()] for text in SENTENCES]
Y = [text.split() for text in IOB2]


def is_valid(tags: list[str], scheme: str) -> bool:
    """A sequence is valid where writing its spans again gives it back."""
    return convert(tags, Scheme(scheme)) == tags


def rules_of(constraints: Any, classes: list[Any], y: list[list[Any]]) -> LabelRules | None:
    labels = LabelSequences.of(y, np.cumsum([0, *map(len, y)]))
    return label_rules(constraints, tuple(classes), labels.places(classes))


# --- the rules


@pytest.mark.parametrize("scheme", TAGS)
@pytest.mark.parametrize("length", [1, 2, 3])
def test_rules_allow_exactly_the_sequences_that_a_scheme_writes(scheme: str, length: int) -> None:
    classes = TAGS[scheme]
    follows = scheme_mask(scheme, classes)
    for numbers in product(range(len(classes)), repeat=length):
        steps = pairwise([len(classes), *numbers, len(classes)])
        tags = [classes[j] for j in numbers]
        assert all(follows[a, b] for a, b in steps) == is_valid(tags, scheme), tags


@pytest.mark.parametrize("scheme", TAGS)
def test_the_scheme_is_found_in_the_labels(scheme: str) -> None:
    y = [convert(tags, Scheme(scheme)) for tags in [*Y, ["B-x", "B-x", "O"]]]
    classes = sorted({tag for tags in y for tag in tags})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = rules_of("auto", classes, y)
    assert found is not None
    assert found.scheme == scheme
    np.testing.assert_array_equal(found.follows, scheme_mask(scheme, classes))


def test_what_the_training_labels_break_stays_allowed_with_a_warning() -> None:
    y = [*Y, ["I-y", "O", "I-x"]]
    words = r"look like IOB2, and 2 places .* 'O' before 'I-x' \(1\), 'I-y' at the start"
    with pytest.warns(UserWarning, match=words) as caught:
        tagger = cs.SequenceTagger(constraints="auto").fit([*X, X[2]], y)
    assert caught[0].filename == __file__
    rules = tagger.constraints_
    assert rules is not None
    number = {label: j for j, label in enumerate(tagger.classes_)}
    assert rules.allowed[number["O"], number["I-x"]]
    assert not rules.allowed[number["O"], number["I-y"]]
    assert rules.start[number["I-y"]]
    assert not rules.start[number["I-x"]]


def test_labels_that_write_no_spans_are_free() -> None:
    assert rules_of("auto", ["D", "N"], [["D", "N"]]) is None
    assert rules_of("auto", [0, 1], [[0, 1]]) is None
    assert cs.SequenceTagger(constraints="auto").fit([[["a"], ["b"]]], [["D", "N"]]).constraints_ is None


def test_ties_between_schemes_go_to_iob2() -> None:
    assert detect(["O", "B-x"], np.zeros((3, 3), dtype=np.int64)) == "IOB2"


@pytest.mark.parametrize(
    ("constraints", "error", "words"),
    [
        ("IOB3", ValueError, "must be 'auto', a scheme"),
        ("IOB1", ValueError, r"y\[0\] has 'B-x' at the start at token 0, which constraints forbid; so do"),
        ([("O", "B-x")], ValueError, r"y\[0\] has 'O' before 'B-x' at token 2"),
        ([("B-y", None)], ValueError, r"y\[5\] has 'B-y' at the end at token 0"),
        ([("O", "?")], ValueError, r"label '\?'; y has only"),
        (["O"], TypeError, "entries are pairs"),
        (np.ones((2, 2), dtype=bool), ValueError, r"need bool\[5, 5\]"),
        (np.ones((5, 5)), ValueError, "float64"),
        (3, TypeError, "constraints is a int"),
    ],
)
def test_rules_that_do_not_fit_are_refused(constraints: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        cs.SequenceTagger(constraints=constraints).fit(X, Y)


def test_a_scheme_needs_labels_that_write_spans() -> None:
    with pytest.raises(ValueError, match="needs labels such as B-LOC"):
        cs.SequenceTagger(constraints="BIO").fit([[["a"]]], [["D"]])


# --- training


@pytest.mark.parametrize("loss", ["hinge", "crf"])
def test_training_runs_natively_over_the_valid_labels_alone(loss: str) -> None:
    tagger = cs.SequenceTagger(n_features=64, loss=loss, constraints="IOB2", tol=1e-4).fit(X, Y)
    assert tagger.status_ == "converged"
    classes = list(tagger.classes_)
    rules = tagger.constraints_
    assert rules is not None
    model = cs.LinearChainModel(cs.pack(X, 64), len(classes))
    chain = cs.Chain(len(classes), rules.allowed, rules.start, rules.stop)
    y = [np.array([classes.index(label) for label in labels]) for labels in Y]
    made = cs.Objective(model, chain, cs.Log() if loss == "crf" else cs.Hamming(), y, tagger.lam_)
    assert made.is_native
    assert tagger.objective_ == pytest.approx(made.value(tagger.predictor_.w), rel=1e-12)
    free = cs.SequenceTagger(n_features=64, loss=loss, tol=1e-4).fit(X, Y)
    assert tagger.objective_ < free.objective_ * (1 + 1e-4)  # fewer outputs compete


# --- decoding


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_invalid_sequence_ever_comes_out(data: st.DataObject) -> None:
    """With any weights, rules and known labels; the best of the valid ones, by enumeration."""
    scheme = data.draw(st.sampled_from(sorted(TAGS)))
    classes = TAGS[scheme]
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    rows = rng.normal(size=(3 + len(classes) + 2, len(classes))) * data.draw(st.sampled_from([0.0, 1.0, 100.0]))
    rules = LabelRules(scheme_mask(scheme, classes), scheme)
    predictor = ChainPredictor.of_rows(rows, tuple(classes), None, rules)
    length = data.draw(st.integers(1, 4))
    sentence = [[f"f{rng.integers(9)}"] for _ in range(length)]
    truth = tags_of(spans(rng.choice(classes, length).tolist()), length, Scheme(scheme))
    fixed = [data.draw(st.sampled_from([None, tag, {tag, "O"}])) for tag in truth]
    options = [classes if known is None else known if isinstance(known, set) else {known} for known in fixed]
    scores = {tuple(labels): score for labels, score in free(predictor).predict_topk([sentence], 9**4)[0]}
    for known, allowed in ((None, [classes] * length), ([fixed], options)):
        best = predictor.predict([sentence], fixed=known)[0]
        assert is_valid(best, scheme)
        valid = {
            tags: score
            for tags, score in scores.items()
            if is_valid(list(tags), scheme) and all(tag in some for tag, some in zip(tags, allowed, strict=True))
        }
        assert scores[tuple(best)] == pytest.approx(max(valid.values()), abs=1e-9)


def free(predictor: ChainPredictor) -> ChainPredictor:
    return ChainPredictor(predictor.w, predictor.classes, predictor.n_features, predictor.vocabulary)


def test_topk_and_marginals_know_the_rules_too() -> None:
    tagger = cs.SequenceTagger(loss="crf", constraints="auto").fit(X, Y)
    top = tagger.predict_topk(X[:2], 50)
    assert all(is_valid(labels, "IOB2") for sentence in top for labels, _ in sentence)
    first = tagger.predict_marginals(X[:1])[0][0]
    assert first[[label.startswith("I") for label in tagger.classes_]].tolist() == [0.0, 0.0]
    assert first.sum() == pytest.approx(1.0)


def test_a_sentence_without_a_valid_labelling_is_an_error() -> None:
    tagger = cs.SequenceTagger(constraints="auto").fit([[["a"], ["b"]]], [["B-x", "E-x"]])
    with pytest.raises(ValueError, match="no allowed output"):
        tagger.predict([[["a"]]])


# --- known labels


def test_known_labels_are_kept_and_change_their_neighbours() -> None:
    tagger = cs.SequenceTagger(constraints="auto").fit(X, Y)
    assert tagger.predict([X[4]]) == [["O", "O", "O"]]
    assert tagger.predict([X[4], X[1]], fixed=[[None, "I-y", None], None])[0][:2] == ["B-y", "I-y"]
    assert tagger.predict_single(X[4], fixed=[{"B-x", "B-y"}, None, None])[0] in ("B-x", "B-y")
    assert tagger.predict_single(X[0]) == tagger.predict(X[:1])[0]


@pytest.mark.parametrize(
    ("fixed", "error", "words"),
    [
        ([["?", None, None]], ValueError, r"fixed\[0\]\[0\] is '\?', and the model has no label '\?'"),
        ([["O", None]], ValueError, "Sentence 0 has 3 tokens and 2 labels"),
        ([None, None], ValueError, "fixed has labels for 2 sentences"),
        ("O", TypeError, "fixed is a str"),
        ([["O", "I-x", None]], ValueError, "no allowed output"),
    ],
)
def test_known_labels_that_do_not_fit_are_refused(fixed: Any, error: type[Exception], words: str) -> None:
    tagger = cs.SequenceTagger(constraints="auto").fit(X, Y)
    with pytest.raises(error, match=words):
        tagger.predict([X[4]], fixed=fixed)


# --- keeping them


@pytest.mark.parametrize(
    "constraints",
    ["auto", "IOB2", [("O", "I-x"), (None, "I-x"), ("I-y", None)], np.triu(np.ones((3, 3), dtype=bool))],
    ids=["auto", "scheme", "pairs", "mask"],
)
def test_a_saved_tagger_has_its_rules(constraints: Any, tmp_path: Path) -> None:
    data, labels = (X, Y) if not isinstance(constraints, np.ndarray) else ([[["a"]] * 3], [["A", "B", "C"]])
    if isinstance(constraints, list):
        labels = [["B-y", "I-y", "O"] if tags[-1] == "I-y" else tags for tags in labels]
        data = [sentence[: len(tags)] for sentence, tags in zip(data, labels, strict=True)]
    tagger = clone(cs.SequenceTagger(constraints=constraints)).fit(data, labels)
    tagger.save(tmp_path / "model")
    for again in (cs.load(tmp_path / "model"), pickle.loads(pickle.dumps(tagger))):
        np.testing.assert_array_equal(again.constraints_.follows, tagger.constraints_.follows)
        assert again.constraints_.scheme == tagger.constraints_.scheme
        assert again.predict(data) == tagger.predict(data)
        np.testing.assert_array_equal(clone(again).fit(data, labels).predictor_.w, tagger.predictor_.w)
