"""Limited-memory quasi-Newton iterations that respect absolute values and masks (OWL-QN, Andrew & Gao 2007)."""

from __future__ import annotations

from collections import deque

import numpy as np

from casimir._arrays import dot
from casimir.losses import Loss
from casimir.objective import Evaluation, Objective
from casimir.penalties import Penalty
from casimir.penalties.separable import Separable
from casimir.scores import FloatArray

_DECREASE = 1e-4  # share of the promised decrease that a step must bring
_HALVINGS = 40


class Memory:
    """The last pairs of a step s and the change y of the smooth gradient along it: H ~ the inverse Hessian."""

    def __init__(self, size: int) -> None:
        self._pairs: deque[tuple[FloatArray, FloatArray]] = deque(maxlen=size)

    def remember(self, step: FloatArray, change: FloatArray) -> None:
        """Pairs without curvature are left out, so that H stays positive definite."""
        if dot(step, change) > 1e-10 * dot(change, change) ** 0.5 * dot(step, step) ** 0.5:
            self._pairs.append((step, change))

    def times(self, gradient: FloatArray) -> FloatArray:
        """H gradient, by the two-loop recursion."""
        result, shares = gradient.copy(), []
        for step, change in reversed(self._pairs):
            shares.append(dot(step, result) / dot(step, change))
            result -= shares[-1] * change
        if self._pairs:
            step, change = self._pairs[-1]
            result *= dot(step, change) / dot(change, change)
        for (step, change), share in zip(self._pairs, reversed(shares), strict=True):
            result += (share - dot(change, result) / dot(step, change)) * step
        return result


class QuasiNewton:
    """Iterations on f_mu(w) + R(w), R separable: sum_j l1_j |w_j| + (smooth)_j, over w_j >= 0 where asked for."""

    def __init__(self, objective: Objective, loss: Loss) -> None:
        self._objective, self._loss = objective, loss
        own = _separable(objective.penalty)
        strengths = 1.0 if own.strengths is None else np.where(np.isinf(own.strengths), 0.0, own.strengths)
        d = objective.n_params
        self._l1 = np.broadcast_to(np.asarray(own.l1 * strengths, dtype=np.float64), (d,))
        self._sigma = own.l2 * strengths + own.kappa
        self._pull = 0.0 if own.center is None else own.kappa * own.center
        self._fixed = None if own.strengths is None else np.isinf(own.strengths)
        self._nonnegative = np.zeros(d, dtype=np.bool_) if own.nonnegative is None else own.nonnegative
        self._has_orthant = (self._l1 > 0.0) | self._nonnegative  # other weights may change their sign

    def iteration(self, w: FloatArray, before: Evaluation, memory: Memory) -> tuple[FloatArray, Evaluation]:
        """The next point and its evaluation; w itself when no step along the direction improves."""
        smooth = self._smooth_gradient(w, before)
        steepest = self._steepest(w, smooth)
        direction = -memory.times(steepest)
        direction[direction * steepest >= 0.0] = 0.0  # never against the steepest descent
        if not direction.any():
            return w, before
        orthant = np.where(w != 0.0, np.sign(w), -np.sign(steepest))
        length = 1.0 if memory._pairs else 1.0 / max(dot(steepest, steepest) ** 0.5, 1e-300)
        for _ in range(_HALVINGS):
            new = w + length * direction
            new[self._has_orthant & (new * orthant <= 0.0)] = 0.0
            after = self._objective.evaluate(new, self._loss)
            if after.smoothed <= before.smoothed + _DECREASE * dot(steepest, new - w):
                memory.remember(new - w, self._smooth_gradient(new, after) - smooth)
                return new, after
            length *= 0.5
        return w, before

    def _smooth_gradient(self, w: FloatArray, found: Evaluation) -> FloatArray:
        """The gradient of all but the absolute values; 0 on weights that are fixed."""
        assert found.gradient is not None
        gradient = found.gradient + self._sigma * w - self._pull
        return np.asarray(gradient if self._fixed is None else np.where(self._fixed, 0.0, gradient), dtype=np.float64)

    def _steepest(self, w: FloatArray, smooth: FloatArray) -> FloatArray:
        """The subgradient of least norm: at w_j = 0 the one that a step to either side sees, or 0."""
        up, down = smooth + self._l1, smooth - self._l1
        at_zero = np.where(up < 0.0, up, np.where((down > 0.0) & ~self._nonnegative, down, 0.0))
        found = np.where(w > 0.0, up, np.where(w < 0.0, down, at_zero))
        return np.asarray(found if self._fixed is None else np.where(self._fixed, 0.0, found), dtype=np.float64)


def _separable(penalty: Penalty) -> Separable:
    """The penalty by its weights; a plain square is one too."""
    own: Separable | None = getattr(penalty, "separable", None)
    if own is not None:
        return own
    quadratic = penalty.quadratic
    assert quadratic is not None
    return Separable(0.0, 0.0, kappa=quadratic.sigma, center=quadratic.center)
