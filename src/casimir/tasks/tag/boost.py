"""How eager a tagger of spans is: a number that its score of `O` is lowered by at every token.

    score'(y) = score(y) - boost * |{t : y_t = O}|

A tagger that finds too few entities, as on text with names that it never saw, finds more of them with a boost above 0,
and more that are none. The boost with the best F1 on held-out data costs no training.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from casimir.estimators.predictor import ChainPredictor
from casimir.features import PackedSequences
from casimir.metrics.counts import Counts
from casimir.metrics.schemes import Span, spans

OUTSIDE, AUTO = "O", "auto"
_STEP, _MOST = 0.1, 20  # steps from 0, each way
_PATIENCE = 4  # steps without a better F1
_WORTH = 0.003  # of F1: less is noise, and the boost stays 0


def parse_boost(text: str) -> float | str:
    """A number, or "auto"."""
    if text == AUTO:
        return text
    try:
        boost = float(text)
    except ValueError:
        boost = float("nan")
    if not abs(boost) < float("inf"):
        raise ValueError(f"--boost {text}: it must be a number, such as 0.4, or auto.")
    return boost


def boosted(predictor: ChainPredictor, boost: float) -> ChainPredictor:
    """The same predictor with another score of O. It needs no feature: every token is entered in one way."""
    if boost == 0.0 or OUTSIDE not in predictor.classes:
        return predictor
    found = replace(predictor, w=predictor.w.copy())
    outside = found.classes.index(OUTSIDE)
    found.transitions[:, outside] -= boost
    found.ends[0][outside] -= boost
    return found


def best_boost(predictor: ChainPredictor, X: PackedSequences, labels: Sequence[Sequence[str]]) -> float:
    """The boost with the best F1 on labelled data; 0 where none is worth it."""
    if OUTSIDE not in predictor.classes:
        return 0.0
    judge = _Judge(predictor, X, labels)
    ways = [judge.climb(step) for step in (_STEP, -_STEP)]
    boost, f1 = max(ways, key=lambda way: way[1])
    return boost if f1 >= judge.f1(0.0) + _WORTH else 0.0


class _Judge:
    """F1 of boosts on labelled data; sentences whose labels stay as they were are not counted again."""

    def __init__(self, predictor: ChainPredictor, X: PackedSequences, labels: Sequence[Sequence[str]]) -> None:
        self._predictor, self._X = predictor, X
        self._gold = [frozenset(spans(tags)) for tags in labels]
        self._last: list[list[str]] = [[] for _ in labels]
        self._counts = [(0, 0)] * len(self._gold)
        self._known: dict[float, float] = {}

    def climb(self, step: float) -> tuple[float, float]:
        """The best boost in one direction, and its F1."""
        best = (0.0, self.f1(0.0))
        behind = 0
        for k in range(1, _MOST + 1):
            boost = round(k * step, 6)
            f1 = self.f1(boost)
            behind = 0 if f1 > best[1] else behind + 1
            best = (boost, f1) if f1 > best[1] else best
            if behind == _PATIENCE:
                break
        return best

    def f1(self, boost: float) -> float:
        if boost not in self._known:
            predicted = cast(list[list[str]], boosted(self._predictor, boost).predict(self._X))
            for i, tags in enumerate(predicted):
                if tags != self._last[i]:
                    self._last[i], self._counts[i] = tags, _counted(spans(tags), self._gold[i])
            correct, found = (sum(column) for column in zip(*self._counts, strict=True))
            self._known[boost] = Counts(correct, found, sum(map(len, self._gold))).f1
        return self._known[boost]


def _counted(found: Sequence[Span], gold: frozenset[Span]) -> tuple[int, int]:
    return len(gold.intersection(found)), len(found)
