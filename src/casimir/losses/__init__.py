"""Losses: which smoothed max an example's loss takes, and with which cost."""

from casimir.losses.base import LOSS_NAMES, Loss, as_loss, loss_named, smoothed
from casimir.losses.fenchel_young import FenchelYoung
from casimir.losses.hinge import Hinge
from casimir.losses.log import Log
from casimir.losses.softmax_margin import SoftmaxMargin

__all__ = [
    "LOSS_NAMES",
    "FenchelYoung",
    "Hinge",
    "Log",
    "Loss",
    "SoftmaxMargin",
    "as_loss",
    "loss_named",
    "smoothed",
]
