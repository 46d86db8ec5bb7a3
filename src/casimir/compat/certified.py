"""Training by an objective: sum_i -log p(y_i | x_i) + c1 |w|_1 + c2 |w|^2, the optimum of CRFsuite's lbfgs and l2sgd.

Divided by the number n of sentences this is an objective of ours: the mean log loss, with the strengths c1 / n of
absolute values and 2 c2 / n of squares.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

from casimir._outputs import Outputs
from casimir.compat.log import TrainingLog
from casimir.compat.masks import KeptPairs
from casimir.compat.parameters import Plan
from casimir.features import PackedSequences
from casimir.losses import Log
from casimir.models.linear import LinearChainModel
from casimir.objective import Objective
from casimir.penalties import ElasticNet, Penalty, Ridge
from casimir.scores import FloatArray
from casimir.solvers import LBFGS, SDCA, DualProximal, Result, TraceRow, minimize
from casimir.solvers.base import Solver
from casimir.solvers.run import Callback
from casimir.solvers.sdca import memory_of
from casimir.structures.chain import Chain

_MEMORY = 4e9  # bytes of dual variables above which L-BFGS takes over
_LONG = 2000  # iterations where none are asked for
_LEAST_SHARE = 0.04  # of c2 in c1, below which dual steps get slow: then they only find where L-BFGS starts
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
        guess = None if c1 == 0.0 else run.guess(objective.with_penalty(_penalty(c1, _LEAST_SHARE * c1, n, strengths)))
        result = run.quasi_newton(objective, guess)
    return Trained(result.w, n * result.objective, n * result.dual, result.gap)


def _penalty(c1: float, c2: float, n: int, strengths: FloatArray) -> Penalty:
    if c1 == 0.0:
        return Ridge(2.0 * c2 / n, strengths=strengths)
    return ElasticNet((c1 + 2.0 * c2) / n, c1 / (c1 + 2.0 * c2), strengths=strengths)


class _Run:
    """Runs of solvers, one after another, that share a number of iterations and a log."""

    def __init__(self, plan: Plan, log: TrainingLog, n: int) -> None:
        self._limit, self._tol, self._log, self._n = plan["max_iterations"], plan["delta"], log, n
        self._done = 0

    def certified(self, objective: Objective) -> Result:
        result = self._minimize(objective, _dual_steps(), self._limit or _LONG, self._tol, None, self._report)
        if result.status == "epochs" and self._limit is None:
            self._warn(result)
        return result

    def guess(self, objective: Objective) -> FloatArray:
        """Weights near the optimum: those of more squares, which dual steps find fast."""
        half = _LONG if self._limit is None else max(self._limit // 2, 1)
        return self._minimize(objective, _dual_steps(), half, _OF_GUESS, None, self._report).w

    def quasi_newton(self, objective: Objective, w0: FloatArray | None) -> Result:
        """L-BFGS, or OWL-QN, until _PERIOD iterations improve the objective by a share of delta at most."""
        values: list[float] = []

        def report(row: TraceRow, w: FloatArray) -> bool:
            self._report(row, w)
            values.append(row.objective)
            return len(values) > _PERIOD and values[-1 - _PERIOD] - values[-1] <= self._tol * values[-1]

        left = _LONG if self._limit is None else max(self._limit - self._done, 1)
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

    def _warn(self, result: Result) -> None:
        from sklearn.exceptions import ConvergenceWarning

        warnings.warn(
            f"Training ended after {self._done} iterations at a certified relative gap of {result.gap:.1e}; "
            f"delta={self._tol:.1e} was asked for. Raise c2 or delta, or give max_iterations.",
            ConvergenceWarning,
            stacklevel=5,
        )


def _dual_steps() -> DualProximal:
    return DualProximal(SDCA(memory=_MEMORY))
