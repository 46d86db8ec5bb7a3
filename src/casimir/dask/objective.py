"""F over pieces on many workers: an objective that solvers of full passes take like any other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import process_time
from typing import Any, NoReturn

import numpy as np

from casimir.dask import work
from casimir.dask.crew import Team
from casimir.dask.pieces import Piece
from casimir.duality import DualPoint
from casimir.losses import Loss, as_loss
from casimir.objective import Clock, Counts, Evaluation, Objective
from casimir.penalties import as_penalty
from casimir.scores import FloatArray
from casimir.smoothing import Hard, Smoothing
from casimir.solvers.at_zero import Scale


class SpreadObjective(Objective):
    """F(w) = sum_i s_i f_i(w) / sum_i s_i + R(w), the examples i on workers.

    A full pass is one round: w goes to every worker, one vector comes back from each, summed by the numbers of the
    pieces. Single examples are never seen here, so that solvers which step from one to the next are refused.
    """

    def __init__(self, crew: Team, loss: Any, penalty: Any, whole: Callable[[], Sequence[Piece]] | None = None) -> None:
        """whole: all pieces, where the client has them as well, for solvers that need them there."""
        self.crew, self.whole = crew, whole
        self.n_examples, self.n_active, self.n_params = crew.n_examples, crew.n_active, crew.n_params
        self.loss: Loss = as_loss(loss)
        self.penalty = as_penalty(penalty, crew.n_params)
        self.model: Any = tuple(one.digest for one in crew.facts)  # which is what a checkpoint is compared by
        self.structure: Any = None
        self.native, self.offset, self.n_threads, self.y, self.sample_weight = True, None, None, (), None
        self.examples, self._shares = np.arange(crew.n_active), None
        self.counts, self.clock = Counts(), Clock()
        self.known_of_losses: dict[str, Any] = {}
        self.constant, self.sets = 0.0, None

    @property
    def is_native(self) -> bool:
        return True

    @property
    def is_convex(self) -> bool:
        return True

    def evaluate(
        self,
        w: FloatArray,
        loss: Loss | None = None,
        *,
        gradient: bool = True,
        keep: bool = False,
        count: str | None = None,
    ) -> Evaluation:
        """One full pass, one round."""
        if keep:
            self._refuse()
        kind, began = count or ("full_gradients" if gradient else "evaluations"), process_time()
        smoothed = None if loss is None or loss is self.loss else loss
        name = "casimir-gradient" if gradient else "casimir-value"
        found = self.crew.total(name, work.evaluate, w, smoothed, gradient)
        self.count(kind, self.n_active)
        if kind == "evaluations":
            self.clock.evaluations += process_time() - began
        penalty = self.penalty.value(w)
        g = None if found.gradient is None else found.gradient.vector()
        return Evaluation(
            None if found.objective is None else found.objective + penalty,
            found.smoothed + penalty,
            g,
            None if g is None else DualPoint(g, found.ell),
            found.exact / self.n_active,
            None,
        )

    def log_n_outputs(self) -> float:
        shares = self.crew.shares
        return float(sum(p * one.log_n_outputs for p, one in zip(shares, self.crew.facts, strict=True)))

    def scale_at_zero(self, most: int) -> Scale:
        """The means over all pieces."""
        loss = sum(p * one.at_zero.loss for p, one in zip(self.crew.shares, self.crew.facts, strict=True))
        square = sum(p * one.at_zero.square for p, one in zip(self.crew.shares, self.crew.facts, strict=True))
        return Scale(loss / square if square > 0.0 < loss else 1.0, loss, square)

    def curvature_at_zero(self, most: int) -> None:
        """The models are on the workers."""
        return None

    def problem(self, smoothing: Smoothing) -> NoReturn:
        self._refuse()

    def dual_blocks(self) -> NoReturn:
        self._refuse()

    def potential_blocks(self, eta: float | None = None) -> NoReturn:
        self._refuse()

    def linearize(self, w: FloatArray, examples: Any = None) -> NoReturn:
        self._refuse()

    def _refuse(self) -> NoReturn:
        more = "Central(), Sharded(), " if isinstance(self.loss.smoothing, Hard) else ""
        raise TypeError(
            "The examples lie on many workers, and this solver steps from one example to the next. Use "
            f"{more}LBFGS() or Casimir(inner=LBFGS())."
        )
