"""Scores and mistakes, counted by hand and against the scorer of the CoNLL tasks."""

from __future__ import annotations

import numpy as np
from report.pages import SENTENCES, labelled

from casimir.report.counts import confusions, mistakes, scores_by_type, token_accuracy
from casimir.report.data import SentenceView
from casimir.tasks.ner import entity_scores, spans


def test_mistakes_by_kind() -> None:
    kinds = [[(m.kind, m.gold, m.predicted) for m in mistakes(one)] for one in SENTENCES]
    assert kinds[:4] == [[], [("type", "LOC", "PER")], [("type", "ORG", "LOC")], [("boundary", "LOC", "LOC")]]
    assert kinds[4][0][:2] == ("spurious", "(none)")
    assert kinds[5] == [("missed", "PER", "(none)")]


def test_confusions_count_every_mistake_once() -> None:
    found = confusions(SENTENCES)
    assert sum(n for _, _, n in found) == sum(len(mistakes(one)) for one in SENTENCES) == 5
    assert ("LOC", "PER", 1) in found


def test_scores_are_those_of_the_scorer() -> None:
    rng = np.random.default_rng(3)
    tags = ["B-X", "I-X", "B-Y", "I-Y", "O"]
    gold, guess = ([[str(t) for t in rng.choice(tags, size=9)] for _ in range(40)] for _ in range(2))
    views = [
        SentenceView(
            ["w"] * 9, a, b, [1.0] * 9, [tuple(s) for s in spans(a)], [(*s, 0.5) for s in spans(b)], -1.0, -1.0
        )
        for a, b in zip(gold, guess, strict=True)
    ]
    expected = entity_scores(gold, guess)
    *rows, total = scores_by_type(views)
    for row in rows:
        counts = expected.by_type[row.name]
        assert (row.correct, row.predicted, row.support) == (counts.correct, counts.predicted, counts.support)
    assert (total.f1, total.precision, total.recall) == (expected.f1, expected.precision, expected.recall)
    assert token_accuracy(views) == expected.accuracy


def test_labels_without_spans_are_counted_by_token() -> None:
    data = labelled().data
    assert [(s.name, s.correct, s.predicted, s.support) for s in scores_by_type(data.sentences)] == [
        ("NN", 2, 2, 2),
        ("VB", 0, 0, 1),
        ("JJ", 0, 1, 0),
        ("all", 2, 3, 3),
    ]
    assert confusions(data.sentences) == [("VB", "JJ", 1)]
