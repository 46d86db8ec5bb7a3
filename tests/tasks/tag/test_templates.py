"""The language of templates, those of CRF++ and Wapiti, and taggers with templates of their own."""

from __future__ import annotations

from pathlib import Path

import pytest
from plain_templates import evaluate

import casimir as cs
from casimir.tasks.tag.lexicons import NO_LEXICONS
from casimir.tasks.tag.sentence import Sentence
from casimir.tasks.tag.templates.crfpp import from_crfpp, is_crfpp
from casimir.tasks.tag.templates.language import parse_templates
from casimir.tasks.tag.templates.read import read_templates
from casimir.tasks.tag.templates.template_set import TemplateSet

ORDER = ("word", "pos", "label")
SENTENCE = Sentence(("He", "Sat", "down"), {"pos": ("P", "V", "A")})


def features(text: str, token: int = 1) -> list[str]:
    return next(iter(evaluate([SENTENCE], TemplateSet(text))))[token]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("w={word}", ["w=Sat"]),
        ("{word lower @-1}|{pos @1}", ["he|A"]),
        ("{word @-2}{word @2}", ["<s></s>"]),
        ("{word @-3 else numbered}{word @3 else numbered}", ["_B-2_B+2"]),
        ("{word @-2 else none}", []),
        ("x{word @-2 else empty}", ["x"]),
        ("{{{word}}}", ["{Sat}"]),
        ("# nothing\n\nfor columns\nCOLUMN={COLUMN}\nend\nbias", ["pos=V", "bias"]),
        ("for columns chunk\n{COLUMN}\nend\nbias", ["bias"]),
        ("{word @left}{word @first}{word @last}{word @right} {place}", ["<s>HeSatdown 1/2"]),
        ("{word match ^.}{word test a$}", ["Sfalse"]),
    ],
)
def test_holes(text: str, expected: list[str]) -> None:
    assert features(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no templates"),
        ("{wrod}", "line 1: {wrod}: no column 'wrod'; there are word, pos, place"),
        ("bias\n{word lowr}", "line 2.*no filter 'lowr'"),
        ("{word first}", "'first' is written 'first number'"),
        ("{word @x}", "'@x' is no place"),
        ("{word @1 or none}", "'or none' is not understood"),
        ("{word", "a brace without its other one"),
        ("{}", "is empty"),
        ("{word}{evidence}", "makes features by itself"),
        ("for columns\nx", "without its `end`"),
        ("end", "no `for columns` or `for pairs` before it"),
        ("{word ngrams 0 3}", "runs of 0 characters"),
        ("{word match (}", "no regular expression"),
        ("{word first 9999999}", "too large"),
        ("{word @-9999999}", "too large"),
    ],
)
def test_mistakes_are_told_with_their_line(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_templates(text, ["pos"])


@pytest.mark.parametrize(
    ("text", "message"), [("{word cluster}", "needs --clusters"), ("{names}", "needs --gazetteer")]
)
def test_lexicons_that_are_missing_are_named(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TemplateSet(text).parsed((), NO_LEXICONS.names)


def test_templates_of_crfpp() -> None:
    text = "# Unigram\nU00:%x[-2,0]\nU01:%x[0,0]/%x[1,1]\nU02\n\nB\n"
    assert is_crfpp(text)
    assert features(from_crfpp(text, ORDER)) == ["U00:_B-1", "U01:Sat/A", "U02"]


def test_templates_of_wapiti() -> None:
    text = '*\nu:lower=%X[0,0]\nu:pre=%m[0,0,"^.?.?"]\nu:cap=%t[ 0,0,"^\\u"]\nu:pun=%T[1,0,"\\p"]\n'
    assert is_crfpp(text)
    assert features(from_crfpp(text, ORDER)) == ["*", "u:lower=sat", "u:pre=Sa", "u:cap=true", "u:pun=false"]


def test_lines_of_pairs_become_pairs() -> None:
    text = "U00:%x[0,0]\nB\nB01:%x[-1,0]/%x[0,1]\n*02:%x[0,0]\n"
    templates = TemplateSet(from_crfpp(text, ORDER)).parsed(("pos",), ())
    assert [(one.texts[0], one.of_pairs) for one in templates] == [
        ("U00:", False),
        ("*02:", False),
        ("B01:", True),
        ("*02:", True),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("for pairs\n{word}\nend\n", "no templates of a token"),
        ("{word}\nfor pairs\n{word}\n", "without its `end`"),
        ("{word}\nfor pairs pos\n{word}\nend\n", "stands alone"),
    ],
)
def test_pairs_that_are_written_wrongly_are_named(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TemplateSet(text).parsed((), ())


def test_a_file_that_reads_nothing_is_no_file_of_templates(tmp_path: Path) -> None:
    (tmp_path / "letter").write_text("Dear reader,\nthis is no {{template}}.\n")
    with pytest.raises(ValueError, match="letter reads nothing of a token"):
        read_templates(tmp_path / "letter", ORDER)
    (tmp_path / "templates").write_text("bias\nw={word}\n")
    assert read_templates(tmp_path / "templates", ORDER).parsed((), ())


def test_own_templates_are_not_taken_for_those_of_crfpp() -> None:
    assert not is_crfpp("U00:{word}\nB\n")
    assert not is_crfpp("w={word}\nratio=%")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("B01:%x[0,0]\n", "no template of a single label"),
        ("U01:%x[0,2]\n", "reads column 2, counted from 0; the data has 2: word, pos"),
        ("U01:%y[0,0]%x[0,0]\n", "macro that is not understood"),
        ("B\n", "no template of a single label"),
    ],
)
def test_what_chains_cannot_do_is_said(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_crfpp(text, ORDER)


@pytest.mark.parametrize(
    "text",
    ["w={word}\nn={word @1}\nl={word lower last 2}\n", "U0:%x[0,0]\nU1:%x[1,0]\nB\n", "U0:%x[0,0]\nB0:%x[-1,0]\n"],
)
def test_a_tagger_keeps_its_templates(text: str, tmp_path: Path) -> None:
    path = tmp_path / "own.txt"
    path.write_text(text, encoding="utf-8")
    data = ([["Ada", "slept"], ["Bob", "ran"]], [["B-PER", "O"], ["B-PER", "O"]])
    tagger = cs.Tagger.train(data, templates=path)
    tagger.save(tmp_path / "model")
    path.unlink()
    again = cs.Tagger.load(tmp_path / "model")
    assert again.model.features == tagger.model.features
    assert again.tag(["Bob", "slept"]) == tagger.tag(["Bob", "slept"]) == ["B-PER", "O"]


def test_a_set_and_templates_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Give one of them"):
        cs.Tagger.train(([["a"]], [["O"]]), features="paper", templates=tmp_path / "own.txt")
