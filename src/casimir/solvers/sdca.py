"""Stochastic dual coordinate ascent for losses smoothed by the entropy, such as that of a CRF."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from casimir.duality import DualPoint
from casimir.objective import Objective
from casimir.penalties import require
from casimir.problems import DualIterate, PotentialBlocks
from casimir.scores import FloatArray
from casimir.solvers.base import Monitor
from casimir.solvers.bcfw import check_no_start, dual_start, restore

_BYTES = 16  # of a part: its log-potential and its marginal


@dataclass(frozen=True)
class SDCA:
    """max_u sum_i p_i (<u_i, cost_i> + mu H(u_i)) - R*(-g),  g = sum_i p_i A_i^T u_i;  w = argmin_w R(w) + <g, w>.

    Every example keeps a distribution over its outputs by log-potentials theta_i, u_i ~ exp(theta_i / mu). A step moves
    those of one example towards its scores s at w, costs included: theta_i <- (1 - eta) theta_i + eta s. These are the
    exponentiated gradient steps of Collins et al. (2008), with a search for eta in the place of a step size, so that
    the dual rises with every one of them, but perhaps for the first of an example whose truth is a distribution.

    light_passes  passes over the examples whose gap is above skip_below times the mean, after every one over all
    skip_below    see light_passes
    memory        bytes that potentials and marginals may take; more is an error

    No step size to choose. Starts at w = 0: the dual point of w0 is not known, so a w0 is refused.
    """

    starts_at_zero: ClassVar[bool] = True

    light_passes: int = 1
    skip_below: float = 1.0
    memory: float = 1e9

    def __post_init__(self) -> None:
        if self.light_passes < 0 or self.skip_below < 0.0 or not self.memory > 0.0:
            raise ValueError("SDCA needs light_passes >= 0, skip_below >= 0 and memory > 0.")
        if self.skip_below != SDCA.skip_below and not self.light_passes:
            raise ValueError(f"SDCA: skip_below={self.skip_below} is for light passes; it needs light_passes.")

    def run(self, objective: Objective, w0: FloatArray, monitor: Monitor, rng: np.random.Generator) -> None:
        check_no_start(w0, "SDCA")
        require(objective.penalty, "SDCA", strongly_convex=True)
        blocks = self.blocks(objective)
        ascend(objective, blocks, monitor, lambda iterate: self.passes(objective, blocks, iterate, rng))

    def blocks(self, objective: Objective) -> PotentialBlocks:
        """Dual variables at the truth."""
        if objective.dual_variables != "potentials":
            raise TypeError(
                f"SDCA needs a loss that is smoothed by Entropy(), such as Log() or SoftmaxMargin(cost), and "
                f"{type(objective.loss).__name__} is not. Use DualProximal() or BCFW() for a hinge loss, Casimir() for "
                "others."
            )
        check_memory(objective, self.memory, "SDCA")
        return objective.potential_blocks()

    def passes(
        self, objective: Objective, blocks: PotentialBlocks, iterate: DualIterate, rng: np.random.Generator
    ) -> float:
        """An epoch: one pass over all examples, then light ones. Returns the mean block gap."""
        gap = 0.0
        for skip_below in (0.0, *(self.skip_below,) * self.light_passes):
            gap, calls = blocks.step_pass(objective.permutation(rng), skip_below, iterate)
            objective.count("steps", calls)
        return gap


def ascend(
    objective: Objective, blocks: PotentialBlocks, monitor: Monitor, epoch: Callable[[DualIterate], object]
) -> None:
    """Epochs from w = 0 until the monitor has seen enough of w and the dual point of the blocks."""
    iterate = dual_start(objective.penalty, objective.n_params)
    restore(monitor, blocks, iterate)
    while True:
        monitor.rest((blocks, iterate))
        epoch(iterate)
        if not monitor.is_due:
            monitor.skip()
            continue
        dual = DualPoint(iterate.gradient(), objective.constant + blocks.ell)
        if monitor.epoch(iterate.w, objective=objective.value(iterate.w), dual=dual):
            return


def check_memory(objective: Objective, memory: float, name: str) -> None:
    needed = memory_of(objective)
    if needed > memory:
        raise MemoryError(
            f"{name} would keep {needed / 1e9:.1f} GB of log-potentials and marginals; memory={memory:g} allows "
            f"{memory / 1e9:.1f} GB. Raise it, or use Casimir()."
        )


def memory_of(objective: Objective) -> float:
    """Bytes of the log-potentials and marginals of all examples."""
    problem = objective.problem(objective.loss.smoothing)
    return float(_BYTES * problem.marginal_offset(problem.n_examples))
