"""Labelled data that no weights are trained on: the best weights of a training are those that do best there."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from casimir._validate import positive_int
from casimir.estimators.labels import as_object_array
from casimir.estimators.predictor import ChainPredictor
from casimir.estimators.span_schemes import write_spans
from casimir.features import PackedSequences, pack
from casimir.packs import Pack
from casimir.scores import FloatArray
from casimir.solvers import TraceRow


def scorer_of(scoring: Any, classes: Sequence[Any]) -> Any:
    """The scorer of that name; None: the F1 of entities where labels are IOB*, else the share of right tokens."""
    from casimir.metrics.scorers import get_scorer

    if scoring is None:
        scoring = "entity_f1" if write_spans(classes) else "flat_accuracy"
    return get_scorer(scoring)


@dataclass(eq=False)
class DevSet:
    """The best of the predictors of a training, by their score on X and y; a later one has to be better.

    tagger    a SequenceTagger, for scorers that want an estimator
    best      the row and the weights of the best one
    patience  how many evaluated epochs may pass without a better score before training ends; None: any number
    """

    tagger: Any
    X: Any
    y: Any
    scorer: Any
    patience: int | None
    scores: list[float] = field(default_factory=list)
    score: float = -float("inf")
    best: tuple[TraceRow, FloatArray] | None = None
    _waited: int = 0

    @classmethod
    def of(
        cls,
        tagger: Any,
        train: PackedSequences | Pack,
        X: Any,
        y: Any,
        classes: Sequence[Any],
        *,
        separator: str = "=",
    ) -> DevSet:
        """For a training of the tagger on `train` with these classes; separator: as `pack` takes it."""
        if X is None or y is None:
            raise ValueError("X_dev and y_dev come together; one of them is missing.")
        if train.vocabulary is None:
            X = pack(X, train.n_features, separator=separator)
        else:
            X = pack(X, n_features=None, vocabulary=train.vocabulary, separator=separator)
        if len(X) != len(y):
            raise ValueError(f"X_dev has {len(X)} sentences and y_dev {len(y)}; they must be as many.")
        patience = None if tagger.patience is None else positive_int(tagger.patience, "patience")
        return cls(tagger, X, y, scorer_of(tagger.scoring, classes), patience)

    def __call__(self, row: TraceRow, predictor: ChainPredictor) -> bool:
        """A callback of the training; True ends it."""
        score = self.score_of(predictor)
        self.scores.append(score)
        if score > self.score:
            self.score, self.best, self._waited = score, (row, predictor.w), 0
            return False
        self._waited += 1
        return self.patience is not None and self._waited >= self.patience

    def state(self) -> Any:
        """For checkpoints of the training."""
        best = None if self.best is None else (self.best[0].as_dict(), self.best[1])
        return self.scores, self.score, best, self._waited

    def restore(self, state: Any) -> None:
        """Go on from such a state."""
        self.scores, self.score, best, self._waited = state
        self.best = None if best is None else (TraceRow(**best[0]), best[1])

    def score_of(self, predictor: ChainPredictor) -> float:
        view = copy.copy(self.tagger)
        view.predictor_, view.classes_ = predictor, as_object_array(predictor.classes)
        return float(self.scorer(view, self.X, self.y))
