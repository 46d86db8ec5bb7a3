"""Which of several tuning runs is best (Sec. 7.3, "Tuning Criteria")."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


class Rule(Protocol):
    """Chooses among tuning runs."""

    def best(self, found: Sequence[Mapping[str, float]]) -> int:
        """The place of the best run; every run has "objective" and its metrics, an infinite objective where it failed.

        Ties go to the first.
        """
        ...


@dataclass(frozen=True)
class LowestObjective:
    """The lowest objective within the budget: the paper's rule for localization."""

    def best(self, found: Sequence[Mapping[str, float]]) -> int:
        return min(range(len(found)), key=lambda k: found[k]["objective"])


@dataclass(frozen=True)
class LowestObjectiveNearBest:
    """The lowest objective among the runs whose `metric` is at most `within` below the best one.

    The paper's rule for named entities: "the best objective function value within 1% of the best validation F1 score".
    """

    metric: str = "f1"
    within: float = 0.01

    def best(self, found: Sequence[Mapping[str, float]]) -> int:
        finite = [k for k, one in enumerate(found) if math.isfinite(one["objective"])]
        if not finite:
            return 0
        top = max(found[k][self.metric] for k in finite)
        near = [k for k in finite if found[k][self.metric] >= top - self.within]
        return min(near, key=lambda k: found[k]["objective"])
