"""fig:plot_all_ner: the paper's five methods on CoNLL-2003, and three of ours that need no tuning."""

from __future__ import annotations

from casimir.experiments.base import Case, Experiment, Knob, Method, Size
from casimir.experiments.rules import LowestObjectiveNearBest
from casimir.experiments.sources.tagging import CONLL
from casimir.smoothing import L2
from casimir.solvers import BCFW, SAGA, SGD, SVRG, Casimir, StepDecay

LAMBDAS = (0.01, 0.1, 1.0, 10.0)
CASES = tuple(Case(CONLL, lam_n) for lam_n in LAMBDAS)


def paper_svrg(lipschitz: float, mu: float | None = None, k: int = 5) -> SVRG:
    """Averaged iterates, examples drawn independently, top-K smoothing, gamma = 1 / (L + lam + kappa)."""
    return SVRG(L2(k=k), mu, lipschitz, iterate="average", sampling="replacement")


def sgd(size: Size, gamma0: float, t0: float) -> SGD:
    """gamma_t = gamma0 / (1 + floor(t / (t0 n))), averaged with weights t."""
    return SGD(StepDecay(gamma0, t0 * size.n))


def bcfw(size: Size) -> BCFW:
    return BCFW()


def svrg(size: Size, lipschitz: float, mu: float) -> SVRG:
    return paper_svrg(lipschitz, mu)


def const(size: Size, lipschitz: float, mu: float) -> Casimir:
    return Casimir.paper("const", paper_svrg(lipschitz, mu))


def adapt(size: Size, lipschitz: float, mu: float) -> Casimir:
    return Casimir.paper("adapt", paper_svrg(lipschitz), mu=mu)


def casimir_svrg(size: Size) -> Casimir:
    return Casimir(SVRG())


def casimir_saga(size: Size) -> Casimir:
    return Casimir(SAGA())


def auto(size: Size) -> str:
    return "auto"


PAPER = (
    Method("sgd", sgd, "SGD", knobs={"gamma0": Knob(0.05), "t0": Knob(8.0)}),
    Method("bcfw", bcfw, "BCFW"),
    Method("svrg", svrg, "SVRG", knobs={"lipschitz": Knob(32.0), "mu": Knob(1.0)}),
    Method("casimir-const", const, "Casimir-SVRG-const", knobs={"lipschitz": Knob(32.0), "mu": Knob(1.0)}),
    Method("casimir-adapt", adapt, "Casimir-SVRG-adapt", fixed={"mu": 2.0}, knobs={"lipschitz": Knob(32.0)}),
)
UNTUNED = (
    Method("casimir-svrg", casimir_svrg, "Casimir(SVRG()), untuned"),
    Method("casimir-saga", casimir_saga, "Casimir(SAGA()), untuned"),
    Method("auto", auto, "auto: DualProximal()"),
)

EXPERIMENT = Experiment(
    "ner-solvers",
    "Named entities: the paper's five methods, and three without tuning",
    CASES,
    PAPER + UNTUNED,
    passes=40,
    figure="fig:plot_all_ner",
    metrics=("f1",),
    evaluate_every=2,
    rule=LowestObjectiveNearBest("f1", 0.01),
)
