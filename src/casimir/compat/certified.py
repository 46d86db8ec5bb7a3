"""Training by an objective: sum_i -log p(y_i | x_i) + c1 |w|_1 + c2 |w|^2, the optimum of CRFsuite's lbfgs and l2sgd.

Divided by the number n of sentences this is an objective of ours: the mean log loss, with the strengths c1 / n of
absolute values and 2 c2 / n of squares.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from casimir._outputs import Outputs
from casimir.compat.log import TrainingLog
from casimir.compat.masks import KeptPairs
from casimir.compat.parameters import Plan
from casimir.duality import relative_gap
from casimir.features import PackedSequences
from casimir.losses import Log
from casimir.models.linear import LinearChainModel
from casimir.objective import Objective
from casimir.penalties import ElasticNet, Ridge
from casimir.scores import FloatArray
from casimir.solvers import LBFGS, SDCA, DualProximal, Result, TraceRow, minimize
from casimir.solvers.base import Solver
from casimir.solvers.proximal_kappa import Conditioning, smooth_kappa
from casimir.solvers.run import Callback
from casimir.solvers.sdca import memory_of
from casimir.structures.chain import Chain

_MEMORY = 4e9  # bytes of dual variables above which L-BFGS takes over
_LONG = 300  # iterations of dual steps where none are asked for; L-BFGS goes on where they were not enough,
_VERY_LONG = 10_000  # with as many of its own
_LEAST_SHARE = 0.02  # of c2 in c1, below which dual steps get slow: then they only find where L-BFGS starts
_OF_GUESS = 1e-3  # gap of what L-BFGS starts from
_PERIOD = 10  # iterations over which L-BFGS has to improve the objective by a share of delta, as CRFsuite's


class Trained(NamedTuple):
    """Weights, and how far they may be from the optimum; None where the algorithm has no objective."""

    w: FloatArray
    objective: float | None = None
    dual: float | None = None
    gap: float | None = None


def train(X: PackedSequences, y: Outputs, kept: KeptPairs, plan: Plan, log: TrainingLog) -> Trained:
    """The weights of least objective, up to a share of delta."""
    n, c1, c2 = len(X), plan.values.get("c1", 0.0), plan["c2"]
    model, chain = LinearChainModel(X, len(kept.transitions)), Chain(len(kept.transitions))
    strengths = kept.strengths()
    objective = Objective(model, chain, Log(), y, _penalty(c1, c2, n, strengths))
    run = _Run(plan, log, n)
    if memory_of(objective) > _MEMORY:
        result = run.quasi_newton(objective, None)
    elif c2 > 0.0 and c2 >= _LEAST_SHARE * c1:
        result = run.certified(objective)
    else:
        near = None if c1 == 0.0 else objective.with_penalty(_penalty(c1, _LEAST_SHARE * c1, n, strengths))
        result = run.quasi_newton(objective, None if near is None else run.guess(near))
    return Trained(result.w, n * result.objective, n * result.dual, result.gap)


def _penalty(c1: float, c2: float, n: int, strengths: FloatArray) -> Ridge | ElasticNet:
    if c1 == 0.0:
        return Ridge(2.0 * c2 / n, strengths=strengths)
    return ElasticNet((c1 + 2.0 * c2) / n, c1 / (c1 + 2.0 * c2), strengths=strengths)


class _Run:
    """Runs of solvers, one after another, that share a number of iterations and a log."""

    def __init__(self, plan: Plan, log: TrainingLog, n: int) -> None:
        self._limit, self._tol, self._log, self._n = plan["max_iterations"], plan["delta"], log, n
        self._done = 0

    def certified(self, objective: Objective) -> Result:
        result = self._minimize(objective, _dual_steps(objective), self._limit or _LONG, self._tol, None, self._report)
        if result.converged or self._limit is not None:
            return result
        return _with_bound(self.quasi_newton(objective, result.w), result.dual)

    def guess(self, objective: Objective) -> FloatArray:
        """Weights near the optimum: those of more squares, which dual steps find fast."""
        half = _LONG if self._limit is None else max(self._limit // 2, 1)
        return self._minimize(objective, _dual_steps(objective), half, _OF_GUESS, None, self._report).w

    def quasi_newton(self, objective: Objective, w0: FloatArray | None) -> Result:
        """L-BFGS, or OWL-QN, until _PERIOD iterations improve the objective by a share of delta at most."""
        values: list[float] = []

        def report(row: TraceRow, w: FloatArray) -> bool:
            self._report(row, w)
            values.append(row.objective)
            return len(values) > _PERIOD and values[-1 - _PERIOD] - values[-1] <= self._tol * values[-1]

        left = _VERY_LONG if self._limit is None else max(self._limit - self._done, 1)
        return self._minimize(objective, LBFGS(), left, 0.0, w0, report)

    def _minimize(
        self, objective: Objective, solver: Solver, epochs: int, tol: float, w0: FloatArray | None, report: Callback
    ) -> Result:
        before = self._done
        result = minimize(objective, solver, epochs, tol, 0, [report], w0=w0)
        self._done = before + result.trace[-1].epoch
        return result

    def _report(self, row: TraceRow, w: FloatArray) -> bool:
        self._log.add(self._done + row.epoch, self._n * row.objective, w, gap=row.gap)
        return False


def _dual_steps(objective: Objective) -> DualProximal:
    """With absolute values kappa stays as it begins: to follow the gap makes such runs wander."""
    own: Any = objective.penalty
    kappa = None if own.l1 == 0.0 else smooth_kappa(Conditioning.of(objective))
    return DualProximal(SDCA(memory=_MEMORY), kappa=kappa)


def _with_bound(result: Result, dual: float) -> Result:
    """The result with another lower bound of the same objective, where it is the better one."""
    best = max(dual, result.dual)
    return replace(result, dual=best, gap=relative_gap(result.objective, best))
