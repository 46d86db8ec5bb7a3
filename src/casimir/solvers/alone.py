"""An inner solver on its own: epochs on the smoothed objective, each reported with the best dual point so far."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from casimir.losses import smoothed
from casimir.objective import Objective
from casimir.scores import FloatArray
from casimir.solvers.base import Inner, Monitor
from casimir.solvers.smoothness import level_of


def run_alone(inner: Inner, objective: Objective, w0: FloatArray, monitor: Monitor, rng: np.random.Generator) -> None:
    """The `run` of a solver that Casimir can run inside. An epoch whose steps were too long is taken back."""
    name = type(inner).__name__
    objective.check_convex(name)
    mu = level_of(objective, inner.smoothing, inner.mu, monitor.tol, name)
    loss = smoothed(objective.loss, inner.smoothing, mu)
    kept = monitor.resumed
    state, dual = kept or (inner.start(objective, loss, w0, rng, None), objective.trivial_dual())
    while True:
        monitor.rest((state, dual))
        new = inner.epoch(objective, loss, state, rng)
        found = new.evaluation
        assert found.dual is not None
        dual = dual.towards(found.dual, objective.penalty)
        if monitor.epoch(
            new.w,
            objective=found.objective,
            smoothed=found.smoothed,
            dual=dual,
            mu=mu or None,
            lipschitz=state.lipschitz,
            gamma=new.gamma,
        ):
            return
        state = replace(state, lipschitz=new.lipschitz) if new.is_worse else new
