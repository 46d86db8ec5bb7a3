"""Sentence pairs and links: what is read, what is refused, with the line that is wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from casimir.tasks.align import format_links, parse_bitext, parse_links, read_bitext

TEXT = "the cat . ||| le chat .\nhello   ||| bonjour  \n\n"
GOLD = "2-2 1p1 3-3\n1-1\n"


def test_pairs_and_links_are_read() -> None:
    bitext = parse_bitext(TEXT, GOLD)
    assert bitext.source == [["the", "cat", "."], ["hello"]]
    assert bitext.target == [["le", "chat", "."], ["bonjour"]]
    assert bitext.gold[0].sure.tolist() == [[1, 1], [2, 2]]
    assert bitext.gold[0].possible.tolist() == [[0, 0], [1, 1], [2, 2]]


def test_links_are_counted_from_one() -> None:
    assert format_links(np.array([[0, 2], [4, 1]])) == "1-3 5-2"
    assert format_links(np.zeros((0, 2), dtype=np.int64)) == ""
    assert parse_links("", (2, 2)).possible.shape == (0, 2)
    assert parse_links("1-2 1p2", (1, 2)).sure.tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("text", "gold", "message"),
    [
        ("", None, "text is empty; it needs one sentence pair per line"),
        ("a ||| b\nc d\n", None, r"text, line 2: it has 0 separators"),
        ("a ||| b ||| c\n", None, r"text, line 1: it has 2 separators"),
        ("a ||| \n", None, "text, line 1: the second sentence has no words"),
        ("||| b\n", None, "text, line 1: the first sentence has no words"),
        (TEXT, "1-1\n", "gold has 1 lines and text has 2"),
        (TEXT, "1-1\n1:1\n", r"gold, line 2: '1:1' is no link; write 3-4"),
        (TEXT, "4-1\n1-1\n", r"gold, line 1: the link '4-1' names a word that is not there.*3 and 3 words"),
        (TEXT, "1-1\n0-1\n", r"gold, line 2: the link '0-1' names a word"),
    ],
)
def test_mistakes_are_named_with_their_line(text: str, gold: str | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_bitext(text, gold)


def test_files_that_cannot_be_read_say_why(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"cannot read .*missing.*file of sentence pairs"):
        read_bitext(tmp_path / "missing")
    file = tmp_path / "latin"
    file.write_bytes("é ||| è\n".encode("latin-1"))
    with pytest.raises(ValueError, match="line 1: byte 0xe9 at position 0 is not utf-8 text; try --encoding latin-1"):
        read_bitext(file)
    assert read_bitext(file, encoding="latin-1").source == [["é"]]
    with pytest.raises(ValueError, match="unknown encoding 'latin-x'"):
        read_bitext(file, encoding="latin-x")


def test_links_that_are_not_there_are_asked_for() -> None:
    with pytest.raises(ValueError, match="has no links; give the gold file"):
        _ = parse_bitext(TEXT).gold


def test_empty_lines_at_the_end_are_pairs_without_links() -> None:
    bitext = parse_bitext("a ||| b\nc ||| d\n", "\n\n")
    assert [len(links.possible) for links in bitext.gold] == [0, 0]
    assert len(parse_bitext("a ||| b\n\n", "1-1\n\n\n").gold) == 1
    with pytest.raises(ValueError, match="has 1 lines and text has 2"):
        parse_bitext("a ||| b\nc ||| d\n", "\n")


def test_line_ends_of_other_systems_are_read() -> None:
    bitext = parse_bitext("\ufeffa ||| b\r\nc ||| d\r\n", "1-1\r\n1-1\r\n")
    assert bitext.target == [["b"], ["d"]]


def test_a_number_with_thousands_of_digits_is_no_link() -> None:
    with pytest.raises(ValueError, match="is no link"):
        parse_bitext("a ||| b\n", "9" * 5000 + "-1\n")


def test_words_are_split_at_blanks_only() -> None:
    """Other white space is part of a word: it would shift all links behind it."""
    for space in "\u00a0\u202f\u3000\u2028\x0b\x1c\x85":
        bitext = parse_bitext(f"10{space}000 \t dogs|||{space} chiens\n", "1-1 2-2\n")
        assert bitext.source == [[f"10{space}000", "dogs"]]
        assert bitext.target == [[space, "chiens"]]
        with pytest.raises(ValueError, match=r"gold, line 1: .* is no link"):
            parse_bitext("a ||| b\n", f"1-1{space}1-1\n")
    assert len(parse_bitext("a ||| b\n \t \n")) == 1
