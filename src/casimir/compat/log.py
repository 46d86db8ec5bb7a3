"""The course of a training, as sklearn-crfsuite's `training_log_` tells it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from casimir.metrics.tokens import TokenScores, token_scores
from casimir.scores import FloatArray


class LabelScore(NamedTuple):
    """How often a label was predicted rightly (match), predicted (model) and true (ref), and what follows."""

    match: int
    model: int
    ref: int
    precision: float
    recall: float
    f1: float


@dataclass
class TrainingLog:
    """iterations            a dict per evaluated iteration: num, loss (the sum over the sentences, penalties included),
                          feature_norm, active_features, time; of certified training gap; with held-out data
                          item_accuracy_float, instance_accuracy_float, avg_precision, avg_recall, avg_f1, scores
    featgen_num_features  weights that the model may have
    training_seconds      in all
    """

    featgen_num_features: int
    verbose: bool = False
    holdout: Callable[[FloatArray], TokenScores] | None = None
    iterations: list[dict[str, Any]] = field(default_factory=list)
    training_seconds: float = 0.0
    _began: float = field(default_factory=time.perf_counter)

    @property
    def last_iteration(self) -> dict[str, Any] | None:
        return self.iterations[-1] if self.iterations else None

    def add(self, num: int, loss: float, w: FloatArray, **figures: float) -> None:
        """The iteration of that number, which ended at w."""
        now = time.perf_counter() - self._began
        row: dict[str, Any] = {"num": num, "loss": float(loss), "feature_norm": float(np.linalg.norm(w))}
        row |= {"active_features": int(np.count_nonzero(w)), "time": now - self.training_seconds, "scores": {}}
        self.training_seconds = now
        row |= figures
        if self.holdout is not None:
            row |= _of_holdout(self.holdout(w))
        self.iterations.append(row)
        if self.verbose:
            sys.stderr.write(_line(row) + "\n")


def holdout_scores(predict: Callable[[FloatArray], list[list[Any]]], y: list[list[Any]]) -> Callable[..., TokenScores]:
    """The scores of weights on held-out sentences."""
    return lambda w: token_scores(y, predict(w))


def _of_holdout(found: TokenScores) -> dict[str, Any]:
    scores = {
        label: LabelScore(c.correct, c.predicted, c.support, c.precision, c.recall, c.f1)
        for label, c in found.by_label.items()
    }
    means = np.array([score[3:] for score in scores.values()]).mean(axis=0).tolist()
    return {
        "scores": scores,
        **dict(zip(("avg_precision", "avg_recall", "avg_f1"), means, strict=True)),
        "item_accuracy_float": found.accuracy,
        "instance_accuracy_float": found.sentences,
    }


def _line(row: dict[str, Any]) -> str:
    parts = [f"Iter {row['num']:<3}", f"time={row['time']:<5.2f}", f"loss={row['loss']:<8.2f}"]
    parts.append(f"active={row['active_features']:<5}")
    if "gap" in row:
        parts.append(f"gap={row['gap']:.1e}")
    if "item_accuracy_float" in row:
        parts.append(f"F1={row['avg_f1']:.3f}  Acc(item/seq)={row['item_accuracy_float']:.3f}")
        parts.append(f"{row['instance_accuracy_float']:.3f}")
    return "  ".join(parts)
