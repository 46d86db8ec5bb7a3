"""fig:ncvx:warm-start: where the iterations of Casimir-SVRG inside a prox-linear step start."""

from __future__ import annotations

from functools import partial

from casimir.experiments.base import Case, Experiment, Method
from casimir.experiments.methods import PROX_LINEAR_KNOBS, prox_linear
from casimir.experiments.sources.localization import ELU
from casimir.experiments.tuned import tuned_values

CASES = tuple(Case(ELU[name], 1.0) for name in ("cow", "sheep"))
WARM_STARTS = ("prox-center", "extrapolation", "prev-iterate")
TUNED = tuned_values("loc-nonconvex", "prox-linear", PROX_LINEAR_KNOBS, CASES)  # with prox-center


def method(warm_start: str) -> Method:
    return Method(warm_start, partial(prox_linear, warm_start=warm_start), knobs=PROX_LINEAR_KNOBS, tuned=TUNED)


EXPERIMENT = Experiment(
    "loc-nonconvex-warm-start",
    "Localization, elu score: warm starts inside prox-linear steps",
    CASES,
    tuple(method(warm_start) for warm_start in WARM_STARTS),
    passes=40,
    figure="fig:ncvx:warm-start",
    seeds=3,
    metrics=("corloc", "ap"),
)
