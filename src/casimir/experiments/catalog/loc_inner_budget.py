"""fig:ncvx:inner-iter: how many iterations of Casimir-SVRG a prox-linear step has."""

from __future__ import annotations

from casimir.experiments.base import Case, Experiment, Method
from casimir.experiments.methods import PROX_LINEAR_KNOBS, prox_linear
from casimir.experiments.sources.localization import ELU
from casimir.experiments.tuned import tuned_values

CASES = tuple(Case(ELU[name], 1.0) for name in ("cow", "sheep"))
BUDGETS = (1, 2, 5, 10, 20)
TUNED = tuned_values("loc-nonconvex", "prox-linear", PROX_LINEAR_KNOBS, CASES)  # with 5 iterations


def method(epochs: int) -> Method:
    name, label, fixed = f"budget-{epochs}", f"{epochs} per step", {"inner_epochs": epochs}
    return Method(name, prox_linear, label, fixed, PROX_LINEAR_KNOBS, TUNED)


EXPERIMENT = Experiment(
    "loc-inner-budget",
    "Localization, elu score: iterations inside a prox-linear step",
    CASES,
    tuple(method(epochs) for epochs in BUDGETS),
    passes=40,
    figure="fig:ncvx:inner-iter",
    seeds=3,
    metrics=("corloc", "ap"),
)
