"""What the certificates are tried on: losses, penalties, weights of examples and solvers, by name."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from certificates.judge import Judged
from certificates.listing import family

import casimir as cs

LOSSES: dict[str, Callable[[Any], Any]] = {
    "hinge": cs.Hinge,
    "perceptron": lambda cost: cs.Hinge(None),
    "log": lambda cost: cs.Log(),
    "softmax-margin": cs.SoftmaxMargin,
    "l2": lambda cost: cs.FenchelYoung(cs.L2(), 0.7, cost),
    "l2-wide": lambda cost: cs.FenchelYoung(cs.L2(), 6.0),
    "entropy": lambda cost: cs.FenchelYoung(cs.Entropy(), 0.3, cost),
}


def _masks(d: int) -> dict[str, Any]:
    """Strengths, every fifth infinite, and every third weight nonnegative."""
    strengths = np.random.default_rng(d).uniform(0.5, 3.0, d)
    strengths[2::5] = np.inf
    return {"strengths": strengths, "nonnegative": np.arange(d) % 3 == 0}


PENALTIES: dict[str, Callable[[int], Any]] = {
    "ridge": lambda d: cs.Ridge(0.3),
    "ridge-weak": lambda d: cs.Ridge(0.01),
    "ridge-masks": lambda d: cs.Ridge(0.2, **_masks(d)),
    "ridge-nonnegative": lambda d: cs.Ridge(0.2, nonnegative=np.arange(d) % 2 == 0),
    "net": lambda d: cs.ElasticNet(0.2, 0.5),
    "net-masks": lambda d: cs.ElasticNet(0.1, 0.3, **_masks(d)),
    "l1": lambda d: cs.ElasticNet(0.08, 1.0),
    "l1-masks": lambda d: cs.ElasticNet(0.05, 1.0, **_masks(d)),
    "none": lambda d: cs.Ridge(0.0),
}
STRONGLY_CONVEX = ("ridge", "ridge-weak", "ridge-masks", "ridge-nonnegative", "net", "net-masks")
SMOOTH = ("log", "softmax-margin", "l2", "l2-wide", "entropy")

WEIGHTS: dict[str, Callable[[int], Any]] = {
    "equal": lambda n: None,
    "unequal": lambda n: np.random.default_rng(n).uniform(0.2, 3.0, n),
    "some-zero": lambda n: np.where(np.arange(n) % 3 == 1, 0.0, np.arange(1.0, n + 1.0)),
}

SOLVERS: dict[str, Any] = {
    "sgd": cs.SGD(),
    "sgd-last": cs.SGD(averaging="none"),
    "sgd-root": cs.SGD(cs.InverseRoot(0.5), averaging="uniform"),
    "sgd-decay": cs.SGD(cs.StepDecay(0.5, 20.0)),
    "sgd-inverse": cs.SGD(cs.Inverse(2.0)),
    "sgd-constant": cs.SGD(cs.Constant(0.05)),
    "sgd-smoothed": cs.SGD(cs.Constant(0.05), smoothing=cs.L2(k=3), mu=0.2),
    "bcfw": cs.BCFW(),
    "bcfw-last": cs.BCFW(averaging="none"),
    "bcfw-pairwise": cs.BCFW(pairwise=True, cached_passes=3),
    "dual": cs.DualProximal(),
    "dual-kappa": cs.DualProximal(cs.BCFW(pairwise=True, cached_passes=2, steps=1), kappa=2.0),
    "sdca": cs.SDCA(),
    "sdca-plain": cs.SDCA(light_passes=0),
    "eg": cs.ExponentiatedGradient(),
    "eg-fixed": cs.ExponentiatedGradient(eta=0.05),
    "cuts": cs.CuttingPlanes(),
    "cuts-cited": cs.CuttingPlanes(step=1.0, planes=4),
    "excessive-gap": cs.ExcessiveGap(),
    "dual-sdca": cs.DualProximal(cs.SDCA(light_passes=2, skip_below=0.5), kappa=1.0),
    "svrg": cs.SVRG(),
    "svrg-hard": cs.SVRG(cs.Hard()),
    "svrg-l2": cs.SVRG(cs.L2()),
    "svrg-entropy": cs.SVRG(cs.Entropy()),
    "svrg-mu": cs.SVRG(cs.L2(k=2), mu=0.05, steps=20),
    "saga": cs.SAGA(),
    "saga-entropy": cs.SAGA(cs.Entropy()),
    "lbfgs": cs.LBFGS(),
    "lbfgs-l2": cs.LBFGS(cs.L2(), memory=4),
    "gradient": cs.GradientDescent(),
    "gradient-l2": cs.GradientDescent(cs.L2()),
    "casimir": cs.Casimir(),
    "casimir-decreasing": cs.Casimir.paper("adapt", cs.SVRG(cs.L2()), warm_start="extrapolation"),
    "casimir-accuracy": cs.Casimir.paper(
        "const", cs.SVRG(cs.L2(), steps=20), stopping="accuracy", warm_start="prev-iterate"
    ),
    "casimir-saga": cs.Casimir(cs.SAGA(cs.L2())),
    "casimir-lbfgs": cs.Casimir(cs.LBFGS(), kappa=0.5),
    "casimir-lbfgs-accuracy": cs.Casimir.paper(
        "const", cs.LBFGS(cs.L2()), stopping="accuracy", warm_start="extrapolation"
    ),
    "casimir-gradient": cs.Casimir.paper("const", cs.GradientDescent(), stopping="accuracy"),
    "prox-linear": cs.ProxLinear(),
    "prox-linear-dual": cs.ProxLinear(cs.DualProximal(), inner_epochs=3),
}


class Case(NamedTuple):
    family: str
    loss: str
    penalty: str
    weights: str

    def objective(self) -> cs.Objective:
        made, (loss, penalty, weights) = family(self.family), self._parts()
        return made.objective(loss, penalty, weights)

    def judged(self) -> Judged:
        loss, penalty, weights = self._parts()
        return Judged.of(lists_of(self.family, loss.cost is not None), loss, penalty, weights)

    def _parts(self) -> tuple[Any, Any, Any]:
        parts = family(self.family).parts
        penalty = PENALTIES[self.penalty](parts.model.n_params)
        return LOSSES[self.loss](parts.cost), penalty, WEIGHTS[self.weights](len(parts.y))


@cache
def lists_of(name: str, with_cost: bool) -> Any:
    made = family(name)
    return made.lists(made.parts.cost if with_cost else None)


@cache
def optimum(case: Case) -> float:
    return case.judged().optimum()


def refusals(case: Case, solver: str) -> list[str]:
    """What an error may name when the solver cannot take the case; empty when it can."""
    smooth, strongly_convex, made = case.loss in SMOOTH, case.penalty in STRONGLY_CONVEX, SOLVERS[solver]
    of_entropy = case.loss in ("log", "softmax-margin", "entropy")
    own = getattr(getattr(made, "inner", made), "smoothing", None)
    entropy = of_entropy or (not smooth and (isinstance(own, cs.Entropy) or solver.startswith(("eg", "excessive"))))
    reasons = {
        "Matching has no expect": case.family == "matching" and entropy,
        "needs lam > 0": solver in ("sgd", "sgd-last") and not strongly_convex,
        "Penalty.strong_convexity > 0": solver.startswith(("bcfw", "sdca", "eg", "cuts", "excessive"))
        and not strongly_convex,
        r"needs Hinge\(cost\)": smooth and solver.startswith(("bcfw", "dual-kappa")),
        r"smoothed by Entropy\(\)": not of_entropy and solver.startswith(("sdca", "dual-sdca")),
        r"by Entropy\(\), such as": smooth
        and not of_entropy
        and solver in ("dual", "prox-linear-dual", "eg", "eg-fixed"),
        "is smooth already": smooth and solver == "excessive-gap",
        "does nothing": smooth and solver in ("svrg-mu", "sgd-smoothed", "casimir-decreasing"),
    }
    return [reason for reason, holds in reasons.items() if holds]


def covering(factors: list[tuple[str, ...]], seed: int = 0) -> Iterator[tuple[str, ...]]:
    """Rows of one name per factor such that any two names of different factors meet in some row: greedy, seeded."""
    rng = np.random.default_rng(seed)
    pairs = itertools.combinations(range(len(factors)), 2)
    missing = {(a, x, b, y) for a, b in pairs for x in factors[a] for y in factors[b]}
    while missing:
        a, x, b, y = sorted(missing)[int(rng.integers(len(missing)))]
        best: tuple[int, tuple[str, ...]] = (-1, ())
        for _ in range(30):
            row = [names[int(rng.integers(len(names)))] for names in factors]
            row[a], row[b] = x, y
            gained = sum((i, row[i], j, row[j]) in missing for i, j in itertools.combinations(range(len(row)), 2))
            best = max(best, (gained, tuple(row)))
        row = list(best[1])
        missing -= {(i, row[i], j, row[j]) for i, j in itertools.combinations(range(len(row)), 2)}
        yield tuple(row)
