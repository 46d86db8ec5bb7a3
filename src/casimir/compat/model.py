"""A fitted model: attributes, labels and weights, and what they predict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from casimir.compat.attributes import SEPARATOR
from casimir.estimators.labels import Label
from casimir.estimators.predictor import ChainPredictor
from casimir.features import PackedSequences, pack
from casimir.models.weight_rows import CHAIN_ENDS
from casimir.scores import FloatArray, ragged_rows
from casimir.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class Model:
    """The weights of attributes and labels, and of pairs of labels, as CRFsuite has them."""

    predictor: ChainPredictor

    @classmethod
    def of(cls, rows: FloatArray, classes: tuple[Label, ...], vocabulary: Vocabulary) -> Model:
        """rows as in `ChainPredictor.rows`; attributes without a weight are left out."""
        states, others = rows[: len(vocabulary)], rows[-len(classes) - CHAIN_ENDS :]
        used = np.flatnonzero(states.any(axis=1))
        small = vocabulary if len(used) == len(vocabulary) else _picked(vocabulary, used)
        kept = states[used] if len(used) else np.zeros((1, len(classes)))  # a chain has one feature at least
        return cls(ChainPredictor.of_rows(np.concatenate([kept, others]), classes, small))

    @property
    def classes(self) -> tuple[Label, ...]:
        return self.predictor.classes

    @cached_property
    def attributes(self) -> list[str]:
        assert self.predictor.vocabulary is not None
        return list(self.predictor.vocabulary)

    def state_features(self) -> dict[tuple[str, Label], float]:
        """{(attribute, label): weight}, without zeros."""
        return _nonzero(self.predictor.unary, self.attributes, self.classes)

    def transition_features(self) -> dict[tuple[Label, Label], float]:
        """{(from, to): weight}, without zeros."""
        return _nonzero(self.predictor.transitions, self.classes, self.classes)

    def predict(self, X: Sequence[Any]) -> list[list[Label]]:
        return self._with_empty(X, self.predictor.predict)

    def marginals(self, X: Sequence[Any]) -> list[list[dict[Label, float]]]:
        """A dict {label: probability} per token."""
        names = self.classes
        found = self._with_empty(X, self.predictor.predict_marginals)
        return [[dict(zip(names, row, strict=True)) for row in np.asarray(one).tolist()] for one in found]

    def pack(self, X: Sequence[Any]) -> PackedSequences:
        return pack(X, None, vocabulary=self.predictor.vocabulary, separator=SEPARATOR)

    def _with_empty(self, X: Sequence[Any], predict: Any) -> list[Any]:
        """What `predict` says of the sentences; of one without tokens it is an empty list."""
        full = [sentence for sentence in X if len(sentence)]
        found = iter(predict(self.pack(full)) if full else ())
        return [next(found) if len(sentence) else [] for sentence in X]


def _nonzero(rows: FloatArray, names: Sequence[Any], classes: Sequence[Label]) -> dict[tuple[Any, Label], float]:
    places = zip(*(axis.tolist() for axis in np.nonzero(rows)), strict=True)
    return {(names[i], classes[j]): value for (i, j), value in zip(places, rows[rows != 0.0].tolist(), strict=True)}


def _picked(vocabulary: Vocabulary, numbers: np.ndarray) -> Vocabulary:
    """The names of these numbers alone, in the same order."""
    blob, offsets = vocabulary.to_arrays()
    letters, picked = ragged_rows(offsets, numbers)
    return Vocabulary.from_arrays(blob[letters], picked)
