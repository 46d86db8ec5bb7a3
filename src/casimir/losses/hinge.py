"""The structural hinge loss, of max-margin training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from casimir.costs import Cost
from casimir.smoothing import Hard, Smoothing


@dataclass(frozen=True)
class Hinge:
    """f_i(w) = max_y { score_i(y; w) + cost_i(y) } - score_i(y_i; w). Not smooth: solvers that need it smooth it.

    cost  such as Hamming(); None makes it the structured perceptron's loss
    """

    cost: Cost | None
    smoothing: ClassVar[Smoothing] = Hard()
    mu: ClassVar[float] = 0.0
