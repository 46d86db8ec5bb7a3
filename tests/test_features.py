"""Packing: what every kind of token becomes, exactness of the arrays, errors, selection."""

from __future__ import annotations

import gc
import pickle
import sys
from collections import OrderedDict, UserDict
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.utils import _safe_indexing

from casimir._native import core
from casimir.features import PackedSequences, pack
from casimir.vocabulary import Vocabulary

PAPER = 65535

name = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
value = st.one_of(name, st.booleans(), st.integers(-5, 5), st.floats(-1e6, 1e6), st.lists(name, max_size=3))
token = st.one_of(st.dictionaries(name, value, max_size=6), st.lists(name, max_size=6), st.frozensets(name, max_size=4))
batch = st.lists(st.lists(token, min_size=1, max_size=4), min_size=1, max_size=5)


def features_of(token: object) -> list[tuple[str, float]]:
    """What `pack` is documented to do with one token, in order of appearance."""
    if not isinstance(token, dict):
        return [(s, 1.0) for s in (sorted(token) if isinstance(token, frozenset) else token)]
    found: list[tuple[str, float]] = []
    for key, content in token.items():
        if isinstance(content, str):
            found.append((f"{key}={content}", 1.0))
        elif isinstance(content, list):
            found.extend((f"{key}={item}", 1.0) for item in content)
        else:
            found.append((key, float(content)))
    return [(f, v) for f, v in found if v != 0.0]


def rows(X: PackedSequences) -> list[list[list[tuple[int, float]]]]:
    """(index, weight) of every feature, by sequence and token."""
    values = np.ones(len(X.indices)) if X.values is None else X.values
    tokens = [
        list(zip(X.indices[a:b].tolist(), values[a:b].tolist(), strict=True))
        for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)
    ]
    return [tokens[a:b] for a, b in zip(X.offsets[:-1], X.offsets[1:], strict=True)]


# --- what a token means


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        ({"word": "Paris"}, [("word=Paris", 1.0)]),
        ({"title": True}, [("title", 1.0)]),
        ({"title": False}, []),
        ({"freq": 0.25}, [("freq", 0.25)]),
        ({"count": 3}, [("count", 3.0)]),
        ({"count": 0}, []),
        ({"word": ""}, [("word=", 1.0)]),
        ({"": "Paris"}, [("=Paris", 1.0)]),
        ({"in": ["b", "a"]}, [("in=b", 1.0), ("in=a", 1.0)]),
        ({"in": ("b",)}, [("in=b", 1.0)]),
        ({"in": {"b", "a", "c"}}, [("in=a", 1.0), ("in=b", 1.0), ("in=c", 1.0)]),
        ({"a": {"b": 2.0, "c": "d"}, "e": True}, [("a:b", 2.0), ("a:c=d", 1.0), ("e", 1.0)]),
        ({"a": {"b": {"c": 1}, "d": ["x"]}}, [("a:b:c", 1.0), ("a:d=x", 1.0)]),
        ({b"word": "Zürich".encode(), "in": [b"a", "b"]}, [("word=Zürich", 1.0), ("in=a", 1.0), ("in=b", 1.0)]),
        ([b"word=Paris", "title"], [("word=Paris", 1.0), ("title", 1.0)]),
        ({"emb": np.array([0.5, 0.0, -2.0])}, [("emb:0", 0.5), ("emb:2", -2.0)]),
        ({"emb": np.array([0.5, 3.0], np.float32), "x": 1}, [("emb:0", 0.5), ("emb:1", 3.0), ("x", 1.0)]),
        ({"a": {"emb": np.array([7])}}, [("a:emb:0", 7.0)]),
        ({"x": np.float32(0.5), "y": np.array(2.0)}, [("x", 0.5), ("y", 2.0)]),
        (["word=Paris", "title"], [("word=Paris", 1.0), ("title", 1.0)]),
        (("x", "x"), [("x", 1.0), ("x", 1.0)]),
        ({"b", "a"}, [("a", 1.0), ("b", 1.0)]),
        ((s for s in "ab"), [("a", 1.0), ("b", 1.0)]),
        ({"stadt": "Zürich 東京 😀"}, [("stadt=Zürich 東京 😀", 1.0)]),
        ({"x": np.float32(0.5)}, [("x", 0.5)]),
        ({"x": np.int64(2), "y": np.bool_(True), "z": np.bool_(False)}, [("x", 2.0), ("y", 1.0)]),
        ({"x": Decimal("0.5"), np.str_("y"): np.str_("z")}, [("x", 0.5), ("y=z", 1.0)]),
        (np.array(["a", "b"]), [("a", 1.0), ("b", 1.0)]),
        (UserDict({"word": "x"}), [("word=x", 1.0)]),
        (OrderedDict(word="x"), [("word=x", 1.0)]),
        ({}, []),
        ([], []),
        ({"a\0b": "c"}, [("a\0b=c", 1.0)]),
    ],
)
def test_token_becomes_the_documented_features(token: object, expected: list[tuple[str, float]]) -> None:
    X = pack([[token]], n_features=None)
    assert X.vocabulary is not None
    assert [(X.vocabulary[i], v) for i, v in rows(X)[0][0]] == expected


def test_a_string_and_the_pair_it_joins_are_one_feature() -> None:
    X = pack([[{"word": "Paris"}, ["word=Paris"]]])
    assert rows(X)[0][0] == rows(X)[0][1]


@given(batch)
@settings(max_examples=150, deadline=None)
def test_exact_packing_equals_the_definition(sequences: list[list[object]]) -> None:
    X = pack(sequences, n_features=None)
    numbers: dict[str, int] = {}
    expected = [
        [sorted((numbers.setdefault(f, len(numbers)), v) for f, v in features_of(t)) for t in s] for s in sequences
    ]
    assert rows(X) == expected
    assert X.vocabulary is not None
    assert list(X.vocabulary) == list(numbers)
    assert rows(pack(sequences, vocabulary=X.vocabulary)) == expected


@given(batch, st.sampled_from([1, 2, 7, PAPER, 2**18, 2**32 - 1]))
@settings(max_examples=150, deadline=None)
def test_hashed_packing_equals_the_definition(sequences: list[list[object]], n_features: int) -> None:
    X = pack(sequences, n_features)
    expected = [[sorted((core.bucket_of(f, n_features), v) for f, v in features_of(t)) for t in s] for s in sequences]
    assert rows(X) == expected
    assert X.vocabulary is None
    assert (X.values is None) == all(v == 1.0 for s in expected for t in s for _, v in t)


def test_arrays_have_the_documented_types() -> None:
    X = pack([[{"a": 0.5}], [["b"], ["c"]]])
    assert X.values is not None
    assert [a.dtype for a in (X.offsets, X.indptr, X.indices, X.values)] == [np.int64, np.int64, np.uint32, np.float64]
    assert X.offsets.tolist() == [0, 1, 3]
    assert X.indptr.tolist() == [0, 1, 2, 3]
    assert X.lengths.tolist() == [1, 2]


def test_any_iterables_pack_alike() -> None:
    lists = [[["a", "b"], ["c"]], [["d"]]]
    expected = rows(pack(lists))
    assert rows(pack(tuple(tuple(map(tuple, s)) for s in lists))) == expected
    assert rows(pack((iter(t) for t in s) for s in lists)) == expected


def test_unknown_features_are_dropped_with_a_vocabulary() -> None:
    X = pack([[["a", "b"]]], n_features=None)
    Z = pack([[["b", "new"], ["new"]]], vocabulary=X.vocabulary)
    assert rows(Z) == [[[(1, 1.0)], []]]
    assert Z.n_features == 2
    assert Z.vocabulary is X.vocabulary


def test_tokens_without_any_feature_pack_with_an_empty_vocabulary() -> None:
    X = pack([[{}, []]], n_features=None)
    assert (X.n_features, len(X.indices)) == (1, 0)


def test_large_vocabularies_keep_every_name() -> None:
    names = [f"feature={i * i}" for i in range(20000)]
    X = pack([[names]], n_features=None)
    assert X.vocabulary is not None
    assert list(X.vocabulary) == names
    assert X.indices.tolist() == list(range(20000))


# --- bad input


@pytest.mark.parametrize(
    ("sequences", "error", "message"),
    [
        ("a string", TypeError, "list of sequences"),
        ({"word": "x"}, TypeError, r"dict is no list of sequences.* write \[sequence\]"),
        (3, TypeError, "list of sequences"),
        ([], ValueError, "no sequences"),
        ([[["a"]], []], ValueError, "sequence 1 is empty"),
        ([[["a"]], "Paris sleeps"], TypeError, "sequence 1 is a str"),
        ([{"word": "x"}], TypeError, "sequence 0 is a dict"),
        ([None], TypeError, "sequence 0 is a NoneType"),
        ([b"ab"], TypeError, "sequence 0 is a bytes"),
        ([["Paris", "sleeps"]], TypeError, "sequence 0, token 0 is the string 'Paris'"),
        ([[["a"], 3]], TypeError, "sequence 0, token 1 is a int"),
        ([[["a"], None]], TypeError, "sequence 0, token 1 is a NoneType"),
        ([[["a"], ["b", 1.5]]], TypeError, "sequence 0, token 1 holds a float"),
        ([[{1, "a"}]], TypeError, "sequence 0, token 0 holds a int"),
        ([[{"x": [1]}]], TypeError, "sequence 0, token 0 holds a int"),
        ([[{3: "x"}]], TypeError, "sequence 0, token 0: a feature name is a int"),
        ([[{"x": None}]], TypeError, "sequence 0, token 0, feature 'x': the value is a NoneType"),
        ([[{"x": b"\xff"}]], ValueError, r"sequence 0, token 0: b'\\xff' is not UTF-8"),
        ([[{"x": bytearray(b"a")}]], TypeError, "feature 'x': the value is a bytearray"),
        ([[{"x": np.ones((2, 2))}]], TypeError, "feature 'x': the value is a numpy.ndarray"),
        ([[{"x": np.array([1.0, np.nan])}]], ValueError, "feature 'x:1': the value is nan"),
        ([[{"x": 1j}]], TypeError, "feature 'x': the value is a complex"),
        ([[["a"]], [["b"], {"x": float("nan")}]], ValueError, "sequence 1, token 1, feature 'x': the value is nan"),
        ([[{"x": float("-inf")}]], ValueError, "feature 'x': the value is -inf"),
        ([[{"x": 10**400}]], ValueError, "feature 'x': the number is too large"),
        ([[{"x": "\ud800"}]], ValueError, "sequence 0, token 0: the string .* not valid Unicode"),
        ([[{"x": np.array(["a", "b"])}]], TypeError, "feature 'x': the value is a numpy.ndarray"),
    ],
)
@pytest.mark.parametrize("n_features", [2**18, None])
def test_bad_input_says_where_and_what(
    sequences: object, error: type[Exception], message: str, n_features: int | None
) -> None:
    with pytest.raises(error, match=message):
        pack(sequences, n_features)


@pytest.mark.parametrize("n_features", [0, -1, 2**32])
def test_n_features_out_of_range_is_refused(n_features: int) -> None:
    with pytest.raises(ValueError, match="below 2\\^32"):
        pack([[["a"]]], n_features)


@pytest.mark.parametrize("n_features", [1.5, "10", True])
def test_n_features_of_wrong_type_is_refused(n_features: object) -> None:
    with pytest.raises(TypeError, match="n_features"):
        pack([[["a"]]], n_features)


def test_dict_that_holds_itself_ends_in_recursion_error() -> None:
    token: dict[str, object] = {}
    token["x"] = token
    for _ in range(3):
        with pytest.raises(RecursionError):
            pack([[token]])
    assert len(pack([[["a"]]])) == 1


def test_exceptions_of_user_code_pass_through() -> None:
    def tokens():
        yield ["a"]
        raise KeyError("mine")

    class Odd:
        def __float__(self) -> float:
            raise KeyError("mine")

    for sequences in ([tokens()], [[{"x": Odd()}]]):
        with pytest.raises(KeyError, match="mine"):
            pack(sequences)


def test_input_that_changes_under_the_walk_is_safe() -> None:
    sequence: list[object] = []
    holder: dict[str, object] = {}

    class Clearing:
        def __float__(self) -> float:
            sequence.clear()
            holder.clear()
            gc.collect()
            return 2.0

    holder.update({"x" * 50: Clearing(), "y": 1.0})
    sequence.extend([holder, ["a"]])
    assert rows(pack([sequence], n_features=None)) == [[[(0, 2.0)]]]


def test_packing_keeps_no_references() -> None:
    words = [f"word-{i}-of-this-test" for i in range(10)]
    before = [sys.getrefcount(w) for w in words]
    for n_features in (100, None):
        pack([[words, {w: w for w in words}, {w: {w: 0.5} for w in words}, set(words)]], n_features)
    gc.collect()
    assert [sys.getrefcount(w) for w in words] == before


# --- packed input


def test_packed_sequences_pass_through() -> None:
    hashed, exact = pack([[["a"]]], PAPER), pack([[["a"]]], None)
    assert pack(hashed, PAPER) is hashed
    assert pack(exact, None) is exact
    assert pack(exact, vocabulary=exact.vocabulary) is exact
    assert pack(exact, vocabulary=Vocabulary(["a"])) is exact


def test_packed_sequences_of_another_kind_are_refused() -> None:
    hashed, exact = pack([[["a"]]], PAPER), pack([[["a"]]], None)
    for X, options in (
        (hashed, {}),
        (hashed, {"n_features": None}),
        (hashed, {"vocabulary": exact.vocabulary}),
        (exact, {}),
        (exact, {"vocabulary": Vocabulary(["b"])}),
    ):
        with pytest.raises(ValueError, match="pack the tokens again"):
            pack(X, **options)


def test_a_list_is_not_a_vocabulary() -> None:
    with pytest.raises(TypeError, match="Vocabulary"):
        pack([[["a"]]], vocabulary=["a"])


@pytest.fixture(params=["hashed", "weighted", "exact"])
def X(request: pytest.FixtureRequest) -> PackedSequences:
    rng = np.random.default_rng(0)
    sequences = [
        [{f"f{j}": f"{rng.integers(9)}" for j in range(rng.integers(5))} for _ in range(rng.integers(1, 6))]
        for _ in range(12)
    ]
    if request.param == "weighted":
        sequences = [[{f: float(v) / 2 for f, v in t.items()} for t in s] for s in sequences]
    return pack(sequences, None if request.param == "exact" else 1000)


@pytest.mark.parametrize(
    ("key", "numbers"),
    [
        (slice(3, 7), [3, 4, 5, 6]),
        (slice(None), range(12)),
        (slice(None, None, -2), range(11, -1, -2)),
        (slice(5, 5), []),
        (slice(9, 3), []),
        (slice(9, 100), [9, 10, 11]),
        ([4, 0, 4, -1], [4, 0, 4, 11]),
        (np.array([11, 2], np.int32), [11, 2]),
        (np.arange(12) % 3 == 0, [0, 3, 6, 9]),
        ([], []),
        (np.zeros(12, bool), []),
    ],
)
def test_selection_is_that_of_a_list(X: PackedSequences, key: object, numbers: list[int]) -> None:
    expected = [rows(X)[i] for i in numbers]
    for chosen in (X[key], X.select(key)):
        assert rows(chosen) == expected
        assert (chosen.n_features, chosen.vocabulary) == (X.n_features, X.vocabulary)


def test_one_number_gives_a_batch_of_one(X: PackedSequences) -> None:
    for i in (0, 11, -1, np.int64(3)):
        assert rows(X[i]) == [rows(X)[i]]
    assert [rows(x)[0] for x in X] == rows(X)
    with pytest.raises(IndexError):
        X[12]


@pytest.mark.parametrize("key", [[12], [-13], [0.5], [[0]], np.ones(3, bool)])
def test_selection_outside_is_refused(X: PackedSequences, key: object) -> None:
    with pytest.raises(IndexError):
        X.select(key)


def test_contiguous_slices_share_memory(X: PackedSequences) -> None:
    assert np.shares_memory(X[2:9].indices, X.indices)


def test_pickle_keeps_everything(X: PackedSequences) -> None:
    for chosen in (X, X[3:5]):
        copy = pickle.loads(pickle.dumps(chosen))
        assert rows(copy) == rows(chosen)
        assert (copy.n_features, copy.vocabulary) == (chosen.n_features, chosen.vocabulary)


def test_repr_and_size_are_plain(X: PackedSequences) -> None:
    assert "12 sequences" in repr(X)
    assert X.nbytes >= X.indices.nbytes + X.offsets.nbytes
    assert X.shape == (12,)


@pytest.mark.parametrize("key", [slice(2, 5), [1, 2], np.array([3, 1]), np.arange(12) < 4])
def test_scikit_learn_indexes_packed_sequences(X: PackedSequences, key: object) -> None:
    assert rows(_safe_indexing(X, key)) == rows(X[key])


class TokenCounter(BaseEstimator):
    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale

    def fit(self, X: PackedSequences, y: list[list[str]]) -> TokenCounter:
        assert X.lengths.tolist() == [len(labels) for labels in y]
        return self

    def score(self, X: PackedSequences, y: list[list[str]]) -> float:
        assert X.lengths.tolist() == [len(labels) for labels in y]
        return self.scale


def test_grid_search_splits_packed_sequences(X: PackedSequences) -> None:
    y = [["O"] * n for n in X.lengths]
    search = GridSearchCV(TokenCounter(), {"scale": [1.0, 2.0]}, cv=3).fit(X, y)
    assert search.best_params_ == {"scale": 2.0}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"offsets": np.array([0, 3])}, "offsets must run"),
        ({"offsets": np.array([0, 0, 2])}, "at least one token"),
        ({"offsets": np.array([0, 1, 2], np.int32)}, "int64"),
        ({"indptr": np.array([0, 2, 1])}, "indptr must run"),
        ({"indptr": np.array([0, 4, 3])}, "not decrease"),
        ({"indices": np.array([0, 1, 10], np.uint32)}, "below 10"),
        ({"indices": np.array([0, 1, 2])}, "uint32"),
        ({"values": np.ones(2)}, "2 values for 3"),
        ({"values": np.ones(3, np.float16)}, "float64"),
        ({"n_features": 0}, "at least 1"),
    ],
)
def test_inconsistent_arrays_are_refused(change: dict[str, object], message: str) -> None:
    parts: dict[str, object] = {
        "offsets": np.array([0, 1, 2]),
        "indptr": np.array([0, 2, 3]),
        "indices": np.array([0, 1, 2], np.uint32),
        "values": None,
        "n_features": 10,
    }
    PackedSequences(**parts)
    with pytest.raises(ValueError, match=message):
        PackedSequences(**{**parts, **change})
    with pytest.raises(ValueError, match="1 names"):
        PackedSequences(**parts, vocabulary=Vocabulary(["a"]))


def test_a_value_that_cannot_be_shown_is_still_refused_clearly() -> None:
    class Odd:
        def __repr__(self) -> str:
            return "\ud800"

    with pytest.raises(TypeError, match=r"feature 'a': the value is a .*Odd"):
        pack([[{"a": Odd()}]])


def test_names_and_values_are_joined_by_the_separator() -> None:
    token = {"word": "Paris", "deep": {"x": ["p"]}, "raw": "é".encode(), "n": 2.0, "off": False}
    X = pack([[token]], n_features=None, separator=":")
    assert X.vocabulary is not None
    assert list(X.vocabulary) == ["word:Paris", "deep:x:p", "raw:é", "n"]
    again = pack([[token]], None, vocabulary=X.vocabulary, separator=":")
    assert again.indices.tolist() == X.indices.tolist()
    assert len(pack([[token]], None, vocabulary=X.vocabulary).indices) == 1  # of "=" only the number "n" is known
