"""L-BFGS (SciPy's) on a smoothed objective, or on a CRF."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from casimir._validate import positive_float, positive_int
from casimir.objective import Evaluation, Objective
from casimir.scores import FloatArray
from casimir.smoothing import Entropy, Smoothing
from casimir.solvers.base import Monitor
from casimir.solvers.smoothness import default_mu


@dataclass(frozen=True)
class LBFGS:
    """Quasi-Newton steps on F_mu; an epoch is one iteration (one full pass or a few).

    smoothing, mu  as for SVRG, but entropy by default: the top-K strategy is not exact everywhere, and there a line
                   search may fail. A CRF is smooth already and takes neither
    memory         pairs of steps and gradient changes that are kept
    """

    smoothing: Smoothing = Entropy()
    mu: float | None = None
    memory: int = 10

    def __post_init__(self) -> None:
        positive_int(self.memory, "memory")
        if self.mu is not None:
            positive_float(self.mu, "mu")

    def run(self, objective: Objective, w0: FloatArray, monitor: Monitor, rng: np.random.Generator) -> None:
        mu = default_mu(objective, self.smoothing, monitor.tol) if self.mu is None else self.mu
        seen: dict[bytes, Evaluation] = {}
        mask = objective.nonnegative

        def value_and_gradient(w: FloatArray) -> tuple[float, FloatArray]:
            w = np.ascontiguousarray(w)
            evaluation = objective.evaluate(w, self.smoothing, mu)
            assert evaluation.gradient is not None
            seen.clear()
            seen[w.tobytes()] = evaluation
            return evaluation.smoothed, evaluation.gradient

        dual = objective.trivial_dual()

        import scipy.optimize  # a fifth of a second, which nobody else need wait for

        def after_iteration(intermediate_result: scipy.optimize.OptimizeResult) -> None:
            nonlocal dual
            w = np.ascontiguousarray(intermediate_result.x)
            evaluation = seen.get(w.tobytes()) or objective.evaluate(w, self.smoothing, mu)
            if evaluation.dual is not None and objective.lam > 0.0:
                dual = dual.towards(evaluation.dual, objective.lam)
            shown = objective.mu_of(self.smoothing, mu)
            if monitor.epoch(w, objective=evaluation.objective, smoothed=evaluation.smoothed, dual=dual, mu=shown):
                raise StopIteration

        # Without tolerances of its own, SciPy ends when its line search cannot improve any more.
        result = scipy.optimize.minimize(
            value_and_gradient,
            w0,
            jac=True,
            method="L-BFGS-B",
            bounds=None if mask is None else [(0.0 if kept else None, None) for kept in mask],
            callback=after_iteration,
            options={"maxcor": self.memory, "maxiter": 10**9, "maxfun": 10**9, "ftol": 0.0, "gtol": 0.0},
        )
        if result.nit == 0:  # w0 was optimal
            evaluation = objective.evaluate(w0, self.smoothing, mu)
            monitor.epoch(w0, objective=evaluation.objective, smoothed=evaluation.smoothed, dual=evaluation.dual)
