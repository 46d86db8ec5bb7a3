"""JSON lines in and out."""

from __future__ import annotations

import json

import pytest

from casimir.metrics.schemes import Scheme
from casimir.tasks.tag.jsonlines import format_json_lines, is_json_lines, parse_json_lines
from casimir.tasks.tag.plain import parse_plain

TEXT = '{"id": 7, "tokens": ["Ada", "slept"], "tags": ["B-PER", "O"]}\n\n{"tokens": ["Hi"], "tags": ["O"]}\n'


def test_tokens_tags_and_scheme_are_read() -> None:
    assert is_json_lines(TEXT)
    corpus = parse_json_lines(TEXT, labelled=True)
    assert [s.words for s in corpus.sentences] == [("Ada", "slept"), ("Hi",)]
    assert corpus.scheme is Scheme.IOB2


def test_other_fields_stay_and_spans_are_told() -> None:
    corpus = parse_json_lines(TEXT, labelled=False)
    first, second = map(json.loads, format_json_lines(corpus, [["O", "B-LOC"], ["O"]]))
    assert first == {
        "id": 7,
        "tokens": ["Ada", "slept"],
        "tags": ["O", "B-LOC"],
        "spans": [{"start": 1, "end": 2, "type": "LOC"}],
    }
    assert second["spans"] == []
    kept = json.loads(next(iter(format_json_lines(corpus, [["O", "O"], ["O"]], keep_gold=True))))
    assert kept["gold"] == ["B-PER", "O"]


def test_spans_of_plain_text_know_their_characters() -> None:
    corpus = parse_plain("In New York.")
    record = json.loads(next(iter(format_json_lines(corpus, [["O", "B-LOC", "I-LOC", "O"]]))))
    span = record["spans"][0]
    assert corpus.text[span["start_char"] : span["end_char"]] == "New York"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "line 1: not JSON"),
        ("[1]\n", "not a record"),
        ('{"tokens": []}', "not empty"),
        ('{"tokens": ["a", ""]}', "list of words"),
        ('{"tokens": ["a"]}', "tags"),
        ('{"tokens": ["a"], "tags": [3]}', "numbers need their names"),
        ('{"tokens": ["a"], "tags": ["O", "O"]}', "1 tokens but 2 tags"),
        ("\n", "holds no sentences"),
    ],
)
def test_bad_lines_are_named(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_json_lines(text, labelled=True, name="file")
