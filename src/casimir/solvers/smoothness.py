"""How much to smooth, and how long a step the smoothed objective takes: defaults that need no tuning."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from casimir._arrays import dot
from casimir.losses import Loss
from casimir.objective import Objective
from casimir.scores import FloatArray
from casimir.smoothing import Hard, Smoothing

_TRIALS = 20  # doublings or halvings at the most: a factor of a million
_SAMPLED = 20  # examples whose gradients give the first guess


def needs_smoothing(objective: Objective, smoothing: Smoothing) -> bool:
    """Whether the loss is not smooth, and the smoothing changes that."""
    return isinstance(objective.loss.smoothing, Hard) and not isinstance(smoothing, Hard)


def level_of(objective: Objective, smoothing: Smoothing, mu: float | None, tol: float, solver: str) -> float:
    """mu as it was given, or its default; 0 where nothing is to be smoothed."""
    if not needs_smoothing(objective, smoothing):
        if mu is not None and not isinstance(objective.loss.smoothing, Hard):
            raise ValueError(
                f"{solver}: mu={mu} does nothing, because {type(objective.loss).__name__} is smooth itself. "
                "Leave it out."
            )
        if mu is not None:
            raise ValueError(f"{solver}: mu={mu} does nothing without a smoothing. Give one, such as L2(k=5).")
        return 0.0
    return default_mu(objective, smoothing, tol) if mu is None else mu


def default_mu(objective: Objective, smoothing: Smoothing, tol: float) -> float:
    """`mu_for` an accuracy of eps = tol F(0)."""
    start = objective.evaluate(np.zeros(objective.n_params), gradient=False, count="searches").objective
    return mu_for(max(tol, 1e-6) * (start if start is not None and start > 0.0 else 1.0), objective, smoothing)


def mu_for(eps: float, objective: Objective, smoothing: Smoothing) -> float:
    """mu = eps / (10 D_omega), or eps / (20 D_omega) without strong convexity: smoothing may use up a tenth of eps.

    D_omega is 1/2 for l2 smoothing and the mean log |Y_i| for entropy smoothing.
    """
    bound = smoothing.bound(objective.log_n_outputs()) or 0.5
    return eps / ((10.0 if objective.penalty.strong_convexity > 0.0 else 20.0) * bound)


def guess_lipschitz(objective: Objective, loss: Loss, w: FloatArray, rng: np.random.Generator) -> float:
    """mean_i |a_iy|^2 / mu over a few examples, y the best output without cost: the order of A_omega / mu.

    Where that is the truth of all of them, as at w = 0 when the first output always is, y is one far from the truth.
    """
    size = min(_SAMPLED, objective.n_active)
    examples = objective.examples[np.sort(rng.choice(objective.n_active, size=size, replace=False))]
    for far in (False, True):
        square = float(np.mean([_square_of_output(objective, w, i, far) for i in examples.tolist()]))
        objective.count("searches", len(examples))
        if square > 0.0:
            break
    return max(square, 1e-12) / (1.0 if isinstance(loss.smoothing, Hard) else loss.mu)


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
    objective: Objective,
    loss: Loss,
    w: FloatArray,
    start: float,
    trial: Callable[[float, np.random.Generator, int], FloatArray],
    rng: np.random.Generator,
) -> float:
    """The L, on a grid of factors of 2, whose short trial epoch lowers the smoothed objective the most.

    start  the smoothed objective at w
    trial  (L, rng, steps) -> the point that so many steps lead to

    All trials take the same random order. Starting from a first guess, L is halved while that helps; when the first
    guess makes things worse, it is doubled until the objective falls.
    """
    steps = min(objective.n_active, max(100, objective.n_active // 5))
    seed = int(rng.integers(2**32))

    def value(lipschitz: float) -> float:
        try:
            point = trial(lipschitz, np.random.default_rng(seed), steps)
        except FloatingPointError:
            return math.inf
        if not np.isfinite(point).all() or np.abs(point).max() > 1e100:
            return math.inf
        return objective.evaluate(point, loss, gradient=False, count="searches").smoothed

    lipschitz = guess_lipschitz(objective, loss, w, rng)
    best = value(lipschitz)
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
