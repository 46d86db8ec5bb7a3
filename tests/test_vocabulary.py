"""Names and their numbers."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from casimir.vocabulary import Vocabulary


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), unique=True))
def test_names_are_numbered_in_order_and_survive_arrays_and_pickle(names: list[str]) -> None:
    vocabulary = Vocabulary(names)
    for v in (vocabulary, Vocabulary.from_arrays(*vocabulary.to_arrays()), pickle.loads(pickle.dumps(vocabulary))):
        assert list(v) == names
        assert len(v) == len(names)
        assert [v.find(name) for name in names] == list(range(len(names)))
        assert all(name in v for name in names)
        assert v == vocabulary


def test_absent_names_have_no_number() -> None:
    vocabulary = Vocabulary(["a"])
    assert vocabulary.find("b") is None
    assert "b" not in vocabulary
    assert 3 not in vocabulary
    assert vocabulary != Vocabulary(["b"])
    assert vocabulary != ["a"]
    assert vocabulary[-1] == "a"
    for number in (1, -2):
        with pytest.raises(IndexError, match="1 names"):
            vocabulary[number]


def test_names_must_be_distinct_strings() -> None:
    with pytest.raises(ValueError, match="'a' is given twice"):
        Vocabulary(["a", "a"])
    with pytest.raises(TypeError, match="3"):
        Vocabulary([3])
    with pytest.raises(TypeError, match="single string"):
        Vocabulary("abc")


@pytest.mark.parametrize(
    ("blob", "offsets", "message"),
    [
        (b"ab", [0, 1], "end at the size"),
        (b"ab", [1, 2], "start at 0"),
        (b"ab", [], "start at 0"),
        (b"ab", [0, 5, 2], "not decrease"),
        (b"ab", [0, -1, 2], "not decrease"),
        (b"aa", [0, 1, 2], "distinct"),
        (b"\xff\xfe", [0, 1, 2], "UTF-8"),
        ("ü".encode(), [0, 1, 2], "UTF-8"),
    ],
)
def test_damaged_arrays_are_refused(blob: bytes, offsets: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Vocabulary.from_arrays(np.frombuffer(blob, np.uint8), np.array(offsets, np.int64))
