"""The embedded corpus is well formed, hard in the intended ways, and comes out of its generator byte by byte."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from casimir.datasets import load_news, news_path, news_text

TOOL = Path(__file__).resolve().parents[2] / "tools" / "make_corpus.py"
PARTS = ("train", "heldout")
TYPES = {"PER", "LOC", "ORG", "MISC"}

Sentence = list[tuple[str, str]]


def sentences(part: str) -> list[Sentence]:
    blocks = news_text(part).removesuffix("\n\n").split("\n\n")
    rows = [[tuple(line.split(" ")) for line in block.split("\n")] for block in blocks]
    return [block for block in rows if block[0][0] != "-DOCSTART-"]  # type: ignore[misc]


def names(part: str) -> list[tuple[str, str]]:
    """(text, type) of every entity, in lower case."""
    found: list[tuple[str, str]] = []
    for sentence in sentences(part):
        for word, tag in sentence:
            if tag.startswith("B-"):
                found.append((word.lower(), tag[2:]))
            elif tag.startswith("I-"):
                text, kind = found[-1]
                found[-1] = (f"{text} {word.lower()}", kind)
    return found


def test_paths_are_files_of_the_package() -> None:
    news = load_news()
    assert (news.train, news.heldout) == (news_path("train"), news_path("heldout"))
    assert news.train.is_file()
    assert news.heldout.is_file()


def test_unknown_part_is_named_in_the_error() -> None:
    with pytest.raises(ValueError, match=r"'dev'.*heldout"):
        news_path("dev")


@pytest.mark.parametrize("part", PARTS)
def test_every_line_is_word_and_valid_iob2_tag(part: str) -> None:
    for sentence in sentences(part):
        previous = "O"
        for row in sentence:
            assert len(row) == 2, row
            word, tag = row
            assert word
            assert not set(word) & set("{}[]<>~_"), word  # nothing of the template language is left
            if tag != "O":
                position, kind = tag.split("-")
                assert kind in TYPES
                assert position == "B" or (position == "I" and previous[2:] == kind), (sentence, row)
            previous = tag


@pytest.mark.parametrize("part", PARTS)
def test_every_document_begins_with_docstart(part: str) -> None:
    text = news_text(part)
    assert text.startswith("-DOCSTART- O\n\n")
    assert text.endswith("\n\n")
    assert "\n\n\n" not in text
    assert text.count("-DOCSTART- O\n\n") >= 60


def test_sizes() -> None:
    assert 1450 <= len(sentences("train")) <= 1550
    assert 450 <= len(sentences("heldout")) <= 550
    assert sum(news_path(part).stat().st_size for part in PARTS) < 400_000
    for part in PARTS:
        counts = Counter(kind for _, kind in names(part))
        assert set(counts) == TYPES
        assert min(counts.values()) > 0.1 * sum(counts.values())


def test_no_sentence_occurs_twice() -> None:
    texts = [" ".join(word for word, _ in s) for part in PARTS for s in sentences(part)]
    assert len(set(texts)) == len(texts)


def test_a_good_share_of_heldout_names_is_unseen() -> None:
    known = set(names("train"))
    heldout = names("heldout")
    unseen = sum(name not in known for name in heldout) / len(heldout)
    assert 0.25 < unseen < 0.6


def test_the_same_words_name_different_things() -> None:
    kinds: dict[str, set[str]] = {}
    for text, kind in names("train"):
        kinds.setdefault(text, set()).add(kind)
    pairs = Counter(tuple(sorted(k)) for k in kinds.values() if len(k) > 1)
    assert pairs["LOC", "ORG"] >= 10  # a town and its team
    assert sum(n for pair, n in pairs.items() if {"LOC", "PER"} <= set(pair)) >= 5  # a person named like a town
    assert sum(n for pair, n in pairs.items() if {"ORG", "PER"} <= set(pair)) >= 5  # a company named after a person


@pytest.mark.skipif(not TOOL.exists(), reason="the generator is in the source tree only")
def test_generator_gives_the_same_bytes(tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(TOOL), "--out", str(tmp_path)], check=True, capture_output=True)
    for part in PARTS:
        assert (tmp_path / news_path(part).name).read_bytes() == news_path(part).read_bytes()
