"""Casimir: Catalyst acceleration with smoothing (algo:catalyst)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from casimir._arrays import dot
from casimir.objective import DualPoint, Evaluation, Objective, Proximal
from casimir.scores import FloatArray
from casimir.smoothing import Hard
from casimir.solvers.base import Monitor, check_plain
from casimir.solvers.bcfw import BCFW
from casimir.solvers.dual_proximal import DualProximalPoint, dual_kappa
from casimir.solvers.regimes import Regime, default_kappa
from casimir.solvers.smoothness import default_mu, search_lipschitz
from casimir.solvers.svrg import SVRG

_WARM_STARTS = ("prox-center", "extrapolation", "prev-iterate")
_DECREASING_MU = 2.0  # the paper's start for named entity recognition; later mu_k hardly depend on it
_ROUNDING = 1e-12  # relative changes that mean nothing
_MAX_INNER_EPOCHS = 100  # where gradients do not vanish (Hard, L2 beyond its k outputs) delta_k may be out of reach,
_LONGEST_SEARCH = 2.0**10  # and no step size helps


@dataclass(frozen=True)
class Casimir:
    """w_k ~ argmin_w F_{mu_k}(w) + (kappa_k/2) |w - z_{k-1}|^2,   z_k = w_k + beta_k (w_k - w_{k-1}).

    inner       SVRG(...): the paper's Casimir-SVRG, with the inner solver's smoothing and mu.
                BCFW(pairwise=True, ...): a proximal point method whose subproblems are solved in the dual, without
                smoothing and extrapolation; it certifies small gaps fastest and is what "auto" takes
    decreasing  constant or decreasing smoothing mu_k
    kappa       None: that of prop:c:total_compl_svrg_sc and its siblings; for a dual inner solver 5 (lam n)^0.7 / n
    warm_start  where the inner solver starts: "prox-center", "extrapolation" or "prev-iterate"
    stopping    "budget": one inner epoch (n steps) per subproblem; "accuracy": inner epochs until the gradient shows
                the relative accuracy delta_k of eq. (stopping_criterion)
    """

    inner: SVRG | BCFW = BCFW(pairwise=True, cached_passes=8, skip_below=1.0)
    decreasing: bool = False
    kappa: float | None = None
    warm_start: str = "prox-center"
    stopping: str = "budget"

    def __post_init__(self) -> None:
        if self.warm_start not in _WARM_STARTS:
            raise ValueError(f"warm_start={self.warm_start!r}; it must be one of {', '.join(_WARM_STARTS)}.")
        if self.stopping not in ("budget", "accuracy"):
            raise ValueError(f"stopping={self.stopping!r}; it must be 'budget' or 'accuracy'.")
        if self.kappa is not None and not self.kappa > 0.0:
            raise ValueError(f"kappa={self.kappa}; it must be positive, or None for the default.")
        if isinstance(self.inner, BCFW) and not self.inner.pairwise:
            raise ValueError("Casimir keeps a dual inner solver's cached outputs; give it BCFW(pairwise=True).")

    @property
    def starts_at_zero(self) -> bool:
        return isinstance(self.inner, BCFW)

    def run(self, objective: Objective, w0: FloatArray, monitor: Monitor, rng: np.random.Generator) -> None:
        if isinstance(self.inner, BCFW):
            DualProximalPoint(objective, self.inner, self.kappa or dual_kappa(objective), rng).run(w0, monitor)
        else:
            self._run_primal(self.inner, objective, w0, monitor, rng)

    def _run_primal(
        self, svrg: SVRG, objective: Objective, w0: FloatArray, monitor: Monitor, rng: np.random.Generator
    ) -> None:
        check_plain(objective, "Casimir around SVRG")
        mu0 = self._first_mu(svrg, objective, monitor.tol)
        lipschitz = svrg.lipschitz
        if lipschitz is None:
            plain = Proximal(objective, 0.0, w0)
            lipschitz = search_lipschitz(svrg, plain, w0, svrg.snapshot(objective, w0, mu0), mu0, rng)
        kappa0 = self.kappa
        if kappa0 is None:
            kappa0 = default_kappa(lipschitz, objective.lam, objective.n_examples, self.decreasing)
        regime = Regime(objective.lam, kappa0, mu0, self.decreasing)
        subproblems = _Subproblems(svrg, lipschitz, rng, objective.trivial_dual())
        w, z, z_before = w0, w0, w0
        alpha, k = regime.alpha0, 0
        while True:
            k += 1
            problem, mu = Proximal(objective, regime.kappa(k), z), regime.mu(k)
            start = self._start(w, z, z_before, problem)
            delta = regime.delta(k) if self.stopping == "accuracy" else None
            new, found = subproblems.solve(problem, start, mu, delta)
            if monitor.epoch(
                new,
                objective=found.objective,
                smoothed=found.smoothed,
                dual=subproblems.dual,
                mu=objective.mu_of(svrg.smoothing, mu),
                kappa=problem.kappa,
            ):
                return
            next_alpha = regime.next_alpha(alpha, k)
            z_before, z = z, new + regime.beta(alpha, next_alpha, k) * (new - w)
            w, alpha = new, next_alpha

    def _first_mu(self, svrg: SVRG, objective: Objective, tol: float) -> float:
        if svrg.mu is not None:
            return svrg.mu
        if self.decreasing and not isinstance(svrg.smoothing, Hard):
            return _DECREASING_MU
        return default_mu(objective, svrg.smoothing, tol)

    def _start(self, w: FloatArray, z: FloatArray, z_before: FloatArray, problem: Proximal) -> FloatArray:
        if self.warm_start == "prev-iterate":
            return w
        if self.warm_start == "extrapolation":
            return np.asarray(w + problem.kappa / problem.sigma * (z - z_before), dtype=np.float64)
        return z


@dataclass
class _Subproblems:
    """Solves one proximal subproblem after another and keeps the best dual point met on the way.

    The search for L sees only the first steps from w0; later L is doubled whenever an epoch makes a subproblem worse.
    """

    svrg: SVRG
    lipschitz: float
    rng: np.random.Generator
    dual: DualPoint

    def solve(self, problem: Proximal, w: FloatArray, mu: float, delta: float | None) -> tuple[FloatArray, Evaluation]:
        """One epoch without delta; else epochs until |grad|^2 <= (lam + kappa) delta kappa |w - z|^2."""
        evaluation = self._snapshot(problem, w, mu)
        if delta is None:
            trial, after, worse = self._epoch(problem, w, evaluation, mu, self.lipschitz)
            self.lipschitz *= 2.0 if worse else 1.0
            return trial, after
        lipschitz = self.lipschitz
        for _ in range(_MAX_INNER_EPOCHS):
            if _is_accurate(problem, w, evaluation, delta):
                break
            trial, after, worse = self._epoch(problem, w, evaluation, mu, lipschitz)
            if not worse:
                w, evaluation = trial, after
                continue
            lipschitz *= 2.0
            if lipschitz > _LONGEST_SEARCH * self.lipschitz:
                return w, evaluation
        self.lipschitz = lipschitz
        return w, evaluation

    def _epoch(
        self, problem: Proximal, w: FloatArray, evaluation: Evaluation, mu: float, lipschitz: float
    ) -> tuple[FloatArray, Evaluation, bool]:
        """The next point, its evaluation, and whether its step size, unless it was given, proved too large."""
        trial = self.svrg.epoch(problem, w, evaluation, mu, lipschitz, self.rng)
        after, before = self._snapshot(problem, trial, mu), problem.smoothed(w, evaluation)
        worse = not problem.smoothed(trial, after) <= before + _ROUNDING * abs(before)
        return trial, after, worse and self.svrg.lipschitz is None

    def _snapshot(self, problem: Proximal, w: FloatArray, mu: float) -> Evaluation:
        evaluation = self.svrg.snapshot(problem.objective, w, mu)
        assert evaluation.dual is not None
        if problem.objective.lam > 0.0:
            self.dual = self.dual.towards(evaluation.dual, problem.objective.lam)
        return evaluation


def _is_accurate(problem: Proximal, w: FloatArray, evaluation: Evaluation, delta: float) -> bool:
    gradient, moved = problem.gradient(w, evaluation), w - problem.center
    return dot(gradient, gradient) <= problem.sigma * delta * problem.kappa * dot(moved, moved)
