"""Sentence pairs as a training problem: features and links, in the parts of their fertility."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from casimir.models import LinearPartsModel
from casimir.objective import Objective
from casimir.scores import FloatArray, IntArray
from casimir.structures.matching import Matching
from casimir.tasks.align.bitext import Links
from casimir.tasks.align.cost import LinkCost
from casimir.tasks.align.fertility import Deal


@dataclass(frozen=True, eq=False)
class Examples:
    """matrices   float64[m (n + 1), d] of every pair: the features of its cells
    shapes     (m, n + 1) of every pair
    fertility  links that a word may have
    """

    matrices: Sequence[FloatArray]
    shapes: Sequence[tuple[int, int]]
    fertility: int

    def select(self, pairs: Sequence[int]) -> Examples:
        return Examples([self.matrices[i] for i in pairs], [self.shapes[i] for i in pairs], self.fertility)

    @cached_property
    def deal(self) -> Deal:
        return Deal(self.shapes, self.fertility)

    @property
    def parts_per_pair(self) -> float:
        return len(self.deal.parts) / len(self.shapes)

    @cached_property
    def model(self) -> LinearPartsModel:
        cells = [matrix.astype(np.float32) for matrix in self.deal.matrices(self.matrices)]  # half the memory to read
        return LinearPartsModel(cells, shapes=self.deal.shapes)

    def align(self, w: FloatArray) -> list[IntArray]:
        """int64[k_i, 2]: the best links of every pair."""
        return self.deal.joined(Matching(null=True).max(self.model.scores(w)).outputs)

    def objective(self, links: Sequence[Links], wrong: float, missed: float, lam: float) -> Objective:
        """F(w) = 1/n sum_pairs hinge + lam/2 ||w||^2, divided by the number of parts per pair.

        The hinge loss of a pair is the sum of those of its parts, since scores and costs are: parts are the examples.
        """
        cost = LinkCost(self.deal.links(links), self.deal.shapes, wrong, missed)
        return Objective(self.model, Matching(null=True), cost, cost.targets(), lam / self.parts_per_pair)
