"""The log loss, of conditional random fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from casimir.smoothing import Entropy, Smoothing


@dataclass(frozen=True)
class Log:
    """f_i(w) = log sum_y exp(score_i(y; w)) - score_i(y_i; w) = -log p(y_i; w): a conditional random field."""

    cost: ClassVar[None] = None
    smoothing: ClassVar[Smoothing] = Entropy()
    mu: ClassVar[float] = 1.0
