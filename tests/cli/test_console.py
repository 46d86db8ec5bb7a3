"""Lines that the commands say: broken between words on a terminal, as they are elsewhere."""

from __future__ import annotations

import io
import warnings

import pytest
from rich.console import Console

from casimir.cli import examples
from casimir.cli.console import broken, clear_ends, say
from casimir.cli.report import Section
from casimir.tasks.ner import Corpus, Sentence
from casimir.tasks.registry import tasks
from casimir.tasks.text import numbered

PATH = "/a-folder/with-a-long-name/and-one-that-is-even-longer/model-of-1.txt"


def test_lines_may_hang_below_what_they_begin_with() -> None:
    assert broken("labels     17: O B-ORG B-LOC", 22, 11) == "labels     17: O B-ORG\n           B-LOC"


@pytest.mark.parametrize("width", [20, 40, 80])
def test_lines_break_between_words_and_paths_stay_whole(width: int) -> None:
    line = f"  Wrote the results of 3 well-known sentences to {PATH} a moment ago"
    pieces = broken(line, width).split("\n")
    assert " ".join(piece.strip() for piece in pieces) == line.strip()
    assert PATH in [word for piece in pieces for word in piece.split()]
    assert all(len(piece) <= width or len(piece.split()) == 1 for piece in pieces)
    assert all(piece.startswith("  ") and piece[2] != " " for piece in pieces)


def test_short_lines_and_tables_stay_as_they_are() -> None:
    for line in ("", "  a   b", "x" * 80, f"{'x' * 30}    0.5"):
        assert broken(line, 80) == line


@pytest.mark.parametrize("is_terminal", [True, False])
def test_only_terminals_get_broken_lines_and_nobody_gets_markup(is_terminal: bool) -> None:
    console = Console(file=io.StringIO(), force_terminal=is_terminal, width=30, color_system=None)
    say(console, f"[bold]the results of 3 sentences are in[/bold] {PATH}\nand that is all")
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "[bold]" in shown
    assert PATH in shown.split()
    assert shown.count("\n") == (4 if is_terminal else 2)


def test_one_thing_is_told_in_the_singular() -> None:
    assert [numbered(n, "sentence pairs") for n in (0, 1, 2000)] == [
        "0 sentence pairs",
        "1 sentence pair",
        "2,000 sentence pairs",
    ]


def test_the_same_note_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    with clear_ends():
        for text in ("slow", "slow", "wide", "slow"):
            warnings.warn(text, stacklevel=1)
    assert capsys.readouterr().err.splitlines() == ["note: slow", "note: wide"]


@pytest.mark.parametrize("is_terminal", [True, False])
def test_tagged_sentences_break_between_words(is_terminal: bool) -> None:
    sentence = "Ada Lovelace of Leeds met the well-known Mr. Babbage again in the gardens of Paris"
    words = sentence.split()
    tags = ["B-PER", "I-PER", "O", "B-LOC", *["O"] * 10, "B-LOC"]
    corpus = Corpus([Sentence(tuple(words), {}, tuple(tags))], name="one")
    console = Console(file=io.StringIO(), force_terminal=is_terminal, width=40, color_system=None)
    examples.show_examples(console, corpus, [["O"] * len(words)])
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "   truth: [Ada Lovelace PER] of" in shown
    truth = shown[shown.index("truth") :].splitlines()
    assert len(truth) == (4 if is_terminal else 1)
    assert " ".join(" ".join(truth).split()) == (
        "truth: [Ada Lovelace PER] of [Leeds LOC] met the well-known Mr. Babbage again in the gardens of [Paris LOC]"
    )
    assert all(line.startswith(" " * 10) and len(line) <= 40 for line in truth[1:])


def test_the_title_of_scores_is_broken_between_words() -> None:
    """Names of files are in it, which may have blanks."""
    console = Console(file=io.StringIO(), force_terminal=True, width=40, color_system=None)
    scores = {"casimir": {"letter_accuracy": 0.5, "word_accuracy": 0.25, "letters": 8}}
    Section("", f"60 words in a folder with blanks {PATH}", scores).show(console, tasks()["ocr"])
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert lines[1:3] == ["60 words in a folder with blanks", PATH]
