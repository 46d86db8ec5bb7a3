"""How much to smooth, and how long a step the smoothed objective takes: defaults that need no tuning."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from casimir._arrays import dot
from casimir.objective import Evaluation, Objective, Proximal
from casimir.scores import FloatArray
from casimir.smoothing import Hard, Smoothing

if TYPE_CHECKING:
    from casimir.solvers.svrg import SVRG

_TRIALS = 20  # doublings or halvings at the most: a factor of a million
_SAMPLED = 20  # examples whose gradients give the first guess


def default_mu(objective: Objective, smoothing: Smoothing, tol: float) -> float:
    """mu = eps / (10 D_omega), or eps / (20 D_omega) when lam = 0, with eps = tol F(0).

    D_omega is 1/2 for l2 smoothing and the mean log |Y_i| for entropy smoothing.
    """
    if objective.is_smooth or isinstance(smoothing, Hard):
        return 1.0
    zero = np.zeros(objective.n_params)
    log_n_outputs = getattr(objective.structure, "log_n_outputs", None)
    sizes = log_n_outputs(objective.model.scores(zero)) if log_n_outputs is not None else np.ones(1)
    bound = smoothing.bound(float(np.mean(sizes))) or 0.5
    start = objective.value(zero)
    share = 10.0 if objective.lam > 0.0 else 20.0
    return max(tol, 1e-6) * (start if start > 0.0 else 1.0) / (share * bound)


def guess_lipschitz(objective: Objective, w: FloatArray, mu: float, rng: np.random.Generator) -> float:
    """mean_i |a_iy|^2 / mu over a few examples, y the best output without cost: the order of A_omega / mu."""
    examples = np.sort(rng.choice(objective.n_examples, size=min(_SAMPLED, objective.n_examples), replace=False))
    squares = []
    for i in examples.tolist():
        structure = objective.structure.select([i])
        around = objective.linearize(w, [i])
        output = structure.max(around.scores).outputs[0]
        difference = structure.mixture(around.scores, [np.stack([output, objective.y[i]])], [np.array([1.0, -1.0])])
        vector = around.adjoint(difference)
        squares.append(dot(vector, vector))
    objective.oracle_calls += len(examples)
    return max(float(np.mean(squares)), 1e-12) / mu


def search_lipschitz(
    svrg: SVRG, problem: Proximal, w: FloatArray, evaluation: Evaluation, mu: float, rng: np.random.Generator
) -> float:
    """The L, on a grid of factors of 2, whose short trial epoch lowers the smoothed subproblem the most.

    All trials take the same random order. Starting from a first guess, L is halved while that helps; when the first
    guess makes things worse, it is doubled until the objective falls.
    """
    objective = problem.objective
    steps = min(objective.n_examples, max(100, objective.n_examples // 5))
    seed = int(rng.integers(2**32))

    def value(lipschitz: float) -> float:
        try:
            trial = svrg.epoch(problem, w, evaluation, mu, lipschitz, np.random.default_rng(seed), steps)
        except FloatingPointError:
            return math.inf
        if not np.isfinite(trial).all() or np.abs(trial).max() > 1e100:
            return math.inf
        after = objective.evaluate(trial, svrg.smoothing, mu, gradient=False)
        return problem.smoothed(trial, after)

    lipschitz = guess_lipschitz(objective, w, mu if mu > 0.0 else 1.0, rng)
    best, start = value(lipschitz), problem.smoothed(w, evaluation)
    if best < start:
        for _ in range(_TRIALS):
            shorter = value(lipschitz / 2.0)
            if not shorter < best:
                break
            lipschitz, best = lipschitz / 2.0, shorter
        return lipschitz
    for _ in range(_TRIALS):
        lipschitz *= 2.0
        if value(lipschitz) < start:
            break
    return lipschitz
