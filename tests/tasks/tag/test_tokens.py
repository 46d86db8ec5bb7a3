"""Scores of labels that write no spans, intervals by bootstrap, and the most frequent label."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import casimir as cs
from casimir.metrics.bootstrap import interval
from casimir.metrics.entities import entity_scores
from casimir.metrics.tokens import token_scores
from casimir.tasks.tag.columns import parse_conll
from casimir.tasks.tag.most_frequent import MostFrequent
from casimir.tasks.tag.task import details


def test_accuracy_by_token_and_by_sentence() -> None:
    scores = token_scores([["A", "B"], ["A"]], [["A", "A"], ["A"]])
    assert (scores.accuracy, scores.sentences, scores.tokens) == (pytest.approx(2 / 3), 0.5, 3)
    assert list(scores.by_label) == ["A", "B"]
    assert (scores.by_label["A"].precision, scores.by_label["B"].recall) == (pytest.approx(2 / 3), 0.0)


def test_an_interval_is_that_of_the_binomial_for_independent_tokens() -> None:
    rng = np.random.default_rng(0)
    right = rng.random(2000) < 0.8
    low, high = interval(np.stack([right, np.ones(2000)], axis=1).astype(np.int64), lambda s: s[:, 0] / s[:, 1])
    half = 1.96 * np.sqrt(right.mean() * (1 - right.mean()) / 2000)
    assert low == pytest.approx(right.mean() - half, abs=0.003)
    assert high == pytest.approx(right.mean() + half, abs=0.003)


def test_the_interval_of_f1_holds_f1() -> None:
    gold = [["B-X", "O"], ["O", "B-X"], ["B-Y", "O"]] * 20
    guess = [["B-X", "O"], ["O", "O"], ["B-Y", "B-X"]] * 20
    scores = entity_scores(gold, guess)
    low, high = scores.interval()
    assert low < scores.f1 < high


def test_every_word_gets_its_most_frequent_label(tmp_path: Path) -> None:
    corpus = parse_conll("a X\na Y\na Y\nb Z\nb X\n\nc X\n", spans=False)
    model = MostFrequent.of(corpus, "pos")
    assert model.tag(parse_conll("a\nb\nnew\n", labelled=False)) == [["Y", "X", "X"]]
    model.save(tmp_path / "m")
    loaded = cs.load(tmp_path / "m")
    assert (loaded.labels, loaded.other, loaded.kind) == (model.labels, "X", "pos")


def test_the_most_frequent_labels_are_those_that_counting_word_by_word_gives() -> None:
    rng = np.random.default_rng(0)
    words, labels = rng.choice(list("abcdefghij"), size=150), rng.choice(["X", "Z", "Y", "W"], size=150)
    corpus = parse_conll("".join(f"{word} {label}\n" for word, label in zip(words, labels, strict=True)), spans=False)

    def first(seen: list[str]) -> str:
        return min(sorted(set(seen)), key=lambda label: -seen.count(label))

    model, other = MostFrequent.of(corpus), first(list(labels))
    best = {word: first(list(labels[words == word])) for word in words}
    assert model.other == other
    assert model.labels == {word: label for word, label in best.items() if label != other}


def test_accuracy_is_told_with_its_interval() -> None:
    scores = token_scores([["A", "B"], ["A", "A"]], [["A", "B"], ["A", "B"]])
    (table,) = details(scores)
    low, high = scores.interval()
    first, second = table.note.split("\n")
    assert first == f"accuracy 0.7500, {low:.4f} to {high:.4f} at 95 % (bootstrap)"
    assert second == "0.5000 of sentences without mistake"
