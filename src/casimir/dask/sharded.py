"""Hinge losses whose dual variables stay on the workers: local steps, and a few sums of vectors a pass."""

from __future__ import annotations

import math
import uuid
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from casimir._arrays import aligned_zeros, combine, dot
from casimir._validate import positive_int
from casimir.dask.blocks import PieceBlocks, check_dual
from casimir.dask.objective import SpreadObjective
from casimir.dask.pieces import Held
from casimir.dask.vectors import Sent
from casimir.duality import DualPoint
from casimir.scores import FloatArray
from casimir.smoothing import project_simplex
from casimir.solvers.base import Monitor
from casimir.solvers.proximal_kappa import Conditioning, hinge_kappa

_FIRMER = 8.0  # times the kappa of one machine: local steps of several need subproblems that are more strongly convex
_SAFETY = 1.2  # of the scale of local steps
_PAIRS = 15  # dual points that the best bound is mixed of
_FIRST_LOOK, _LEAST_WAIT, _LONGEST_WAIT = 2, 2, 25  # passes until F is evaluated, and from then on
_QP_STEPS = 300


@dataclass(frozen=True)
class Sharded:
    """A proximal point method on pieces that keep their own dual variables.

    In a round every worker makes dual steps on a share of its examples, with an oracle call each, and then between
    outputs that it knows; what that changes is summed up, one vector per piece. As others move at the same time, local
    steps are as long as if w answered s times as much: s follows 1.2 |sum of changes|^2 / sum |change|^2, from 1, where
    changes are orthogonal, to the number of pieces. The centre moves at the end of a pass, beyond w by the momentum
    (1 - sqrt q) / (1 + sqrt q), q = lam / (lam + kappa). The bound is the best of mixtures of the last 15 dual points.
    As w itself swings, its average over the rounds is what is reported; its F costs a pass, whenever it may be enough.

    rounds         of a pass: sums of vectors, 5 to 10. More is better where the network is fast
    cached_passes  over the outputs that a piece knows, in every round
    kappa          None: eight times that of DualProximal

    Pieces should be as many as the workers have threads, and examples in random order among them. What it takes grows
    with the number of pieces. A worker that dies takes its dual variables along; they are made anew from what the
    client keeps in a file since the beginning of the pass.
    """

    starts_at_zero: ClassVar[bool] = True

    rounds: int = 5
    cached_passes: int = 2
    kappa: float | None = None

    def __post_init__(self) -> None:
        positive_int(self.rounds, "rounds")
        if self.cached_passes < 0:
            raise ValueError(f"cached_passes={self.cached_passes}; it must be 0 or larger.")
        if self.kappa is not None and not self.kappa > 0.0:
            raise ValueError(f"kappa={self.kappa}; it must be positive, or None for the default.")

    def run(self, objective: Any, w0: FloatArray, monitor: Monitor, rng: np.random.Generator) -> None:
        if not isinstance(objective, SpreadObjective):
            raise TypeError("Sharded is for casimir.dask.minimize; on one machine use DualProximal().")
        check_dual(objective, "Sharded")
        kappa = self.kappa or _FIRMER * hinge_kappa(Conditioning.of(objective))
        _Run(self, objective, kappa, w0, monitor, rng).run()


class _Run:
    """g = sum_k g_k over pieces, and w = (kappa z - g) / sigma, at the client."""

    def __init__(
        self,
        how: Sharded,
        objective: SpreadObjective,
        kappa: float,
        w0: FloatArray,
        monitor: Monitor,
        rng: np.random.Generator,
    ) -> None:
        self.how, self.objective, self.kappa, self.monitor, self.rng = how, objective, kappa, monitor, rng
        self.lam = objective.penalty.strong_convexity
        self.sigma = self.lam + kappa
        self.g = aligned_zeros(objective.n_params)
        self.z, self.before = w0.copy(), w0.copy()
        self.w = aligned_zeros(objective.n_params)
        self.mean = aligned_zeros(objective.n_params)
        combine(kappa / self.sigma, self.z, 0.0, self.g, out=self.w)
        self.scale = float(len(objective.crew))
        self.bound = Mixtures(self.lam)
        self.crew = _Crew(objective)

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
        vectors = [self.g, self.z, self.before, self.w, self.mean]
        return [*vectors, self.scale, self.bound.state(), self.crew.state()]

    def _restore(self, state: Any) -> None:
        self.g, self.z, self.before, self.w, self.mean, self.scale, bound, crew = state
        self.bound.restore(bound)
        self.crew.restore(crew)

    def _pass(self, share: float) -> float:
        """ell after so many rounds; share: of the w's of this pass in their average over all passes."""
        seed, rounds = int(self.rng.integers(2**62)), self.how.rounds
        self.crew.begin()
        self.mean *= 1.0 - share
        ell = 0.0
        for r in range(rounds):
            todo = Todo(seed, r, rounds, self.how.cached_passes, self.sigma, self.scale)
            found = self.crew.steps(self.w, todo)
            total, squares = aligned_zeros(len(self.g)), 0.0
            for one in found:
                one.change.add_to(total)
                squares += dot(one.change.values, one.change.values)
            if squares > 0.0:
                wanted = _SAFETY * dot(total, total) / squares
                self.scale = min(max(0.5 * (self.scale + wanted), 1.0), float(len(found)))
            self.g += total
            combine(-1.0 / self.sigma, total, 1.0, self.w, out=self.w)
            combine(1.0, self.mean, share / rounds, self.w, out=self.mean)
            ell = sum(one.ell for one in found)
            self.objective.count("steps", sum(one.calls for one in found))
        return ell

    def _recentre(self, k: int) -> None:
        root = math.sqrt(self.lam / self.sigma)
        beta = min((1.0 - root) / (1.0 + root), k / (k + 3.0))
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


class Todo(NamedTuple):
    """One round of a pass.

    seed    of the pass: it gives the order of the examples of every piece
    scale   s: how much more w answers to local steps than to their sum
    """

    seed: int
    round: int
    rounds: int
    cached_passes: int
    sigma: float
    scale: float


@dataclass(frozen=True, eq=False)
class Done:
    """What a round has done to a piece.

    change  of its part of g
    ell     its part of ell
    missing the piece has not what the round begins with: its worker is a new one
    """

    change: Sent
    ell: float
    calls: int
    missing: bool = False


class _Crew:
    """The pieces with their dual variables, which survive their workers."""

    def __init__(self, objective: SpreadObjective) -> None:
        self._objective, self._id = objective, uuid.uuid4().hex
        self._team = objective.crew
        self._at = 0  # rounds so far
        self._kept: list[Any] = [None] * len(self._team)  # dual variables at the beginning of the pass; None: the truth
        self._rounds: list[tuple[Sent, Todo]] = []  # since then

    def state(self) -> Any:
        """What the pieces keep, for checkpoints."""
        return [self._kept_now()]

    def restore(self, state: Any) -> None:
        """Of new pieces: go on from such a state."""
        (self._kept,) = state
        self._rounds = []
        for k, kept in enumerate(self._kept):
            self._remake(k, kept)

    def begin(self) -> None:
        """A pass: what the pieces have now is what a lost one goes on from."""
        if self._at:
            self._kept = self._kept_now()
        self._rounds = []

    def steps(self, w: FloatArray, todo: Todo) -> list[Done]:
        """A round."""
        sent = Sent.of(w)
        found = self._round(range(len(self._team)), sent, todo)
        lost = [k for k, one in enumerate(found) if one.missing]
        while lost:
            for k in lost:
                self._remake(k, self._kept[k])
            again = self._round(lost, sent, todo)
            for k, one in zip(lost, again, strict=True):
                found[k] = one
            lost = [k for k in lost if found[k].missing]
        self._rounds.append((sent, todo))
        self._at += 1
        self._team.traffic.up += sum(one.change.nbytes for one in found)
        self._team.traffic.oracles += sum(one.calls for one in found)
        return found

    def _round(self, pieces: Any, sent: Sent, todo: Todo, at: int | None = None) -> list[Done]:
        shares, start = self._team.shares, self._at if at is None else at
        found: list[Done] = self._team.each(
            "casimir-steps", steps, self._id, start, todo, sent=sent, of=lambda k: (k, shares[k]), only=list(pieces)
        )
        return found

    def _remake(self, k: int, kept: Any) -> None:
        """Piece k as it was, on its new worker: the pass so far is done again."""
        first, share = self._at - len(self._rounds), self._team.shares[k]
        self._team.each("casimir-restore", restore, self._id, first, share, kept, only=[k])
        for j, (sent, todo) in enumerate(self._rounds):
            if self._round([k], sent, todo, first + j)[0].missing:
                return  # lost once more

    def _kept_now(self) -> list[Any]:
        while True:
            found = self._team.each("casimir-keep", keep, self._id, self._at)
            lost = [k for k, one in enumerate(found) if one is None]
            if not lost:
                self._team.traffic.up += sum(_nbytes(one) for one in found)
                return found
            for k in lost:
                self._remake(k, self._kept[k])


def _nbytes(state: Any) -> int:
    return sum(one.nbytes for one in state if isinstance(one, np.ndarray))


# --- on workers


@dataclass
class _Kept:
    """The dual variables of a piece after `at` rounds of a run, and the answer of the last one."""

    run: str
    at: int
    blocks: PieceBlocks
    last: Done | None = field(default=None)


def steps(held: Held, w: Sent, run: str, at: int, todo: Todo, number: int, share: float) -> Done:
    """A round on one piece. Asked twice, it answers the same without another step."""
    with held.lock:
        if at == 0 and (held.kept is None or held.kept.run != run):
            held.kept = _Kept(run, 0, PieceBlocks(held.objective, share))
        kept: _Kept | None = held.kept
        if kept is None or kept.run != run or kept.at not in (at, at + 1):
            return Done(Sent.of(np.zeros(0)), 0.0, 0, missing=True)
        if kept.at == at:
            kept.last = _steps(kept.blocks, w, todo, number)
            kept.at = at + 1
        assert kept.last is not None
        return kept.last


def _steps(part: PieceBlocks, sent: Sent, todo: Todo, number: int) -> Done:
    w, sigma = sent.vector(), todo.sigma / todo.scale
    order = part.objective.permutation(np.random.default_rng([todo.seed, number]))
    mine = np.array_split(order, todo.rounds)[todo.round]
    _, calls = part.exact(mine, 2, 0.0, sigma, w)
    rng = np.random.default_rng([todo.seed, number, todo.round])
    for _ in range(todo.cached_passes):
        part.cached(part.objective.permutation(rng), 2, 0.5, sigma, w)
    sent.add_to(np.negative(w, out=w))
    w *= sigma
    return Done(Sent.of(w), part.ell, calls)


def keep(held: Held, run: str, at: int) -> Any:
    """The dual variables after so many rounds; None where they are not here."""
    with held.lock:
        kept: _Kept | None = held.kept
        if kept is None or kept.run != run or kept.at != at:
            return None
        return kept.blocks.blocks.state()


def restore(held: Held, run: str, at: int, share: float, state: Any) -> None:
    """The dual variables of then; None: all weight on the truth."""
    with held.lock:
        held.kept = _Kept(run, at, PieceBlocks(held.objective, share))
        if state is not None:
            held.kept.blocks.blocks.restore(state)


# --- the bound


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
