"""A first guess at every cell alone, and what the guesses around a cell say about it.

p_ij = 1 / (1 + exp(-<v, x_ij>)),    v = argmin 1/2 ||v||^2 + sum_ij log(1 + exp(-t_ij <v, x_ij>)),    t_ij = 1 or -1

x_ij are the features of the cell and of leaving its source word alone; t_ij says whether it is a link. The matching
then sees p of the cell, of the cells around it, and of their rivals in the same row and column: words next to linked
words are linked more easily, and phrases are blocks of links.

The guess at a labelled pair comes from weights that were learnt without it, as for a new pair.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from casimir.scores import FloatArray
from casimir.tasks.align.bitext import Links
from casimir.tasks.align.features import best_other
from casimir.tasks.arrays import checked_array

PREFIX = "guess"
_FOLDS = 4
_STEPS = 60  # of L-BFGS; more change the error rates little
_FAR = 8.0  # log-odds beyond these are as good as certain
_MANY = 4.0  # expected links of a word; more are not told apart


@dataclass(frozen=True, eq=False)
class LinkGuess:
    """weights  v for "sure" links, float64[d], and for "possible" ones where some are not sure"""

    weights: Mapping[str, FloatArray]

    @classmethod
    def learned(cls, tables: Sequence[FloatArray], links: Sequence[Links]) -> LinkGuess:
        """tables: float64[m, n + 1, d] of every pair, the features of its cells."""
        some_unsure = any(len(pair.sure) < len(pair.possible) for pair in links)
        start = np.zeros(tables[0].shape[2])
        return cls({"sure": start, "possible": start} if some_unsure else {"sure": start})._relearned(tables, links)

    def _relearned(self, tables: Sequence[FloatArray], links: Sequence[Links]) -> LinkGuess:
        """The same kinds of weights from these pairs; 0 from no pairs at all."""
        d = len(self.weights["sure"])
        cells = np.concatenate([np.zeros((0, d)), *(_cells(table).reshape(-1, d) for table in tables)])
        targets = {
            kind: np.concatenate([np.zeros(0), *(_targets(*pair, kind) for pair in zip(tables, links, strict=True))])
            for kind in self.weights
        }
        return LinkGuess({kind: _logistic(cells, target) for kind, target in targets.items()})

    def without_own(self, tables: Sequence[FloatArray], links: Sequence[Links]) -> list[FloatArray]:
        """`features` of labelled pairs, each by weights of the same kind that were learnt on other pairs."""
        found: list[FloatArray] = [np.zeros(0)] * len(tables)
        for k in range(min(_FOLDS, len(tables))):
            others = [i for i in range(len(tables)) if i % _FOLDS != k]
            guess = self._relearned([tables[i] for i in others], [links[i] for i in others])
            for i in range(k, len(tables), _FOLDS):
                found[i] = guess.features(tables[i])
        return found

    def features(self, table: FloatArray) -> FloatArray:
        """float64[m (n + 1), k] of a pair, row after row; 0 for leaving a word alone."""
        cells = _cells(table)
        columns = [column for v in self.weights.values() for column in _around(cells @ v).values()]
        return np.pad(np.stack(columns, axis=2), ((0, 0), (0, 1), (0, 0))).reshape(-1, len(columns))

    def names(self) -> list[str]:
        """What the columns mean."""
        return [f"{PREFIX}, {kind}: {name}" for kind in self.weights for name in _around(np.zeros((1, 1)))]

    def to_arrays(self) -> dict[str, np.ndarray]:
        return {f"{PREFIX}.{kind}": v for kind, v in self.weights.items()}

    @classmethod
    def from_arrays(cls, kinds: Sequence[str], arrays: Mapping[str, np.ndarray], d: int) -> LinkGuess:
        """What `to_arrays` gave; a ValueError when an array is missing or has another length than d."""
        return cls({kind: checked_array(arrays, f"{PREFIX}.{kind}", (d,)) for kind in kinds})


def _cells(table: FloatArray) -> FloatArray:
    """float64[m, n, d]: a cell has no features of leaving its word alone, and the last cell of a row no others."""
    cells: FloatArray = table[:, :-1] + table[:, -1:]
    return cells


def _targets(table: FloatArray, links: Links, kind: str) -> FloatArray:
    """float64[m n]: 1 for a link, -1 for none."""
    target = np.full((table.shape[0], table.shape[1] - 1), -1.0)
    chosen = links.sure if kind == "sure" else links.possible
    target[chosen[:, 0], chosen[:, 1]] = 1.0
    return target.ravel()


def _logistic(x: FloatArray, t: FloatArray) -> FloatArray:
    def value(v: FloatArray) -> tuple[float, FloatArray]:
        margin = t * (x @ v)
        return 0.5 * float(v @ v) + float(np.logaddexp(0.0, -margin).sum()), v - x.T @ (t * expit(-margin))

    found = minimize(value, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": _STEPS})
    return np.asarray(found.x, dtype=np.float64)


def _around(log_odds: FloatArray) -> dict[str, FloatArray]:
    """float64[m, n] each, from the log-odds of the cells."""
    p = expit(log_odds)
    wide = np.pad(p, 1)
    left, right, above, below = wide[1:-1, :-2], wide[1:-1, 2:], wide[:-2, 1:-1], wide[2:, 1:-1]
    row, column = p.sum(axis=1, keepdims=True), p.sum(axis=0, keepdims=True)
    return {
        "log-odds": np.clip(log_odds, -_FAR, _FAR) / 4.0,
        "itself": p,
        "left": left,
        "right": right,
        "above": above,
        "below": below,
        "above left": wide[:-2, :-2],
        "below right": wide[2:, 2:],
        "below left": wide[2:, :-2],
        "above right": wide[:-2, 2:],
        "in a corner": np.maximum(left, right) * np.maximum(above, below),
        "links of row": np.broadcast_to(np.minimum(row, _MANY) / 2.0, p.shape),
        "links of column": np.broadcast_to(np.minimum(column, _MANY) / 2.0, p.shape),
        "ahead in row": p - best_other(p, 1),
        "ahead in column": p - best_other(p, 0),
    }
