"""Tagging schemes: tags <-> spans, conversion and detection."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from casimir.metrics import Scheme, Span, convert, detect_scheme, spans
from casimir.metrics.schemes import parse_tag, tags_of

TAGS = ["O", *(f"{prefix}-{kind}" for prefix in "BIES" for kind in ("PER", "LOC"))]
any_tags = st.lists(st.sampled_from(TAGS), max_size=8)


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("I-PER I-PER O", [(0, 2, "PER")]),
        ("B-PER I-PER O I-LOC", [(0, 2, "PER"), (3, 4, "LOC")]),
        ("I-PER B-PER", [(0, 1, "PER"), (1, 2, "PER")]),
        ("I-PER I-LOC", [(0, 1, "PER"), (1, 2, "LOC")]),
        ("B-PER I-LOC I-LOC", [(0, 1, "PER"), (1, 3, "LOC")]),
        ("O I-PER", [(1, 2, "PER")]),
        ("S-PER S-PER B-LOC E-LOC", [(0, 1, "PER"), (1, 2, "PER"), (2, 4, "LOC")]),
        ("B-PER E-PER I-PER", [(0, 2, "PER"), (2, 3, "PER")]),
        ("O O", []),
        ("", []),
    ],
)
def test_spans_of_hand_worked_sequences(tags: str, expected: list[tuple[int, int, str]]) -> None:
    assert spans(tags.split()) == expected


@given(any_tags, st.sampled_from(list(Scheme)))
def test_conversion_keeps_the_entities_of_any_tags(tags: list[str], scheme: Scheme) -> None:
    assert spans(convert(tags, scheme)) == spans(tags)


@given(any_tags, st.sampled_from(list(Scheme)), st.sampled_from(list(Scheme)))
def test_a_valid_sequence_survives_a_round_trip(tags: list[str], scheme: Scheme, other: Scheme) -> None:
    valid = convert(tags, scheme)
    assert convert(convert(valid, other), scheme) == valid


@pytest.mark.parametrize(
    ("scheme", "expected"),
    [
        (Scheme.IOB1, "I-A I-A B-A I-B O I-A"),
        (Scheme.IOB2, "B-A I-A B-A B-B O B-A"),
        (Scheme.IOBES, "B-A E-A S-A S-B O S-A"),
    ],
)
def test_tags_of_each_scheme(scheme: Scheme, expected: str) -> None:
    entities = [Span(0, 2, "A"), Span(2, 3, "A"), Span(3, 4, "B"), Span(5, 6, "A")]
    assert tags_of(entities, 6, scheme) == expected.split()
    assert detect_scheme([expected.split()]) is scheme


@pytest.mark.parametrize("entities", [[Span(0, 2, "A"), Span(1, 3, "A")], [Span(2, 4, "A")], [Span(1, 1, "A")]])
def test_overlapping_outside_or_empty_entities_are_refused(entities: list[Span]) -> None:
    with pytest.raises(ValueError, match="must not overlap"):
        tags_of(entities, 3, Scheme.IOB2)


def test_only_o_counts_as_iob2() -> None:
    assert detect_scheme([["O", "O"], ["O"]]) is Scheme.IOB2
    assert detect_scheme([]) is Scheme.IOB2


def test_a_few_broken_sentences_do_not_change_the_scheme() -> None:
    assert detect_scheme([["O", "I-A"]] * 200 + [["O", "B-A"]]) is Scheme.IOB1


def test_many_broken_sentences_warn() -> None:
    with pytest.warns(UserWarning, match="1 of 3 sentences with entities do not follow IOB2"):
        assert detect_scheme([["B-A", "I-A"], ["B-A"], ["I-A"], ["O"]]) is Scheme.IOB2


def test_types_may_hold_hyphens_or_be_missing() -> None:
    assert parse_tag("B-creative-work") == ("B", "creative-work")
    assert spans(["B", "I", "O"]) == [(0, 2, "")]
    assert convert(["B", "I", "O"], Scheme.IOB1) == ["I", "I", "O"]


@pytest.mark.parametrize("tag", ["", "X-PER", "NNP", "o", "-X-", "B_PER"])
def test_an_unknown_tag_is_named(tag: str) -> None:
    with pytest.raises(ValueError, match="unknown tag"):
        spans([tag])


def test_bio_and_bioes_are_names_of_schemes() -> None:
    assert Scheme("bio") is Scheme.IOB2
    assert Scheme("BIOES") is Scheme.IOBES
    with pytest.raises(ValueError):
        Scheme("xyz")
