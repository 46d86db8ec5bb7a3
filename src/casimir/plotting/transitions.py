"""Which label follows which, as a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np

from casimir.plotting.style import new_axes
from casimir.scores import FloatArray

_WITH_NUMBERS = 15  # labels up to which cells show their numbers


class TransitionDisplay:
    """A number for every pair of labels (from, to).

    values  float64[L, L]
    labels  names of rows and columns
    what    what the numbers are, for the colour bar

    After `plot`: ax_, figure_, image_.
    """

    def __init__(self, values: FloatArray, labels: Sequence[Any], *, what: str = "weight") -> None:
        self.values, self.labels, self.what = np.asarray(values, dtype=np.float64), list(labels), what
        if self.values.shape != (len(self.labels), len(self.labels)):
            raise ValueError(f"values has shape {list(self.values.shape)}; {len(self.labels)} labels need [L, L].")

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """The weights of a fitted tagger: transitions_ and classes_."""
        return cls(estimator.transitions_, list(estimator.classes_)).plot(ax)

    @classmethod
    def from_predictions(
        cls, y: Sequence[Sequence[Any]], *, labels: Sequence[Any] | None = None, ax: Any = None
    ) -> Self:
        """How often a label follows another in label sequences, as a share of what follows it."""
        seen = [label for sequence in y for label in sequence]
        names = sorted(set(seen)) if labels is None else list(labels)
        place = {label: j for j, label in enumerate(names)}
        unknown = next((label for label in seen if label not in place), None)
        if unknown is not None:
            raise ValueError(f"y has the label {unknown!r}, which is none of labels={names}.")
        counts = np.zeros((len(names), len(names)))
        for sequence in y:
            for a, b in pairwise(sequence):
                counts[place[a], place[b]] += 1.0
        return cls(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0), names, what="share").plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw into `ax`, or into a new figure: blue above 0, red below."""
        n = len(self.labels)
        side = max(4.0, 0.55 * n + 1.5)
        self.ax_ = new_axes(ax, (side + 0.8, side))
        self.figure_ = self.ax_.figure
        most = float(np.abs(self.values).max()) or 1.0
        self.image_ = self.ax_.imshow(self.values, cmap="RdBu", vmin=-most, vmax=most)
        for axis in (self.ax_.xaxis, self.ax_.yaxis):
            axis.set_ticks(range(n), [str(label) for label in self.labels])
        self.ax_.tick_params(axis="x", labelrotation=90)
        self.ax_.set(xlabel="to", ylabel="from")
        if n <= _WITH_NUMBERS:
            self._write_numbers(most)
        self.figure_.colorbar(self.image_, ax=self.ax_, label=self.what, shrink=0.8)
        return self

    def _write_numbers(self, most: float) -> None:
        for (a, b), value in np.ndenumerate(self.values):
            color = "white" if abs(value) > 0.6 * most else "black"
            self.ax_.text(b, a, _short(value), ha="center", va="center", fontsize=8, color=color)


def _short(value: float) -> str:
    shown = f"{value:.2f}"
    return "" if float(shown) == 0.0 else shown
