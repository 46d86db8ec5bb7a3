"""Precision, recall and F1 of one label or type."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Counts:
    """True ones (support), predicted ones, and those that are both."""

    correct: int = 0
    predicted: int = 0
    support: int = 0

    @property
    def precision(self) -> float:
        """The share of what was predicted that is right."""
        return self.correct / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """The share of what is true that was found."""
        return self.correct / self.support if self.support else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return 2 * self.correct / (self.predicted + self.support) if self.correct else 0.0

    def to_dict(self) -> dict[str, float | int]:
        """The scores by name, for JSON."""
        return {
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "support": self.support,
            "predicted": self.predicted,
            "correct": self.correct,
        }
