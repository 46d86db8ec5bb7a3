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


def test_an_array_of_records_is_not_taken_for_columns() -> None:
    for text in ('[{"tokens": ["a"], "tags": ["O"]}]', '\n[\n  {\n "tokens": ["a"]}]'):
        with pytest.raises(ValueError, match="one record per line"):
            is_json_lines(text)
    assert not is_json_lines("[ O\n{ O\n")


@pytest.mark.parametrize(
    "field", ["1e308", "1e-400", "-0.0", "1" * 400, '"\\ud83d\\ude00"', '"\\u2028\\u0000"', "[[[[{}]]]]"]
)
def test_what_other_fields_hold_is_written_as_json_again(field: str) -> None:
    text = f'{{"x": {field}, "tokens": ["\\ud83d\\ude00", "a\\nb"], "tags": ["O", "O"]}}'
    [line] = format_json_lines(parse_json_lines(text, labelled=True), [["O", "O"]])
    assert line.encode().count(b"\n") == 1

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    found = json.loads(line, parse_constant=refuse)
    assert (found["x"], found["tokens"]) == (json.loads(field), ["\U0001f600", "a\nb"])


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
        ('{"tokens": ["a"], "tags": ["O"], "x": NaN}', "NaN is no number"),
        ('{"tokens": ["a"], "tags": ["O"], "x": [{"y": -1e999}]}', "-1e999 is no number that a float holds"),
        ('{"tokens": ["a"], "tokens": ["b"], "tags": ["O"]}', "'tokens' is there twice"),
        ('{"tokens": ["a"], "tags": ["O"], "x": {"y": 1, "y": 2}}', "'y' is there twice"),
        ('{"tokens": ["a"], "tags": ["O"], "x": "\\ud83d"}', "half of a surrogate pair"),
        ('{"tokens": ["a\\udc00"], "tags": ["O"]}', "line 1: half of a surrogate pair"),
        (f'{{"tokens": ["a"], "tags": ["O"], "x": {"9" * 5000}}}', "line 1: not JSON"),
        (f'{{"tokens": ["a"], "tags": ["O"], "x": {"[" * 9999}{"]" * 9999}}}', "line 1: not JSON"),
    ],
)
def test_bad_lines_are_named(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_json_lines(text, labelled=True, name="file")
