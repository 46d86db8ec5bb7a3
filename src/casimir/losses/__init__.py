"""Losses: which smoothed max an example's loss takes, and with which cost."""

from casimir.losses.base import Loss, as_loss, is_entropic, is_smooth, smoothed
from casimir.losses.fenchel_young import FenchelYoung
from casimir.losses.hinge import Hinge
from casimir.losses.log import Log
from casimir.losses.softmax_margin import SoftmaxMargin

__all__ = ["FenchelYoung", "Hinge", "Log", "Loss", "SoftmaxMargin", "as_loss", "is_entropic", "is_smooth", "smoothed"]
