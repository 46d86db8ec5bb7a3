"""L-BFGS on a smoothed objective or on a smooth loss; OWL-QN where the penalty is not a plain square."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from casimir._validate import positive_float, positive_int
from casimir.losses import Loss, smoothed
from casimir.objective import Evaluation, Objective
from casimir.penalties import require
from casimir.scores import FloatArray
from casimir.smoothing import Entropy, Smoothing
from casimir.solvers.base import InnerState, Monitor
from casimir.solvers.metric import MetricMemory, useful_metric
from casimir.solvers.orthantwise import Memory, QuasiNewton
from casimir.solvers.smoothness import level_of


@dataclass(frozen=True)
class LBFGS:
    """Quasi-Newton steps on F_mu; an epoch is one iteration (one full pass or a few).

    With absolute values or masks in the penalty it is OWL-QN (Andrew & Gao, 2007): steps stay in one orthant, and
    weights that would leave it become 0.

    smoothing, mu  as for SVRG, but entropy by default: the top-K strategy is not exact everywhere, and there a line
                   search may fail. A smooth loss, such as a CRF's, takes neither
    memory         pairs of steps and gradient changes that are kept
    metric         whether steps are taken in coordinates in which F is round at w = 0, where the model can tell them
                   and they help: a `LinearClassModel` of dense features under a plain square, whose classes cannot be
                   told apart well. Correlated features then take a few iterations where they take hundreds without
    """

    smoothing: Smoothing = Entropy()
    mu: float | None = None
    memory: int = 10
    metric: bool = True

    def __post_init__(self) -> None:
        positive_int(self.memory, "memory")
        if self.mu is not None:
            positive_float(self.mu, "mu")

    def run(self, objective: Objective, w0: FloatArray, monitor: Monitor, rng: np.random.Generator) -> None:
        require(objective.penalty, "LBFGS", separable=True)
        mu = level_of(objective, self.smoothing, self.mu, monitor.tol, "LBFGS")
        loss = smoothed(objective.loss, self.smoothing, mu)
        reporter = _Reporter(objective, loss, monitor)
        if monitor.resumed is None:
            state = self.start(objective, loss, w0, rng, None)
        else:
            state, reporter.dual = monitor.resumed
        while True:
            monitor.rest((state, reporter.dual))
            new = self.epoch(objective, loss, state, rng)
            if reporter.report(new.w, new.evaluation) or new.w is state.w:
                return
            state = new

    def start(
        self, objective: Objective, loss: Loss, w: FloatArray, rng: np.random.Generator, before: InnerState | None
    ) -> InnerState:
        """The pairs of the last subproblem describe the same losses, and are kept."""
        require(objective.penalty, "LBFGS", separable=True)
        evaluation = objective.evaluate(w, loss)
        if before is None:
            metric = useful_metric(objective, loss, evaluation) if self.metric else None
            memory = Memory(self.memory)
            steps = (memory if metric is None else MetricMemory(memory, metric)).on(objective, loss)
        else:
            steps = before.memory.on(objective, loss)
        return InnerState(w, evaluation, memory=steps)

    def epoch(self, objective: Objective, loss: Loss, state: InnerState, rng: np.random.Generator) -> InnerState:
        """One iteration; the same state when no step improves any more."""
        steps: QuasiNewton = state.memory.on(objective, loss)
        w, evaluation = steps.iteration(state.w, state.evaluation)
        return InnerState(w, evaluation, memory=steps)


class _Reporter:
    """Reports points to the monitor, with the best dual point met so far."""

    def __init__(self, objective: Objective, loss: Loss, monitor: Monitor) -> None:
        self._objective, self._monitor = objective, monitor
        self._mu = None if loss is objective.loss else loss.mu
        self.dual = objective.trivial_dual()

    def report(self, w: FloatArray, found: Evaluation) -> bool:
        if found.dual is not None:
            self.dual = self.dual.towards(found.dual, self._objective.penalty)
        return self._monitor.epoch(w, objective=found.objective, smoothed=found.smoothed, dual=self.dual, mu=self._mu)
