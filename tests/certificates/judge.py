"""The judge: min F of a listed problem by an interior point method (CVXPY, Clarabel), and F by its formula.

f_i(w) = max^mu_k { ell_ik + <a_ik, w> }, with

hinge    max_k z_k
entropy  mu log sum_k exp(z_k / mu)
l2       min_t t + sum_k (z_k - t)_+^2 / (2 mu) + mu / 2
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from certificates.listing import Lists
from scipy.special import logsumexp

import casimir as cs
from casimir.scores import FloatArray
from casimir.testing import l2_max

_TOLERANCES = (1e-10, 1e-9, 1e-8)  # the first that Clarabel reaches


@dataclass(frozen=True, eq=False)
class Judged:
    """A listed problem: the outputs, the loss and the penalty, which is read off its public numbers.

    shares  float64[n]: p_i
    """

    lists: Lists
    loss: Any
    penalty: Any
    shares: FloatArray

    @classmethod
    def of(cls, lists: Lists, loss: Any, penalty: Any, sample_weight: Any = None) -> Judged:
        weights = np.ones(len(lists)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        return cls(lists, loss, penalty, weights / weights.sum())

    @property
    def n_params(self) -> int:
        return int(self.lists[0][0].shape[1])

    def value(self, w: FloatArray) -> float:
        """F(w), infinite where the penalty forbids w."""
        if np.any(w[self._fixed] != 0.0) or np.any(w[self._nonnegative] < 0.0):
            return np.inf
        losses = [_value(ell + A @ w, self.loss) for A, ell in self.lists]
        s = self._strengths
        return float(self.shares @ losses + s @ (self.penalty.l1 * np.abs(w) + 0.5 * self.penalty.l2 * w * w))

    def optimum(self, solver: str = "CLARABEL", **options: Any) -> float:
        """min F: that of the solver, checked against F at the w it found."""
        w = cp.Variable(self.n_params)
        terms: list[Any] = []
        constraints: list[Any] = [w[self._fixed] == 0.0, w[self._nonnegative] >= 0.0]
        for (A, ell), share in zip(self.lists, self.shares, strict=True):
            if share > 0.0:
                terms.append(share * _expression(ell + A @ w, self.loss))
        s, l1, l2 = self._strengths, self.penalty.l1, self.penalty.l2
        if l1 > 0.0:
            terms.append(l1 * s @ cp.abs(w))
        if l2 > 0.0:
            terms.append(0.5 * l2 * cp.sum_squares(cp.multiply(np.sqrt(s), w)))
        problem = cp.Problem(cp.Minimize(sum(terms)), constraints)
        _solve(problem, solver, options)
        found = np.where(self._nonnegative, np.maximum(w.value, 0.0), np.where(self._fixed, 0.0, w.value))
        upper = self.value(found)
        assert abs(upper - problem.value) <= 2e-8 * max(1.0, abs(upper)), (upper, problem.value, problem.status)
        return min(upper, float(problem.value))

    @property
    def _fixed(self) -> Any:
        s = self.penalty.strengths
        return np.zeros(self.n_params, dtype=bool) if s is None else np.isinf(s)

    @property
    def _nonnegative(self) -> Any:
        mask = self.penalty.nonnegative
        return np.zeros(self.n_params, dtype=bool) if mask is None else mask

    @property
    def _strengths(self) -> FloatArray:
        s = self.penalty.strengths
        return np.ones(self.n_params) if s is None else np.where(np.isinf(s), 0.0, s)


def _solve(problem: Any, solver: str, options: dict[str, Any]) -> None:
    for tol in _TOLERANCES:
        tight = {"tol_gap_abs": tol, "tol_gap_rel": tol, "tol_feas": tol} if solver == "CLARABEL" else options
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Solution may be inaccurate|invalid value encountered in matmul")
            problem.solve(solver=solver, **tight)
        if problem.status == "optimal":
            return
    raise AssertionError(f"{solver} ended with {problem.status}.")


def _value(z: FloatArray, loss: Any) -> float:
    if loss.mu == 0.0:
        return float(z.max())
    if isinstance(loss.smoothing, cs.Entropy):
        return float(loss.mu * logsumexp(z / loss.mu))
    return l2_max(z, loss.mu)[0]


def _expression(z: Any, loss: Any) -> Any:
    if loss.mu == 0.0:
        return cp.max(z)
    if isinstance(loss.smoothing, cs.Entropy):
        return loss.mu * cp.log_sum_exp(z / loss.mu)
    t = cp.Variable()
    return t + cp.sum_squares(cp.pos(z - t)) / (2.0 * loss.mu) + 0.5 * loss.mu
