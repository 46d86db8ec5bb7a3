"""Potential blocks of the composed problem: any linear model and structure with an exp oracle, in plain Python."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from casimir.models.base import Linearization, linearize
from casimir.persistence.state import keeps
from casimir.problems.base import BlockPass, DualIterate, move
from casimir.scores import FloatArray, IntArray, Scores

if TYPE_CHECKING:
    from casimir.problems.composed import ComposedProblem

# As in the core; cpp/solve/potential_blocks.cpp says what they are for.
_MARGIN, _FIXED_MARGIN, _TRIALS, _ROUNDING = 20.0, 5.0, 6, 1e-12
_FIRST_ETA, _FIRST_HINGE, _LEAST_ETA, _MOST_HINGE = 0.8, 16.0, 1e-3, 1e3


keeps(Scores)


@keeps
@dataclass(slots=True)
class _Block:
    """What one example keeps.

    marginals   of its distribution u
    eta         of the next step
    potentials  theta, so that u ~ exp(theta / temperature); None while u is the truth
    entropy     mu H(u)
    ell         <u, cost> + mu H(u)
    gap         an estimate of max^mu { s } - (mu H(u) + <u, s>), s the scores at the last visit
    """

    marginals: Scores
    eta: float
    potentials: Scores | None = None
    entropy: float = 0.0
    ell: float = 0.0
    gap: float = 0.0


class _Trial(NamedTuple):
    """Where a step of length eta leads. It changes the example's part of the dual by climb - turn.

    climb   mu H(u) + <u, s>, new less old
    vector  float64[d] = A_i^T (new u - old u)
    turn    (p_i / 2 sigma) |vector|^2
    """

    is_log: bool
    eta: float
    potentials: Scores
    marginals: Scores
    entropy: float
    climb: float
    vector: FloatArray
    turn: float

    def best(self) -> float:
        """The eta of the largest change if turn = c eta^2 and climb = v (eta - eta^2 / 2), v eta for a hinge loss."""
        c = self.turn / self.eta**2
        if not self.is_log:
            longest = self.climb / self.eta / (2.0 * c) if c > 0.0 else _MOST_HINGE
            return min(max(longest, _LEAST_ETA), _MOST_HINGE)
        v = self.climb / (self.eta - 0.5 * self.eta**2)
        return min(max(v / (v + 2.0 * c), _LEAST_ETA), 1.0)

    def gap(self) -> float:
        return max(0.0, self.climb / (2.0 * self.eta - self.eta**2) if self.is_log else self.climb)


class ComposedPotentialBlocks:
    """theta_i <- (1 - eta) theta_i + eta s, for a hinge loss (mu = 0) theta_i + eta s, one example at a time.

    By the same rules as the native blocks. eta: the length of every step; None: searched for.
    """

    def __init__(self, problem: ComposedProblem, mu: float, eta: float | None = None) -> None:
        self._problem, self._is_log, self._temperature = problem, mu > 0.0, mu or 1.0
        self._is_fixed, self._margin = eta is not None, _MARGIN if eta is None else _FIXED_MARGIN
        first = eta or (_FIRST_ETA if self._is_log else _FIRST_HINGE)
        self._blocks = [_Block(problem.true_parts.select([i]), first) for i in range(problem.n_examples)]

    @property
    def ell(self) -> float:
        return sum(self._problem.share(i) * block.ell for i, block in enumerate(self._blocks))

    def state(self) -> Any:
        return self._blocks

    def restore(self, state: Any) -> None:
        self._blocks = state

    def step_pass(self, order: IntArray, skip_below: float, iterate: DualIterate) -> BlockPass:
        least = skip_below * self._mean_gap()
        chosen = [i for i in order.tolist() if self._blocks[i].gap >= least]
        calls = sum(self._visit(i, iterate) for i in chosen)
        return BlockPass(self._mean_gap(), calls)

    def _mean_gap(self) -> float:
        return sum(self._problem.share(i) * block.gap for i, block in enumerate(self._blocks))

    def _visit(self, i: int, iterate: DualIterate) -> int:
        """A step of example i, its length found by trials; the number of them."""
        block, around = self._blocks[i], linearize(self._problem.model, iterate.w, [i])
        s = self._problem.plus_fixed(around.scores, [i])
        is_first = block.potentials is None
        if is_first:
            nodes = replace(block.marginals, edges=None, edge_offsets=None, whole=None)
            block.potentials = s * 0.0 + nodes * (self._margin * self._temperature)
        before = block.entropy + float(s.dot(block.marginals)[0])
        eta, rounding = block.eta, _ROUNDING * abs(before)
        for trials in range(1, _TRIALS + 1):
            trial = self._attempt(i, around, s, eta, before, iterate)
            if trials == 1:
                block.gap = trial.gap()
            if self._is_fixed:
                self._take(i, trial, iterate)
                return trials
            if trial.climb <= rounding:
                block.gap = 0.0
                if not self._is_log and trial.turn <= rounding:  # outputs of no weight yet may be on their way up
                    self._take(i, trial, iterate)
                return trials
            best = trial.best()
            if trial.climb > trial.turn and best >= 0.5 * eta:
                self._take(i, trial, iterate)
                block.eta = min(best, 2.0 * eta)
                return trials
            if is_first and trials == _TRIALS:  # potentials are not those of a truth that is a distribution
                self._take(i, trial, iterate)
            eta = min(best, 0.5 * eta)
        block.eta = eta
        return _TRIALS

    def _take(self, i: int, trial: _Trial, iterate: DualIterate) -> None:
        block = self._blocks[i]
        block.potentials, block.marginals, block.entropy = trial.potentials, trial.marginals, trial.entropy
        block.ell = trial.entropy + float(self._problem.cost_above_truth(trial.marginals, [i])[0])
        move(iterate, slice(None), self._problem.share(i) * trial.vector)

    def _attempt(
        self, i: int, around: Linearization, s: Scores, eta: float, before: float, iterate: DualIterate
    ) -> _Trial:
        block = self._blocks[i]
        assert block.potentials is not None
        kept = 1.0 - eta if self._is_log else 1.0
        potentials = s if kept == 0.0 else block.potentials * kept + s * eta
        found = self._problem.structure.select([i]).expect(potentials, self._temperature)
        entropy = float(found.value[0] - potentials.dot(found.marginals)[0]) if self._is_log else 0.0
        climb = entropy + float(s.dot(found.marginals)[0]) - before
        vector = around.adjoint(found.marginals - block.marginals)
        turn = 0.5 * self._problem.share(i) / iterate.penalty.strong_convexity * float(vector @ vector)
        return _Trial(self._is_log, eta, potentials, found.marginals, entropy, climb, vector, turn)
