"""The prox-linear algorithm for scores that are not linear in w (algo:prox-linear), around any convex solver."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from casimir._validate import positive_float, positive_int
from casimir.duality import DualPoint
from casimir.linearized import Linearized
from casimir.losses import smoothed
from casimir.objective import Objective
from casimir.persistence.state import keeps
from casimir.scores import FloatArray
from casimir.solvers.base import Monitor, Solver, check_solver
from casimir.solvers.casimir import Casimir
from casimir.solvers.dual_proximal import DualProximal
from casimir.solvers.lbfgs import LBFGS
from casimir.solvers.run import Callback, minimize
from casimir.solvers.smoothness import default_mu, mu_for, needs_smoothing
from casimir.solvers.svrg import SVRG
from casimir.solvers.trace import TraceRow

_INNER_EPOCHS = 5  # as in Sec. 7.3
_DUAL_EPOCHS = (
    3  # and k more in step k, of a dual solver: it begins every step at the truth, and first steps are coarse
)
_MOST_INNER_EPOCHS = 100  # when a tolerance decides
_LONGER, _SHORTER = 2.0, 0.25  # factors on eta
_LONGEST_ETA = 10.0  # times 1/lam: beyond, the penalty alone holds a step back, and |w - w'| / eta tells nothing


@dataclass(frozen=True)
class ProxLinear:
    """w_k ~ argmin_w F(w; w_{k-1}) + (1/(2 eta)) |w - w_{k-1}|^2, with F(.; w_{k-1}) the convex model `Linearized`.

    inner         minimises the convex subproblems. None: DualProximal(), which needs no smoothing, where the loss is a
                  hinge; LBFGS() where it is smooth, but Casimir() under a penalty that is not separable
    eta           step length; None: found on the way: doubled, up to 10/lam, after a step at whose end the model, which
                  is an upper bound of F for eta <= 1/L, is one, and a quarter after any other
    inner_epochs  epochs of the inner solver per step. None: without eps0 3 + k of a dual solver in step k = 1, 2, ...
                  and 5 of others, as in the paper; else at most 100
    eps0          None: a fixed budget; else the inner solver ends at a certified gap of at most eps_k = eps0 / k
    accept        "decrease": w_k = w_{k-1} where F would rise; "always": every step is taken
    smoothing     "adaptive": mu_k = mu / k and L_k = k L_0; "constant": mu_k = mu and L_k = L_0. mu and L_0 are
                  those of an SVRG inside, alone or in Casimir.paper, found on the first subproblem where they are None
    jacobian      "stored", "products" or "auto": whether a subproblem keeps its Jacobians

    An epoch is a step. The run ends as "stationary" when no step of length 1/lam (1 for lam = 0) can lower its model by
    a share of more than tol, which the inner solver's dual certifies. Where w = 0 is stationary, as for most networks,
    start from small random weights.
    """

    inner: Solver | None = None
    eta: float | None = None
    inner_epochs: int | None = None
    eps0: float | None = None
    accept: str = "decrease"
    smoothing: str = "adaptive"
    jacobian: str = "auto"

    def __post_init__(self) -> None:
        if self.inner is not None:
            check_solver(self.inner)
        if isinstance(self.inner, ProxLinear):
            raise TypeError("ProxLinear needs a solver of convex problems inside, such as Casimir().")
        for name in ("eta", "eps0"):
            if getattr(self, name) is not None:
                positive_float(getattr(self, name), name)
        if self.inner_epochs is not None:
            positive_int(self.inner_epochs, "inner_epochs")
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise ValueError(f"{name}={getattr(self, name)!r}; it must be {' or '.join(map(repr, choices))}.")
        if self.smoothing != "adaptive" and _svrg_of(self.inner) is None:
            raise ValueError(
                f"ProxLinear: smoothing={self.smoothing!r} does nothing without an SVRG inside, alone or in "
                "Casimir.paper. Leave it out."
            )

    def run(self, objective: Objective, w0: FloatArray, monitor: Monitor, rng: np.random.Generator) -> None:
        objective.check_single_truths("ProxLinear")
        kept = monitor.resumed
        w, value = (w0, objective.value(w0)) if kept is None else kept[:2]
        lam = objective.penalty.strong_convexity
        reference = 1.0 / lam if lam > 0.0 else 1.0
        longest = _LONGEST_ETA * reference if lam > 0.0 else np.inf
        inner = self._inner(objective)
        eta, levels, k = (self.eta or reference, None, 0) if kept is None else kept[2:]
        rows = None
        while True:
            monitor.rest((w, value, eta, levels, k))
            k += 1
            problem = Linearized(objective, w, eta, self.jacobian, rows)
            if levels is None:
                levels = _Levels.found(inner, problem, self.eps0, rng)
            solver, mu = levels.solver(inner, k if self.smoothing == "adaptive" else 1)
            step = self._step(objective, problem, solver, k, rng)
            rows = problem.rows  # the next Jacobian takes their place: two at a time would be too much
            del problem
            # What a step can gain never falls with eta, and grows at most linearly.
            is_stationary = (value - step.bound) * max(reference / eta, 1.0) <= monitor.tol * abs(value)
            # The inner solver may end short of the model's minimiser, by no more than strong convexity allows.
            short = np.sqrt(2.0 * max(step.upper - step.bound, 0.0) / (lam + 1.0 / eta))
            prox_gradient = float(np.linalg.norm(step.w - w) + short) / eta
            if step.upper > value:
                levels = levels.with_shorter_steps()
            if step.value <= value or self.accept == "always":
                w, value = step.w, step.value
            done = monitor.epoch(
                w,
                objective=value,
                dual=step.dual,
                mu=mu,
                kappa=1.0 / eta,
                prox_gradient=prox_gradient,
                is_stationary=is_stationary,
            )
            if step.interrupted:
                raise KeyboardInterrupt
            if done:
                return
            if self.eta is None:
                eta = min(_LONGER * eta, longest) if step.value <= step.upper else _SHORTER * eta

    def _inner(self, objective: Objective) -> Solver:
        if self.inner is not None:
            return self.inner
        if objective.dual_variables == "outputs":
            return DualProximal()
        penalty = objective.penalty
        is_separable = penalty.quadratic is not None or getattr(penalty, "separable", None) is not None
        return LBFGS() if is_separable else Casimir()

    def _step(
        self, objective: Objective, problem: Linearized, solver: Solver, k: int, rng: np.random.Generator
    ) -> _Step:
        """Minimises the model from the prox-centre, where the inner solver can start there."""
        start = None if getattr(solver, "starts_at_zero", False) else problem.anchor
        own = _DUAL_EPOCHS + k if start is None else _INNER_EPOCHS
        epochs = self.inner_epochs or (own if self.eps0 is None else _MOST_INNER_EPOCHS)
        callbacks: tuple[Callback, ...] = () if self.eps0 is None else (_EndsBelow(self.eps0 / k),)
        # Evaluations of a dual solver are passes of their own, and nobody asks for them before the end.
        every = epochs if start is None and self.eps0 is None else 1
        found = minimize(
            problem, solver, epochs, tol=0.0, seed=rng, callbacks=callbacks, w0=start, evaluate_every=every
        )
        for kind, calls in asdict(problem.counts).items():
            objective.count(kind, calls)
        after = objective.evaluate(found.w, gradient=objective.is_convex, count="evaluations")
        assert after.objective is not None
        return _Step(
            w=found.w,
            value=after.objective,
            dual=after.dual,
            upper=found.objective,
            bound=found.dual,
            interrupted=found.status == "interrupted",
        )


class _Step(NamedTuple):
    """w            where the step ends
    value, dual  F(w), and a dual point when F is convex
    upper        F_eta(w; w_{k-1}), its model, which for eta <= 1/L is at least F(w)
    bound        a lower bound of min F_eta(.; w_{k-1})
    """

    w: FloatArray
    value: float
    dual: DualPoint | None
    upper: float
    bound: float
    interrupted: bool


class _EndsBelow:
    """A callback that ends a run once F(w) - D <= eps for the best w and D so far."""

    def __init__(self, eps: float) -> None:
        self._eps, self._best = eps, np.inf

    def __call__(self, row: TraceRow, w: FloatArray) -> bool:
        self._best = min(self._best, row.objective)
        return self._best - row.dual <= self._eps


@keeps
@dataclass(frozen=True)
class _Levels:
    """mu and L_0 of the SVRG inside the inner solver; None for inner solvers without one.

    is_free  whether L_0 was found here, and so may change
    Where nothing is smoothed, as for a smooth loss, mu is None, and L_k = L_0.
    """

    mu: float | None = None
    lipschitz: float | None = None
    is_free: bool = False

    @classmethod
    def found(cls, inner: Any, problem: Linearized, eps0: float | None, rng: np.random.Generator) -> _Levels:
        """mu = eps_0 / (10 D_omega), as eps_k = eps_0 / k; None is the most F can fall (remark:pl:choosing_eps0)."""
        svrg = _svrg_of(inner)
        if svrg is None:
            return cls()
        mu, given = svrg.mu, svrg.smoothing
        if mu is None and needs_smoothing(problem, given):
            mu = default_mu(problem, given, tol=1.0) if eps0 is None else mu_for(eps0, problem, given)
        loss = smoothed(problem.loss, given, mu or 0.0)
        state = svrg.start(problem, loss, problem.anchor, rng, None)
        return cls(mu, state.lipschitz, svrg.lipschitz is None)

    def with_shorter_steps(self) -> _Levels:
        """With 2 L_0, for an inner solver that made things worse."""
        return replace(self, lipschitz=2.0 * self.lipschitz) if self.is_free and self.lipschitz is not None else self

    def solver(self, inner: Any, k: int) -> tuple[Solver, float | None]:
        """The inner solver with mu / k and k L_0, and mu / k."""
        svrg = _svrg_of(inner)
        if svrg is None or self.lipschitz is None:
            return inner, None
        mu, lipschitz = None, self.lipschitz
        if self.mu is not None:
            mu, lipschitz = self.mu / k, self.lipschitz * k
        at_k = replace(svrg, mu=mu, lipschitz=lipschitz)
        return at_k if inner is svrg else replace(inner, inner=at_k), mu


def _svrg_of(inner: Any) -> SVRG | None:
    if getattr(inner, "scheme", "") == "untuned":  # it finds its own
        return None
    candidate = getattr(inner, "inner", inner)
    return candidate if isinstance(candidate, SVRG) else None


_CHOICES = {
    "accept": ("decrease", "always"),
    "smoothing": ("adaptive", "constant"),
    "jacobian": ("auto", "stored", "products"),
}
