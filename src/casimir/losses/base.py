"""What a loss is: a smoothed max of the scores plus a cost, less the score of the truth."""

from __future__ import annotations

from typing import Any, Protocol

from casimir.costs import Cost
from casimir.losses.fenchel_young import FenchelYoung
from casimir.losses.hinge import Hinge
from casimir.losses.log import Log
from casimir.smoothing import L2, Hard, Smoothing

LOSS_NAMES = ("hinge", "crf")


class Loss(Protocol):
    """f_i(w) = max^mu_y { score_i(y; w) + cost_i(y) } - score_i(y_i; w).

    cost       what an output costs, given the truth; None: nothing
    smoothing  which smoothed max; Hard() is the plain one, which is not smooth
    mu         its level; Hard() does not use it

    Any object with these three is a loss. A smoothing is 0 on single outputs (omega = 0), so no loss is negative.
    """

    @property
    def cost(self) -> Cost | None: ...

    @property
    def smoothing(self) -> Smoothing: ...

    @property
    def mu(self) -> float: ...


def smoothed(loss: Loss, smoothing: Smoothing, mu: float) -> Loss:
    """The loss that a solver of smooth problems minimises: one that has a smoothing is left alone."""
    return FenchelYoung(smoothing, mu, loss.cost) if isinstance(loss.smoothing, Hard) and mu > 0.0 else loss


def as_loss(loss: Any) -> Loss:
    """The loss itself; a cost stands for the hinge loss with it.

    A loss has to be one function, and L2(k) is another one wherever k outputs are not enough.
    """
    is_loss = all(hasattr(loss, name) for name in ("cost", "smoothing", "mu"))
    if not is_loss and not callable(getattr(loss, "parts", None)):
        raise TypeError(
            f"loss={loss!r}; it must be a loss such as Hinge(Hamming()) or Log(), or a cost such as Hamming()."
        )
    found: Loss = loss if is_loss else Hinge(loss)
    if isinstance(found.smoothing, L2) and found.smoothing.k is not None:
        raise ValueError(
            f"A loss with L2(k={found.smoothing.k}) undervalues itself where more outputs share the weight, and its "
            "gap would not be certified. Use L2() without k."
        )
    return found


def loss_named(name: str, cost: Cost | None) -> Loss:
    """ "hinge": Hinge(cost); "crf": Log(), which has no cost."""
    if name not in LOSS_NAMES:
        raise ValueError(f"loss={name!r}; it must be 'hinge' or 'crf'.")
    return Log() if name == "crf" else Hinge(cost)
