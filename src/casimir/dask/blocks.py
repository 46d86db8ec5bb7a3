"""Dual blocks of one piece, as a part of those of all pieces."""

from __future__ import annotations

from typing import Any

import numpy as np

from casimir.dask.objective import SpreadObjective
from casimir.objective import Objective
from casimir.penalties import Ridge
from casimir.problems import DualIterate
from casimir.scores import FloatArray, IntArray, ragged_rows
from casimir.smoothing import Hard


class PieceBlocks:
    """Those of an objective that is a share P of the whole one; steps move w as if all blocks were here.

    A step changes w by (p_i / sigma) A_i^T d with p_i = P q_i, q_i the share of example i in the piece. So sigma / P
    takes the place of sigma here, and gaps and ell count P times.
    """

    def __init__(self, objective: Objective, share: float) -> None:
        problem: Any = objective.term.fused
        self.objective, self.share = objective, share
        self.blocks: Any = problem.dual_blocks()
        core = problem.core
        ends = [core.output_offset(i) for i in range(problem.n_examples + 1)]
        self.output_offsets: IntArray = np.array(ends, dtype=np.int64)

    @property
    def ell(self) -> float:
        """Its part of sum_i p_i <alpha_i, ell_i>."""
        return self.share * float(self.blocks.ell)

    def exact(self, order: IntArray, steps: int, skip_below: float, sigma: float, w: FloatArray) -> tuple[float, int]:
        """Its part of the mean block gap, and the oracle calls."""
        found = self.blocks.exact_pass(order, True, steps, skip_below, self._iterate(sigma, w))
        return self.share * float(found.gap), int(found.oracle_calls)

    def answered(self, order: IntArray, labels: np.ndarray, steps: int, sigma: float, w: FloatArray) -> float:
        """The same on answers from elsewhere, those of all examples of the piece by their numbers."""
        rows, _ = ragged_rows(self.output_offsets, order)
        return self.share * float(
            self.blocks.answered_pass(order, labels[rows].astype(np.int32), steps, self._iterate(sigma, w))
        )

    def cached(self, order: IntArray, steps: int, skip_below: float, sigma: float, w: FloatArray) -> float:
        """Its part of the mean block gap, after steps between outputs that are known."""
        return self.share * float(self.blocks.cached_pass(order, steps, skip_below, self._iterate(sigma, w)))

    def _iterate(self, sigma: float, w: FloatArray) -> DualIterate:
        return DualIterate(Ridge(sigma / self.share), w, None)


def check_dual(objective: SpreadObjective, solver: str) -> None:
    """A TypeError that names the solver, unless there are dual blocks of native problems under a plain square."""
    square = objective.penalty.quadratic
    if not isinstance(objective.loss.smoothing, Hard):
        raise TypeError(f"{solver} is for Hinge(cost); {type(objective.loss).__name__} is smooth. Use LBFGS().")
    if square is None or square.center is not None or not square.sigma > 0.0:
        raise TypeError(f"{solver} needs Ridge(lam), not {type(objective.penalty).__name__}. Use LBFGS().")
    if not all(one.native for one in objective.crew.facts):
        raise TypeError(f"{solver} needs a model and a structure that the compiled core knows. Use LBFGS().")
