"""The algorithms of tab:rates and tab:sc-svrg_rates_summary with their parameters, and their bounds on oracle calls.

On made-up classes, whose R, A and D are known. Bounds are without constants and logarithms. Those that must
know eps in advance have it as a parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import log, sqrt
from typing import Any

from casimir.experiments.base import Method, Size
from casimir.experiments.rates import Bound
from casimir.experiments.sources.classes import A_L2, CLASSES, D_ENTROPY, D_L2, LONGEST
from casimir.smoothing import L2, Entropy, Smoothing
from casimir.solvers import BCFW, SAGA, SGD, SVRG, Casimir, CuttingPlanes, ExcessiveGap, ExponentiatedGradient
from casimir.solvers.regimes import GOLDEN

SQUARES = L2(k=CLASSES)  # exact, as there are no more outputs
FIRST_MU = 2.0  # of adaptive smoothing
FIRST_KAPPA = 1e-4  # of prop:c:total_compl_nsc:dec_smoothing, which leaves it open
_AD = {SQUARES: A_L2 * D_L2, Entropy(): LONGEST * D_ENTROPY}
_D = {SQUARES: D_L2, Entropy(): D_ENTROPY}
_BOUND_OF_A = {SQUARES: CLASSES * LONGEST, Entropy(): LONGEST}  # what `a_omega` gives, and so the step sizes


@dataclass(frozen=True)
class Line:
    """bound      None: there is no theory
    needs_eps  whether there is a run for every eps
    """

    name: str
    label: str
    make: Callable[..., Any]
    bound: Bound | None
    needs_eps: bool = False

    def methods(self, eps: Sequence[float]) -> list[Method]:
        if not self.needs_eps:
            return [Method(self.name, self.make, self.label)]
        return [Method(f"{self.name}-{one:g}", self.make, self.label, fixed={"eps": one}) for one in eps]


# --- solvers


def plain(size: Size, solver: Any) -> Any:
    return solver


def excessive_gap(size: Size) -> ExcessiveGap:
    return ExcessiveGap(LONGEST / size.lam)


def paper_svrg(smoothing: Smoothing, mu: float | None) -> SVRG:
    """L = A / mu"""
    return SVRG(smoothing, mu, "bound", iterate="average", sampling="replacement")


def svrg(size: Size, eps: float, smoothing: Smoothing) -> SVRG:
    return paper_svrg(smoothing, eps / (10.0 * _D[smoothing]))


def const(size: Size, eps: float, smoothing: Smoothing, stopping: str) -> Casimir:
    """prop:c:total_compl_svrg_sc; with stopping="budget" one epoch per subproblem, as in Sec. 7."""
    return Casimir.paper("const", svrg(size, eps, smoothing), stopping=stopping)


def adapt(size: Size, smoothing: Smoothing, stopping: str) -> Casimir:
    """prop:c:total_compl_sc:dec_smoothing with kappa = lam."""
    return Casimir.paper("adapt", paper_svrg(smoothing, None), mu=FIRST_MU, stopping=stopping)


@dataclass(frozen=True)
class Power:
    """k -> first * (k + shift)^power"""

    first: float
    power: float
    shift: float = 0.0

    def __call__(self, k: int) -> float:
        return float(self.first * (k + self.shift) ** self.power)


def flat_const(size: Size, eps: float, smoothing: Smoothing) -> Casimir:
    """prop:c:total_compl_svrg_smooth, the sequences of lam = 0."""
    mu = eps / (20.0 * _D[smoothing])
    kappa, delta = _BOUND_OF_A[smoothing] / (mu * (size.n + 1)), Power(1.0, -2.0, 1.0)
    inner = paper_svrg(smoothing, mu)
    return Casimir.paper("const", inner, alpha0=GOLDEN, kappa=kappa, delta=delta, stopping="accuracy")


def flat_adapt(size: Size, smoothing: Smoothing) -> Casimir:
    """prop:c:total_compl_nsc:dec_smoothing, the sequences of lam = 0."""
    mu, kappa, delta = Power(FIRST_MU, -1.0), Power(FIRST_KAPPA, 1.0), Power(1.0, -2.0, 1.0)
    inner = paper_svrg(smoothing, None)
    return Casimir.paper("adapt", inner, alpha0=GOLDEN, mu=mu, kappa=kappa, delta=delta, stopping="accuracy")


# --- bounds on oracle calls


def subgradient(eps: float, n: float, lam: float) -> float:
    return LONGEST / (lam * eps)


def planes(eps: float, n: float, lam: float) -> float:
    return n * LONGEST / (lam * eps)


def exponentiated(eps: float, n: float, lam: float) -> float:
    return (n + log(CLASSES)) * LONGEST / (lam * eps)


def gap_reduction(eps: float, n: float, lam: float) -> float:
    return n * sqrt(LONGEST * log(CLASSES) / (lam * eps))


def accelerated(eps: float, n: float, lam: float, ad: float) -> float:
    return n + sqrt(ad * n / (lam * eps))


def not_accelerated(eps: float, n: float, lam: float, ad: float) -> float:
    return n + ad / (lam * eps)


def flat_accelerated(eps: float, n: float, lam: float, ad: float, distance: float) -> float:
    """distance = |w*|; F(0) - F* is at most 1."""
    return n * sqrt(1.0 / eps) + sqrt(ad * n) * distance / eps


def flat_not_accelerated(eps: float, n: float, lam: float, a: float, distance: float) -> float:
    return (1.0 + 0.5 * FIRST_KAPPA * distance**2 + FIRST_MU * D_L2) / eps * (n + a / (FIRST_MU * FIRST_KAPPA))


# --- the rows of both tables


def _casimir(name: str, label: str, smoothing: Smoothing, stopping: str = "accuracy") -> list[Line]:
    """Propositions 1 and 2."""
    options: dict[str, Any] = {"smoothing": smoothing, "stopping": stopping}
    fast, slow = partial(accelerated, ad=_AD[smoothing]), partial(not_accelerated, ad=_AD[smoothing])
    return [
        Line(f"const-{name}", f"const, {label}", partial(const, **options), fast, needs_eps=True),
        Line(f"adapt-{name}", f"adapt, {label}", partial(adapt, **options), slow),
    ]


LINES = (
    Line("sgd", "SGD, 1/(λt)", partial(plain, solver=SGD()), subgradient),
    Line("bcfw", "BCFW", partial(plain, solver=BCFW(averaging="weighted")), partial(not_accelerated, ad=LONGEST)),
    Line("bmrm", "BMRM, QP 1-slack", partial(plain, solver=CuttingPlanes(step=1.0)), planes),
    Line("cuts", "CuttingPlanes()", partial(plain, solver=CuttingPlanes()), planes),
    Line("eg", "exponentiated gradient", partial(plain, solver=ExponentiatedGradient()), exponentiated),
    Line("excessive", "excessive gap, L = A/λ", excessive_gap, gap_reduction),
    Line("excessive-search", "excessive gap, L searched", partial(plain, solver=ExcessiveGap()), gap_reduction),
    *_casimir("l2", "l2", SQUARES),
    *_casimir("entropy", "entropy", Entropy()),
    *_casimir("l2-1", "l2, one epoch", SQUARES, "budget"),
    Line("svrg", "SVRG, l2", partial(svrg, smoothing=SQUARES), partial(not_accelerated, ad=_AD[SQUARES]), True),
    Line("casimir-svrg", "Casimir()", partial(plain, solver=Casimir()), None),
    Line("casimir-saga", "Casimir(SAGA())", partial(plain, solver=Casimir(SAGA())), None),
    Line("auto", "auto", partial(plain, solver="auto"), None),
)


def flat_lines(distance: float) -> tuple[Line, ...]:
    """Propositions 3 and 4, for |w*| = distance."""
    fast = partial(flat_accelerated, ad=_AD[SQUARES], distance=distance)
    slow = partial(flat_not_accelerated, a=A_L2, distance=distance)
    return (
        Line("flat-const", "const, λ = 0", partial(flat_const, smoothing=SQUARES), fast, needs_eps=True),
        Line("flat-adapt", "adapt, λ = 0", partial(flat_adapt, smoothing=SQUARES), slow),
    )
