"""Step sizes gamma_t of stochastic subgradient steps, t = 1, 2, ..."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from casimir._validate import positive_float
from casimir.scores import FloatArray, IntArray


class Schedule(Protocol):
    """The lengths of an SGD's steps: gamma_t for t = 0, 1, ..."""

    def steps(self, t: IntArray, lam: float) -> FloatArray:
        """float64[len(t)]: gamma_t."""
        ...


@dataclass(frozen=True)
class Constant:
    """gamma_t = gamma0"""

    gamma0: float

    def __post_init__(self) -> None:
        positive_float(self.gamma0, "gamma0")

    def steps(self, t: IntArray, lam: float) -> FloatArray:
        return np.full(len(t), self.gamma0)


@dataclass(frozen=True)
class StepDecay:
    """gamma_t = gamma0 / (1 + floor(t / t0))"""

    gamma0: float
    t0: float

    def __post_init__(self) -> None:
        positive_float(self.gamma0, "gamma0")
        positive_float(self.t0, "t0")

    def steps(self, t: IntArray, lam: float) -> FloatArray:
        return np.asarray(self.gamma0 / (1.0 + np.floor(t / self.t0)), dtype=np.float64)


@dataclass(frozen=True)
class InverseRoot:
    """gamma_t = gamma0 / sqrt(t)"""

    gamma0: float

    def __post_init__(self) -> None:
        positive_float(self.gamma0, "gamma0")

    def steps(self, t: IntArray, lam: float) -> FloatArray:
        return np.asarray(self.gamma0 / np.sqrt(t), dtype=np.float64)


@dataclass(frozen=True)
class Inverse:
    """gamma_t = gamma0 / t"""

    gamma0: float

    def __post_init__(self) -> None:
        positive_float(self.gamma0, "gamma0")

    def steps(self, t: IntArray, lam: float) -> FloatArray:
        return np.asarray(self.gamma0 / t, dtype=np.float64)


@dataclass(frozen=True)
class Pegasos:
    """gamma_t = 1 / (lam t): no constant to choose, needs lam > 0"""

    def steps(self, t: IntArray, lam: float) -> FloatArray:
        if lam <= 0.0:
            raise ValueError("The schedule 1 / (lam t) needs lam > 0. Use Constant, InverseRoot or StepDecay.")
        return np.asarray(1.0 / (lam * t), dtype=np.float64)
