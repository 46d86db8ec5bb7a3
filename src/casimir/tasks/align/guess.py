"""First guesses at every cell alone, and what the guesses around a cell say about it.

p_ij = 1 / (1 + exp(-<v, x_ij>)),    v = argmin 1/2 ||v||^2 + sum_ij log(1 + exp(-t_ij <v, x_ij>)),    t_ij = 1 or -1

x_ij are the features of the cell and of leaving its source word alone; t_ij says whether it is a link. From p come
features of the next guess, and from the last guess those of the matching: p of the cell, of the cells around it, and of
its rivals in the same row and column. So words next to linked words are linked more easily, and phrases are blocks.

The guess at a labelled pair comes from weights that were learnt without its links, as for a new pair. In the second
round this holds for the pair itself; features of the other pairs may come from a first guess that knew them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from threadpoolctl import threadpool_limits

from casimir.scores import FloatArray
from casimir.tasks.align.bitext import Links
from casimir.tasks.align.features import best_other
from casimir.tasks.arrays import checked_array

Tables = Sequence[FloatArray]
Weights = Mapping[str, FloatArray]  # kind of links -> v

PREFIX = "guess"
_ROUNDS = 2
_FOLDS = 4
_STEPS = 60  # of L-BFGS; more change the error rates little
_FAR = 8.0  # log-odds beyond these are as good as certain
_MANY = 4.0  # expected links of a word; more are not told apart


@dataclass(frozen=True, eq=False)
class LinkGuess:
    """rounds  for each guess v of "sure" links, and of "possible" ones where some are not sure"""

    rounds: Sequence[Weights]

    @classmethod
    def learned(cls, tables: Tables, links: Sequence[Links]) -> tuple[LinkGuess, list[FloatArray]]:
        """From float64[m, n + 1, d], the features of the cells of every pair; also the new features of these pairs."""
        kinds = ["sure", "possible"] if any(len(p.sure) < len(p.possible) for p in links) else ["sure"]
        rounds, seen, found = [], tables, list(tables)
        for _ in range(_ROUNDS):
            with threadpool_limits(1):  # products with so few columns are no work for two, who wait for each other
                rounds.append(_weights(kinds, seen, links, seen[0].shape[2]))
                found = _without_own(kinds, seen, links)
            seen = [np.concatenate(pair, axis=2) for pair in zip(tables, found, strict=True)]
        return cls(rounds), [around.reshape(-1, around.shape[2]) for around in found]

    def features(self, table: FloatArray) -> FloatArray:
        """float64[m (n + 1), k] of a new pair, row after row; 0 for leaving a word alone."""
        seen = around = table
        for weights in self.rounds:
            around = _features(seen, weights)
            seen = np.concatenate([table, around], axis=2)
        return around.reshape(-1, around.shape[2])

    def kinds(self) -> list[str]:
        return list(self.rounds[0])

    def names(self) -> list[str]:
        """What the columns mean."""
        return _names(self.kinds())

    def to_arrays(self) -> dict[str, np.ndarray]:
        return {f"{PREFIX}{r}.{kind}": v for r, weights in enumerate(self.rounds) for kind, v in weights.items()}

    @classmethod
    def from_arrays(cls, kinds: Sequence[str], arrays: Mapping[str, np.ndarray], d: int) -> LinkGuess:
        """What `to_arrays` gave for pairs with d features; a ValueError when an array is missing or of another size."""
        sizes = [d] + [d + len(_names(kinds))] * (_ROUNDS - 1)
        return cls(
            [{k: checked_array(arrays, f"{PREFIX}{r}.{k}", (size,)) for k in kinds} for r, size in enumerate(sizes)]
        )


def _weights(kinds: Sequence[str], tables: Tables, links: Sequence[Links], d: int) -> Weights:
    """v of every kind; 0 from no pairs."""
    cells = np.concatenate([np.zeros((0, d)), *(_cells(table).reshape(-1, d) for table in tables)])
    pairs = list(zip(tables, links, strict=True))
    targets = [np.concatenate([np.zeros(0), *(_targets(*pair, kind) for pair in pairs)]) for kind in kinds]
    return {kind: _logistic(cells, target) for kind, target in zip(kinds, targets, strict=True)}


def _without_own(kinds: Sequence[str], tables: Tables, links: Sequence[Links]) -> list[FloatArray]:
    """`_features` of labelled pairs, each by weights that were learnt on other pairs."""
    found = list(tables)
    for k in range(min(_FOLDS, len(tables))):
        others = [i for i in range(len(tables)) if i % _FOLDS != k]
        weights = _weights(kinds, [tables[i] for i in others], [links[i] for i in others], tables[0].shape[2])
        found[k::_FOLDS] = [_features(table, weights) for table in tables[k::_FOLDS]]
    return found


def _features(table: FloatArray, weights: Weights) -> FloatArray:
    """float64[m, n + 1, k]"""
    cells = _cells(table)
    columns = [column for v in weights.values() for column in _around(cells @ v).values()]
    return np.pad(np.stack(columns, axis=2), ((0, 0), (0, 1), (0, 0)))


def _names(kinds: Sequence[str]) -> list[str]:
    return [f"{PREFIX}, {kind}: {name}" for kind in kinds for name in _around(np.zeros((1, 1)))]


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
