"""Potential blocks of the composed problem: any linear model and structure with an exp oracle, in plain Python."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from casimir.models.base import Linearization, linearize
from casimir.problems.base import BlockPass, DualIterate, move
from casimir.scores import FloatArray, IntArray, Scores

if TYPE_CHECKING:
    from casimir.problems.composed import ComposedProblem

# As in the core; cpp/solve/potential_blocks.cpp says what they are for.
_MARGIN, _FIRST_ETA, _LEAST_ETA, _TRIALS, _ROUNDING = 20.0, 0.8, 1e-3, 6, 1e-14


@dataclass(slots=True)
class _Block:
    """What one example keeps.

    marginals   of its distribution u
    potentials  theta, so that u ~ exp(theta / mu); None while u is the truth
    entropy     mu H(u)
    ell         <u, cost> + mu H(u)
    gap         an estimate of max^mu { s } - (mu H(u) + <u, s>), s the scores at the last visit
    eta         of the next step
    """

    marginals: Scores
    potentials: Scores | None = None
    entropy: float = 0.0
    ell: float = 0.0
    gap: float = 0.0
    eta: float = _FIRST_ETA


class _Trial(NamedTuple):
    """Where a step of length eta leads. It changes the example's part of the dual by climb - turn.

    climb   mu H(u) + <u, s>, new less old
    vector  float64[d] = A_i^T (new u - old u)
    turn    (p_i / 2 sigma) |vector|^2
    """

    eta: float
    potentials: Scores
    marginals: Scores
    entropy: float
    climb: float
    vector: FloatArray
    turn: float

    def best(self) -> float:
        """The eta of the largest change if climb = v (eta - eta^2 / 2) and turn = c eta^2, as near the optimum."""
        v, c = self.climb / (self.eta - 0.5 * self.eta**2), self.turn / self.eta**2
        return min(max(v / (v + 2.0 * c), _LEAST_ETA), 1.0)


class ComposedPotentialBlocks:
    """theta_i <- (1 - eta) theta_i + eta s, one example at a time, by the same rules as the native blocks."""

    def __init__(self, problem: ComposedProblem, mu: float) -> None:
        self._problem, self._mu = problem, mu
        self._blocks = [_Block(problem.true_parts.select([i])) for i in range(problem.n_examples)]

    @property
    def ell(self) -> float:
        return sum(self._problem.share(i) * block.ell for i, block in enumerate(self._blocks))

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
        if block.potentials is None:
            nodes = replace(block.marginals, edges=None, edge_offsets=None, whole=None)
            block.potentials = s * 0.0 + nodes * (_MARGIN * self._mu)
        before = block.entropy + float(s.dot(block.marginals)[0])
        eta = block.eta
        for trials in range(1, _TRIALS + 1):
            trial = self._attempt(i, around, s, eta, before, iterate)
            if trials == 1:
                block.gap = max(0.0, trial.climb / (2.0 * eta - eta**2))
            if trial.climb <= _ROUNDING * abs(before):
                block.gap = 0.0
                return trials
            best = trial.best()
            if trial.climb > trial.turn and best >= 0.5 * eta:
                block.potentials, block.marginals, block.entropy = trial.potentials, trial.marginals, trial.entropy
                block.ell = trial.entropy + float(self._problem.cost_above_truth(trial.marginals, [i])[0])
                block.eta = min(best, 2.0 * eta)
                move(iterate, slice(None), self._problem.share(i) * trial.vector)
                return trials
            eta = min(best, 0.5 * eta)
        block.eta = eta
        return _TRIALS

    def _attempt(
        self, i: int, around: Linearization, s: Scores, eta: float, before: float, iterate: DualIterate
    ) -> _Trial:
        block = self._blocks[i]
        assert block.potentials is not None
        potentials = s if eta == 1.0 else block.potentials * (1.0 - eta) + s * eta
        found = self._problem.structure.select([i]).expect(potentials, self._mu)
        entropy = float(found.value[0] - potentials.dot(found.marginals)[0])
        climb = entropy + float(s.dot(found.marginals)[0]) - before
        vector = around.adjoint(found.marginals - block.marginals)
        turn = 0.5 * self._problem.share(i) / iterate.penalty.strong_convexity * float(vector @ vector)
        return _Trial(eta, potentials, found.marginals, entropy, climb, vector, turn)
