"""Tags as numbers follow the rules of `spans`, `convert` and `detect_scheme`."""

from __future__ import annotations

import warnings

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from casimir.metrics.schemes import Scheme, convert, detect_scheme
from casimir.metrics.tag_numbers import TagNumbers

tags = st.sampled_from(
    ["O", "B-X", "I-X", "E-X", "S-X", "B-Y", "I-Y", "B", "I", "E", "S", "B-", "I-", "B-a-b", "I-a-b"]
)
sequences = st.lists(st.lists(tags, min_size=1, max_size=6), min_size=1, max_size=6)
plain = st.lists(st.lists(st.sampled_from(["O", "B-X", "I-X", "I-Y"]), min_size=1, max_size=5), min_size=1, max_size=5)


def numbered(given_tags: list[list[str]]) -> TagNumbers:
    flat = [tag for one in given_tags for tag in one]
    distinct = list(dict.fromkeys(flat))
    offsets = np.cumsum([0, *map(len, given_tags)])
    return TagNumbers(np.array([distinct.index(tag) for tag in flat]), offsets, distinct)


@given(sequences)
def test_conversion_is_that_of_single_sentences(given_tags: list[list[str]]) -> None:
    found = numbered(given_tags)
    assert found.lists() == given_tags
    for scheme in Scheme:
        assert found.convert(scheme).lists() == [convert(one, scheme) for one in given_tags]


@given(st.one_of(sequences, plain))
def test_the_scheme_and_its_warning_are_those_of_lists(given_tags: list[list[str]]) -> None:
    results = []
    for detect in (lambda: detect_scheme(given_tags), lambda: numbered(given_tags).scheme()):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            results.append((detect(), [str(one.message) for one in told]))
    assert results[0] == results[1]
