"""What wrong links cost, and the matching to train towards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from casimir.costs import part_scores
from casimir.scores import FloatArray, IntArray, Scores
from casimir.structures.base import Structure
from casimir.structures.matching import Matching
from casimir.tasks.align.bitext import Links


@dataclass(frozen=True, eq=False)
class LinkCost:
    """l(y, y') = c(y') - c(y),  c(y) = wrong |A - P| + missed |S - A|, A the links of y; possible links P cost nothing.

    No matching may reach all sure links S, so what the true output y costs itself is taken off. With y from `targets`,
    which are of least cost, l >= 0.

    links   of every example
    shapes  of every example (m, n + 1); the last column is no link
    wrong   cost of a link that is not even possible
    missed  cost of a sure link that is not found
    """

    links: Sequence[Links]
    shapes: Sequence[tuple[int, int]]
    wrong: float = 1.0
    missed: float = 3.0

    def parts(self, structure: Structure, s: Scores, y: Sequence[IntArray]) -> Scores:
        if not len(self.links) == len(s) == len(y):
            raise ValueError(
                f"LinkCost has the links of {len(self.links)} examples and got {len(s)} scores and {len(y)} outputs. "
                "Take the parts of all examples first, then Scores.select a sub-batch."
            )
        return part_scores(structure, s, [self._shifted(i, true) for i, true in enumerate(y)], "LinkCost")

    def __call__(self, y_true: Any, y_pred: Any, example: int | None = None) -> float:
        if example is None and len(self.links) != 1:
            raise ValueError(
                f"LinkCost has the links of {len(self.links)} examples; say which: cost(y, y', example=i)."
            )
        table = self._shifted(example or 0, np.asarray(y_true))
        return float(table[np.arange(len(table)), y_pred].sum())

    def targets(self) -> list[IntArray]:
        """A matching of least cost per example; of these one with many possible links, preferably near the diagonal."""
        structure = Matching(null=True)
        small = 0.5 * min(c for c in (self.wrong, self.missed, 1.0) if c > 0.0)
        rewards = [_near_possible(*pair) for pair in zip(self.links, self.shapes, strict=True)]
        weights = [small * reward - self._table(i) for i, reward in enumerate(rewards)]
        return structure.max(structure.scores(weights)).outputs

    def _table(self, i: int) -> FloatArray:
        """float64[m, n + 1]: the cost of each choice of each row, c(y) = sum_v table[v, y_v].

        A row takes one of its cells, so missing its sure links is a cost of all cells, less that of the cell itself.
        """
        links, shape = self.links[i], self.shapes[i]
        table = np.full(shape, self.wrong)
        table[:, -1] = 0.0
        table[links.possible[:, 0], links.possible[:, 1]] = 0.0
        table += self.missed * np.bincount(links.sure[:, 0], minlength=shape[0])[:, None]
        table[links.sure[:, 0], links.sure[:, 1]] -= self.missed
        return table

    def _shifted(self, i: int, true: IntArray) -> FloatArray:
        table = self._table(i)
        return np.asarray(table - table[np.arange(len(table)), true][:, None])


def _near_possible(links: Links, shape: tuple[int, int]) -> FloatArray:
    """Rewards for possible links, which add up to less than 1 over a matching."""
    reward = np.zeros(shape)
    i, j = links.possible.T
    off = np.abs((i + 0.5) / shape[0] - (j + 0.5) / max(shape[1] - 1, 1))
    reward[i, j] = (1.0 - 0.5 * off) / (shape[0] + 1)
    return reward
