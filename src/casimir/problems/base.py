"""What solvers ask of a finite sum f_i(w) = max_y { ell_i(y) + <w, a_iy> }, smoothed, with a_iy = Phi(y) - Phi(y_i).

ell_i(y) is the cost of y, plus offset_i(y) - offset_i(y_i) where the scores have a fixed offset.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from casimir.penalties import Penalty
from casimir.scores import FloatArray, IntArray
from casimir.smoothing import Smoothing


@dataclass(frozen=True, eq=False, slots=True)
class Pass:
    """One oracle call per example at fixed weights.

    value      float64[n]: smoothed losses f_i(w)
    max_value  float64[n]: losses without smoothing, or upper bounds of them; None where the oracle does not see them
    upper      float64[n]: upper bounds of the smoothed losses, equal to them where they are exact
    cost       float64[n]: <u_i, ell_i>, the expected cost under the oracle's weights u_i
    exact      bool[n]: whether value and gradient are those of the smoothing itself
    gradient   float64[d] = sum_i p_i A_i^T u_i, p_i the shares of the examples, or None
    marginals  float64[m]: those of all examples, `Problem.marginal_offset` says where each begins, or None
    """

    value: FloatArray
    max_value: FloatArray | None
    upper: FloatArray
    cost: FloatArray
    exact: npt.NDArray[np.bool_]
    gradient: FloatArray | None
    marginals: FloatArray | None


class Truth(NamedTuple):
    """What an example's score is compared with: an output each, or marginals, or nothing.

    outputs    list of int64[p_i]
    marginals  float64[m] of all examples, in the layout of the problem that they come from; `is_fused` tells which
    """

    outputs: Sequence[IntArray] | None = None
    marginals: FloatArray | None = None
    is_fused: bool = False


class Answer(NamedTuple):
    """What the oracle tells of one example at w: f_i(w), <u_i, ell_i>, and float64[m_i], the marginals of u_i.

    max_value  the loss without smoothing; NaN where the oracle does not see it
    """

    value: float
    cost: float
    marginals: FloatArray
    max_value: float = math.nan


@dataclass(slots=True)
class DualAverage:
    """The sums over steps t of t x_t = mass x - q and of t ell_t. x is w where R is quadratic, else g."""

    q: FloatArray
    mass: float = 0.0
    next_weight: float = 1.0
    ell_sum: float = 0.0

    def state(self) -> Any:
        return [self.q, self.mass, self.next_weight, self.ell_sum]

    def restore(self, state: Any) -> None:
        self.q[:], self.mass, self.next_weight, self.ell_sum = state


@dataclass(slots=True)
class DualIterate:
    """The primal point w = argmin_w R(w) + <g, w> that dual steps move, in place.

    g        float64[d] = sum_i p_i A_i^T alpha_i; None where R is quadratic, since w tells it
    average  the sums that a pass keeps up, or None
    """

    penalty: Penalty
    w: FloatArray
    g: FloatArray | None
    average: Any = None

    def state(self) -> Any:
        """All but the penalty."""
        return [self.w, self.g, self.average]

    def restore(self, state: Any) -> None:
        """Of a new iterate: that of such a state."""
        self.w[:], g, average = state
        if self.g is not None:
            self.g[:] = g
        if self.average is not None:
            self.average.restore(average)

    def gradient(self) -> FloatArray:
        """float64[d]: g."""
        if self.g is not None:
            return self.g
        quadratic = self.penalty.quadratic
        assert quadratic is not None
        g = np.negative(self.w) if quadratic.center is None else quadratic.center - self.w
        g *= quadratic.sigma
        return g


def move(iterate: DualIterate, columns: IntArray | slice, change: FloatArray) -> None:
    """g += change on the given columns, and w and the sums of iterates follow."""
    quadratic = iterate.penalty.quadratic
    if iterate.g is None:
        assert quadratic is not None
        moved, change = iterate.w, change / -quadratic.sigma
    else:
        moved = iterate.g
    moved[columns] += change
    if iterate.average is not None:
        iterate.average.q[columns] += iterate.average.mass * change
    if iterate.g is not None:
        iterate.w[:] = iterate.penalty.primal(-iterate.g)


class BlockPass(NamedTuple):
    """What a pass over blocks has seen: the mean of their last gaps, and its oracle calls."""

    gap: float
    oracle_calls: int


class PotentialBlocks(Protocol):
    """A distribution u_i over the outputs of every example, by log-potentials; they start at the truth, where g = 0."""

    @property
    def ell(self) -> float:
        """sum_i p_i (<u_i, ell_i> + mu H(u_i))"""
        ...

    def step_pass(self, order: IntArray, skip_below: float, iterate: DualIterate) -> BlockPass:
        """A step per example; those whose last gap is below skip_below times the mean are left out."""
        ...

    def state(self) -> Any:
        """All that the next passes depend on, for checkpoints."""
        ...

    def restore(self, state: Any) -> None:
        """Of new blocks: go on from such a state."""
        ...


class DualBlocks(Protocol):
    """Weights alpha_i of every example over the outputs it has seen; they start at the truth, where g = 0."""

    @property
    def ell(self) -> float:
        """sum_i p_i <alpha_i, ell_i>"""
        ...

    @property
    def cached_outputs(self) -> int: ...

    def new_average(self, n_params: int) -> Any:
        """Empty sums for an iterate's `average`."""
        ...

    def exact_pass(
        self, order: IntArray, pairwise: bool, steps: int, skip_below: float, iterate: DualIterate
    ) -> BlockPass:
        """An oracle call per example, then Frank-Wolfe or pairwise steps.

        Examples whose last gap is below skip_below times the mean are left out.
        """
        ...

    def cached_pass(self, order: IntArray, steps: int, skip_below: float, iterate: DualIterate) -> float:
        """Pairwise steps between cached outputs, skip_below as above. Returns the mean block gap."""
        ...

    def state(self) -> Any:
        """All that the next passes depend on, for checkpoints."""
        ...

    def restore(self, state: Any) -> None:
        """Of new blocks: go on from such a state."""
        ...


class Problem(Protocol):
    """Oracles of the examples, and what their answers do to the weights.

    F = (1/active) sum_i scale_i f_i + R: scale_i is 1 unless examples have weights; `active` counts those above 0.
    """

    @property
    def n_examples(self) -> int:
        """The number of examples."""
        ...

    @property
    def n_params(self) -> int:
        """The length of w."""
        ...

    @property
    def core(self) -> Any | None:
        """The core's Problem, on which whole epochs run natively, or None."""
        ...

    def scale(self, i: int) -> float:
        """How much example i counts."""
        ...

    def marginal_offset(self, i: int) -> int:
        """Where the marginals of example i begin; that of n_examples is the total."""
        ...

    def full_pass(self, w: FloatArray, smoothing: Smoothing, mu: float, *, gradient: bool, keep: bool) -> Pass:
        """One oracle call per example whose scale is above 0."""
        ...

    def oracle(self, i: int, w: FloatArray, smoothing: Smoothing, mu: float) -> Answer:
        """The smoothed maximum of example i at w."""
        ...

    def truth(self, i: int) -> FloatArray:
        """float64[m_i]: the marginals of the true output."""
        ...

    def scatter(self, i: int, marginals: FloatArray, scale: float, out: FloatArray) -> None:
        """out += scale J_i^T marginals, J_i at the w of the last oracle call on example i."""
        ...

    def squared_norm(self, i: int, marginals: FloatArray, zeros: FloatArray) -> float:
        """|J_i^T marginals|^2; zeros float64[d] is memory to work in, all zeros before and after."""
        ...

    def dual_blocks(self) -> DualBlocks:
        """Dual variables over cached outputs, one block per example."""
        ...

    def potential_blocks(self, mu: float, eta: float | None = None) -> PotentialBlocks:
        """mu is the loss's level of smoothing by the entropy, 0 for a hinge loss; eta of None is searched for."""
        ...
