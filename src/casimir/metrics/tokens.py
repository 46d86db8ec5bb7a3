"""How many tokens, and how many whole sentences, have the right label: scores of labels that write no spans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from casimir.metrics.bootstrap import interval
from casimir.metrics.counts import Counts
from casimir.scores import IntArray


@dataclass(frozen=True, slots=True)
class TokenScores:
    """accuracy     share of tokens with the right label
    sentences    share of sentences without a wrong one
    by_label     counts of every label, the most frequent first
    tokens       their number
    by_sentence  int64[n, 2]: right tokens and tokens of each sentence
    """

    accuracy: float
    sentences: float
    by_label: dict[str, Counts]
    tokens: int
    by_sentence: IntArray = field(compare=False, repr=False)

    f1 = None  # labels without spans have no entities

    def interval(self) -> tuple[float, float]:
        """Of the accuracy, at 95 %."""
        return interval(self.by_sentence, lambda sums: sums[:, 0] / np.maximum(sums[:, 1], 1.0))

    def to_dict(self) -> dict[str, Any]:
        return {
            "accuracy": self.accuracy,
            "accuracy_interval": list(self.interval()),
            "whole_sentences": self.sentences,
            "tokens": self.tokens,
            "labels": {label: counts.to_dict() for label, counts in self.by_label.items()},
        }


def token_scores(y_true: Sequence[Sequence[str]], y_pred: Sequence[Sequence[str]]) -> TokenScores:
    """Compare predicted with true labels, sentence by sentence."""
    correct: Counter[str] = Counter()
    predicted: Counter[str] = Counter()
    support: Counter[str] = Counter()
    rows = []
    for gold, guess in zip(y_true, y_pred, strict=True):
        right = [a for a, b in zip(gold, guess, strict=True) if a == b]
        correct.update(right)
        predicted.update(guess)
        support.update(gold)
        rows.append((len(right), len(gold)))
    counts = np.array(rows, dtype=np.int64).reshape(-1, 2)
    names = sorted(support.keys() | predicted.keys(), key=lambda name: (-support[name], name))
    tokens = int(counts[:, 1].sum())
    return TokenScores(
        float(counts[:, 0].sum() / tokens) if tokens else 0.0,
        float(np.mean(counts[:, 0] == counts[:, 1])) if len(counts) else 0.0,
        {name: Counts(correct[name], predicted[name], support[name]) for name in names},
        tokens,
        counts,
    )
