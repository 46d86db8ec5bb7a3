"""fig:ncvx:pl_lr: the step length eta of prox-linear steps, in powers of 10."""

from __future__ import annotations

from casimir.experiments.base import Case, Experiment, Method
from casimir.experiments.methods import PROX_LINEAR_KNOBS, prox_linear
from casimir.experiments.sources.localization import ELU
from casimir.experiments.tuned import tuned_values

CASES = tuple(Case(ELU[name], 1.0) for name in ("cow", "sheep"))
LENGTHS = (1.0, 10.0, 100.0, 1000.0, 10000.0)
KNOBS = {"lipschitz": PROX_LINEAR_KNOBS["lipschitz"]}
TUNED = tuned_values("loc-nonconvex", "prox-linear", KNOBS, CASES)  # at the best eta


def method(eta: float) -> Method:
    return Method(f"eta-{eta:g}", prox_linear, f"eta = {eta:g}", fixed={"eta": eta}, knobs=KNOBS, tuned=TUNED)


EXPERIMENT = Experiment(
    "loc-eta",
    "Localization, elu score: the length of prox-linear steps",
    CASES,
    tuple(method(eta) for eta in LENGTHS),
    passes=40,
    figure="fig:ncvx:pl_lr",
    seeds=3,
    metrics=("corloc", "ap"),
)
