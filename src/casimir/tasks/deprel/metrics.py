"""How well labels of nodes were predicted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from casimir.metrics.counts import Counts

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
    pairs = [(a, b) for t, p in zip(true, predicted, strict=True) for a, b in zip(t, p, strict=True)]
    support, found = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    correct = Counter(a for a, b in pairs if a == b)
    names = sorted(support.keys() | found.keys(), key=lambda name: (-support[name], name))
    return LabelScores(
        {name: Counts(correct[name], found[name], support[name]) for name in names},
        _share(a == b for a, b in pairs),
        _share(a == b for a, b in pairs if a != PUNCTUATION),
        _share(list(t) == list(p) for t, p in zip(true, predicted, strict=True)),
        len(pairs),
    )


def _share(flags: Any) -> float:
    """The share of True; 0 of nothing."""
    values = list(flags)
    return sum(values) / len(values) if values else 0.0
