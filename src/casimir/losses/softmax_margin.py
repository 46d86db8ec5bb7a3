"""A log loss with a margin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from casimir.costs import Cost
from casimir.smoothing import Entropy, Smoothing


@dataclass(frozen=True)
class SoftmaxMargin:
    """f_i(w) = log sum_y exp(score_i(y; w) + cost_i(y)) - score_i(y_i; w): a CRF that keeps costly outputs at bay.

    cost  such as Hamming()
    """

    cost: Cost
    smoothing: ClassVar[Smoothing] = Entropy()
    mu: ClassVar[float] = 1.0
