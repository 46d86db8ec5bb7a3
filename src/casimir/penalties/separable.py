"""Sums over the weights of an absolute value and a square, with masks: what the penalties here are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from casimir._arrays import dot
from casimir.penalties.base import Quadratic
from casimir.scores import FloatArray

_ROUNDING = 1e-12  # by which |g_j| may exceed l1_j: it was scaled to that very bound


@dataclass(frozen=True, eq=False)
class Separable:
    """R(w) = sum_j s_j (l1 |w_j| + (l2/2) w_j^2) + (kappa/2) |w - z|^2, over w_j >= 0 where `nonnegative`.

    l1, l2       numbers, 0 or larger
    strengths    s, float64[d], or None: all 1. Infinite fixes w_j at 0
    nonnegative  bool[d], or None: none
    kappa, center    of the last term; center None is 0
    """

    l1: float
    l2: float
    strengths: FloatArray | None = None
    nonnegative: npt.NDArray[np.bool_] | None = None
    kappa: float = 0.0
    center: FloatArray | None = None

    @property
    def strong_convexity(self) -> float:
        if self.l2 == 0.0 or self.strengths is None:
            return self.l2 + self.kappa
        free = self.strengths[np.isfinite(self.strengths)]
        return self.l2 * float(free.min() if len(free) else 1.0) + self.kappa

    @property
    def is_plain(self) -> bool:
        """Whether there are squares alone, of one strength, over all w."""
        return self.l1 == 0.0 and self.strengths is None and self.nonnegative is None

    @property
    def quadratic(self) -> Quadratic | None:
        if not self.is_plain:
            return None
        sigma = self.l2 + self.kappa
        return Quadratic(sigma, None if self.center is None or sigma == 0.0 else self.kappa / sigma * self.center)

    @property
    def separable(self) -> Separable:
        """Itself: a sum over weights."""
        return self

    def around(self, kappa: float, center: FloatArray) -> Separable:
        """R(w) + (kappa/2) |w - center|^2."""
        if self.kappa > 0.0:
            before = 0.0 if self.center is None else self.kappa * self.center
            kappa, center = self.kappa + kappa, (before + kappa * center) / (self.kappa + kappa)
        return Separable(self.l1, self.l2, self.strengths, self.nonnegative, kappa, center)

    def check_size(self, n_params: int) -> None:
        """Whatever is given per weight must be given for every one."""
        for name in ("strengths", "nonnegative", "center"):
            given = getattr(self, name)
            if given is not None and given.shape != (n_params,):
                raise ValueError(
                    f"{name} has {given.size} entries; the model has {n_params} weights, and needs as many."
                )

    def value(self, w: FloatArray) -> float:
        """R(w), without the constant that two squares leave; weights that are not allowed are not looked for."""
        if self.strengths is None:
            own = 0.5 * self.l2 * dot(w, w) + (self.l1 * float(np.abs(w).sum()) if self.l1 > 0.0 else 0.0)
        else:
            kept = np.where(np.isinf(self.strengths), 0.0, self.strengths)
            own = 0.5 * self.l2 * dot(kept, w * w) + (self.l1 * dot(kept, np.abs(w)) if self.l1 > 0.0 else 0.0)
        if self.kappa == 0.0:
            return own
        moved = w if self.center is None else w - self.center
        return own + 0.5 * self.kappa * dot(moved, moved)

    def conjugate(self, g: FloatArray) -> float:
        if self.is_plain and self.center is None and self.l2 + self.kappa > 0.0:
            return dot(g, g) / (2.0 * (self.l2 + self.kappa))
        if self.kappa > 0.0:
            w = self.primal(g)
            return dot(g, w) - self.value(w)
        excess = self._excess(g)
        if self.l2 > 0.0:
            return float((excess * excess / (2.0 * self._l2())).sum())
        return 0.0 if np.all(excess <= _ROUNDING * self._l1()) else float("inf")

    def domain_share(self, g: FloatArray) -> float:
        if self.l2 + self.kappa > 0.0:
            return 1.0
        reach = np.where(self.nonnegative, g, np.abs(g)) if self.nonnegative is not None else np.abs(g)
        limit = self._l1()
        over = reach > limit
        return float(np.min(np.broadcast_to(limit, g.shape)[over] / reach[over])) if over.any() else 1.0

    def primal(self, g: FloatArray) -> FloatArray:
        if self.kappa > 0.0:
            g = g if self.center is None else g + self.kappa * self.center
        return self._shrunk(g, 1.0, self.kappa)

    def primal_slope(self, g: FloatArray) -> FloatArray:
        """float64[d]: the derivative of primal(g)_j by g_j; 0 where weights stay at 0."""
        moves = self.primal(g) != 0.0
        if self.l1 == 0.0:
            moves |= np.ones(len(g), dtype=np.bool_) if self.nonnegative is None else ~self.nonnegative
        if self.strengths is not None:
            moves &= np.isfinite(self.strengths)
        return np.asarray(np.where(moves, 1.0 / (self._l2() + self.kappa), 0.0), dtype=np.float64)

    def prox(self, w: FloatArray, t: float) -> FloatArray:
        if self.kappa > 0.0 and self.center is not None:
            w = w + t * self.kappa * self.center
        return self._shrunk(w, t, 1.0 + t * self.kappa)

    def allowed(self, w: FloatArray) -> FloatArray:
        """The nearest w that is allowed."""
        if self.nonnegative is not None:
            w = np.where(self.nonnegative, np.maximum(w, 0.0), w)
        return w if self.strengths is None else np.where(np.isinf(self.strengths), 0.0, w)

    def _l1(self) -> Any:
        """l1 s: a number or float64[d]; infinite on weights that are fixed, whatever l1 is."""
        if self.strengths is None:
            return self.l1
        fixed = np.isinf(self.strengths)
        return np.where(fixed, np.inf, self.l1 * np.where(fixed, 0.0, self.strengths))

    def _l2(self) -> Any:
        """l2 s: a number or float64[d]; 1 on weights that are fixed, where it does not matter."""
        if self.strengths is None:
            return self.l2
        fixed = np.isinf(self.strengths)
        return np.where(fixed, 1.0, self.l2 * np.where(fixed, 0.0, self.strengths))

    def _excess(self, g: FloatArray) -> FloatArray:
        """float64[d]: by how much g_j goes beyond l1_j, in the directions that are allowed."""
        reach = np.abs(g) if self.nonnegative is None else np.where(self.nonnegative, g, np.abs(g))
        return np.asarray(np.maximum(reach - self._l1(), 0.0), dtype=np.float64)

    def _shrunk(self, b: FloatArray, t: float, curvature: float) -> FloatArray:
        """argmin_x t s (l1 |x| + (l2/2) x^2) + (curvature/2) x^2 - b x, over x >= 0 where asked for."""
        if self.is_plain:
            return np.asarray(b / (t * self.l2 + curvature), dtype=np.float64)
        l1, curvature = t * self._l1(), t * self._l2() + curvature
        up = np.maximum(b - l1, 0.0)
        down = np.maximum(-b - l1, 0.0)
        if self.nonnegative is not None:
            down = np.where(self.nonnegative, 0.0, down)
        return np.asarray((up - down) / curvature, dtype=np.float64)


def checked_strengths(strengths: Any) -> FloatArray | None:
    if strengths is None:
        return None
    array = np.ascontiguousarray(strengths, dtype=np.float64)
    if array.ndim != 1 or np.isnan(array).any() or not (array > 0.0).all():
        raise ValueError(
            "strengths must be one number per weight, each larger than 0; infinite fixes a weight at 0. For weights "
            "that should hardly be penalised give a small one, such as 1e-3."
        )
    return array


def checked_mask(nonnegative: Any) -> npt.NDArray[np.bool_] | None:
    if nonnegative is None:
        return None
    mask = np.ascontiguousarray(nonnegative)
    if mask.dtype != np.bool_ or mask.ndim != 1:
        raise ValueError(f"nonnegative is {mask.dtype}{list(mask.shape)}; it must be a bool array, one per weight.")
    return mask


_SMALLEST = 1e-100  # its square, and a bound of the weights over it, are numbers still


def checked_lam(lam: Any) -> float:
    try:
        number = float(lam)
    except (TypeError, ValueError):
        raise TypeError(f"lam={lam!r}; it must be a number, 0 or larger. 1/n is a good start.") from None
    if not (np.isfinite(number) and number >= 0.0):
        raise ValueError(f"lam={lam}; it must be a finite number, 0 or larger. 1/n is a good start.")
    if 0.0 < number < _SMALLEST:
        raise ValueError(f"lam={lam}; below {_SMALLEST} numbers made from it overflow. Give 0, or 1/n to start with.")
    return number
