"""Plain text: words keep their characters, and sentences end where a reader would end them."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from casimir.tasks.tag.plain import parse_plain, sentences_of, words_of


def words(text: str) -> list[str]:
    return [text[a:b] for a, b in words_of(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Anna didn't go.", ["Anna", "did", "n't", "go", "."]),
        ("It's Bob\u2019s car", ["It", "'s", "Bob", "\u2019s", "car"]),
        ("He can't, won't.", ["He", "ca", "n't", ",", "wo", "n't", "."]),
        ("Mr. J. Smith", ["Mr.", "J.", "Smith"]),
        ("the U.S. dollar", ["the", "U.S.", "dollar"]),
        ("$3.5 million (2,000)", ["$", "3.5", "million", "(", "2,000", ")"]),
        ("Boeing-747 and mid-2019", ["Boeing-747", "and", "mid-2019"]),
        ("Wait... what?!", ["Wait", "...", "what", "?", "!"]),
        ("see https://a.org/b.html, or a.b@c.org.", ["see", "https://a.org/b.html", ",", "or", "a.b@c.org", "."]),
        ("@ada #tag 100%", ["@ada", "#tag", "100", "%"]),
        ("Zu\u0308rich \u6771\u4eac", ["Zu\u0308rich", "\u6771\u4eac"]),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("One. Two.", 2),
        ("Dr. Who came. He left.", 2),
        ("He paid 3.5 million. Why?", 2),
        ('"Stop!" she said. Then she left.', 2),
        ("No end here\n\nbut a new paragraph", 2),
        ("a line\nthat goes on", 1),
        ("He met Mr. Smith, e.g. in Leeds.", 1),
        ("It works (really!) and well.", 1),
    ],
)
def test_sentences(text: str, count: int) -> None:
    assert len(sentences_of(text)) == count


@given(st.text())
def test_words_cover_everything_but_blanks_once_and_in_order(text: str) -> None:
    places = words_of(text)
    assert all(a < b for a, b in places)
    assert all(first[1] <= second[0] for first, second in itertools.pairwise(places))
    covered = {k for a, b in places for k in range(a, b)}
    assert {k for k, c in enumerate(text) if not c.isspace()} <= covered | {
        k for k, c in enumerate(text) if c in "\x1c\x1d\x1e\x1f"
    }
    assert [place for sentence in sentences_of(text) for place in sentence] == places


def test_a_text_without_words_is_refused() -> None:
    with pytest.raises(ValueError, match="holds no words"):
        parse_plain(" \n ")
