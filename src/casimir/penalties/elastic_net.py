"""Absolute values of the weights, which make many of them 0, with squares or without."""

from __future__ import annotations

from typing import Any

from casimir.penalties.separable import Separable, checked_lam, checked_mask, checked_strengths


class ElasticNet(Separable):
    """R(w) = lam sum_j s_j (l1_ratio |w_j| + (1 - l1_ratio) w_j^2 / 2).

    lam          0 or larger
    l1_ratio     from 0, which is Ridge(lam), to 1, absolute values alone
    strengths    s, float64[d]: how much each weight counts; None: all 1. Infinite fixes a weight at 0
    nonnegative  bool[d]: weights that are kept at 0 or above; None: none
    """

    def __init__(self, lam: float, l1_ratio: float, *, strengths: Any = None, nonnegative: Any = None) -> None:
        lam = checked_lam(lam)
        if not (isinstance(l1_ratio, int | float) and 0.0 <= l1_ratio <= 1.0):
            raise ValueError(f"l1_ratio={l1_ratio!r}; it must be a number from 0 (squares alone) to 1 (L1 alone).")
        object.__setattr__(self, "lam", lam)
        object.__setattr__(self, "l1_ratio", float(l1_ratio))
        super().__init__(
            lam * l1_ratio, lam * (1.0 - l1_ratio), checked_strengths(strengths), checked_mask(nonnegative)
        )

    lam: float
    l1_ratio: float

    def __repr__(self) -> str:
        masks = [name for name in ("strengths", "nonnegative") if getattr(self, name) is not None]
        return f"ElasticNet({', '.join([f'{self.lam:g}, {self.l1_ratio:g}', *(f'{name}=...' for name in masks)])})"
