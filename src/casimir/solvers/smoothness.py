"""How much to smooth, and how long a step the smoothed objective takes: defaults that need no tuning."""

from __future__ import annotations

import math
from dataclasses import replace
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
    """`mu_for` an accuracy of eps = tol F(0)."""
    if objective.is_smooth or isinstance(smoothing, Hard):
        return 1.0
    start = objective.value(np.zeros(objective.n_params))
    return mu_for(max(tol, 1e-6) * (start if start > 0.0 else 1.0), objective, smoothing)


def mu_for(eps: float, objective: Objective, smoothing: Smoothing) -> float:
    """mu = eps / (10 D_omega), or eps / (20 D_omega) when lam = 0: smoothing may use up a tenth of eps.

    D_omega is 1/2 for l2 smoothing and the mean log |Y_i| for entropy smoothing.
    """
    if objective.is_smooth or isinstance(smoothing, Hard):
        return 1.0
    bound = smoothing.bound(objective.log_n_outputs()) or 0.5
    return eps / ((10.0 if objective.lam > 0.0 else 20.0) * bound)


def guess_lipschitz(objective: Objective, w: FloatArray, mu: float, rng: np.random.Generator) -> float:
    """mean_i |a_iy|^2 / mu over a few examples, y the best output without cost: the order of A_omega / mu.

    Where that is the truth of all of them, as at w = 0 when the first output always is, y is one far from the truth.
    """
    examples = np.sort(rng.choice(objective.n_examples, size=min(_SAMPLED, objective.n_examples), replace=False))
    for far in (False, True):
        square = float(np.mean([_square_of_output(objective, w, i, far) for i in examples.tolist()]))
        objective.oracle_calls += len(examples)
        if square > 0.0:
            break
    return max(square, 1e-12) / mu


def _square_of_output(objective: Objective, w: FloatArray, i: int, far: bool) -> float:
    """|a_iy|^2, y the best output of example i, or the one that shares the fewest node parts with the truth."""
    structure, y = objective.structure.select([i]), objective.y[i]
    around = objective.linearize(w, [i])
    scores = around.scores
    if far:
        truth = structure.mixture(scores, [y[None]], [np.ones(1)])
        scores = scores * 0.0 - replace(truth, edges=None, edge_offsets=None, whole=None)
    output = structure.max(scores).outputs[0]
    vector = around.adjoint(structure.mixture(scores, [np.stack([output, y])], [np.array([1.0, -1.0])]))
    return dot(vector, vector)


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
