"""Names of losses, for the edges of the library."""

from __future__ import annotations

from casimir.costs import Cost
from casimir.losses.base import Loss
from casimir.losses.hinge import Hinge
from casimir.losses.log import Log

LOSS_NAMES = ("hinge", "crf")


def loss_named(name: str, cost: Cost | None) -> Loss:
    """ "hinge": Hinge(cost); "crf": Log(), which has no cost."""
    if name not in LOSS_NAMES:
        raise ValueError(f"loss={name!r}; it must be 'hinge' or 'crf'.")
    return Log() if name == "crf" else Hinge(cost)
