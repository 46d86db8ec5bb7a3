"""Cutting planes: the mean loss is replaced by the best of the planes that lie below it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from casimir._arrays import dot
from casimir._validate import positive_int
from casimir.duality import DualPoint
from casimir.objective import Objective
from casimir.penalties import Penalty, require
from casimir.scores import FloatArray
from casimir.solvers.base import Monitor
from casimir.solvers.simplex_program import check_clarabel, simplex_maximum

_IDLE = 20  # solutions without a weight after which a plane goes
_NO_WEIGHT = 1e-9
_ROUNDS = 50  # of Newton's method; under squares alone one is enough
_SHARE = 1e-3  # of F - D: how exactly the model is minimised
_ROUNDING = 1e-12  # relative to the planes' values: more exactly is not possible
_SHORTEST = 1e-6  # step of Newton's method


@dataclass(frozen=True)
class CuttingPlanes:
    """w_t = argmin_w R(w) + max_k { ell_k + <g_k, w> },  loss(w) >= ell_k + <g_k, w> with equality at the k-th point.

    1-slack cutting planes (Joachims et al., 2009), which are BMRM (Teo et al., 2009): a full pass gives the plane of
    the mean loss at a point. The planes, and 0, which no loss is below, are a model of the loss. The minimum of model
    and penalty is a lower bound of F, found in the dual, max_a sum_k a_k ell_k - R*(-sum_k a_k g_k) over the simplex: a
    quadratic program where R is a square, a few of them else. Takes every convex loss.

    step    the next plane is taken at w_best + step (w_t - w_best). 1 is the algorithm as cited; less is far faster at
            the same price (Franc and Sonnenburg, 2009, search that segment, which costs passes here)
    planes  at most so many are kept. Those without weight go, at the latest after 20 solutions; where all have weight,
            the two lightest are replaced by their mean. The present solution stays, so D never falls

    Where F - D is E, either the best F falls by step E / 2, or the new plane lies E / 2 or more above the model at w_t,
    which raises D by min(E / 4, lam E^2 / (32 R^2)): the rate of BMRM, whatever the step.
    """

    step: float = 0.1
    planes: int = 100

    def __post_init__(self) -> None:
        if not 0.0 < self.step <= 1.0:
            raise ValueError(f"step={self.step}; it must be above 0 and at most 1.")
        if positive_int(self.planes, "planes") < 3:
            raise ValueError(f"planes={self.planes}; it must be at least 3.")

    def run(self, objective: Objective, w0: FloatArray, monitor: Monitor, rng: np.random.Generator) -> None:
        check_clarabel()
        objective.check_convex("CuttingPlanes")
        require(objective.penalty, "CuttingPlanes", strongly_convex=True, separable=True)
        model = Model(objective.penalty, objective.trivial_dual(), self.planes)
        w, best_w, best = w0, w0, np.inf
        if monitor.resumed is not None:
            w, best_w, best, of_model = monitor.resumed
            vars(model).update(of_model)
        while True:
            monitor.rest((w, best_w, best, model))
            here = objective.evaluate(w)
            assert here.objective is not None
            assert here.dual is not None
            if here.objective < best:
                best, best_w = here.objective, w
            model.add(here.dual, best)
            if monitor.epoch(w, objective=here.objective, dual=model.lowest):
                return
            w = best_w + self.step * (model.w - best_w)


class Model:
    """R(w) + max_k { ell_k + <g_k, w> }, and where it is minimal.

    weights  float64[m]: the solution of its dual
    lowest   the point of the dual that they give
    w        the minimiser
    """

    def __init__(self, penalty: Penalty, plane: DualPoint, most: int) -> None:
        self._penalty, self._most = penalty, most
        self._planes, self.weights, self._idle = [plane], np.ones(1), np.zeros(1, dtype=np.int64)
        self._gram, self._slope = np.zeros((0, 0)), np.zeros(0)
        self.lowest, self.w = plane, penalty.primal(-plane.g)

    def __len__(self) -> int:
        return len(self._planes)

    def state(self) -> Any:
        names = ("_planes", "weights", "_idle", "_gram", "_slope", "lowest", "w")
        return {name: getattr(self, name) for name in names}

    def add(self, plane: DualPoint, best: float) -> None:
        """One more plane, and the new minimum; `best` is the lowest F known."""
        self._append(plane, 0.0)
        self._minimise(best)
        self._idle = np.where(self.weights > _NO_WEIGHT, 0, self._idle + 1)
        self._keep(np.flatnonzero(self._idle < _IDLE))
        while len(self) > self._most:
            self._drop_one()

    def values(self) -> FloatArray:
        """float64[m]: ell_k + <g_k, w> at the minimiser, w = z - h sum_k a_k g_k where R is a square around z."""
        quadratic = self._penalty.quadratic
        if quadratic is None:
            return np.array([plane.ell + dot(plane.g, self.w) for plane in self._planes])
        ell = np.array([plane.ell for plane in self._planes])
        if quadratic.center is not None:
            ell += [dot(plane.g, quadratic.center) for plane in self._planes]
        return np.asarray(ell - self._curvature() @ self.weights, dtype=np.float64)

    def _minimise(self, best: float) -> None:
        """Newton's method in the dual, whose slopes are the planes' values at w; every round a quadratic program."""
        for _ in range(_ROUNDS):
            values = self.values()
            excess, dual = float(values.max() - self.weights @ values), self.lowest.value(self._penalty)
            if excess <= max(_SHARE * (best - dual), _ROUNDING * float(np.abs(values).max())):
                return
            H = self._curvature()
            target = simplex_maximum(H, values + H @ self.weights)
            if not self._move(target, dual, float(values @ (target - self.weights))):
                return

    def _move(self, target: FloatArray, dual: float, slope: float) -> bool:
        """Towards the target until D has risen enough (Armijo); False where it does not rise."""
        t = 1.0
        while t > _SHORTEST:
            weights = self.weights + t * (target - self.weights)
            point = self._mixed(weights)
            if point.value(self._penalty) > dual + 0.1 * t * slope:
                self.weights, self.lowest, self.w = weights, point, self._penalty.primal(-point.g)
                return True
            t *= 0.5
        return False

    def _mixed(self, weights: FloatArray) -> DualPoint:
        """The mean of the planes with these weights."""
        g = np.zeros_like(self.w)
        for weight, plane in zip(weights.tolist(), self._planes, strict=True):
            if weight > 0.0:
                g += weight * plane.g
        return DualPoint(g, sum(a * plane.ell for a, plane in zip(weights.tolist(), self._planes, strict=True)))

    def _curvature(self) -> FloatArray:
        """float64[m, m]: <g_j, h g_k>, h the slope of R*'s gradient; kept while h stays the same."""
        penalty: Any = self._penalty  # whose `separable` is asked for only where it is no plain square
        square = penalty.quadratic
        slope = penalty.separable.primal_slope(-self.lowest.g) if square is None else np.array(1.0 / square.sigma)
        if not np.array_equal(slope, self._slope):
            self._gram, self._slope = np.zeros((0, 0)), slope
        for k in range(len(self._gram), len(self)):
            scaled = slope * self._planes[k].g
            row = np.array([[dot(scaled, plane.g) for plane in self._planes[: k + 1]]])
            self._gram = np.block([[self._gram, row[:, :-1].T], [row]])
        return self._gram

    def _append(self, plane: DualPoint, weight: float) -> None:
        self._planes = [*self._planes, plane]
        self.weights, self._idle = np.append(self.weights, weight), np.append(self._idle, 0)

    def _keep(self, chosen: np.ndarray) -> None:
        self._planes, self._idle = [self._planes[k] for k in chosen], self._idle[chosen]
        self.weights = self.weights[chosen] / self.weights[chosen].sum()
        known = chosen[chosen < len(self._gram)]
        self._gram = self._gram[np.ix_(known, known)]

    def _drop_one(self) -> None:
        """The plane without weight for the longest, or the two lightest for their mean."""
        order = np.argsort(self.weights, kind="stable")
        if self._idle.max() > 0:
            self._keep(np.delete(np.arange(len(self)), int(self._idle.argmax())))
            return
        a, b = int(order[0]), int(order[1])
        total = float(self.weights[a] + self.weights[b])
        mean = self._planes[a].mixed(self._planes[b], float(self.weights[b]) / total)
        self._keep(np.delete(np.arange(len(self)), [a, b]))
        self.weights *= 1.0 - total
        self._append(mean, total)
