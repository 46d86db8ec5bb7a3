"""A proximal point method for hinge losses whose dual steps are made in rounds, by whoever makes them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from casimir._arrays import aligned_zeros, combine, dot
from casimir.dask.objective import SpreadObjective
from casimir.duality import DualPoint
from casimir.scores import FloatArray
from casimir.smoothing import project_simplex
from casimir.solvers.base import Monitor

_PAIRS = 15  # dual points that the best bound is mixed of
_FIRST_LOOK, _LEAST_WAIT, _LONGEST_WAIT = 2, 2, 25  # passes until F is evaluated, and from then on
_QP_STEPS = 300


class Rounds(Protocol):
    """Dual variables of all examples, wherever they are, and the rounds of a pass over them."""

    count: int

    def a_pass(
        self, w: FloatArray, g: FloatArray, sigma: float, rng: np.random.Generator, after_round: Callable[[], None]
    ) -> float:
        """Moves g, and w by -1 / sigma of that, in place, in `count` rounds; returns ell."""
        ...

    def state(self) -> Any:
        """For checkpoints."""
        ...

    def restore(self, state: Any) -> None:
        """Of new ones: go on from such a state."""
        ...


class ProximalRun:
    """w = (kappa z - g) / sigma, sigma = lam + kappa, at the client.

    The centre z moves at the end of a pass, beyond w by momentum (1 - sqrt q) / (1 + sqrt q), q = lam / sigma; momentum
    is 1 where steps follow one another, less where pieces step at the same time. The bound is the best of mixtures of
    the last 15 dual points. As w itself swings, its average over the rounds is what is reported; its F costs a pass,
    whenever it may be enough.
    """

    def __init__(
        self,
        rounds: Rounds,
        objective: SpreadObjective,
        kappa: float,
        w0: FloatArray,
        monitor: Monitor,
        rng: np.random.Generator,
        momentum: float = 1.0,
    ) -> None:
        self.rounds, self.objective, self.monitor, self.rng = rounds, objective, monitor, rng
        self.kappa, self.momentum = kappa, momentum
        self.lam = objective.penalty.strong_convexity
        self.sigma = self.lam + self.kappa
        self.g = aligned_zeros(objective.n_params)
        self.z, self.before = w0.copy(), w0.copy()
        self.w, self.mean = aligned_zeros(objective.n_params), aligned_zeros(objective.n_params)
        combine(self.kappa / self.sigma, self.z, 0.0, self.g, out=self.w)
        self.bound = Mixtures(self.lam)

    def run(self) -> None:
        k, looks = 0, Looks()
        if self.monitor.resumed is not None:
            k, of_looks, state = self.monitor.resumed
            looks.restore(of_looks)
            self._restore(state)
        while True:
            self.monitor.rest((k, looks, self))
            k += 1
            ell = self._pass(6.0 / (k + 5.0))
            dual = self.bound.after(DualPoint(self.g.copy(), ell))
            if self.monitor.is_last or (self.monitor.is_due and k >= looks.next):
                value = self.objective.value(self.mean)
                if self.monitor.epoch(self.mean, objective=value, dual=dual, kappa=self.kappa):
                    return
                looks.after(k, value - dual, self.monitor.tol * value)
            else:
                self.monitor.skip()
            self._recentre(k)

    def state(self) -> Any:
        return [self.g, self.z, self.before, self.w, self.mean, self.bound, self.rounds]

    def _restore(self, state: Any) -> None:
        self.g, self.z, self.before, self.w, self.mean, bound, rounds = state
        self.bound.restore(bound)
        self.rounds.restore(rounds)

    def _pass(self, share: float) -> float:
        """ell after a pass; share: of its w's in their average over all passes."""
        self.mean *= 1.0 - share
        part = share / self.rounds.count

        def after_round() -> None:
            combine(1.0, self.mean, part, self.w, out=self.mean)

        return self.rounds.a_pass(self.w, self.g, self.sigma, self.rng, after_round)

    def _recentre(self, k: int) -> None:
        root = math.sqrt(self.lam / self.sigma)
        beta = self.momentum * min((1.0 - root) / (1.0 + root), k / (k + 3.0))
        combine(1.0 + beta, self.w, -beta, self.before, out=self.z)
        self.before[:] = self.w
        combine(self.kappa / self.sigma, self.z, -1.0 / self.sigma, self.g, out=self.w)


class Looks:
    """When F of the average is evaluated, which costs a pass: when the gap has fallen to the tolerance if it goes on
    falling as it did; after half as many passes again as there were, where it does not fall that fast.

    next  the pass after which it is time
    """

    def __init__(self) -> None:
        self.next, self._last, self._gap = _FIRST_LOOK, 0, math.inf

    def state(self) -> Any:
        return [self.next, self._last, self._gap]

    def restore(self, state: Any) -> None:
        self.next, self._last, self._gap = state

    def after(self, k: int, gap: float, enough: float) -> None:
        """The gap was this one after pass k, and has to be `enough`."""
        wait, most = math.inf, min(max(k / 2.0, _LEAST_WAIT), _LONGEST_WAIT)
        if 0.0 < enough < gap < self._gap < math.inf:
            wait = math.log(gap / enough) / math.log(self._gap / gap) * (k - self._last)
        self.next = k + math.ceil(min(max(wait, _LEAST_WAIT), most))
        self._last, self._gap = k, gap


class Mixtures:
    """The best bound over mixtures of the last dual points: max <b, a> - |sum a_j g_j|^2 / (2 lam) over the simplex.

    What is mixed stays feasible, so the bound holds however well that is maximised.
    """

    def __init__(self, lam: float, most: int = _PAIRS) -> None:
        self._lam, self._most = lam, most
        self._points: list[DualPoint] = []
        self._products = np.zeros((0, 0))
        self.best = 0.0

    def after(self, point: DualPoint) -> float:
        """The bound with one point more."""
        if len(self._points) == self._most:
            self._points, self._products = self._points[1:], self._products[1:, 1:]
        self._points.append(point)
        row = np.array([dot(one.g, point.g) for one in self._points])
        m = len(row)
        grown = np.empty((m, m))
        grown[:-1, :-1], grown[-1], grown[:, -1] = self._products, row, row
        self._products = grown
        self.best = max(self.best, self._maximum())
        return self.best

    def state(self) -> Any:
        return [[one.g for one in self._points], [one.ell for one in self._points], self.best]

    def restore(self, state: Any) -> None:
        gs, ells, best = state
        self._points, self._products = [], np.zeros((0, 0))
        for g, ell in zip(gs, ells, strict=True):
            self.after(DualPoint(g, ell))
        self.best = best

    def _maximum(self) -> float:
        """By accelerated projected gradient steps."""
        H, b = self._products / self._lam, np.array([one.ell for one in self._points])
        L = max(float(np.linalg.eigvalsh(H)[-1]), 1e-300)
        a = np.zeros(len(b))
        a[int(np.argmax(b - 0.5 * np.diag(H)))] = 1.0
        best, y, t = float(b @ a - 0.5 * a @ H @ a), a, 1.0
        for _ in range(_QP_STEPS):
            new = project_simplex(y + (b - H @ y) / L)
            t_new = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * t * t))
            y = new + (t - 1.0) / t_new * (new - a)
            a, t = new, t_new
            best = max(best, float(b @ a - 0.5 * a @ H @ a))
        return best
