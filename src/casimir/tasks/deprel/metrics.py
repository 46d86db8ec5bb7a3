"""How well labels of nodes were predicted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from casimir.metrics.counts import Counts
from casimir.metrics.tokens import token_scores

PUNCTUATION = "punct"


@dataclass(frozen=True)
class LabelScores:
    """by_label   counts of every label, the most frequent first
    accuracy   share of nodes with the right label
    words      the same without punctuation
    trees      share of trees without a wrong label
    """

    by_label: dict[str, Counts]
    accuracy: float
    words: float
    trees: float
    nodes: int

    def to_dict(self) -> dict[str, Any]:
        """The scores by name, for JSON."""
        return {
            "accuracy": self.accuracy,
            "accuracy_without_punctuation": self.words,
            "whole_trees": self.trees,
            "nodes": self.nodes,
            "labels": {
                name: {"precision": c.precision, "recall": c.recall, "f1": c.f1, "support": c.support}
                for name, c in self.by_label.items()
            },
        }


def label_scores(true: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> LabelScores:
    """Counts per label and shares of right labels, over all words of all trees."""
    scores = token_scores(true, predicted)
    words = [counts for name, counts in scores.by_label.items() if name != PUNCTUATION]
    right, total = sum(counts.correct for counts in words), sum(counts.support for counts in words)
    share = right / total if total else 0.0
    return LabelScores(scores.by_label, scores.accuracy, share, scores.sentences, scores.tokens)
