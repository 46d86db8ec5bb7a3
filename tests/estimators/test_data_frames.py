"""DataFrames of pandas: fine where matrices are read, one clear sentence where lists of tokens are."""

from __future__ import annotations

import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import casimir as cs
from casimir.compat import CRF
from casimir.estimators.multilabel_classifier import MultilabelClassifier
from casimir.estimators.structured_classifier import StructuredClassifier

pandas = pytest.importorskip("pandas")

FRAME = pandas.DataFrame({"sentence": [0, 0, 1], "word": ["a", "b", "a"], "label": ["X", "Y", "X"]})
WORDS = FRAME[["word"]]
RECORDS = [rows[["word"]].to_dict("records") for _, rows in FRAME.groupby("sentence")]
Y = [rows["label"].tolist() for _, rows in FRAME.groupby("sentence")]
NUMBERS = pandas.DataFrame(np.random.default_rng(0).normal(size=(30, 4)), columns=list("abcd"))
CLASSES = (NUMBERS["a"] > 0).map({True: "p", False: "n"})
LABELS = pandas.DataFrame({"first": (NUMBERS["a"] > 0).astype(int), "second": (NUMBERS["b"] > 0).astype(int)})
TABLE = (
    r"DataFrame is no list of sequences.* write \[rows\.to_dict\('records'\) for _, rows in frame\.groupby\(column\)\]"
)
SENTENCE = r"sequence 0 is a DataFrame.*; write frame\.to_dict\('records'\), a dict per token"


@pytest.fixture(scope="module")
def tagger() -> cs.SequenceTagger:
    return cs.SequenceTagger(loss="crf").fit(RECORDS, Y)


@pytest.fixture(scope="module")
def crf() -> CRF:
    return CRF().fit(RECORDS, Y)


def said(call: Callable[[], Any], what: str) -> None:
    """The call is refused with one sentence, or two halves of one, that says what is to be done."""
    with pytest.raises(TypeError, match=what) as error:
        call()
    assert "\n" not in str(error.value)


def test_what_the_messages_tell_to_write_works(tagger: cs.SequenceTagger, crf: CRF) -> None:
    assert tagger.predict(RECORDS) == Y == [list(labels) for labels in crf.predict(RECORDS)]


@pytest.mark.parametrize(
    "call",
    [
        lambda t, X: t.predict(X),
        lambda t, X: t.predict_topk(X, 2),
        lambda t, X: t.predict_marginals(X),
        lambda t, X: t.predict_transition_marginals(X),
        lambda t, X: t.log_partition(X),
        lambda t, X: t.score(X, Y),
        lambda t, X: t.calibrate(X, Y),
        lambda t, X: t.report(X, Y),
        lambda t, X: cs.SequenceTagger().fit(X, Y),
        lambda t, X: cs.SequenceTagger().partial_fit(X, Y),
        lambda t, X: cs.SequenceTagger(n_features=None, keep_names=True).fit(X, Y),
        lambda t, X: cs.SequenceTagger().fit(RECORDS, Y, X_dev=X, y_dev=Y),
        lambda t, X: cs.pack(X),
    ],
)
def test_a_tagger_says_what_to_write_for_a_table(
    tagger: cs.SequenceTagger, call: Callable[[cs.SequenceTagger, Any], Any]
) -> None:
    said(lambda: call(tagger, WORDS), TABLE)
    said(lambda: call(tagger, [WORDS]), SENTENCE)


def test_one_sentence_that_is_a_table_of_words(tagger: cs.SequenceTagger) -> None:
    for call in (tagger.predict_single, tagger.predict_marginals_single, tagger.explain):
        said(lambda call=call: call(WORDS), SENTENCE)


def test_a_pack_on_disk_is_not_made_of_tables(tmp_path: Path) -> None:
    said(lambda: cs.pack(WORDS, y=Y, out=tmp_path / "pack"), TABLE)
    said(lambda: cs.pack([WORDS], y=[["X", "Y", "X"]], out=tmp_path / "pack"), SENTENCE)


@pytest.mark.parametrize(
    "call",
    [
        lambda crf, X: CRF().fit(X, Y),
        lambda crf, X: CRF().fit(RECORDS, Y, X, Y),
        lambda crf, X: crf.predict(X),
        lambda crf, X: crf.predict_marginals(X),
        lambda crf, X: crf.score(X, Y),
    ],
)
def test_the_class_of_sklearn_crfsuite_says_the_same(crf: CRF, call: Callable[[CRF, Any], Any]) -> None:
    said(lambda: call(crf, WORDS), TABLE)
    said(lambda: call(crf, [WORDS, WORDS]), SENTENCE)


def test_labels_are_no_table(tagger: cs.SequenceTagger) -> None:
    said(lambda: cs.SequenceTagger().fit(RECORDS, FRAME[["label"]]), "y is a DataFrame; it must be a list with one")
    said(lambda: cs.SequenceTagger().fit(RECORDS, [FRAME[["label"]], ["X"]]), r"y\[0\] is .*one label per token")
    said(lambda: cs.SequenceTagger().fit(RECORDS, FRAME["label"]), r"y\[0\] is 'X'; it must be a list with one label")
    said(lambda: tagger.predict(RECORDS, fixed=FRAME[["label"]]), "fixed is a DataFrame; it must be a list")
    said(
        lambda: cs.SequenceTagger(class_weight=pandas.Series({"X": 1.0, "Y": 2.0})).fit(RECORDS, Y),
        "class_weight is a Series; it must be a dict",
    )
    said(
        lambda: cs.SequenceTagger(label_costs=pandas.DataFrame(np.eye(2))).fit(RECORDS, Y),
        "label_costs is a DataFrame; it must be a dict",
    )


def test_series_of_lists_and_tables_of_numbers_are_read(tagger: cs.SequenceTagger) -> None:
    index = [7, 3]
    other = cs.SequenceTagger(loss="crf").fit(pandas.Series(RECORDS, index=index), pandas.Series(Y, index=index))
    assert np.array_equal(other.coef_, tagger.coef_)
    labels = [pandas.Series(one, index=range(5, 5 + len(one))) for one in Y]
    assert np.array_equal(cs.SequenceTagger(loss="crf").fit(RECORDS, labels).coef_, tagger.coef_)
    weighted = cs.SequenceTagger().fit(RECORDS, Y, sample_weight=pandas.Series([1.0, 2.0], index=index))
    assert np.array_equal(weighted.coef_, cs.SequenceTagger().fit(RECORDS, Y, sample_weight=[1.0, 2.0]).coef_)
    frames = [NUMBERS[:2], NUMBERS[2:3]]
    of_frames, of_arrays = (cs.SequenceTagger().fit(X, Y) for X in (frames, [f.to_numpy() for f in frames]))
    assert np.array_equal(of_frames.coef_, of_arrays.coef_)


@pytest.mark.parametrize(("made", "y"), [(StructuredClassifier(), CLASSES), (MultilabelClassifier(), LABELS)])
def test_classifiers_read_tables_as_arrays_with_names(made: Any, y: Any) -> None:
    made = made.fit(NUMBERS, y)
    assert made.feature_names_in_.tolist() == list("abcd")
    plain = type(made)().fit(NUMBERS.to_numpy(), y.to_numpy())
    assert np.array_equal(made.predict(NUMBERS), plain.predict(NUMBERS.to_numpy()))
    with pytest.raises(ValueError, match="feature names should match"):
        made.predict(NUMBERS[list("dcba")])
    with pytest.raises(ValueError, match="could not convert string to float: 'a'"):
        type(made)().fit(WORDS, y[:3])


@pytest.mark.parametrize("name", ["GraphLabeler", "GridLabeler"])
def test_graphs_are_no_table(name: str) -> None:
    labeler = operator.attrgetter(name)(cs)()
    said(lambda: labeler.fit(NUMBERS, CLASSES), "X is a DataFrame; it must be a list with one entry per example")
