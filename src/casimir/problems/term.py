"""One sum of smoothed maxima: fused in the core where it can be, composed where it cannot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from casimir._threads import n_threads as default_threads
from casimir.costs import Cost
from casimir.models.base import ScoreModel, is_linear
from casimir.models.sharded import ShardedChainModel
from casimir.problems.base import Problem, Truth
from casimir.problems.combination import Combination
from casimir.problems.composed import ComposedProblem
from casimir.problems.core_problems import core_problem
from casimir.problems.fused import FusedProblem
from casimir.problems.parts import at_once_of, oracles_at_once
from casimir.problems.sharded import sharded_problem
from casimir.scores import FloatArray, IntArray, Scores
from casimir.smoothing import Smoothing
from casimir.structures.base import Structure


@dataclass(frozen=True, eq=False)
class Term:
    """sum_i p_i max^mu_y { score_i(y; w) + cost_i(y) }, less the scores of the truth where there is one.

    y       what the cost is measured from: outputs, or masks of those that may be true
    truth   whose scores are subtracted
    scales  float64[n]: how much each example counts; None: all 1
    """

    model: ScoreModel
    structure: Structure
    cost: Cost | None
    y: Sequence[Any]
    truth: Truth
    offset: Scores | None = None
    scales: FloatArray | None = None
    native: bool = True
    threads: int | None = field(default=None)

    @cached_property
    def fused(self) -> FusedProblem | None:
        if not self.native:
            return None
        if isinstance(self.model, ShardedChainModel):
            return sharded_problem(self.model, self.structure, self.cost, self.truth, self._threads, self.scales)
        problem = core_problem(self.model, Combination(self.structure, self.cost, self.y, self.truth, self.offset))
        if problem is None:
            return None
        at_once = oracles_at_once(self.model, self.structure, self.model.n_examples)
        return FusedProblem(problem, self._threads, self.scales, at_once)

    @property
    def _threads(self) -> int:
        return self.threads or default_threads()

    @cached_property
    def composed(self) -> ComposedProblem:
        """With native=False it goes the native way step by step; else dual passes ask a few oracles at once."""
        parts = self.model, self.structure, self.cost, self.y, self.offset, self.scales
        n = self.model.n_examples
        at_once = at_once_of(n) if self.native else oracles_at_once(self.model, self.structure, n)
        return ComposedProblem(*parts, truth=self.truth, at_once=at_once)

    @property
    def is_linear(self) -> bool:
        return is_linear(self.model)

    def problem(self, smoothing: Smoothing) -> Problem:
        """The one that runs passes with this smoothing."""
        if self.fused is not None and self.fused.runs(smoothing):
            return self.fused
        return self.composed

    def best_outputs(self, w: FloatArray) -> list[IntArray]:
        """argmax_y score_i(y; w) + cost_i(y) of every example."""
        if self.fused is not None:
            return self.fused.decode(w)
        return self.structure.max(self.composed.augmented(w, None)).outputs

    def with_truth(self, truth: Truth) -> Term:
        return replace(self, truth=truth)
