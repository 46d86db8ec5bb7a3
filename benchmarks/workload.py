"""A corpus in packed features, ready for casimir."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import casimir as cs
from benchmarks.crfsuite import Labels, Strings
from casimir.estimators.predictor import ChainPredictor
from casimir.scores import FloatArray, IntArray
from casimir.tasks.ner import entity_scores


@dataclass(frozen=True, eq=False)
class Workload:
    """X, y for training; X_dev with the labels y_dev for entity F1."""

    X: cs.PackedSequences
    y: list[IntArray]
    classes: tuple[str, ...]
    X_dev: cs.PackedSequences
    y_dev: Labels

    @classmethod
    def pack(cls, X: Strings, y: Labels, X_dev: Strings, y_dev: Labels, n_features: int | None) -> Workload:
        """n_features None: an exact vocabulary."""
        packed = cs.pack(X, n_features)
        packed_dev = cs.pack(X_dev, n_features, vocabulary=packed.vocabulary)
        classes = tuple(sorted({label for labels in y for label in labels}))
        return cls(packed, numbered(y, classes), classes, packed_dev, y_dev)

    @property
    def n(self) -> int:
        return len(self.X)

    def objective(self, lam_n: float = 1.0, threads: int = 1) -> cs.Objective:
        """The structural SVM with lam = lam_n / n."""
        labels = len(self.classes)
        model = cs.LinearChainModel(self.X, labels)
        return cs.Objective(model, cs.Chain(labels), cs.Hamming(), self.y, lam_n / self.n, n_threads=threads)

    def predictor(self, w: FloatArray) -> ChainPredictor:
        return ChainPredictor(w, self.classes, self.X.n_features, self.X.vocabulary, 1)

    def f1(self, w: FloatArray) -> float:
        return entity_scores(self.y_dev, self.predictor(w).predict(self.X_dev)).f1


def numbered(y: Labels, classes: Sequence[str]) -> list[IntArray]:
    number = {label: j for j, label in enumerate(classes)}
    return [np.array([number[label] for label in labels], dtype=np.int64) for labels in y]
