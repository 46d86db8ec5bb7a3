"""Exponentiated gradient steps on the dual, one example at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from casimir.objective import Objective
from casimir.penalties import require
from casimir.problems import DualIterate
from casimir.scores import FloatArray
from casimir.solvers.base import Monitor
from casimir.solvers.bcfw import check_no_start
from casimir.solvers.sdca import ascend, check_memory


@dataclass(frozen=True)
class ExponentiatedGradient:
    """u_i(y) <- u_i(y)^(1 - eta mu) exp(eta s(y)) / Z, s the scores of example i at w, costs included.

    The algorithm of Collins et al. (2008) in its online form: multiplicative steps on the dual

        max_u sum_i p_i (<u_i, cost_i> + mu H(u_i)) - R*(-g),   g = sum_i p_i A_i^T u_i,   w = argmin_w R(w) + <g, w>

    mu is 0 for a hinge loss; every u_i is kept by its log-potentials, so that a step is one call of the exp oracle.

    eta     length of every step, in units of 1/mu and at most 1 for a log loss. None: one per example, shortened until
            the dual rises and lengthened again
    memory  bytes that potentials and marginals may take; more is an error

    For a log loss these are the steps of SDCA, without its light passes. Starts at w = 0: the dual point of w0 is not
    known, so a w0 is refused.
    """

    starts_at_zero: ClassVar[bool] = True

    eta: float | None = None
    memory: float = 1e9

    def __post_init__(self) -> None:
        if self.eta is not None and not 0.0 < self.eta < np.inf:
            raise ValueError(f"eta={self.eta}; it must be positive and finite, or None for a search.")
        if not self.memory > 0.0:
            raise ValueError(f"memory={self.memory}; it must be positive.")

    def run(self, objective: Objective, w0: FloatArray, monitor: Monitor, rng: np.random.Generator) -> None:
        check_no_start(w0, "ExponentiatedGradient")
        require(objective.penalty, "ExponentiatedGradient", strongly_convex=True)
        self._check_eta(objective)
        check_memory(objective, self.memory, "ExponentiatedGradient")
        blocks = objective.potential_blocks(self.eta)

        def epoch(iterate: DualIterate) -> None:
            found = blocks.step_pass(objective.permutation(rng), 0.0, iterate)
            objective.count("steps", found.oracle_calls)

        ascend(objective, blocks, monitor, epoch)

    def _check_eta(self, objective: Objective) -> None:
        if self.eta is not None and self.eta > 1.0 and objective.dual_variables == "potentials":
            raise ValueError(
                f"eta={self.eta}; a step of 1 ends at the scores themselves, so for {type(objective.loss).__name__} "
                "eta is at most 1."
            )
