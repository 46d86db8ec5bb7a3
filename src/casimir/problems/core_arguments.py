"""Smoothings and penalties as the core takes them."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from casimir._native import core
from casimir.penalties import Penalty
from casimir.smoothing import L2, Entropy, Hard, Smoothing


@singledispatch
def core_smoothing(smoothing: Smoothing, mu: float) -> Any | None:
    """The smoothing as the core takes it, or None for one that it does not know."""
    return None


@core_smoothing.register
def _hard(smoothing: Hard, mu: float) -> Any:
    return core.Smoothing("hard", 1, 0.0)


@core_smoothing.register
def _l2(smoothing: L2, mu: float) -> Any:
    return core.Smoothing("l2", smoothing.cap if smoothing.k is None else smoothing.k, mu)


@core_smoothing.register
def _entropy(smoothing: Entropy, mu: float) -> Any:
    return core.Smoothing("entropy", 1, mu)


def core_penalty(penalty: Penalty) -> Any | None:
    """The penalty as the core takes it, or None for one that it does not know."""
    quadratic = penalty.quadratic
    if quadratic is not None:
        if quadratic.center is None:
            return core.Penalty(0.0, quadratic.sigma, None, None, 0.0, None)
        return core.Penalty(0.0, 0.0, None, None, quadratic.sigma, np.ascontiguousarray(quadratic.center))
    own = getattr(penalty, "separable", None)
    if own is None:
        return None
    mask = None if own.nonnegative is None else own.nonnegative.view(np.uint8)
    return core.Penalty(own.l1, own.l2, own.strengths, mask, own.kappa, own.center)
