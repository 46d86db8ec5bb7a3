"""Alignment error rate (Och & Ney 2003)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from casimir.scores import IntArray
from casimir.tasks.align.bitext import Links
from casimir.tasks.align.mistakes import WordPair


@dataclass(frozen=True, slots=True)
class LinkScores:
    """AER = 1 - (|A & S| + |A & P|) / (|A| + |S|), precision = |A & P| / |A|, recall = |A & S| / |S|.

    A are the links found, S the sure ones and P the possible ones, S among them; counted over all pairs.

    found, sure              |A|, |S|
    found_sure, found_possible  |A & S|, |A & P|
    mistakes                 by pairs of words, where they were counted
    """

    found: int
    sure: int
    found_sure: int
    found_possible: int
    mistakes: tuple[WordPair, ...] = field(default=(), compare=False, repr=False)

    @property
    def aer(self) -> float:
        """The alignment error rate."""
        total = self.found + self.sure
        return 1.0 - (self.found_sure + self.found_possible) / total if total else 0.0

    @property
    def precision(self) -> float:
        """The share of found links that are possible."""
        return self.found_possible / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        """The share of sure links that were found."""
        return self.found_sure / self.sure if self.sure else 1.0

    def to_dict(self) -> dict[str, Any]:
        """The scores by name, for JSON."""
        return {
            "aer": self.aer,
            "precision": self.precision,
            "recall": self.recall,
            "links": self.found,
            "sure_links": self.sure,
        }


def link_scores(gold: Sequence[Links], found: Sequence[IntArray]) -> LinkScores:
    """found: list of int64[k_i, 2], one array of links per pair."""
    if len(gold) != len(found):
        raise ValueError(f"There are links of {len(found)} pairs for {len(gold)} pairs with gold links.")
    total = np.zeros(4, dtype=np.int64)
    for links, given in zip(gold, found, strict=True):
        chosen = {tuple(link) for link in given.tolist()}
        sure, possible = ({tuple(link) for link in a.tolist()} for a in (links.sure, links.possible))
        total += len(chosen), len(sure), len(chosen & sure), len(chosen & possible)
    found_links, sure_links, found_sure, found_possible = total.tolist()
    return LinkScores(found_links, sure_links, found_sure, found_possible)
