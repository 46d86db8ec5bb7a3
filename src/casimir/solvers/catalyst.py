"""algo:catalyst as the paper states it: fixed sequences, one subproblem after another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from casimir._arrays import dot
from casimir.losses import smoothed
from casimir.objective import Objective
from casimir.penalties import Proximal, nearest_allowed
from casimir.scores import FloatArray
from casimir.solvers.base import InnerState, Monitor
from casimir.solvers.regimes import Regime, default_kappa
from casimir.solvers.smoothness import level_of, needs_smoothing
from casimir.solvers.subproblems import Subproblems

if TYPE_CHECKING:
    from casimir.solvers.casimir import Casimir

_DECREASING_MU = 2.0  # the paper's start for named entity recognition; later mu_k hardly depend on it
_SMALLEST_MU = 1e-7  # relative to the first: scores over mu keep half of their digits, and so do certificates


def run_catalyst(
    casimir: Casimir, objective: Objective, w0: FloatArray, monitor: Monitor, rng: np.random.Generator
) -> None:
    inner, smoothing = casimir.inner, casimir.inner.smoothing
    kept = monitor.resumed
    mu0: float = _first_mu(casimir, objective, monitor.tol) if kept is None else kept["mu0"]
    first_loss = smoothed(objective.loss, smoothing, mu0)
    first = inner.start(objective, first_loss, w0, rng, None) if kept is None else kept["before"]
    kappa0: float = _first_kappa(casimir, objective, first) if kept is None else kept["kappa0"]
    regime = _regime(casimir, objective, kappa0, mu0)
    subproblems = Subproblems(inner, casimir.inner_epochs, rng, first, first_loss)
    dual = objective.trivial_dual()
    w, z, z_before = w0, w0, w0
    alpha, k = regime.alpha0, 0
    if kept is not None:
        w, z, z_before, alpha, k, dual = kept["here"]
        subproblems.restore(*kept["manner"])
    while True:
        monitor.rest(
            {
                "mu0": mu0,
                "kappa0": kappa0,
                "before": subproblems.before,
                "manner": subproblems.manner,
                "here": (w, z, z_before, alpha, k, dual),
            }
        )
        k += 1
        mu = max(regime.mu(k), _SMALLEST_MU * mu0)
        loss = smoothed(objective.loss, smoothing, mu)
        kappa = regime.kappa(k)
        problem = objective.with_penalty(Proximal(objective.penalty, kappa, z))
        delta = regime.delta(k) if casimir.stopping == "accuracy" else None
        start = nearest_allowed(objective.penalty, _start(casimir.warm_start, w, z, z_before, regime, k))
        new = subproblems.solve(problem, loss, start, kappa, z, delta, monitor.is_due)
        for seen in subproblems.seen:
            if seen.dual is not None:
                dual = dual.towards(seen.dual, objective.penalty)
        moved, found = new.w - z, new.evaluation
        square = 0.5 * kappa * dot(moved, moved)  # the subproblem's, which is not F's
        if found is None:
            monitor.skip()
        elif monitor.epoch(
            new.w,
            objective=None if found.objective is None else found.objective - square,
            smoothed=found.smoothed - square,
            dual=dual,
            mu=mu or None,
            kappa=kappa,
            lipschitz=new.lipschitz,
            gamma=new.gamma,
        ):
            return
        next_alpha = regime.next_alpha(alpha, k)
        z_before, z = z, new.w + regime.beta(alpha, next_alpha, k) * (new.w - w)
        w, alpha = new.w, next_alpha


def _first_mu(casimir: Casimir, objective: Objective, tol: float) -> float:
    given, inner = casimir.mu, casimir.inner
    if not needs_smoothing(objective, inner.smoothing) and (casimir.scheme == "adapt" or given is not None):
        raise ValueError(
            f"Casimir: {'the adaptive regime' if given is None else f'mu={given}'} does nothing here, because nothing "
            "is smoothed. Take Casimir.paper('const') without mu, or give the inner solver of a hinge loss a smoothing."
        )
    if callable(given):
        return given(1)
    if given is None and inner.mu is None and casimir.scheme == "adapt":
        return _DECREASING_MU
    return level_of(objective, inner.smoothing, inner.mu if given is None else given, tol, type(inner).__name__)


def _first_kappa(casimir: Casimir, objective: Objective, first: InnerState) -> float:
    lam, kappa = objective.penalty.strong_convexity, casimir.kappa
    if kappa is not None:
        return kappa(1) if callable(kappa) else kappa
    if first.lipschitz is None:
        return lam or 1.0 / objective.n_active
    return default_kappa(first.lipschitz, lam, objective.n_active, casimir.scheme == "adapt")


def _regime(casimir: Casimir, objective: Objective, kappa0: float, mu0: float) -> Regime:
    lam, decreasing, kappa = objective.penalty.strong_convexity, casimir.scheme == "adapt", casimir.kappa
    delta = casimir.delta
    return Regime(
        lam,
        kappa0,
        mu0,
        decreasing,
        own_kappa=kappa if callable(kappa) else None,
        own_mu=casimir.mu if callable(casimir.mu) else None,
        own_delta=delta if callable(delta) else None if delta is None else (lambda k: delta),
        own_alpha0=casimir.alpha0,
    )


def _start(warm_start: str, w: FloatArray, z: FloatArray, z_before: FloatArray, regime: Regime, k: int) -> FloatArray:
    if warm_start == "prev-iterate":
        return w
    if warm_start == "extrapolation":
        share = regime.kappa(k) / (regime.lam + regime.kappa(k))
        return np.asarray(w + share * (z - z_before), dtype=np.float64)
    return z
