"""SVRG on a smoothed objective or on one of its proximal subproblems."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from casimir._arrays import aligned_zeros
from casimir.objective import Evaluation, Objective, Proximal
from casimir.scores import FloatArray
from casimir.smoothing import L2, Smoothing
from casimir.solvers.base import Monitor, check_plain
from casimir.solvers.smoothness import default_mu, search_lipschitz


@dataclass(frozen=True)
class SVRG:
    """w <- w - gamma (g_i(w) - g_i(w~) + grad F_mu(w~) + lam (w - w~)), n such steps after one full gradient.

    The next snapshot w~ is the average of the epoch's iterates (Johnson & Zhang, 2013; Sec. 7.2 of the paper).

    smoothing  L2(k), L2(), Entropy(), or Hard() for the paper's heuristic comparison
    mu         level of smoothing; None: eps / (10 D_omega) with eps = tol F(0), as prop:c:total_compl_svrg_sc takes it
    lipschitz  L, which sets gamma = 1 / (L + lam); None: found by a doubling search on short trial epochs, and doubled
               whenever an epoch makes the smoothed objective worse
    steps      steps of an epoch; None: n
    """

    smoothing: Smoothing = L2(k=5)
    mu: float | None = None
    lipschitz: float | None = None
    steps: int | None = None

    def __post_init__(self) -> None:
        for name, value in (("mu", self.mu), ("lipschitz", self.lipschitz), ("steps", self.steps)):
            if value is not None and not value > 0:
                raise ValueError(f"SVRG: {name}={value}; it must be positive, or None for the default.")

    def run(self, objective: Objective, w0: FloatArray, monitor: Monitor, rng: np.random.Generator) -> None:
        check_plain(objective, "SVRG")
        mu = default_mu(objective, self.smoothing, monitor.tol) if self.mu is None else self.mu
        problem = Proximal(objective, 0.0, w0)
        w, evaluation = w0, self.snapshot(objective, w0, mu)
        lipschitz = self.lipschitz
        if lipschitz is None:
            lipschitz = search_lipschitz(self, problem, w, evaluation, mu, rng)
        dual = objective.trivial_dual()
        while True:
            trial = self.epoch(problem, w, evaluation, mu, lipschitz, rng)
            new = self.snapshot(objective, trial, mu)
            assert new.dual is not None
            if objective.lam > 0.0:
                dual = dual.towards(new.dual, objective.lam)
            shown = objective.mu_of(self.smoothing, mu)
            done = monitor.epoch(trial, objective=new.objective, smoothed=new.smoothed, dual=dual, mu=shown)
            if done:
                return
            if not new.smoothed <= evaluation.smoothed and self.lipschitz is None:
                lipschitz *= 2.0
            if new.smoothed <= evaluation.smoothed or self.lipschitz is not None:
                w, evaluation = trial, new

    def snapshot(self, objective: Objective, w: FloatArray, mu: float) -> Evaluation:
        """The full gradient at w, with every example's marginals."""
        return objective.evaluate(w, self.smoothing, mu, keep=True)

    def epoch(
        self,
        problem: Proximal,
        w: FloatArray,
        evaluation: Evaluation,
        mu: float,
        lipschitz: float,
        rng: np.random.Generator,
        steps: int | None = None,
    ) -> FloatArray:
        """The mean iterate of an epoch that starts at the snapshot w; `evaluation` is the snapshot's."""
        objective = problem.objective
        smoothing, mu = objective.resolve(self.smoothing, mu)
        n = objective.n_examples
        count = steps or self.steps or n
        gamma = 1.0 / (lipschitz + problem.sigma)
        iterate = aligned_zeros(objective.n_params)
        iterate[:] = w
        c = problem.fixed_point(evaluation)
        order = rng.integers(n, size=count)
        objective.oracle_calls += count
        return objective.kernel(smoothing).svrg_epoch(
            order, gamma, problem.sigma, c, evaluation.marginals, smoothing, mu, iterate
        )
