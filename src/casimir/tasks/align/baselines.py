"""Alignments without training, to compare with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from casimir.scores import FloatArray, IntArray
from casimir.structures.matching import Matching
from casimir.tasks.align.bitext import Bitext
from casimir.tasks.align.features import off_diagonal, shapes_of
from casimir.tasks.align.lexicon import Lexicon
from casimir.tasks.align.metrics import LinkScores, link_scores

_NAMES = {"dice": "Dice matching", "both": "IBM 1 matching"}


def links_of(outputs: Sequence[IntArray], shapes: Sequence[tuple[int, int]]) -> list[IntArray]:
    """int64[k_i, 2] from matchings with null: (row, column) of the rows that are matched."""
    rows = [np.flatnonzero(y < shape[1] - 1) for y, shape in zip(outputs, shapes, strict=True)]
    return [np.stack([v, y[v]], axis=1) for v, y in zip(rows, outputs, strict=True)]


def diagonal_links(bitext: Bitext) -> list[IntArray]:
    """Word j of the target is linked to the source word at the same relative position."""
    found = []
    for source, target in zip(bitext.source, bitext.target, strict=True):
        j = np.arange(len(target))
        i = np.minimum((j + 0.5) / len(target) * len(source), len(source) - 1).astype(np.int64)
        found.append(np.stack([i, j], axis=1))
    return found


@dataclass(frozen=True, eq=False)
class LexiconMatching:
    """The matching with the largest sum of association scores above a threshold.

    measure  "dice": the Dice coefficient; "both": sqrt(forward * backward), what the translation model alone says
    Equal scores, of which a small text has many, go to the cell that is nearer to the diagonal.
    """

    lexicon: Lexicon
    measure: str
    threshold: float

    @classmethod
    def tuned(cls, lexicon: Lexicon, measure: str, labelled: Bitext) -> LexiconMatching:
        """The threshold with the least alignment error rate on labelled pairs."""
        candidates = [cls(lexicon, measure, float(t)) for t in np.linspace(0.05, 0.95, 19)]
        return min(candidates, key=lambda c: link_scores(labelled.gold, c.links(labelled)).aer)

    def links(self, bitext: Bitext) -> list[IntArray]:
        structure = Matching(null=True)
        weights = [self._weights(s, t) for s, t in zip(bitext.source, bitext.target, strict=True)]
        return links_of(structure.max(structure.scores(weights)).outputs, shapes_of(bitext))

    def _weights(self, source: Sequence[str], target: Sequence[str]) -> FloatArray:
        """float64[m, n + 1]: the score less the threshold; 0 for no link."""
        known = self.lexicon.tables(self.lexicon.look_up(source, target))
        score = known.dice if self.measure == "dice" else np.sqrt(known.forward * known.backward)
        return np.pad(score - self.threshold - 1e-3 * off_diagonal(*score.shape), ((0, 0), (0, 1)))


def thresholds(lexicon: Lexicon, labelled: Bitext) -> dict[str, float]:
    """Of the matchings by lexicon alone, chosen on labelled pairs."""
    return {measure: LexiconMatching.tuned(lexicon, measure, labelled).threshold for measure in _NAMES}


def baseline_scores(lexicon: Lexicon, chosen: Mapping[str, float], bitext: Bitext) -> dict[str, LinkScores]:
    """Scores of simple methods on labelled pairs, with the thresholds that were `chosen`."""
    found = {"diagonal": diagonal_links(bitext)}
    for measure, threshold in chosen.items():
        found[_NAMES[measure]] = LexiconMatching(lexicon, measure, threshold).links(bitext)
    return {name: link_scores(bitext.gold, links) for name, links in found.items()}
