"""A penalty with a square around a point: the subproblems of proximal point and prox-linear methods."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from casimir._arrays import aligned_zeros, dot
from casimir.penalties.base import Penalty, Quadratic
from casimir.penalties.separable import Separable
from casimir.scores import FloatArray


@dataclass(frozen=True, eq=False)
class Proximal:
    """R(w) + (kappa/2) |w - z|^2, z the centre; kappa = 0 is R itself."""

    penalty: Penalty
    kappa: float
    center: FloatArray

    @property
    def strong_convexity(self) -> float:
        return self.penalty.strong_convexity + self.kappa

    @property
    def quadratic(self) -> Quadratic | None:
        own = self.penalty.quadratic
        if own is None or self.kappa == 0.0:
            return own
        sigma, center = own.sigma + self.kappa, aligned_zeros(len(self.center))
        np.multiply(self.kappa / sigma, self.center, out=center)
        if own.center is not None:
            center += own.sigma / sigma * own.center
        return Quadratic(sigma, center)

    @property
    def separable(self) -> Separable | None:
        """The same as a sum over weights, if the penalty is one."""
        own: Separable | None = getattr(self.penalty, "separable", None)
        return own if own is None or self.kappa == 0.0 else own.around(self.kappa, self.center)

    def value(self, w: FloatArray) -> float:
        moved = w - self.center
        return self.penalty.value(w) + 0.5 * self.kappa * dot(moved, moved)

    def conjugate(self, g: FloatArray) -> float:
        if self.kappa == 0.0:
            return self.penalty.conjugate(g)
        w = self.primal(g)
        return dot(g, w) - self.value(w)

    def domain_share(self, g: FloatArray) -> float:
        return self.penalty.domain_share(g) if self.kappa == 0.0 else 1.0

    def primal(self, g: FloatArray) -> FloatArray:
        if self.kappa == 0.0:
            return self.penalty.primal(g)
        return self.penalty.prox(self.center + g / self.kappa, 1.0 / self.kappa)

    def prox(self, w: FloatArray, t: float) -> FloatArray:
        """prox of R at the point between w and z that both squares agree on."""
        scale = 1.0 + t * self.kappa
        return self.penalty.prox((w + t * self.kappa * self.center) / scale, t / scale)
