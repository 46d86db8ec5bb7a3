"""Hinge losses whose oracles are answered by workers, and all of whose dual steps are made by the client."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from casimir._validate import positive_int
from casimir.dask.blocks import PieceBlocks, check_dual
from casimir.dask.objective import SpreadObjective
from casimir.dask.pieces import Held
from casimir.dask.vectors import Sent, narrowed
from casimir.losses import Loss
from casimir.objective import Objective
from casimir.problems import DualIterate
from casimir.scores import FloatArray
from casimir.solvers.base import Monitor
from casimir.solvers.bcfw import BCFW
from casimir.solvers.dual_proximal import DualProximal


@dataclass(frozen=True)
class Central:
    """DualProximal with oracles elsewhere: w goes down, the best outputs come up, a byte or two per token.

    rounds         of a pass: in each the pieces k, k + rounds, k + 2 rounds, ... are asked at the w of then. As many as
                   there are pieces at the most, and then one worker is busy at a time: have `rounds` pieces per thread
    cached_passes  over the outputs of all examples, after every round
    kappa          as for DualProximal

    The client needs the examples as well, with what dual steps keep of them. So this is for oracles that take longer
    than steps: parsers, cuts, boxes, and for chains of many labels.
    """

    starts_at_zero: ClassVar[bool] = True

    rounds: int = 8
    cached_passes: int = 2
    kappa: float | None = None

    def __post_init__(self) -> None:
        positive_int(self.rounds, "rounds")
        positive_int(self.cached_passes, "cached_passes")

    def run(self, objective: Objective, w0: FloatArray, monitor: Monitor, rng: np.random.Generator) -> None:
        if not isinstance(objective, SpreadObjective):
            raise TypeError("Central is for casimir.dask.minimize; on one machine use DualProximal().")
        check_dual(objective, "Central")
        if objective.whole is None:
            raise TypeError(
                "Central makes all dual steps at the client, which needs the examples there: give lists or a pack, not "
                "futures or a bag. Or use Sharded()."
            )
        inner = _Rounds(pairwise=True, rounds=self.rounds, cached_passes=self.cached_passes)
        DualProximal(inner=inner, kappa=self.kappa).run(objective, w0, monitor, rng)


@dataclass(frozen=True)
class _Rounds(BCFW):
    """An epoch of as many rounds as there are groups of pieces."""

    rounds: int = 8

    def blocks(self, objective: Any) -> Any:
        return _Blocks(objective)

    def passes(self, objective: Any, blocks: Any, iterate: DualIterate, rng: np.random.Generator) -> float:
        count, sigma = len(objective.crew), iterate.penalty.strong_convexity
        groups = min(self.rounds, count)
        for group in rng.permutation(groups).tolist():
            chosen = list(range(group, count, groups))
            sent = Sent.of(iterate.w)
            answers = objective.crew.each("casimir-oracle", answer, sent=sent, only=chosen)
            objective.crew.traffic.up += sum(one.nbytes for one in answers)
            for place in rng.permutation(len(chosen)).tolist():
                part = blocks.parts[chosen[place]]
                order = part.objective.permutation(rng)
                blocks.gaps[chosen[place]] = part.answered(order, answers[place], self.steps, sigma, iterate.w)
                objective.count("steps", len(order))
                objective.crew.traffic.oracles += len(order)
            for _ in range(self.cached_passes):
                for k in rng.permutation(count).tolist():
                    part = blocks.parts[k]
                    order = part.objective.permutation(rng)
                    blocks.gaps[k] = part.cached(order, self.steps, self.skip_below, sigma, iterate.w)
        return float(blocks.gaps.sum())


class _Blocks:
    """Those of all pieces, at the client."""

    def __init__(self, objective: SpreadObjective) -> None:
        assert objective.whole is not None
        shares, loss = objective.crew.shares, objective.loss
        self.parts = [
            PieceBlocks(_objective_of(piece, loss), share)
            for piece, share in zip(objective.whole(), shares, strict=True)
        ]
        self.gaps = np.zeros(len(self.parts))

    @property
    def ell(self) -> float:
        return float(sum(part.ell for part in self.parts))

    def state(self) -> Any:
        return [self.gaps, [part.blocks for part in self.parts]]

    def restore(self, state: Any) -> None:
        self.gaps[:], own = state
        for part, one in zip(self.parts, own, strict=True):
            part.blocks.restore(one)


def _objective_of(piece: Any, loss: Loss) -> Objective:
    return Held(piece, loss, 1).objective


def answer(held: Held, w: Sent) -> np.ndarray:
    """The best outputs of all examples at w, their costs included, one after another."""
    fused = held.objective.term.fused
    assert fused is not None
    return narrowed(fused.core.decode(w.vector(), held.threads)[1])
