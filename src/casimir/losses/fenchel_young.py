"""The family that all losses here belong to."""

from __future__ import annotations

from dataclasses import dataclass

from casimir._validate import positive_float
from casimir.costs import Cost
from casimir.smoothing import Hard, Smoothing


@dataclass(frozen=True)
class FenchelYoung:
    """f_i(w) = max^mu_y { score_i(y; w) + cost_i(y) } - score_i(y_i; w), with any smoothing.

    smoothing  Entropy() makes it a log loss; L2() a sparse one, whose gradient is 0 once the truth wins by mu
    mu         level of smoothing
    cost       None: nothing is added to the scores
    """

    smoothing: Smoothing
    mu: float = 1.0
    cost: Cost | None = None

    def __post_init__(self) -> None:
        positive_float(self.mu, "mu")
        if isinstance(self.smoothing, Hard):
            raise ValueError("FenchelYoung(Hard()) has no level mu. Use Hinge(cost).")
