"""kappa of DualProximal: where it begins, and how it follows a run."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from casimir.objective import Objective
from casimir.solvers.at_zero import scale_at_zero

_EASY, _HARD = 0.1, 0.35  # shares of the gap that S is: below and above them subproblems are easy and hard,
_CHANGE = 1.5  # and kappa changes by this factor
_OPEN, _STILL = 0.25, 0.7  # shares of the first gap and of the last S: above both, subproblems stay unsolved,
_RISE = 2.0  # and kappa rises by this factor, or by up to
_STEEP = 4.0  # this one, by the root of how many times too loose subproblems are
_LOOSE, _TIGHT = 5.0, 3.0  # about the best looseness on most problems; from the second on kappa does not fall
_SAMPLED = 20  # examples that tell the scale of the gradients
_OF_TEXT = 2000.0  # that of sentences with binary features
_FARTHEST = 500.0  # times the first one, or a part of it: as far as it goes


class Next(NamedTuple):
    """kappa of the next epoch, and whether that goes back to the first centre."""

    value: float
    starts_over: bool


class Kappa:
    """S is the subproblem's mean block gap after an epoch, a part of the gap F - D.

    rises     kappa doubles where S stays above a quarter of the first gap and falls by less than three tenths in an
              epoch. That is a subproblem which passes do not solve: examples contradict one another, so that their
              dual variables have far to go, and steps are short, as long as lam + kappa is small
    balances  kappa follows the share of the gap that S is, which should be between a tenth and a third, but does not
              fall where subproblems are solved too loosely for that. Where it rises while they are solved far too
              loosely, it rises by more, and the first time the run starts over: the centres have gone astray
    most      what it does not rise above
    lam       the strong convexity of F's own penalty
    value     the present one
    """

    def __init__(self, first: float, *, rises: bool, balances: bool, most: float = math.inf, lam: float = 1.0) -> None:
        self.value, self._first, self._rises, self._balances, self._lam = first, first, rises, balances, lam
        self._most = max(first, min(most, first * _FARTHEST))
        self._first_gap: float | None = None
        self._last = math.inf
        self._has_started_over = False

    def state(self) -> Any:
        return [self.value, self._first_gap, self._last, self._has_started_over]

    def restore(self, state: Any) -> None:
        self.value, self._first_gap, self._last, self._has_started_over = state

    def after(self, block_gap: float, predicted: float, correction: float, dual: float) -> Next:
        """The next one, after an epoch that ended at S = block_gap, F - D = predicted and D = dual.

        correction  what the prediction was off by when F was known: S is that of the visits, and w has moved since
        """
        factor, gap, starts_over = 1.0, correction * predicted, False
        loose = self._looseness(block_gap, predicted) if self._balances else 0.0
        if self._is_stuck(block_gap, predicted) and self._rises:
            factor = min(max(math.sqrt(loose / _LOOSE), _RISE), _STEEP)
            starts_over = factor > _RISE and not self._has_started_over
            self._has_started_over = self._has_started_over or starts_over
        elif self._balances and 0.0 < gap < dual:  # while the gap is larger than the dual, it tells little of either
            share = block_gap / gap
            factor = _CHANGE if share > _HARD else 1.0 / _CHANGE if share < _EASY and loose < _TIGHT else 1.0
        return Next(min(max(factor * self.value, self._first / _FARTHEST), self._most), starts_over)

    def _looseness(self, block_gap: float, predicted: float) -> float:
        """S over (sigma / 2) |w - z|^2, sigma = lam + kappa: what a subproblem leaves, by what it moved the weights.

        F - D = S + (kappa^2 / (2 lam)) |w - z|^2 tells the square. An outer loop bears little of it: w is off by up to
        (2 S / sigma)^0.5, which the dual pays for kappa / lam times.
        """
        moved = predicted - block_gap
        if moved <= 0.0 or self._lam == 0.0:
            return math.inf
        return block_gap / moved * self.value**2 / ((self._lam + self.value) * self._lam)

    def _is_stuck(self, block_gap: float, predicted: float) -> bool:
        """The first epoch tells the scale alone: its S is met on the way from w = 0."""
        if self._first_gap is None:
            self._first_gap = predicted
            return False
        last, self._last = self._last, block_gap
        return block_gap > max(_OPEN * self._first_gap, _STILL * last)


class Conditioning(NamedTuple):
    """How hard a problem is, before anything was tried.

    lam_n     lam n, lam the strong convexity of the penalty; for absolute values alone their strength
    square    mean_i |grad f_i(0)|^2 over a few examples. What counts is square / (lam n): it stays as it is when
              features and lam change so that F does not. For absolute values alone it is that of text
    n         the number of examples
    """

    lam_n: float
    square: float
    n: int

    @property
    def enough(self) -> float:
        """square / n: with such a kappa subproblems are as strongly convex as the loss of one example is curved."""
        return self.square / self.n

    @classmethod
    def of(cls, objective: Objective) -> Conditioning:
        square = 0.0 if has_bounded_dual(objective) else scale_at_zero(objective, _SAMPLED).square
        return cls(_lam_n(objective), square or _OF_TEXT, objective.n_active)


def hinge_kappa(at: Conditioning, *, is_l1: bool = False) -> float:
    """kappa = 0.7 (lam n)^0.75 square^0.25 / n, which is 0.7 (square / (lam n))^0.25 times lam.

    On named entities, where the square is 2,000, that is 5 (lam n)^0.75 / n. The optimum is flat there: a factor of 2
    either way costs some 10 % more passes. For absolute values alone it is a fifth: what w moves by in an epoch, times
    kappa, is lost in the dual.
    """
    share = 0.2 if is_l1 else 1.0
    return float(0.7 * share * at.lam_n**0.75 * at.square**0.25 / at.n)


def smooth_kappa(at: Conditioning) -> float:
    """kappa = 0.1 (lam n square)^0.5 / n, fitted as that of a hinge loss: some 3 (lam n)^0.5 / n on named entities."""
    return 0.1 * math.sqrt(at.lam_n * at.square) / at.n


def hinge_extrapolation(at: Conditioning) -> float:
    """beta = 0.15 log10(square / (2000 lam n)) between 0 and 0.3: more than that makes dual steps over outputs slower.

    At lam n = 0.01 it saves up to a fifth of the passes on named entity data, at 1 and above it would cost some.
    """
    return min(max(0.15 * math.log10(at.square / (_OF_TEXT * at.lam_n)), 0.0), 0.3)


def has_bounded_dual(objective: Objective) -> bool:
    """Whether R* is infinite beyond some g, as for absolute values alone.

    There -g may go beyond by kappa (w_k - w_{k-1}), and D pays for it in full. In a plain average over epochs these
    differences cancel but for the ends, so that the average of the dual points is worth a look.
    """
    return objective.penalty.strong_convexity == 0.0 and objective.penalty.quadratic is None


def _lam_n(objective: Objective) -> float:
    """lam n, lam the strong convexity of the penalty; where that is 0, the strength of its absolute values."""
    n = objective.n_active
    return (objective.penalty.strong_convexity or absolute_values(objective) or 1.0 / n) * n


def absolute_values(objective: Objective) -> float:
    """The strength of the penalty's absolute values."""
    return float(getattr(objective.penalty, "l1", 0.0))
