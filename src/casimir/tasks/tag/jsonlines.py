"""JSON lines: {"tokens": [...], "tags": [...]} per sentence, as data sets are often exported; other fields are kept."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from casimir.metrics.schemes import detect_scheme, parse_tag, spans, write_spans
from casimir.tasks.tag.corpus import Corpus, Sentence
from casimir.tasks.text import numbered_lines

TOKENS, TAGS, SPANS = "tokens", "tags", "spans"


_ARRAY = re.compile(r"\[\s*\{\s*\"")


def is_json_lines(text: str) -> bool:
    """Whether it begins with a record. An array of records is an error: it would be read as columns."""
    begun = text.removeprefix("\ufeff").lstrip()
    if _ARRAY.match(begun):
        raise ValueError("the file is one array of JSON; give one record per line, as jq -c '.[]' FILE writes them")
    return begun.startswith("{")


def parse_json_lines(text: str, *, labelled: bool, name: str = "input", has_spans: bool | None = None) -> Corpus:
    """The sentences of the lines; blank lines are skipped. has_spans: as `spans` of `read_conll`."""
    records = [_record(line, f"{name}, line {k}") for k, line in numbered_lines(text) if line.strip()]
    if not records:
        raise ValueError(
            f'{name} holds no sentences; a line is {{"tokens": ["Paris", "sleeps"], "tags": ["B-LOC", "O"]}}'
        )
    return corpus_of_records(records, labelled=labelled, name=name, has_spans=has_spans)


def corpus_of_records(
    records: Sequence[Mapping[str, Any]], *, labelled: bool, name: str, has_spans: bool | None = None
) -> Corpus:
    """The sentences of records, each with its tokens and, where labelled, its tags."""
    sentences = [_sentence(record, labelled, f"{name}, record {k}") for k, record in enumerate(records, start=1)]
    labels = [sentence.labels for sentence in sentences if sentence.labels is not None]
    is_spans = labelled and (write_spans(labels) if has_spans is None else has_spans)
    if is_spans:
        for tags in labels:
            for tag in tags:
                parse_tag(tag)
    return Corpus(sentences, scheme=detect_scheme(labels) if is_spans else None, name=name, records=records)


def format_json_lines(corpus: Corpus, labels: Sequence[Sequence[str]], keep_gold: bool = False) -> Iterator[str]:
    """One line per sentence, with tags and, where they write spans, the spans; characters where the text is known."""
    for i, (sentence, tags) in enumerate(zip(corpus.sentences, labels, strict=True)):
        record: dict[str, Any] = dict(corpus.records[i]) if corpus.records else {TOKENS: list(sentence.words)}
        if keep_gold and TAGS in record:
            record["gold"] = record[TAGS]
        record[TAGS] = list(tags)
        if write_spans([tags]) or set(tags) == {"O"}:
            record[SPANS] = [_span(corpus, i, span) for span in spans(tags)]
        yield json.dumps(record, ensure_ascii=False) + "\n"


def _span(corpus: Corpus, i: int, span: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"start": span.start, "end": span.end, "type": span.type}
    if corpus.places is not None:
        first, last = corpus.places[i][span.start], corpus.places[i][span.end - 1]
        found |= {"start_char": first[0], "end_char": last[1]}
    return found


def _record(line: str, where: str) -> dict[str, Any]:
    try:
        found = _JSON.decode(line)
        if "\\u" in line:
            json.dumps(found, ensure_ascii=False).encode()  # no half of a surrogate pair
    except UnicodeEncodeError:
        raise ValueError(f"{where}: half of a surrogate pair, such as \\ud83d alone, is no character") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where}: not JSON ({error})") from None
    if not isinstance(found, dict):
        raise ValueError(f'{where}: not a record; a line is {{"tokens": [...], "tags": [...]}}')
    return found


def _finite(number: str) -> float:
    found = float(number)
    if not math.isfinite(found):
        raise ValueError(f"{number} is no number that a float holds")
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(name for name, n in Counter(name for name, _ in pairs).items() if n > 1)
        raise ValueError(f"{twice!r} is there twice")
    return found


_JSON = json.JSONDecoder(parse_constant=_finite, parse_float=_finite, object_pairs_hook=_once)
"""What is read is written again, so that it has to be JSON, which has neither NaN nor infinity."""


def _sentence(record: Mapping[str, Any], labelled: bool, where: str) -> Sentence:
    tokens: Any = record.get(TOKENS)
    tags: Any = record.get(TAGS)
    if not _are_strings(tokens) or not tokens:
        raise ValueError(f'{where}: "tokens" must be a list of words that is not empty')
    if not labelled:
        return Sentence(tuple(tokens))
    if not _are_strings(tags):
        raise ValueError(f'{where}: "tags" must be a list of strings, one per token; numbers need their names')
    if len(tags) != len(tokens):
        raise ValueError(f"{where}: {len(tokens)} tokens but {len(tags)} tags; each token needs one")
    return Sentence(tuple(tokens), {}, tuple(tags))


def _are_strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) and one for one in value)
