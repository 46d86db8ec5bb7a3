"""Hinge losses whose dual variables stay on the workers: local steps, and a few sums of vectors a pass."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np

from casimir._arrays import aligned_zeros, combine, dot
from casimir._validate import positive_float, positive_int
from casimir.dask.blocks import PieceBlocks, check_dual
from casimir.dask.objective import SpreadObjective
from casimir.dask.pieces import Held
from casimir.dask.proximal import ProximalRun
from casimir.dask.vectors import Sent
from casimir.scores import FloatArray
from casimir.solvers.base import Monitor
from casimir.solvers.proximal_kappa import Conditioning, hinge_kappa

_FIRMER = 3.0  # times the kappa of one machine: local steps of several need subproblems that are more strongly convex
_MOMENTUM = 0.5  # a full one feeds back what pieces that step at the same time do to one another: w swings for long
_SAFETY = 2.0  # of the scale of local steps: directions differ from coordinate to coordinate


@dataclass(frozen=True)
class Sharded:
    """A proximal point method on pieces that keep their own dual variables.

    In a round every worker makes dual steps on a share of its examples, with an oracle call each, and then between
    outputs that it knows; what that changes is summed up, one vector per piece. As others move at the same time, local
    steps are as long as if w answered s times as much: s follows 2 |sum of changes|^2 / sum |change|^2, from 1, where
    changes are orthogonal, to the number of pieces. What is around the rounds is `ProximalRun`.

    rounds         of a pass: sums of vectors. 5 take some more passes, and half of the network
    cached_passes  over the outputs that a piece knows, in every round
    kappa          None: three times that of DualProximal

    Pieces should be as many as the workers have threads, and examples in random order among them. What it takes grows
    with the number of pieces. A worker that dies takes its dual variables along; they are made anew from what the
    client keeps in a file since the beginning of the pass.
    """

    starts_at_zero: ClassVar[bool] = True

    rounds: int = 10
    cached_passes: int = 3
    kappa: float | None = None

    def __post_init__(self) -> None:
        positive_int(self.rounds, "rounds")
        if not isinstance(self.cached_passes, Integral) or self.cached_passes < 0:
            raise ValueError(f"cached_passes={self.cached_passes!r}; it must be a whole number, 0 or larger.")
        if self.kappa is not None:
            positive_float(self.kappa, "kappa")

    def run(self, objective: Any, w0: FloatArray, monitor: Monitor, rng: np.random.Generator) -> None:
        if not isinstance(objective, SpreadObjective):
            raise TypeError("Sharded is for casimir.dask.minimize; on one machine use DualProximal().")
        check_dual(objective, "Sharded")
        kappa = self.kappa or _FIRMER * hinge_kappa(Conditioning.of(objective))
        ProximalRun(_Rounds(self, objective), objective, kappa, w0, monitor, rng, _MOMENTUM).run()


class _Rounds:
    """g = sum_k g_k over pieces, whose dual variables are on workers."""

    def __init__(self, how: Sharded, objective: SpreadObjective) -> None:
        self.how, self.objective, self.count = how, objective, how.rounds
        self.scale = float(len(objective.crew))
        self.crew = _Crew(objective)

    def state(self) -> Any:
        return [self.scale, self.crew]

    def restore(self, state: Any) -> None:
        self.scale, crew = state
        self.crew.restore(crew)

    def a_pass(
        self, w: FloatArray, g: FloatArray, sigma: float, rng: np.random.Generator, after_round: Callable[[], None]
    ) -> float:
        seed, ell = int(rng.integers(2**62)), 0.0
        self.crew.begin()
        for r in range(self.count):
            todo = Todo(seed, r, self.count, self.how.cached_passes, sigma, self.scale)
            found = self.crew.steps(w, todo)
            total, squares = aligned_zeros(len(g)), 0.0
            for one in found:
                one.change.add_to(total)
                squares += dot(one.change.values, one.change.values)
            if squares > 0.0:
                wanted = _SAFETY * dot(total, total) / squares
                self.scale = min(max(0.5 * (self.scale + wanted), 1.0), float(len(found)))
            g += total
            combine(-1.0 / sigma, total, 1.0, w, out=w)
            after_round()
            ell = sum(one.ell for one in found)
            self.objective.count("steps", sum(one.calls for one in found))
        return ell


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
