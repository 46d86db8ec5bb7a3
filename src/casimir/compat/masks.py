"""Which weights a CRFsuite model has: those of pairs seen in training, unless all possible ones are asked for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from casimir._outputs import Outputs
from casimir.features import PackedSequences
from casimir.models.weight_rows import CHAIN_ENDS, WeightRows
from casimir.scores import FloatArray, IntArray

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class KeptPairs:
    """states       bool[n_features, L]: (attribute, label) pairs that have a weight
    transitions  bool[L, L]: pairs of labels, from and to, that have one
    """

    states: BoolArray
    transitions: BoolArray

    @classmethod
    def of(
        cls, X: PackedSequences, y: Outputs, n_labels: int, min_freq: float, all_states: bool, all_transitions: bool
    ) -> KeptPairs:
        """Pairs whose frequency, the sum of their values over the data, is at least min_freq.

        A pair that was never seen has frequency 0, and counts only if all of its kind are asked for.
        """
        labels = np.repeat(y.flat, np.diff(X.indptr))
        states = _kept(_places(X.indices, labels, n_labels), X.values, (X.n_features, n_labels), min_freq, all_states)
        first, second = _neighbours(y)
        transitions = _kept(first * n_labels + second, None, (n_labels, n_labels), min_freq, all_transitions)
        return cls(states, transitions)

    @property
    def count(self) -> int:
        return int(self.states.sum() + self.transitions.sum())

    def mask(self) -> BoolArray:
        """bool[d], in the layout of a linear chain's weights. Scores of the first and last label are not kept."""
        rows = np.zeros((len(self.states) + len(self.transitions) + CHAIN_ENDS, len(self.transitions)), dtype=np.bool_)
        rows[: len(self.states)] = self.states
        rows[len(self.states) : -CHAIN_ENDS] = self.transitions
        layout = WeightRows(len(self.states), len(self.transitions), CHAIN_ENDS)
        mask = np.zeros((layout.n_rows, layout.stride), dtype=np.bool_)
        mask[:, : layout.n_labels] = rows
        return mask.ravel()

    def strengths(self) -> FloatArray:
        """float64[d] for a penalty: 1, and infinite where there is no weight."""
        return np.where(self.mask(), 1.0, np.inf)


def _places(indices: npt.NDArray[np.uint32], labels: IntArray, n_labels: int) -> IntArray:
    return indices.astype(np.int64) * n_labels + labels


def _neighbours(y: Outputs) -> tuple[IntArray, IntArray]:
    """int64[m] each: the labels of all neighbours in a sentence."""
    inside = np.ones(max(len(y.flat) - 1, 0), dtype=np.bool_)
    inside[y.offsets[1:-1] - 1] = False
    return y.flat[:-1][inside], y.flat[1:][inside]


def _kept(
    places: IntArray, values: FloatArray | None, shape: tuple[int, int], min_freq: float, all_possible: bool
) -> BoolArray:
    size = shape[0] * shape[1]
    frequency = np.bincount(places, weights=values, minlength=size)
    kept: BoolArray = frequency >= min_freq
    if not all_possible:
        kept &= (frequency if values is None else np.bincount(places, minlength=size)) > 0
    return kept.reshape(shape)
