"""SVRG on a smoothed objective, or inside Casimir on one of its proximal subproblems."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from casimir._arrays import aligned_zeros
from casimir._native import core
from casimir._validate import positive_int
from casimir.losses import Loss
from casimir.objective import Evaluation, Objective
from casimir.penalties import Penalty
from casimir.problems import Problem
from casimir.scores import FloatArray, IntArray
from casimir.smoothing import L2, Smoothing
from casimir.solvers.alone import run_alone
from casimir.solvers.base import InnerState, Monitor
from casimir.solvers.bounds import a_omega
from casimir.solvers.sampling import SAMPLINGS
from casimir.solvers.smoothness import level_of, search_lipschitz
from casimir.solvers.steps import fused_arguments, gradients, take_step
from casimir.solvers.untuned import Settings, Untuned

_ROUNDING = 1e-12  # relative changes that mean nothing


@dataclass(frozen=True)
class SVRG:
    """w <- w - gamma (g_i(w) - g_i(w~) + grad F_mu(w~) + grad R(w)), n such steps after one full gradient at w~.

    The next snapshot w~ is a mean of the epoch's iterates (Johnson & Zhang, 2013; Sec. 7.2 of the paper). Where the
    penalty R is not a plain square, the step is a proximal one.

    smoothing  of a hinge loss: L2(k), L2(), Entropy(), or Hard() for the paper's heuristic comparison
    mu         level of smoothing; None: eps / (10 D_omega) with eps = tol F(0), as prop:c:total_compl_svrg_sc takes it
    lipschitz  L, which sets gamma = 1 / (L + lam); None: a guess from a first pass of subgradient steps, which then
               follows the progress; "bound": A_omega / mu (see `casimir.solvers.bounds`)
    steps      steps of an epoch; None: n
    iterate    what an epoch gives: the mean of its "second-half", the "average" of all iterates, or the "last" one
    sampling   "permutation": every example once; "replacement": drawn independently

    The paper's is SVRG(iterate="average", sampling="replacement").
    """

    smoothing: Smoothing = L2(k=5)
    mu: float | None = None
    lipschitz: float | str | None = None
    steps: int | None = None
    iterate: str = "second-half"
    sampling: str = "permutation"

    def __post_init__(self) -> None:
        if isinstance(self.lipschitz, str) and self.lipschitz != "bound":
            raise ValueError(f"SVRG: lipschitz={self.lipschitz!r}; it must be a number, 'bound', or None.")
        lipschitz = None if isinstance(self.lipschitz, str) else self.lipschitz
        for name, value in (("mu", self.mu), ("lipschitz", lipschitz)):
            if value is not None and not value > 0:
                raise ValueError(f"SVRG: {name}={value}; it must be positive, or None for the default.")
        if self.steps is not None:
            positive_int(self.steps, "steps")
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise ValueError(f"SVRG: {name}={getattr(self, name)!r}; it must be one of {', '.join(choices)}.")

    def run(self, objective: Objective, w0: FloatArray, monitor: Monitor, rng: np.random.Generator) -> None:
        """With a free L, Casimir's scheme at kappa = 0 and with a fixed mu: no centre, no extrapolation, no stages."""
        if self.lipschitz is not None:
            run_alone(self, objective, w0, monitor, rng)
            return
        objective.check_convex("SVRG")
        mu = level_of(objective, self.smoothing, self.mu, monitor.tol, "SVRG")
        Untuned(Settings(self, mu=mu, kappa=0.0), objective, w0, monitor, rng).run()

    def start(
        self, objective: Objective, loss: Loss, w: FloatArray, rng: np.random.Generator, before: InnerState | None
    ) -> InnerState:
        """The full gradient at w, with every example's marginals; and L, by a search on short trial epochs."""
        if self.lipschitz == "bound":
            return self.begin(objective, loss, w, self._bound(objective, loss))
        if not (self.lipschitz is None and before is None):
            lipschitz = self.lipschitz if before is None else before.lipschitz
            assert isinstance(lipschitz, int | float)
            return self.begin(objective, loss, w, lipschitz)
        evaluation = objective.evaluate(w, loss, keep=True)

        def trial(lipschitz: float, trial_rng: np.random.Generator, steps: int) -> FloatArray:
            objective.count("searches", steps)
            return self._steps(objective, loss, w, evaluation, lipschitz, trial_rng, steps)

        return InnerState(w, evaluation, search_lipschitz(objective, loss, w, evaluation.smoothed, trial, rng))

    def begin(self, objective: Objective, loss: Loss, w: FloatArray, lipschitz: float) -> InnerState:
        """At w with an L that is known."""
        return InnerState(w, objective.evaluate(w, loss, keep=True), lipschitz)

    def epoch(self, objective: Objective, loss: Loss, state: InnerState, rng: np.random.Generator) -> InnerState:
        """The mean iterate of an epoch that starts at the snapshot; L is doubled when it is worse than that."""
        w, before, lipschitz = self.advance(objective, loss, state, rng), state.evaluation.smoothed, state.lipschitz
        assert lipschitz is not None
        after = objective.evaluate(w, loss, keep=True)
        is_worse = self.lipschitz is None and not after.smoothed <= before + _ROUNDING * abs(before)
        gamma = self._gamma(objective, lipschitz)
        return InnerState(w, after, 2.0 * lipschitz if is_worse else lipschitz, is_worse, gamma=gamma)

    def advance(self, objective: Objective, loss: Loss, state: InnerState, rng: np.random.Generator) -> FloatArray:
        """Where an epoch from the snapshot leads, without a look at the new point."""
        count = self.steps or objective.n_active
        assert state.lipschitz is not None
        objective.count("steps", count)
        return self._steps(objective, loss, state.w, state.evaluation, state.lipschitz, rng, count)

    def _bound(self, objective: Objective, loss: Loss) -> float:
        return a_omega(objective, loss.smoothing) / loss.mu

    def _gamma(self, objective: Objective, lipschitz: float | None) -> float:
        assert lipschitz is not None
        return 1.0 / (lipschitz + objective.penalty.strong_convexity)

    def _steps(
        self,
        objective: Objective,
        loss: Loss,
        w: FloatArray,
        snapshot: Evaluation,
        lipschitz: float,
        rng: np.random.Generator,
        count: int,
    ) -> FloatArray:
        iterate = aligned_zeros(objective.n_params)
        iterate[:] = w
        gamma = self._gamma(objective, lipschitz)
        assert snapshot.gradient is not None
        assert snapshot.marginals is not None
        fixed = gamma, objective.penalty, loss, snapshot.gradient, snapshot.marginals, iterate
        problem, order = objective.problem(loss.smoothing), self._order(objective, rng, count)
        half = count // 2 if self.iterate == "second-half" else 0
        if half:
            svrg_epoch(problem, order[:half], *fixed)
        mean = svrg_epoch(problem, order[half:], *fixed)
        return iterate if self.iterate == "last" else mean

    def _order(self, objective: Objective, rng: np.random.Generator, count: int) -> IntArray:
        if self.sampling == "replacement":
            return objective.draw(rng, count)
        passes = -(-count // objective.n_active)
        return np.concatenate([objective.permutation(rng) for _ in range(passes)])[:count]


_CHOICES = {"iterate": ("average", "last", "second-half"), "sampling": SAMPLINGS}


def svrg_epoch(
    problem: Problem,
    order: IntArray,
    gamma: float,
    penalty: Penalty,
    loss: Loss,
    full: FloatArray,
    snapshot: FloatArray,
    w: FloatArray,
) -> FloatArray:
    """Steps over `order`; `full` is the mean gradient of the losses at the snapshot, which has these marginals.

    w is updated in place. Returns the mean iterate.
    """
    fused = fused_arguments(problem, penalty, loss)
    average = aligned_zeros(len(w))
    if fused is not None:
        native, known, smoothing = fused
        core.svrg_epoch(native, order, gamma, known, np.ascontiguousarray(full), snapshot, smoothing, w, average)
        return average

    def less(i: int, marginals: FloatArray) -> FloatArray:
        return marginals - snapshot[problem.marginal_offset(i) : problem.marginal_offset(i + 1)]

    for gradient, _ in gradients(problem, order, loss, w, less):
        take_step(penalty, w, gradient + full, gamma)
        average += w
    return average / len(order)
