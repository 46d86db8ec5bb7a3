"""`cs.Tagger`: trained from a file or from lists, it tags words and plain text, and comes back from its folder."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import casimir as cs
from casimir.tasks.ner import write_conll
from casimir.tasks.tag.columns import parse_conll
from casimir.tasks.tag.model import TagModel
from casimir.tasks.tag.tagger import Tagger, TextSpan

SENTENCES = [s.split() for s in ("Ada met Bob in Paris .", "Paris is large .", "Bob slept .", "Ada likes Leeds .")]
TAGS = [
    ["B-PER", "O", "B-PER", "O", "B-LOC", "O"],
    ["B-LOC", "O", "O", "O"],
    ["B-PER", "O", "O"],
    ["B-PER", "O", "B-LOC", "O"],
]
TEXT = "\ufeffBob is in Leeds.\n\nAda slept."


@pytest.fixture(scope="module")
def tagger() -> Tagger:
    return cs.Tagger.train((SENTENCES, TAGS))


def test_lists_and_files_train_the_same_tagger(tagger: Tagger, tmp_path: Path) -> None:
    lines = "".join(
        "".join(f"{w}\t{t}\n" for w, t in zip(*s, strict=True)) + "\n" for s in zip(SENTENCES, TAGS, strict=True)
    )
    (tmp_path / "train.conll").write_text(lines)
    records = (json.dumps({"tokens": s, "tags": t}) + "\n" for s, t in zip(SENTENCES, TAGS, strict=True))
    (tmp_path / "train.jsonl").write_text("".join(records))
    for name in ("train.conll", "train.jsonl"):
        other = cs.Tagger.train(tmp_path / name, dev=tmp_path / name)
        assert other.tag_all(SENTENCES) == tagger.tag_all(SENTENCES) == TAGS
        assert other.evaluate(tmp_path / name).f1 == tagger.evaluate((SENTENCES, TAGS)).f1 == 1.0


def test_spans_of_a_text_are_where_they_say(tagger: Tagger) -> None:
    found = tagger.tag_text(TEXT)
    assert [(span.text, span.type) for span in found] == [("Bob", "PER"), ("Leeds", "LOC"), ("Ada", "PER")]
    assert all(TEXT[span.start : span.end] == span.text for span in found)
    assert tagger.tag_text(" \n") == []


def test_labels_that_are_no_spans_come_word_by_word() -> None:
    tagger = cs.Tagger.train(([["dogs", "bark"], ["cats", "sleep"]], [["N", "V"], ["N", "V"]]))
    assert tagger.tag_text("dogs sleep") == [TextSpan(0, 4, "N", "dogs"), TextSpan(5, 10, "V", "sleep")]
    assert tagger.evaluate(([["dogs", "bark"]], [["N", "N"]])).accuracy == 0.5


def test_it_is_the_model_of_the_command_line(tagger: Tagger, tmp_path: Path) -> None:
    tagger.save(tmp_path / "m")
    assert isinstance(cs.load(tmp_path / "m"), TagModel)
    assert cs.Tagger.load(tmp_path / "m").tag(SENTENCES[0]) == tagger.tag(SENTENCES[0])


def test_words_alone_are_read_unless_columns_are_named(tmp_path: Path) -> None:
    corpus = parse_conll("Ada NNP B-PER\nslept VBD O\n\nLeeds NNP B-LOC\nslept VBD O\n\n")
    write_conll(tmp_path / "train.conll", corpus)
    assert cs.Tagger.train(tmp_path / "train.conll").model.columns == ()
    assert cs.Tagger.train(tmp_path / "train.conll", columns=["pos"]).model.columns == ("pos",)


def test_what_is_no_labelled_text_is_told(tagger: Tagger) -> None:
    for data, words in (
        ([["Ada"]], "A list is no labelled text; give the path"),
        ((["Ada ran"], ["O O"]), "A sentence is a list of words, not the text 'Ada ran'"),
        (([["Ada", "ran"]], ["OO"]), "Sentence 0 has 2 words, and its labels are 'OO'"),
        (([["Ada", "ran"]], [["O"]]), r"Sentence 0 has 2 words, and its labels are \['O'\]"),
    ):
        with pytest.raises((TypeError, ValueError), match=words):
            Tagger.train(data)
    with pytest.raises(TypeError, match="tag_text reads a str, not a list; tag is for a list of words"):
        tagger.tag_text(["Ada"])


def test_what_is_wrong_is_said(tagger: Tagger) -> None:
    with pytest.raises(TypeError, match="use tag_text"):
        tagger.tag("Ada slept")
    with pytest.raises(ValueError, match="2 sentences but 1 lists"):
        cs.Tagger.train(([["a"], ["b"]], [["X"]]))
    assert tagger.tag_all([]) == []


def test_importing_casimir_does_not_load_it() -> None:
    code = "import casimir, sys; assert 'sklearn' not in sys.modules and 'casimir.tasks.tag.tagger' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
