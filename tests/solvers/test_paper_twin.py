"""Casimir.paper is algo:catalyst: a twin in plain NumPy, over all outputs listed, goes the same way step by step."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from problems import Parts, candidate_parts, listed, tiny_parts

import casimir as cs

GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


def outputs(parts: Parts) -> list[tuple[Any, Any]]:
    """(costs, rows) of all outputs of every example."""
    if isinstance(parts.structure, cs.Chain):
        return [(costs, rows) for rows, costs in listed(parts)]
    layout = parts.model.scores(np.zeros(parts.model.n_params))
    costs = parts.cost.parts(parts.structure, layout, parts.y)
    rows = [parts.model.features[a:b] for a, b in itertools.pairwise(parts.model.offsets)]
    return [(costs.unary(i), r - r[int(parts.y[i][0])]) for i, r in enumerate(rows)]


class Twin:
    """F_mu and its gradients over lists of (cost, row) of every output."""

    def __init__(self, parts: Parts, lam: float, smoothing: Any) -> None:
        self.lists, self.lam, self.smoothing = outputs(parts), lam, smoothing
        self.n = len(self.lists)

    def weights(self, i: int, w: Any, mu: float) -> Any:
        costs, rows = self.lists[i]
        scores = (costs + rows @ w) / mu
        if isinstance(self.smoothing, cs.Entropy):
            e = np.exp(scores - scores.max())
            return e / e.sum()
        ordered = np.sort(scores)[::-1]
        sums = (np.cumsum(ordered) - 1.0) / np.arange(1, len(ordered) + 1)
        return np.maximum(scores - sums[np.flatnonzero(ordered > sums)[-1]], 0.0)

    def gradient(self, i: int, w: Any, mu: float) -> Any:
        return self.weights(i, w, mu) @ self.lists[i][1]

    def full(self, w: Any, mu: float) -> Any:
        return sum(self.gradient(i, w, mu) for i in range(self.n)) / self.n

    def value(self, w: Any) -> float:
        return sum(float((c + r @ w).max()) for c, r in self.lists) / self.n + 0.5 * self.lam * float(w @ w)


def svrg(twin: Twin, w: Any, z: Any, mu: float, kappa: float, lipschitz: float, rng: Any, inner: cs.SVRG) -> Any:
    full, start, count = twin.full(w, mu), w, inner.steps or twin.n
    gamma = 1.0 / (lipschitz + twin.lam + kappa)
    if inner.sampling == "replacement":
        order = rng.integers(twin.n, size=count)
    else:
        order = np.concatenate([rng.permutation(twin.n) for _ in range(-(-count // twin.n))])[:count]
    iterates = []
    for i in order:
        step = twin.gradient(i, w, mu) - twin.gradient(i, start, mu) + full + twin.lam * w + kappa * (w - z)
        w = w - gamma * step
        iterates.append(w)
    if inner.iterate == "last":
        return w
    return np.mean(iterates[count // 2 if inner.iterate == "second-half" else 0 :], axis=0)


def twin_run(twin: Twin, solver: cs.Casimir, mu0: float, epochs: int, seed: int) -> list[Any]:
    inner, lam, n, rng = solver.inner, twin.lam, twin.n, np.random.default_rng(seed)
    assert isinstance(inner, cs.SVRG)
    assert isinstance(inner.lipschitz, float)
    adapt, lipschitz = solver.scheme == "adapt", inner.lipschitz
    if isinstance(solver.kappa, float):
        kappa0 = solver.kappa
    elif lam == 0.0:
        kappa0 = lipschitz / (n + 1)
    else:
        kappa0 = lam if adapt or lipschitz / n <= 4 * lam else lipschitz / n - lam
    q = lam / (lam + kappa0)

    def mu_of(k: int) -> float:
        if callable(solver.mu):
            return solver.mu(k)
        if not adapt:
            return mu0
        return mu0 * (1 - math.sqrt(q) / 2) ** (k / 2) if lam > 0 else mu0 / k

    def kappa_of(k: int) -> float:
        if callable(solver.kappa):
            return solver.kappa(k)
        return kappa0 * k if adapt and lam == 0 else kappa0

    def delta_of(k: int) -> float:
        if solver.delta is not None:
            return solver.delta(k) if callable(solver.delta) else solver.delta
        return math.sqrt(q) / (2 - math.sqrt(q)) if lam > 0 else 1 / (k + 1) ** 2

    alpha = solver.alpha0 or (math.sqrt(q) if lam > 0 else GOLDEN)
    w = z = z_before = np.zeros(twin.lists[0][1].shape[1])
    seen = []
    for k in range(1, epochs + 1):
        mu, kappa, following = mu_of(k), kappa_of(k), kappa_of(k + 1)
        share = kappa / (kappa + lam)
        x = {"prox-center": z, "prev-iterate": w, "extrapolation": w + share * (z - z_before)}[solver.warm_start]
        if solver.stopping == "budget":
            for _ in range(solver.inner_epochs):
                x = svrg(twin, x, z, mu, kappa, lipschitz, rng, inner)
        else:
            while True:
                g = twin.full(x, mu) + lam * x + kappa * (x - z)
                if g @ g <= (lam + kappa) * delta_of(k) * kappa * ((x - z) @ (x - z)):
                    break
                x = svrg(twin, x, z, mu, kappa, lipschitz, rng, inner)
        a, b = following + lam, alpha**2 * (kappa + lam)
        roots = np.roots([a, b - lam, -b])
        new_alpha = float(roots[roots > 0][0])
        beta = alpha * (1 - alpha) * (kappa + lam) / (alpha**2 * (kappa + lam) + new_alpha * a)
        z_before, z, w, alpha = z, x + beta * (x - w), x, new_alpha
        seen.append(w)
    return seen


def paper(**options: Any) -> cs.SVRG:
    given = {"smoothing": cs.L2(), "lipschitz": 30.0, "iterate": "average", "sampling": "replacement"} | options
    return cs.SVRG(**given)


CONFIGURATIONS: list[tuple[float, cs.Casimir]] = [
    (lam, cs.Casimir.paper(regime, paper(mu=0.4), warm_start=warm))
    for lam in (0.3, 0.0)
    for regime in ("const", "adapt")
    for warm in ("prox-center", "extrapolation", "prev-iterate")
]
CONFIGURATIONS += [
    (0.3, cs.Casimir.paper("const", paper(mu=0.4), alpha0=0.9)),
    (0.3, cs.Casimir.paper("const", paper(mu=0.4, lipschitz=3.0))),  # L / n < 4 lam
    (0.3, cs.Casimir.paper("adapt", paper(mu=0.4), kappa=2.0, inner_epochs=3)),
    (0.1, cs.Casimir.paper("const", paper(), mu=lambda k: 1.0 / k, kappa=lambda k: 0.5 + 0.1 * k, alpha0=0.7)),
    (0.3, cs.Casimir.paper("const", paper(mu=0.4), stopping="accuracy")),
    (0.3, cs.Casimir.paper("const", paper(mu=0.4), stopping="accuracy", delta=lambda k: 0.5 / k)),
    (0.3, cs.Casimir.paper("adapt", paper(mu=0.4, smoothing=cs.Entropy()))),
    (0.3, cs.Casimir.paper("const", paper(mu=0.4, iterate="last", steps=7))),
    (0.3, cs.Casimir.paper("const", paper(mu=0.4, iterate="second-half", sampling="permutation", steps=9))),
    (0.0, cs.Casimir.paper("adapt", paper(smoothing=cs.Entropy()), mu=0.8)),
]


@pytest.mark.parametrize(("lam", "solver"), CONFIGURATIONS, ids=[str(i) for i in range(len(CONFIGURATIONS))])
@pytest.mark.parametrize("make", [tiny_parts, lambda: candidate_parts(n=6)], ids=["chain", "candidates"])
def test_the_papers_algorithm_is_that_of_its_twin(make: Any, lam: float, solver: cs.Casimir) -> None:
    parts, epochs = make(), 6
    twin = Twin(parts, lam, solver.inner.smoothing)
    mu = solver.inner.mu if solver.mu is None else solver.mu
    mu0 = mu if isinstance(mu, float) else 1.0
    expected = twin_run(twin, solver, mu0, epochs, seed=5)
    for native in (True, False):
        points: list[Any] = []
        objective = parts.objective(lam, native=native)
        cs.minimize(
            objective,
            solver,
            epochs,
            0.0,
            5,
            callbacks=[lambda row, w, points=points: points.append((row.objective, w.copy()))],
        )
        for (value, w), twin_w in zip(points, expected, strict=True):
            np.testing.assert_allclose(w, twin_w, rtol=0.0, atol=1e-10)
            assert value == pytest.approx(twin.value(twin_w), abs=1e-10)


def test_the_bound_gives_the_propositions_parameters() -> None:
    """L = A_omega / mu and kappa = L/n - lam: exact for candidates, and never below the longest difference."""
    parts, lam, mu = candidate_parts(n=6), 0.01, 0.2
    exact = max(np.linalg.norm(rows, 2) ** 2 for _, rows in outputs(parts))
    trace = cs.minimize(parts.objective(lam), cs.Casimir.paper("const", paper(lipschitz="bound", mu=mu)), 2, 0.0).trace
    np.testing.assert_allclose(trace["lipschitz"], exact / mu)
    np.testing.assert_allclose(trace["kappa"], exact / mu / 6 - lam)
    longest = max(float((rows**2).sum(axis=1).max()) for _, rows in outputs(tiny_parts()))
    solver = cs.Casimir.paper("const", paper(smoothing=cs.Entropy(), lipschitz="bound", mu=mu))
    assert cs.minimize(tiny_parts().objective(lam), solver, 2, 0.0).trace[0].lipschitz >= longest / mu
