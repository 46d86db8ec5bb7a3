"""The family that all losses here belong to."""

from __future__ import annotations

from dataclasses import dataclass

from casimir._validate import positive_float
from casimir.costs import Cost
from casimir.smoothing import L2, Smoothing


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


def check_own_smoothing(smoothing: Smoothing) -> None:
    """A loss has to be one function: the top-K strategy is another one wherever K is not enough."""
    if isinstance(smoothing, L2) and smoothing.k is not None:
        raise ValueError(
            f"A loss with L2(k={smoothing.k}) undervalues itself where more outputs share the weight, and its gap "
            "would not be certified. Use L2() without k."
        )
