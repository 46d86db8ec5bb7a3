"""Sentences as matrices, dense and sparse, and features that come one sentence at a time."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import casimir as cs
from casimir.models.tokens import feature_matrix
from casimir.vocabulary import Columns, Vocabulary

RNG = np.random.default_rng(0)
LENGTHS = [3, 1, 4, 2] * 6
DENSE = [RNG.normal(size=(p, 5)) * (RNG.random((p, 5)) < 0.7) for p in LENGTHS]
Y = [np.argmax(x[:, :3], axis=1).tolist() for x in DENSE]


@pytest.mark.parametrize("kind", ["dense", "csr", "csc", "coo array", "mixed"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_packed_matrices_hold_what_was_given(kind: str, dtype: Any) -> None:
    made = {
        "dense": lambda x, i: x,
        "csr": lambda x, i: sp.csr_matrix(x),
        "csc": lambda x, i: sp.csc_array(x),
        "coo array": lambda x, i: sp.coo_array(x),
        "mixed": lambda x, i: x if i % 2 else sp.csr_array(x),
    }[kind]
    X = cs.pack([made(x.astype(dtype), i) for i, x in enumerate(DENSE)])
    assert X.values is not None
    assert X.values.dtype == dtype
    assert (X.n_features, X.vocabulary, len(X)) == (5, Columns(5), len(DENSE))
    np.testing.assert_array_equal(feature_matrix(X).toarray(), np.concatenate(DENSE).astype(dtype))
    assert (X.lengths == LENGTHS).all()


def test_sparse_matrices_are_left_as_they_are() -> None:
    given = sp.csr_matrix((np.array([1.0, 2.0, 0.0]), np.array([1, 1, 0]), np.array([0, 3])), shape=(1, 2))
    X = cs.pack([given])
    assert given.nnz == 3
    assert X.indices.tolist() == [1]
    assert X.values is not None
    assert X.values.tolist() == [3.0]


def test_matrices_of_ones_need_no_values() -> None:
    assert cs.pack([np.eye(3, dtype=bool)]).values is None


@pytest.mark.parametrize("loss", ["hinge", "crf"])
def test_a_tagger_of_matrices_is_one_of_named_columns(loss: str, tmp_path: Path) -> None:
    named = [[{f"c{j}": float(v) for j, v in enumerate(row)} for row in x] for x in DENSE]
    ours = cs.SequenceTagger(loss=loss, tol=1e-6).fit(DENSE, Y)
    theirs = cs.SequenceTagger(loss=loss, tol=1e-6, n_features=None).fit(named, Y)
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=1e-5)
    assert ours.coef_.shape == (5, 3)
    ours.save(tmp_path / "model")
    again = cs.load(tmp_path / "model")
    assert again.predict([sp.csr_array(x) for x in DENSE]) == ours.predict(DENSE)
    assert again.predictor_.vocabulary == Columns(5)


@pytest.mark.parametrize("solver", ["auto", "lbfgs", "svrg", "saga", "sgd"])
@pytest.mark.parametrize("loss", ["hinge", "crf"])
def test_single_precision_trains_natively_as_double_precision_does(solver: str, loss: str) -> None:
    """The same numbers in both: rounded ones."""
    narrow = [x.astype(np.float32) for x in DENSE]
    wide = [x.astype(np.float64) for x in narrow]
    parameters: dict[str, Any] = {"solver": solver, "loss": loss, "max_epochs": 5, "tol": 0.0}
    with pytest.warns(UserWarning, match="Training ended"):
        a, b = (cs.SequenceTagger(**parameters).fit(x, Y) for x in (narrow, wide))
    np.testing.assert_allclose(a.predictor_.w, b.predictor_.w, rtol=1e-12, atol=1e-14)
    X = cs.pack(narrow)
    made = cs.Objective(cs.LinearChainModel(X, 3), cs.Chain(3), cs.Hamming(), [np.array(y) for y in Y], 0.1)
    assert made.is_native
    w = RNG.normal(size=made.n_params)
    composed = cs.Objective(
        cs.LinearChainModel(X, 3), cs.Chain(3), cs.Hamming(), [np.array(y) for y in Y], 0.1, native=False
    )
    assert made.value(w) == pytest.approx(composed.value(w), rel=1e-12)


@pytest.mark.parametrize(
    ("sequences", "error", "words"),
    [
        ([np.ones((2, 3)), np.ones((2, 4))], ValueError, "sequence 1 has 4 columns; 3 are needed"),
        ([np.ones((2, 3)), np.ones((0, 3))], ValueError, r"sequence 1 has shape \[0, 3\]"),
        ([np.ones((2, 3)), [["a"]]], TypeError, "sequence 1 is a list; sequence 0 is a matrix"),
        ([np.ones(3)], ValueError, r"sequence 0 is a ndarray of shape \[3\]"),
        ([np.full((1, 2), np.nan)], ValueError, "sequence 0 has entries that are NaN"),
        ([np.array([["a", "b"]])], TypeError, "must hold numbers"),
    ],
)
def test_matrices_that_do_not_fit_are_refused(sequences: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        cs.pack(sequences)


def test_matrices_and_names_do_not_mix() -> None:
    columns, names = cs.SequenceTagger().fit(DENSE, Y), cs.SequenceTagger().fit([[["a"]]], [[0]])
    exact = cs.SequenceTagger(n_features=None).fit([[["a"]]], [[0]])
    with pytest.raises(ValueError, match="sequence 0 is a list; it must be a matrix"):
        columns.predict([[["a"]]])
    with pytest.raises(ValueError, match="3 columns; 5 are needed"):
        columns.predict([np.ones((2, 3))])
    with pytest.raises(ValueError, match="reads features with names"):
        names.predict(DENSE)
    with pytest.raises(ValueError, match="features with names are asked for"):
        exact.predict(DENSE)
    with pytest.raises(ValueError, match="packed with"):
        names.predict(cs.pack(DENSE))


def test_columns_read_like_a_vocabulary() -> None:
    columns = Columns(3)
    assert [*columns] == ["column 0", "column 1", "column 2"] == [columns[j] for j in range(3)]
    assert [columns.find(name) for name in ("column 2", "column 3", "column 02", "x")] == [2, None, None, None]
    assert "column 1" in columns
    assert columns != Vocabulary(list(columns))
    with pytest.raises(IndexError):
        columns[3]


class Sentence(list[Any]):
    """A list that can be watched."""


@pytest.mark.parametrize("n_features", [None, 64])
def test_generators_are_packed_without_a_list_in_memory(n_features: int | None) -> None:
    alive: list[weakref.ref[Sentence]] = []
    most = 0

    def sentences() -> Iterator[Sentence]:
        nonlocal most
        for i in range(50):
            sentence = Sentence([{"word": str(i)}])
            alive.append(weakref.ref(sentence))
            yield sentence
            del sentence
            gc.collect(1)  # of young objects, as sentences are; all others would take most of the time
            most = max(most, sum(ref() is not None for ref in alive))

    X = cs.pack(sentences(), n_features)
    assert len(X) == 50
    assert most <= 2
    with pytest.raises(ValueError, match="no sequences"):
        cs.pack(iter(()))


def test_vectors_in_tokens_train() -> None:
    tokens = [[{"emb": row[:4].astype(np.float32), "last": float(row[4])} for row in x] for x in DENSE]
    tagger = cs.SequenceTagger(n_features=None).fit(tokens, Y)
    assert tagger.predictor_.vocabulary.find("emb:3") is not None
    assert tagger.score(tokens, Y) > 0.8
