"""What a tagger has learned: its weights as tables, its predictions explained, a report of its mistakes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from casimir._validate import positive_int
from casimir.estimators.confidence import Confidence
from casimir.estimators.explain import Explanation, explained
from casimir.estimators.labels import Label
from casimir.estimators.names import FeatureNames, name_of
from casimir.estimators.tables import Table
from casimir.scores import FloatArray

if TYPE_CHECKING:
    from casimir.estimators.chain_tagger import ChainTagger
    from casimir.report import Report


class Inspection(Confidence):
    """Methods of a fitted tagger that help people understand it."""

    names_: FeatureNames | None = None

    def explain(
        self, x: Any, labels: Sequence[Label] | None = None, against: Sequence[Label] | None = None
    ) -> Explanation:
        """Why sentence x gets its labels: what every feature adds to their score, and to that of the runner-up.

        labels   to explain; None: the best ones
        against  to hold them against; None: the best ones that differ
        """
        return explained(self, x, labels, against, self.names_)

    def top_features(self, n: int = 20, label: Label | None = None) -> Table:
        """The n weights of features that are farthest from 0, of one label or of all: (feature, label, weight).

        Features have names where the vocabulary is exact (n_features=None) or was kept (keep_names=True); others are
        the numbers of their hash buckets.
        """
        predictor = self._fitted()
        labels = range(len(predictor.classes)) if label is None else [_place(predictor.classes, label)]
        weights = predictor.unary[:, list(labels)]
        rows = []
        for row, column in _largest(weights, positive_int(n, "n")):
            name = name_of(predictor, row, self.names_)
            rows.append((name, predictor.classes[labels[column]], float(weights[row, column])))
        return Table(("feature", "label", "weight"), rows)

    def top_transitions(self, n: int = 20) -> Table:
        """The n weights of transitions that are farthest from 0: (from, to, weight)."""
        predictor = self._fitted()
        weights, classes = predictor.transitions, predictor.classes
        found = _largest(weights, positive_int(n, "n"))
        return Table(("from", "to", "weight"), [(classes[a], classes[b], float(weights[a, b])) for a, b in found])

    def report(self, X: Any, y: Any, *, words: Any = None, title: str = "Tagger") -> Report:
        """A page about the tagger on labelled sentences: scores, mistakes, calibration, weights, convergence.

        words  the words of every sentence; None: as far as the features tell them
        """
        from casimir.estimators.reporting import tagger_report

        return tagger_report(cast("ChainTagger", self), X, y, words, title)


def _place(classes: Sequence[Label], label: Label) -> int:
    if label not in classes:
        raise ValueError(f"the label {label!r} was not seen in fit; it is none of {list(classes)}.")
    return list(classes).index(label)


def _largest(weights: FloatArray, n: int) -> list[tuple[int, int]]:
    """(row, column) of the n weights that are farthest from 0 and not 0, the farthest first."""
    size = np.abs(weights).ravel()
    n = min(n, int(np.count_nonzero(size)))
    some = np.argpartition(-size, n - 1)[:n] if n else np.zeros(0, dtype=np.int64)
    order = some[np.lexsort((some, -size[some]))]
    return [(int(k) // weights.shape[1], int(k) % weights.shape[1]) for k in order]
