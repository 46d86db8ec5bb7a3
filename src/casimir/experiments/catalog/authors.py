"""The setting of the code released with the paper, on CoNLL-2003: its features and its parameters."""

from __future__ import annotations

from casimir.experiments.base import Case, Experiment, Knob, Method, Size
from casimir.experiments.methods import adapt, const, svrg
from casimir.experiments.sources.authors import CONLL_AUTHORS
from casimir.solvers import BCFW, SGD, SVRG, Casimir, StepDecay

N = 14_041  # sentences of the training file
DECAY = 150_000 / N  # the released t0, in passes
RATE, TOP = 0.02, 5  # gamma of SVRG and adapt; K


def sgd(size: Size, gamma0: float, t0: float) -> SGD:
    """With a weighted average, as everywhere; examples are drawn with replacement."""
    return SGD(StepDecay(gamma0, t0 * size.n), sampling="replacement")


def bcfw(size: Size) -> BCFW:
    return BCFW(averaging="weighted", sampling="replacement")


def svrg_by_rate(size: Size, rate: float, mu: float, k: int) -> SVRG:
    """gamma = 1 / (L + lam)"""
    return svrg(size, 1.0 / rate - size.lam, mu, k)


def adapt_by_rate(size: Size, rate: float, mu: float, k: int) -> Casimir:
    """gamma = 1 / (L + lam + kappa) with kappa = lam; extrapolation."""
    return adapt(size, 1.0 / rate - 2.0 * size.lam, mu, k, "extrapolation")


def const_from_last(size: Size, lipschitz: float, mu: float, k: int) -> Casimir:
    """Each subproblem starts at the last iterate."""
    return const(size, lipschitz, mu, k, "prev-iterate")


CASES = tuple(Case(CONLL_AUTHORS, lam_n) for lam_n in (0.01, 1.0))
STEPS = {"conll-authors 0.01/n": 0.04, "conll-authors 1/n": 0.02}  # SGD's gamma0, as released

EXPERIMENT = Experiment(
    "authors",
    "The released code's setting: features and tags hashed into 65,535 weights, rare words as one token",
    CASES,
    (
        Method(
            "sgd",
            sgd,
            "SGD",
            knobs={"gamma0": Knob(0.02), "t0": Knob(DECAY)},
            tuned={case: {"gamma0": gamma0, "t0": DECAY} for case, gamma0 in STEPS.items()},
        ),
        Method("bcfw", bcfw, "BCFW"),
        Method("svrg", svrg_by_rate, "SVRG", fixed={"rate": RATE, "mu": 1.0, "k": TOP}),
        Method(
            "casimir-const",
            const_from_last,
            "Casimir-SVRG-const, prev-iterate",
            fixed={"lipschitz": 32.0, "mu": 1.0, "k": TOP},
        ),
        Method(
            "casimir-adapt",
            adapt_by_rate,
            "Casimir-SVRG-adapt, extrapolation",
            fixed={"rate": RATE, "mu": 2.0, "k": TOP},
        ),
    ),
    passes=40,
    figure="fig:plot_all_ner",
    seeds=5,
    metrics=("f1",),
    evaluate_every=2,
)
