"""Hinge losses whose oracles are answered by workers, and all of whose dual steps are made by the client."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from casimir._arrays import combine
from casimir._validate import positive_float, positive_int
from casimir.dask.blocks import PieceBlocks, check_dual
from casimir.dask.objective import SpreadObjective
from casimir.dask.pieces import Held
from casimir.dask.proximal import ProximalRun
from casimir.dask.vectors import Sent, narrowed
from casimir.losses import Loss
from casimir.objective import Objective
from casimir.scores import FloatArray
from casimir.solvers.base import Monitor
from casimir.solvers.proximal_kappa import Conditioning, hinge_kappa

_FIRMER = 3.0  # times the kappa of one machine, as answers are a round old
_STEPS, _SKIP_BELOW = 2, 0.5  # of visits: pairwise steps, and the share of the mean gap below which there are none


@dataclass(frozen=True)
class Central:
    """Dual steps here, oracles elsewhere: w goes down, the best outputs come up, a byte or two per token.

    What is around the rounds is `ProximalRun`, as for `Sharded`; steps are made one after another, at the w of then.

    rounds         of a pass: in each the pieces k, k + rounds, k + 2 rounds, ... are asked at the w of then. As many as
                   there are pieces at the most, and then one worker is busy at a time: have `rounds` pieces per thread
    cached_passes  over the outputs of all examples, after every round
    kappa          None: three times that of DualProximal

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
        if self.kappa is not None:
            positive_float(self.kappa, "kappa")

    def run(self, objective: Objective, w0: FloatArray, monitor: Monitor, rng: np.random.Generator) -> None:
        if not isinstance(objective, SpreadObjective):
            raise TypeError("Central is for casimir.dask.minimize; on one machine use DualProximal().")
        check_dual(objective, "Central")
        if objective.whole is None:
            raise TypeError(
                "Central makes all dual steps at the client, which needs the examples there: give lists or a pack, not "
                "futures or a bag. Or use Sharded()."
            )
        kappa = self.kappa or _FIRMER * hinge_kappa(Conditioning.of(objective))
        ProximalRun(_Rounds(self, objective), objective, kappa, w0, monitor, rng).run()


class _Rounds:
    """As many rounds as there are groups of pieces; all dual variables are at the client."""

    def __init__(self, how: Central, objective: SpreadObjective) -> None:
        assert objective.whole is not None
        self.how, self.objective = how, objective
        self.count = min(how.rounds, len(objective.crew))
        self.parts = [
            PieceBlocks(_objective_of(piece, objective.loss), share)
            for piece, share in zip(objective.whole(), objective.crew.shares, strict=True)
        ]

    def state(self) -> Any:
        return [part.blocks for part in self.parts]

    def restore(self, state: Any) -> None:
        for part, one in zip(self.parts, state, strict=True):
            part.blocks.restore(one)

    def a_pass(
        self, w: FloatArray, g: FloatArray, sigma: float, rng: np.random.Generator, after_round: Callable[[], None]
    ) -> float:
        crew, before = self.objective.crew, w.copy()
        for group in rng.permutation(self.count).tolist():
            chosen = list(range(group, len(crew), self.count))
            answers = crew.each("casimir-oracle", answer, sent=Sent.of(w), only=chosen)
            crew.traffic.up += sum(one.nbytes for one in answers)
            for place in rng.permutation(len(chosen)).tolist():
                part = self.parts[chosen[place]]
                order = part.objective.permutation(rng)
                part.answered(order, answers[place], _STEPS, sigma, w)
                self.objective.count("steps", len(order))
                crew.traffic.oracles += len(order)
            for _ in range(self.how.cached_passes):
                for k in rng.permutation(len(crew)).tolist():
                    part = self.parts[k]
                    part.cached(part.objective.permutation(rng), _STEPS, _SKIP_BELOW, sigma, w)
            after_round()
        before -= w
        combine(1.0, g, sigma, before, out=g)
        return float(sum(part.ell for part in self.parts))


def _objective_of(piece: Any, loss: Loss) -> Objective:
    return Held(piece, loss, 1).objective


def answer(held: Held, w: Sent) -> np.ndarray:
    """The best outputs of all examples at w, their costs included, one after another."""
    fused = held.objective.term.fused
    assert fused is not None
    return narrowed(fused.core.decode(w.vector(), held.threads)[1])
