"""Points of the dual, and the gaps that they certify."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from casimir._arrays import dot
from casimir.penalties import Penalty
from casimir.scores import FloatArray

_GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0
_SEARCHES = 20  # of a point on a segment
_FLAT = 1e-3  # share of the slope at the start that counts as none


@dataclass(frozen=True, eq=False, slots=True)
class DualPoint:
    """A point of the dual of F = sum_i p_i f_i + R: D = ell - R*(-g) <= min F.

    g    float64[d] = sum_i p_i A_i^T u_i, every u_i in the simplex
    ell  sum_i p_i (<u_i, ell_i> - mu omega(u_i)), with the smoothing omega of the loss (0 for a hinge loss)

    Moving all u_i towards the truth by a factor t moves (g, ell) to (t g, t ell) or better; where R* is infinite at -g,
    the largest t that is feasible is taken.
    """

    g: FloatArray
    ell: float

    def value(self, penalty: Penalty) -> float:
        square = penalty.quadratic
        if square is not None and square.center is None and square.sigma > 0.0:  # R* is even: no copy of g
            return self.ell - penalty.conjugate(self.g)
        minus_g = -self.g
        t = penalty.domain_share(minus_g)
        if t == 0.0:
            return 0.0
        return t * self.ell - penalty.conjugate(minus_g if t == 1.0 else t * minus_g)

    def towards(self, other: DualPoint, penalty: Penalty) -> DualPoint:
        """About the best point on the segment to `other`; every point of it is feasible."""
        if penalty.strong_convexity > 0.0:
            theta = self._root_of_slope(other, penalty)
        else:
            theta = self._golden_section(other, penalty)
        return self.mixed(other, theta)

    def mixed(self, other: DualPoint, theta: float) -> DualPoint:
        """(1 - theta) times this point plus theta times the other."""
        if theta in (0.0, 1.0):
            return self if theta == 0.0 else other
        g = other.g - self.g
        g *= theta
        g += self.g
        return DualPoint(g, self.ell + theta * (other.ell - self.ell))

    def _root_of_slope(self, other: DualPoint, penalty: Penalty) -> float:
        """D is concave and smooth along the segment. Where R is a square its slope is a line: one secant ends there."""
        step = other.g - self.g

        def slope(g: FloatArray) -> float:
            return other.ell - self.ell + dot(step, penalty.primal(-g))

        square = penalty.quadratic
        low, at_low = 0.0, slope(self.g)
        high, at_high = 1.0, slope(other.g) if square is None else at_low - dot(step, step) / square.sigma
        if at_low <= 0.0 or at_high >= 0.0:
            return 0.0 if at_low <= 0.0 else 1.0
        theta = 0.0
        for _ in range(_SEARCHES):
            theta = low + (high - low) * at_low / (at_low - at_high)
            if square is not None:
                break
            found = slope(self.g + theta * step)
            if abs(found) <= _FLAT * (abs(at_low) + abs(at_high)) or found == 0.0:
                break
            if found > 0.0:
                low, at_low, at_high = theta, found, 0.5 * at_high  # halved so that neither end stays for good
            else:
                high, at_high, at_low = theta, found, 0.5 * at_low
        return theta

    def _golden_section(self, other: DualPoint, penalty: Penalty) -> float:
        """t(g) ell is an affine function over a convex one along the segment: it rises, then falls."""
        low, high = 0.0, 1.0
        for _ in range(_SEARCHES):
            a, b = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
            if self.mixed(other, a).value(penalty) >= self.mixed(other, b).value(penalty):
                high = b
            else:
                low = a
        return max((0.0, 0.5 * (low + high), 1.0), key=lambda theta: self.mixed(other, theta).value(penalty))


def relative_gap(objective: float, dual: float) -> float:
    """(F - D) / F: how far F can still fall, as a share of it. 0 when both are 0."""
    gap = max(objective - dual, 0.0)
    return gap / abs(objective) if gap > 0.0 else 0.0
