"""Casimir: Catalyst acceleration with smoothing (algo:catalyst), around any inner solver."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np

from casimir._arrays import dot
from casimir.losses import Loss, smoothed
from casimir.objective import Objective
from casimir.penalties import Proximal
from casimir.scores import FloatArray
from casimir.solvers.base import Inner, InnerState, Monitor, check_inner, nearest_allowed
from casimir.solvers.regimes import Regime, default_kappa
from casimir.solvers.smoothness import level_of, needs_smoothing
from casimir.solvers.svrg import SVRG

_WARM_STARTS = ("prox-center", "extrapolation", "prev-iterate")
_DECREASING_MU = 2.0  # the paper's start for named entity recognition; later mu_k hardly depend on it
_SMALLEST_MU = 1e-7  # relative to the first: scores over mu keep half of their digits, and so do certificates
_MAX_INNER_EPOCHS = 100  # where gradients do not vanish (Hard, L2 beyond its k outputs) delta_k may be out of reach,
_LONGEST_SEARCH = 2.0**10  # and no step size helps
_ROUNDING = 1e-14  # relative to the subproblem's value: what is left to gain when nothing is


@dataclass(frozen=True)
class Casimir:
    """w_k ~ argmin_w F_{mu_k}(w) + (kappa_k/2) |w - z_{k-1}|^2,   z_k = w_k + beta_k (w_k - w_{k-1}).

    inner       minimises the subproblems, with its own smoothing and mu: SVRG() makes it the paper's Casimir-SVRG;
                SAGA(), LBFGS(), GradientDescent(), or anything that meets `casimir.solvers.base.Inner`
    decreasing  constant or decreasing smoothing mu_k
    kappa       None: that of prop:c:total_compl_svrg_sc and its siblings
    warm_start  where the inner solver starts: "prox-center", "extrapolation" or "prev-iterate"
    stopping    "budget": one inner epoch (n steps) per subproblem; "accuracy": inner epochs until the gradient shows
                the relative accuracy delta_k of eq. (stopping_criterion), 100 at most
    """

    inner: Inner = SVRG()
    decreasing: bool = False
    kappa: float | None = None
    warm_start: str = "prox-center"
    stopping: str = "budget"

    def __post_init__(self) -> None:
        check_inner(self.inner)
        if self.warm_start not in _WARM_STARTS:
            raise ValueError(f"warm_start={self.warm_start!r}; it must be one of {', '.join(_WARM_STARTS)}.")
        if self.stopping not in ("budget", "accuracy"):
            raise ValueError(f"stopping={self.stopping!r}; it must be 'budget' or 'accuracy'.")
        if self.kappa is not None and not self.kappa > 0.0:
            raise ValueError(f"kappa={self.kappa}; it must be positive, or None for the default.")

    def run(self, objective: Objective, w0: FloatArray, monitor: Monitor, rng: np.random.Generator) -> None:
        objective.check_convex("Casimir")
        mu0, smoothing = self._first_mu(objective, monitor.tol), self.inner.smoothing
        first_loss = smoothed(objective.loss, smoothing, mu0)
        first = self.inner.start(objective, first_loss, w0, rng, None)
        regime = Regime(objective.penalty.strong_convexity, self._kappa(objective, first), mu0, self.decreasing)
        subproblems = _Subproblems(self.inner, rng, first, first_loss)
        dual = objective.trivial_dual()
        w, z, z_before = w0, w0, w0
        alpha, k = regime.alpha0, 0
        while True:
            k += 1
            mu = max(regime.mu(k), _SMALLEST_MU * mu0)
            loss = smoothed(objective.loss, smoothing, mu)
            kappa = regime.kappa(k)
            problem = objective.with_penalty(Proximal(objective.penalty, kappa, z))
            delta = regime.delta(k) if self.stopping == "accuracy" else None
            start = nearest_allowed(objective.penalty, self._start(w, z, z_before, regime, k))
            new = subproblems.solve(problem, loss, start, kappa, z, delta)
            for state in subproblems.seen:
                if state.evaluation.dual is not None:
                    dual = dual.towards(state.evaluation.dual, objective.penalty)
            moved, found = new.w - z, new.evaluation
            square = 0.5 * kappa * dot(moved, moved)  # the subproblem's, which is not F's
            if monitor.epoch(
                new.w,
                objective=None if found.objective is None else found.objective - square,
                smoothed=found.smoothed - square,
                dual=dual,
                mu=mu or None,
                kappa=kappa,
                lipschitz=new.lipschitz,
            ):
                return
            next_alpha = regime.next_alpha(alpha, k)
            z_before, z = z, new.w + regime.beta(alpha, next_alpha, k) * (new.w - w)
            w, alpha = new.w, next_alpha

    def _first_mu(self, objective: Objective, tol: float) -> float:
        if self.decreasing and not needs_smoothing(objective, self.inner.smoothing):
            raise ValueError(
                "Casimir: decreasing=True does nothing here, because nothing is smoothed. Leave it out, or give the "
                "inner solver of a hinge loss a smoothing."
            )
        if self.decreasing and self.inner.mu is None:
            return _DECREASING_MU
        return level_of(objective, self.inner.smoothing, self.inner.mu, tol, type(self.inner).__name__)

    def _kappa(self, objective: Objective, first: InnerState) -> float:
        if self.kappa is not None:
            return self.kappa
        lam = objective.penalty.strong_convexity
        if first.lipschitz is None:
            return lam or 1.0 / objective.n_active
        return default_kappa(first.lipschitz, lam, objective.n_active, self.decreasing)

    def _start(self, w: FloatArray, z: FloatArray, z_before: FloatArray, regime: Regime, k: int) -> FloatArray:
        if self.warm_start == "prev-iterate":
            return w
        if self.warm_start == "extrapolation":
            share = regime.kappa(k) / (regime.lam + regime.kappa(k))
            return np.asarray(w + share * (z - z_before), dtype=np.float64)
        return z


class _Subproblems:
    """Solves one proximal subproblem after another.

    The first search for L sees only the first steps from w0; later L is doubled whenever an epoch makes a subproblem
    worse. `seen` has the states of the last subproblem, for their dual points.
    """

    def __init__(self, inner: Inner, rng: np.random.Generator, first: InnerState, first_loss: Loss) -> None:
        self.inner, self.rng, self.before = inner, rng, first
        self._first, self._first_loss = first, first_loss
        self.seen: list[InnerState] = []
        self._has_warned = False

    def solve(
        self, problem: Objective, loss: Loss, start: FloatArray, kappa: float, z: FloatArray, delta: float | None
    ) -> InnerState:
        """One epoch without delta; else epochs until |grad|^2 <= (lam + kappa) delta kappa |w - z|^2."""
        if self.before is self._first and start is self._first.w and loss == self._first_loss:
            state = self._first  # the centre is there, so that the subproblem's square is 0
        else:
            state = self.inner.start(problem, loss, start, self.rng, self.before)
        self.seen = [state]
        if delta is None:
            state = self._epoch(problem, loss, state)
        else:
            state = self._until_accurate(problem, loss, state, kappa, z, delta)
        self.before = state
        return state

    def _until_accurate(
        self, problem: Objective, loss: Loss, state: InnerState, kappa: float, z: FloatArray, delta: float
    ) -> InnerState:
        first = state.lipschitz
        for _ in range(_MAX_INNER_EPOCHS):
            if _is_accurate(problem, state, kappa, z, delta):
                return state
            trial = self._epoch(problem, loss, state)
            if not trial.is_worse:
                state = trial
                continue
            state = replace(state, lipschitz=trial.lipschitz)
            if first is not None and trial.lipschitz is not None and trial.lipschitz > _LONGEST_SEARCH * first:
                return replace(state, lipschitz=first)
        if not self._has_warned:
            self._has_warned = True
            warnings.warn(
                f"Casimir's inner solver did not reach the relative accuracy {delta:.2g} in {_MAX_INNER_EPOCHS} epochs "
                "and went on without it. An exact smoothing, such as L2() or Entropy(), or stopping='budget' helps.",
                RuntimeWarning,
                stacklevel=5,
            )
        return state

    def _epoch(self, problem: Objective, loss: Loss, state: InnerState) -> InnerState:
        trial = self.inner.epoch(problem, loss, state, self.rng)
        self.seen.append(trial)
        return trial


def _is_accurate(problem: Objective, state: InnerState, kappa: float, z: FloatArray, delta: float) -> bool:
    """The gradient is that of the subproblem, or the length of a proximal step over the step size.

    A point that nothing improves any more is accurate too: where z is optimal, w - z vanishes with the gradient.
    """
    gradient, penalty, moved = state.evaluation.gradient, problem.penalty, state.w - z
    assert gradient is not None
    quadratic, sigma = penalty.quadratic, penalty.strong_convexity
    if quadratic is None:
        t = 1.0 / ((state.lipschitz or 1.0) + sigma)
        gradient = (state.w - penalty.prox(state.w - t * gradient, t)) / t
    else:
        gradient = gradient + quadratic.sigma * (state.w if quadratic.center is None else state.w - quadratic.center)
    nothing = 2.0 * sigma * _ROUNDING * abs(state.evaluation.smoothed)
    return dot(gradient, gradient) <= max(sigma * delta * kappa * dot(moved, moved), nothing)
