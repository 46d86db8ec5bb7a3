"""Weights as tables; names of hashed features, kept in training and in the model folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import casimir as cs
from casimir.estimators.names import packed_with_names
from casimir.estimators.tables import Table

X = [
    [{"word": "Ada", "title": True, "length": 0.6}, {"word": "met"}, {"word": "Bob", "title": True}],
    [{"word": "Paris", "length": 2}, {"word": "is", "in": ["a", "b"]}, {"word": "large", "length": -1.5}],
]
Y = [["PER", "O", "PER"], ["LOC", "O", "O"]]


@pytest.mark.parametrize("parameters", [{"n_features": None}, {"keep_names": True}])
def test_top_features_are_the_weights_farthest_from_zero(parameters: dict[str, Any]) -> None:
    tagger = cs.SequenceTagger(**parameters).fit(X, Y)
    table = tagger.top_features(10**6)
    assert table.columns == ("feature", "label", "weight")
    sizes = [abs(weight) for _, _, weight in table]
    assert sizes == sorted(sizes, reverse=True)
    assert len(table) == np.count_nonzero(tagger.coef_)
    exact = cs.SequenceTagger(n_features=None).fit(X, Y)
    for name, label, weight in table:
        row, column = exact.predictor_.vocabulary.find(name), list(exact.classes_).index(label)
        assert exact.coef_[row, column] == pytest.approx(weight, abs=1e-6)
    assert tagger.top_features(3).rows == table.rows[:3]
    assert tagger.top_features(2, label="LOC").rows == [row for row in table if row[1] == "LOC"][:2]


def test_top_transitions() -> None:
    tagger = cs.SequenceTagger().fit(X, Y)
    table = tagger.top_transitions(4)
    assert table.columns == ("from", "to", "weight")
    place = list(tagger.classes_).index
    for a, b, weight in table:
        assert tagger.transitions_[place(a), place(b)] == weight
    assert abs(table[0][2]) == np.abs(tagger.transitions_).max()


def test_features_without_names_are_buckets() -> None:
    name = cs.SequenceTagger(n_features=64).fit(X, Y).top_features(1)[0][0]
    assert name.startswith("bucket ")


@pytest.mark.parametrize("n_features", [5, 64, 2**18])
def test_keeping_names_changes_no_number(n_features: int) -> None:
    plain, (named, names) = cs.pack(X, n_features), packed_with_names(iter(X), n_features, True)
    assert names is not None
    assert (named.n_features, named.vocabulary) == (n_features, None)
    for attribute in ("offsets", "indptr", "indices", "values"):
        assert np.array_equal(getattr(plain, attribute), getattr(named, attribute))
        assert getattr(plain, attribute).dtype == getattr(named, attribute).dtype
    strings = [[["b", "a", "b"], ["c"]]]
    assert np.array_equal(cs.pack(strings, 64).indices, packed_with_names(strings, 64, True)[0].indices)


def test_names_that_share_a_bucket_stand_together() -> None:
    (name, *_), *_ = cs.SequenceTagger(n_features=1, keep_names=True).fit(X, Y).top_features(1)
    assert set(name.split(" | ")) >= {"word=Ada", "title", "in=b"}


def test_names_are_saved_and_loaded(tmp_path: Path) -> None:
    tagger = cs.SequenceTagger(keep_names=True).fit(X, Y)
    tagger.save(tmp_path / "model")
    again = cs.load(tmp_path / "model")
    assert again.top_features().rows == tagger.top_features().rows
    assert again.keep_names is True
    assert tagger.set_params(keep_names=False).fit(X, Y).names_ is None


def test_packed_buckets_have_no_names_to_keep() -> None:
    with pytest.raises(ValueError, match="keep_names=True, but the sequences are packed into hash buckets"):
        cs.SequenceTagger(keep_names=True).fit(cs.pack(X), Y)
    cs.SequenceTagger(keep_names=True, n_features=None).fit(cs.pack(X, None), Y)


def test_unknown_labels_and_counts_are_named() -> None:
    tagger = cs.SequenceTagger().fit(X, Y)
    with pytest.raises(ValueError, match="'ORG' was not seen"):
        tagger.top_features(label="ORG")
    with pytest.raises(ValueError, match="n=0"):
        tagger.top_features(0)


def test_tables_are_rows_text_and_html() -> None:
    table = Table(("name", "weight"), [("<b>", 1.0), ("c", -22.5)])
    assert (len(table), table[0], table[-1:], list(table)) == (2, ("<b>", 1.0), [("c", -22.5)], table.rows)
    assert str(table) == "name   weight\n<b>     1.000\nc     -22.500"
    assert table.to_dicts()[1] == {"name": "c", "weight": -22.5}
    assert '<td style="text-align:left">&lt;b&gt;</td>' in table._repr_html_()
    assert str(Table(("a", "b"), [])) == "a  b"
