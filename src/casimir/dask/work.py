"""What workers do. Every function here has a name that Dask's dashboard shows, and gives the same answer twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from casimir.dask.pieces import Facts, Held, Piece
from casimir.dask.vectors import Sent
from casimir.losses import Loss

Task = Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Part:
    """What a piece, or several, add to an evaluation at w: sums over their examples, by the shares of these in all.

    objective  of the losses themselves; None where the smoothing does not see them
    smoothed   of the smoothed losses
    gradient   sum_i p_i grad f_i(w), or None
    ell        of the dual point
    exact      examples on which the smoothing was exact
    """

    objective: float | None
    smoothed: float
    gradient: Sent | None
    ell: float
    exact: float

    def __sizeof__(self) -> int:
        return 64 + (0 if self.gradient is None else self.gradient.nbytes)


def hold(piece: Piece, loss: Loss, threads: int) -> Held:
    """The piece with its native problem."""
    held = Held(piece, loss, threads)
    assert held.objective is not None
    return held


def weights(sent: Any) -> Any:
    """What all pieces are looked at with in a round."""
    return sent


def facts(held: Held) -> Facts:
    """What the client is told."""
    return held.facts()


def evaluate(held: Held, w: Sent, share: float, loss: Loss | None, gradient: bool) -> Part:
    """One oracle call per example; a loss that is given is a smoothed version of the objective's own."""
    objective = held.objective
    found = objective.evaluate(w.vector(), loss, gradient=gradient)
    sent = None
    if found.gradient is not None:
        sent = Sent.of(found.gradient)
        sent.values[:] *= share
    return Part(
        None if found.objective is None else share * found.objective,
        share * found.smoothed,
        sent,
        0.0 if found.dual is None else share * found.dual.ell,
        found.exact * objective.n_active,
    )


def add(a: Part, b: Part) -> Part:
    """The sum of two parts, the one of the lower numbers first."""
    return Part(
        None if a.objective is None or b.objective is None else a.objective + b.objective,
        a.smoothed + b.smoothed,
        None if a.gradient is None or b.gradient is None else a.gradient.plus(b.gradient),
        a.ell + b.ell,
        a.exact + b.exact,
    )
