"""Scores along a path of regularisation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np

from casimir.plotting.style import BLUE, ORANGE, check_choice, new_axes, tidy
from casimir.scores import FloatArray

_FIELDS = ("lam", "score", "gap", "n_nonzero")
_LABELS = {"score": "score", "gap": "certified relative gap", "n_nonzero": "weights that are not 0"}


class RegularizationPathDisplay:
    """What becomes of a model as the regularisation changes.

    lam        float64[m]
    score      float64[m], larger is better
    gap        float64[m], the certified relative gap of each point
    n_nonzero  float64[m], how many weights are not 0

    After `plot`: ax_, figure_, line_.
    """

    def __init__(self, lam: Any, score: Any, gap: Any, n_nonzero: Any) -> None:
        columns = [np.asarray(column, dtype=np.float64) for column in (lam, score, gap, n_nonzero)]
        if not len(columns[0]) or any(column.shape != columns[0].shape for column in columns):
            raise ValueError(
                f"lam, score, gap and n_nonzero have {[column.size for column in columns]} entries; they must have as "
                "many each, one at least."
            )
        order = np.argsort(columns[0], kind="stable")
        self.lam, self.score, self.gap, self.n_nonzero = (column[order] for column in columns)

    @classmethod
    def from_path(cls, path: Iterable[Any], *, ax: Any = None, y: str = "score") -> Self:
        """Of any sequence of points (lam, score, gap, n_nonzero): rows, dicts, or objects with these attributes."""
        rows = [_fields(point) for point in path]
        return cls(*zip(*rows, strict=True) if rows else ((),) * 4).plot(ax, y=y)

    @property
    def best(self) -> int:
        """The place of the best score; the strongest regularisation where some are equal."""
        return len(self.score) - 1 - int(np.argmax(self.score[::-1]))

    def plot(self, ax: Any = None, *, y: str = "score") -> Self:
        """Draw into `ax`, or into a new figure, "score", "gap" or "n_nonzero"; the best score is marked."""
        check_choice(y, "y", _LABELS)
        self.ax_ = new_axes(ax)
        self.figure_ = self.ax_.figure
        values: FloatArray = getattr(self, y)
        (self.line_,) = self.ax_.plot(self.lam, values, color=BLUE, marker="o", markersize=4, linewidth=1.6)
        self._mark_best(values)
        self.ax_.set(xlabel="lam", ylabel=_LABELS[y])
        if np.all(self.lam > 0.0):
            self.ax_.set_xscale("log")
        if y == "gap" and np.all(values > 0.0):
            self.ax_.set_yscale("log")
        tidy(self.ax_)
        return self

    def _mark_best(self, values: FloatArray) -> None:
        place = self.lam[self.best], values[self.best]
        self.ax_.plot(*place, "o", color=ORANGE, markersize=9, zorder=3)
        told = f"best: {self.score[self.best]:.4g} at {self.lam[self.best]:.3g}"
        offset = {"xytext": (0, 9), "textcoords": "offset points", "ha": "center", "color": ORANGE}
        self.ax_.annotate(told, place, **offset)
        self.ax_.margins(x=0.08, y=0.15)


def _fields(point: Any) -> tuple[Any, ...]:
    """(lam, score, gap, n_nonzero) of a point."""
    if isinstance(point, Mapping):
        missing = [name for name in _FIELDS if name not in point]
        if not missing:
            return tuple(point[name] for name in _FIELDS)
    else:
        missing = [name for name in _FIELDS if not hasattr(point, name)]
        if not missing:
            return tuple(getattr(point, name) for name in _FIELDS)
        if isinstance(point, tuple | list | np.ndarray) and len(point) == len(_FIELDS):
            return tuple(point)
    raise TypeError(f"a point of the path is {point!r}; it needs lam, score, gap and n_nonzero, as a row or by name.")
