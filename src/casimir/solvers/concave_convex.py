"""The concave-convex procedure, for truths that are sets of outputs: partial labels and latent parts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from casimir._validate import positive_int
from casimir.duality import relative_gap
from casimir.objective import Objective
from casimir.scores import FloatArray
from casimir.solvers.base import Monitor, Solver, check_solver
from casimir.solvers.choose import choose
from casimir.solvers.run import Result, minimize

_SCALE_OF_START = 1e-3  # of the random weights that pick a completion where nothing is known


@dataclass(frozen=True)
class ConcaveConvex:
    """w_k ~ argmin_w F_k(w), F_k the convex objective whose truth is completed at w_{k-1}: F_k(w_{k-1}) = F(w_{k-1}).

    F_k is nowhere below F, so that F never rises. An epoch is a round: it completes the truth (the best output of every
    set for a hinge loss, the distribution over the set for a smooth one) and solves an ordinary certified problem; the
    gap in the trace is that problem's. The run ends as "stationary" when no round can lower F by a share of more than
    tol. From w0 = 0, where all outputs tie, the first round takes the examples whose truth is one output; where there
    are none, a random completion.

    inner         any solver of convex problems; None: the one that "auto" takes
    inner_epochs  epochs that a round may take at the most
    """

    inner: Solver | None = None
    inner_epochs: int = 200

    def __post_init__(self) -> None:
        positive_int(self.inner_epochs, "inner_epochs")
        if self.inner is not None:
            check_solver(self.inner)
        if isinstance(self.inner, ConcaveConvex):
            raise TypeError("ConcaveConvex needs a solver of convex problems inside, such as DualProximal().")

    def run(self, objective: Objective, w0: FloatArray, monitor: Monitor, rng: np.random.Generator) -> None:
        if objective.sets is None:
            self._solver(objective).run(objective, w0, monitor, rng)
            return
        if not objective.term.is_linear:
            raise TypeError("ConcaveConvex needs scores that are linear in w.")
        if monitor.resumed is None:
            w = w0 if w0.any() else self._first_point(objective, monitor.tol, rng)
            value = objective.value(w)
        else:
            w, value = monitor.resumed
        while True:
            monitor.rest((w, value))
            round_ = objective.completed(w)
            found = self._solved(round_, w, monitor.tol, rng)
            after = objective.value(found.w)
            # No weights lower this round by more. That is certified of w, so w is what is returned.
            is_stationary = value - found.dual <= monitor.tol * abs(value)
            improves = after < value
            if improves and not is_stationary:
                w, value = found.w, after
            gap = relative_gap(found.objective, found.dual)
            if monitor.epoch(w, objective=value, gap=gap, is_stationary=is_stationary):
                return
            if found.status == "interrupted":
                raise KeyboardInterrupt
            if not improves:
                return  # the inner solver's budget is too small to improve on w

    def _solver(self, problem: Objective) -> Solver:
        return choose("auto", problem) if self.inner is None else self.inner

    def _solved(self, problem: Objective, w: FloatArray | None, tol: float, rng: np.random.Generator) -> Result:
        """A round, to half the tolerance, so that the other half tells whether there was anything to gain."""
        solver = self._solver(problem)
        start = None if getattr(solver, "starts_at_zero", False) else w
        return minimize(problem, solver, self.inner_epochs, 0.5 * tol, rng, w0=start)

    def _first_point(self, objective: Objective, tol: float, rng: np.random.Generator) -> FloatArray:
        random = _SCALE_OF_START * rng.standard_normal(objective.n_params)
        known = objective.known(random)
        if known is None:
            own = getattr(objective.penalty, "separable", None)
            return random if own is None else own.allowed(random)
        found = self._solved(known, None, tol, rng)
        objective.count("searches", known.oracle_calls)
        if found.status == "interrupted":
            raise KeyboardInterrupt
        return found.w
