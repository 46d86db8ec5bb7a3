"""The native reader gives the sentences, document lines, other lines and messages of the plain one."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from plain_reader import read_plainly, sentence_of

from casimir.tasks.tag.columns import FIRST_AND_LAST, parse_conll
from casimir.tasks.tag.corpus import Corpus
from casimir.tasks.text import read_text

cells = st.one_of(
    st.sampled_from(["Paris", "O", "#", "1-2", "3.1", "-DOCSTART-", "é", "a\u00a0b", "\x85", "\ufeff", "B-X"])
)
gaps = st.sampled_from([" ", "\t", "  ", " \t", "\t\t"])
conllu = st.sampled_from(
    [
        "# text = Hi there",
        "# newdoc",
        "#x",
        "1-2\t" + "\t".join("abcdefghi"),
        "1\t" + "\t".join("abcdefghi"),
        "",
        " \t",
        "a\r",
    ]
)


@st.composite
def lines(draw: st.DrawFn) -> str:
    if draw(st.booleans()):
        return draw(conllu)
    row = draw(st.lists(cells, min_size=1, max_size=3))
    text = row[0]
    for cell in row[1:]:
        text += draw(gaps) + cell
    return draw(st.sampled_from(["", " ", "\t"])) + text + draw(st.sampled_from(["", " ", "\r", "\r\r"]))


def judged(text: str) -> Corpus | str:
    """The corpus of an unlabelled file by the plain reader, or its message."""
    try:
        table = read_plainly(text, "input")
        order = FIRST_AND_LAST.names(table.width, False, "input")
    except ValueError as error:
        return str(error)
    found = [sentence_of(block, order) for block in table.blocks]
    extras = {k: tuple(one) for k, one in table.extras.items()}
    others = tuple(one for one in order if one != "word")
    about = (table.separator, table.boundaries, "input", order)
    return Corpus(found, others, None, *about, width=table.width, extras=extras)


def native(text: str) -> Corpus | str:
    try:
        return parse_conll(text, labelled=False)
    except ValueError as error:
        return str(error)


@given(st.lists(lines(), max_size=8).map("\n".join))
@settings(deadline=None, max_examples=400)
@example("-DOCSTART- -X- O\n\na\tb\n")
@example("-DOCSTART-\tX\n\na b\n")
@example("\ufeffa b\n# x = y\nc d\n\n# z = 1")
@example("a b\nc\n")
@example("a\t\tb\n")
def test_it_reads_what_the_plain_reader_reads(text: str) -> None:
    expected, found = judged(text), native(text)
    if isinstance(expected, str) or isinstance(found, str):
        assert found == expected
        return
    assert list(found.sentences) == list(expected.sentences)
    for name in ("columns", "separator", "boundaries", "order", "width", "extras"):
        assert getattr(found, name) == getattr(expected, name), name


def test_damaged_text_is_refused_in_a_sentence() -> None:
    with pytest.raises(ValueError, match="surrogates not allowed"):
        parse_conll("\ud800 O\n")


@pytest.mark.parametrize("part", ["eng.train", "eng.testa"])
def test_real_files_are_read_alike(part: str, data_folder: Path) -> None:
    text = read_text(data_folder / "conll2003" / part, "utf-8", "a file")
    expected, found = judged(text), native(text)
    assert isinstance(expected, Corpus)
    assert isinstance(found, Corpus)
    assert list(found.sentences) == list(expected.sentences)
    assert found.boundaries == expected.boundaries
