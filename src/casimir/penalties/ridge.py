"""Squares of the weights."""

from __future__ import annotations

from typing import Any

from casimir.penalties.separable import Separable, checked_lam, checked_mask, checked_strengths


class Ridge(Separable):
    """R(w) = lam sum_j s_j w_j^2 / 2.

    lam          0 or larger; think of it in units of 1/n
    strengths    s, float64[d]: how much each weight counts, e.g. transitions less than words; None: all 1. Infinite
                 fixes a weight at 0
    nonnegative  bool[d]: weights that are kept at 0 or above, e.g. those of smoothness terms; None: none
    """

    def __init__(self, lam: float, *, strengths: Any = None, nonnegative: Any = None) -> None:
        super().__init__(0.0, checked_lam(lam), checked_strengths(strengths), checked_mask(nonnegative))

    @property
    def lam(self) -> float:
        """The strength of regularisation."""
        return self.l2

    def __repr__(self) -> str:
        masks = [name for name in ("strengths", "nonnegative") if getattr(self, name) is not None]
        return f"Ridge({', '.join([f'{self.lam:g}', *(f'{name}=...' for name in masks)])})"
