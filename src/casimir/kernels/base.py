"""What solvers ask of a finite sum f_i(w) = max_y { ell_i(y) + <w, a_iy> }, smoothed, with a_iy = Phi(y) - Phi(y_i).

ell_i(y) is the cost of y, plus offset_i(y) - offset_i(y_i) where the scores have a fixed offset.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from casimir._validate import all_finite
from casimir.costs import Cost
from casimir.scores import FloatArray, IntArray, Scores, check_same_layout
from casimir.smoothing import Smoothing
from casimir.structures.base import Structure


@dataclass(frozen=True, eq=False, slots=True)
class Pass:
    """One oracle call per example at fixed weights.

    value      float64[n]: smoothed losses f_i(w)
    max_value  float64[n]: losses without smoothing, or None where the oracle does not see them
    cost       float64[n]: <u_i, ell_i>, the expected cost under the oracle's weights u_i
    exact      bool[n]: whether value and gradient are those of the smoothing itself
    gradient   float64[d] = mean_i A_i^T u_i, or None
    marginals  the oracle's marginals in the kernel's own layout, or None
    """

    value: FloatArray
    max_value: FloatArray | None
    cost: FloatArray
    exact: npt.NDArray[np.bool_]
    gradient: FloatArray | None
    marginals: Any


@dataclass(slots=True)
class Averaged:
    """A weighted sum of iterates that is cheap to keep: sum_t a_t w_t = mass w - q, with total = sum_t a_t."""

    q: FloatArray
    mass: float = 0.0
    total: float = 0.0

    def mean(self, w: FloatArray) -> FloatArray:
        """float64[d] = sum_t a_t w_t / sum_t a_t, given the last iterate."""
        result: FloatArray = (self.mass * w - self.q) / self.total
        return result


@dataclass(slots=True)
class DualAverage:
    """The sums over steps t of t w_t and t ell_t that weighted averaging of dual iterates needs."""

    iterates: Averaged
    next_weight: float = 1.0
    ell_sum: float = 0.0


class Seen(NamedTuple):
    """Sums over the oracle calls of an epoch: losses f_i(w), and expected costs <u_i, ell_i>."""

    loss: float
    cost: float


class DualBlocks(Protocol):
    """Weights of every example over the outputs it has seen; they start at the truth.

    With g = mean_i A_i^T alpha_i the primal point of F + kappa/2 |w - z|^2 is w = (kappa z - g) / sigma.
    """

    @property
    def ell(self) -> float:
        """mean_i <alpha_i, ell_i>"""
        ...

    @property
    def cached_outputs(self) -> int: ...

    def exact_pass(
        self, order: IntArray, sigma: float, pairwise: bool, steps: int, w: FloatArray, average: DualAverage | None
    ) -> float:
        """An oracle call per example of `order`, then Frank-Wolfe or pairwise steps. Returns the mean block gap."""
        ...

    def cached_pass(self, order: IntArray, sigma: float, steps: int, skip_below: float, w: FloatArray) -> float:
        """Pairwise steps between cached outputs; examples with a gap below skip_below times the mean are left out."""
        ...


class Kernel(Protocol):
    """Passes over the examples. Methods that are given w change it in place."""

    def full_pass(self, w: FloatArray, smoothing: Smoothing, mu: float, *, gradient: bool, keep: bool) -> Pass: ...

    def sgd_epoch(
        self,
        order: IntArray,
        gamma: FloatArray,
        lam: float,
        smoothing: Smoothing,
        mu: float,
        w: FloatArray,
        averaged: Averaged | None,
        weights: FloatArray | None,
    ) -> Seen:
        """w <- (1 - gamma_t lam) w - gamma_t A_i^T u_i for i in order."""
        ...

    def svrg_epoch(
        self,
        order: IntArray,
        gamma: float,
        sigma: float,
        c: FloatArray,
        marginals: Any,
        smoothing: Smoothing,
        mu: float,
        w: FloatArray,
    ) -> FloatArray:
        """w <- w - gamma (A_i^T (u_i(w) - u_i(snapshot)) + sigma (w - c)), with -c for the last term when sigma = 0.

        Returns the mean iterate.
        """
        ...

    def dual_blocks(self) -> DualBlocks: ...


def fixed_scores(
    structure: Structure, layout: Scores, cost: Cost | None, y: list[IntArray], offset: Scores | None
) -> Scores | None:
    """Part scores that do not depend on w: the costs plus the offset, or None when there are none."""
    costs = None if cost is None else cost.parts(structure, layout, y)
    if offset is None:
        return costs
    check_offset(offset, layout)
    return offset if costs is None else costs + offset


def check_offset(offset: Any, layout: Scores) -> None:
    """An offset must be finite scores of the parts of the same examples."""
    if not isinstance(offset, Scores):
        raise TypeError(f"offset is a {type(offset).__name__}; it must be Scores, such as structure.scores(...) makes.")
    check_same_layout(layout, offset)
    if not all(part is None or all_finite(part) for part in (offset.nodes, offset.edges, offset.whole)):
        raise ValueError("offset has entries that are NaN or infinite; they must be finite.")
