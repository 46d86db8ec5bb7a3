"""Limited-memory quasi-Newton iterations that respect absolute values and masks (OWL-QN, Andrew & Gao 2007)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from casimir._arrays import dot
from casimir.losses import Loss
from casimir.objective import Evaluation, Objective
from casimir.penalties import Penalty
from casimir.penalties.separable import Separable
from casimir.persistence.state import keeps
from casimir.scores import FloatArray

_DECREASE = 1e-4  # share of the promised decrease that a step must bring
_HALVINGS = 40
_STRETCH = 8192  # weights at a time, of all vectors: they stay in the cache


@keeps
@dataclass(eq=False)
class Memory:
    """The last pairs of a step s and the change y of the smooth gradient along it: H ~ the inverse Hessian.

    H g is a combination of the pairs and g. Its coefficients follow from inner products alone, so all pairs are read
    twice in an iteration, a stretch at a time: for the products with g and the newest pair, and for the combination.

    size      how many pairs at the most
    rows      float64[2 size, d]: steps, then changes
    products  float64[2 size, 2 size]: their inner products
    new       rows whose products are not known yet
    """

    size: int
    _kept: int = field(default=0, init=False)
    _next: int = field(default=0, init=False)
    _rows: FloatArray = field(default_factory=lambda: np.empty((0, 0)), init=False)
    _products: FloatArray = field(init=False)
    _new: list[int] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self._products = np.zeros((2 * self.size, 2 * self.size))

    def on(self, objective: Objective, loss: Loss) -> QuasiNewton:
        """Iterations on this objective, with these pairs."""
        return QuasiNewton(objective, loss, self)

    def __len__(self) -> int:
        return self._kept

    @property
    def is_scaled(self) -> bool:
        """Whether a direction has a length that can be relied on."""
        return self._kept > 0

    def remember(self, step: FloatArray, change: FloatArray) -> None:
        """Pairs without curvature are left out, so that H stays positive definite."""
        if not dot(step, change) > 1e-10 * dot(change, change) ** 0.5 * dot(step, step) ** 0.5:
            return
        if not self._rows.size:
            self._rows = np.zeros((2 * self.size, len(step)))
        place = [self._next, self.size + self._next]
        self._rows[place[0]], self._rows[place[1]] = step, change
        self._new += place
        self._next, self._kept = (self._next + 1) % self.size, min(self._kept + 1, self.size)

    def times(self, gradient: FloatArray) -> FloatArray:
        """H gradient, by the two-loop recursion on coefficients of the rows and of the gradient."""
        if not self._kept:
            return gradient.copy()
        of_gradient = self._products_with(gradient)
        order = [(self._next - 1 - k) % self.size for k in range(self._kept)]  # the newest first
        c, shares = np.zeros(2 * self.size), {}
        for i in order:
            curvature = self._products[i, self.size + i]
            shares[i] = (self._products[i] @ c + of_gradient[i]) / curvature
            c[self.size + i] -= shares[i]
        newest, change = order[0], self.size + order[0]
        scale = self._products[newest, change] / self._products[change, change]
        c *= scale
        for i in reversed(order):
            along = self._products[self.size + i] @ c + scale * of_gradient[self.size + i]
            c[i] += shares[i] - along / self._products[i, self.size + i]
        return _combination(c, self._rows, scale, gradient)

    def _products_with(self, gradient: FloatArray) -> FloatArray:
        """float64[2 size]: <row, gradient> in one fixed order; those with new rows are found on the way."""
        found, of_new = np.zeros(2 * self.size), np.zeros((2 * self.size, len(self._new)))
        for first in range(0, len(gradient), _STRETCH):
            rows = self._rows[:, first : first + _STRETCH]
            found += rows @ gradient[first : first + _STRETCH]
            if self._new:
                of_new += rows @ rows[self._new].T
        if self._new:
            self._products[:, self._new], self._products[self._new] = of_new, of_new.T
            self._new = []
        return found


class Pairs(Protocol):
    """What quasi-Newton iterations ask of their memory."""

    @property
    def is_scaled(self) -> bool: ...

    def remember(self, step: FloatArray, change: FloatArray) -> None: ...

    def times(self, gradient: FloatArray) -> FloatArray: ...


class QuasiNewton:
    """Iterations on f_mu(w) + R(w), R separable: sum_j l1_j |w_j| + (smooth)_j, over w_j >= 0 where asked for.

    memory  the pairs so far; those of another penalty may be used again, since they describe the same losses
    """

    def __init__(self, objective: Objective, loss: Loss, memory: Pairs) -> None:
        self.memory, self._objective, self._loss = memory, objective, loss
        self._last: tuple[FloatArray, FloatArray] | None = None  # a point and the smooth gradient there
        own = _separable(objective.penalty)
        strengths = 1.0 if own.strengths is None else np.where(np.isinf(own.strengths), 0.0, own.strengths)
        self._sigma = own.l2 * strengths + own.kappa
        self._pull = None if own.center is None else own.kappa * own.center
        self._fixed = None if own.strengths is None else np.isinf(own.strengths)
        self._is_plain = own.is_plain
        if own.is_plain:
            return
        d = objective.n_params
        self._l1 = np.broadcast_to(np.asarray(own.l1 * strengths, dtype=np.float64), (d,))
        self._nonnegative = np.zeros(d, dtype=np.bool_) if own.nonnegative is None else own.nonnegative
        self._has_orthant = (self._l1 > 0.0) | self._nonnegative  # other weights may change their sign

    def state(self) -> Pairs:
        """All but the pairs follows from a point and its evaluation."""
        return self.memory

    def on(self, objective: Objective, loss: Loss) -> QuasiNewton:
        """Iterations on this objective, with the same pairs."""
        is_own = objective is self._objective and loss is self._loss
        return self if is_own else QuasiNewton(objective, loss, self.memory)

    def iteration(self, w: FloatArray, before: Evaluation) -> tuple[FloatArray, Evaluation]:
        """The next point and its evaluation; w itself when no step along the direction improves."""
        smooth = self._gradient_at(w, before)
        steepest = smooth if self._is_plain else self._steepest(w, smooth)
        direction = self.memory.times(steepest)
        np.negative(direction, out=direction)
        if not self._is_plain:
            direction[self._has_orthant & (direction * steepest >= 0.0)] = 0.0  # never against the steepest descent
        if not direction.any():
            return w, before
        orthant = None if self._is_plain else np.where(w != 0.0, np.sign(w), -np.sign(steepest))
        length = 1.0 if self.memory.is_scaled else 1.0 / max(dot(steepest, steepest) ** 0.5, 1e-300)
        for _ in range(_HALVINGS):
            new = w + length * direction
            if orthant is not None:
                new[self._has_orthant & (new * orthant <= 0.0)] = 0.0
            after, step = self._objective.evaluate(new, self._loss), new - w
            if after.smoothed <= before.smoothed + _DECREASE * dot(steepest, step):
                there = self._smooth_gradient(new, after)
                self.memory.remember(step, there - smooth)
                self._last = new, there
                return new, after
            length *= 0.5
        return w, before

    def _gradient_at(self, w: FloatArray, found: Evaluation) -> FloatArray:
        if self._last is not None and self._last[0] is w:
            return self._last[1]
        return self._smooth_gradient(w, found)

    def _smooth_gradient(self, w: FloatArray, found: Evaluation) -> FloatArray:
        """The gradient of all but the absolute values; 0 on weights that are fixed."""
        assert found.gradient is not None
        gradient = np.asarray(self._sigma * w, dtype=np.float64)
        gradient += found.gradient
        if self._pull is not None:
            gradient -= self._pull
        return gradient if self._fixed is None else np.where(self._fixed, 0.0, gradient)

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


def _combination(c: FloatArray, rows: FloatArray, scale: float, gradient: FloatArray) -> FloatArray:
    """float64[d] = c rows + scale gradient"""
    result = scale * gradient
    for first in range(0, len(result), _STRETCH):
        result[first : first + _STRETCH] += c @ rows[:, first : first + _STRETCH]
    return result
