"""placeholder"""
from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from casimir.objective import Objective
from casimir.scores import FloatArray
from casimir.solvers.base import Monitor
from casimir.solvers.bcfw import BCFW
from casimir.solvers.dual_proximal import DualProximalPoint


@dataclass(frozen=True)
class Casimir:
    inner: BCFW = field(default_factory=lambda: BCFW(pairwise=True, cached_passes=4))
    kappa: float | None = None

    def run(self, objective: Objective, w0: FloatArray, monitor: Monitor, rng: np.random.Generator) -> None:
        kappa = self.kappa if self.kappa is not None else 3.0 * math.sqrt(objective.lam / objective.n_examples)
        DualProximalPoint(objective, self.inner, kappa, rng).run(w0, monitor)
