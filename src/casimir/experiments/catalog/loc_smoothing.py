"""fig:ncvx_smoothing: adaptive against constant smoothing of prox-linear steps, at several levels of mu."""

from __future__ import annotations

from functools import partial

from casimir.experiments.base import Case, Experiment, Knob, Method
from casimir.experiments.methods import prox_linear
from casimir.experiments.sources.localization import ELU
from casimir.experiments.tuned import with_tuned

LEVELS = (0.01, 0.1, 1.0, 10.0)
ETA = 1e4  # the best in loc-nonconvex


def method(smoothing: str, mu: float) -> Method:
    """L_0 is tuned for every mu, since the smoothness of the subproblems grows with 1 / mu."""
    return Method(
        f"{smoothing}-{mu:g}",
        partial(prox_linear, smoothing=smoothing),
        f"{smoothing}, mu = {mu:g}",
        fixed={"mu": mu, "eta": ETA},
        knobs={"lipschitz": Knob(2.5, 4.0)},
    )


METHODS = tuple(method(smoothing, mu) for smoothing in ("adaptive", "constant") for mu in LEVELS)

EXPERIMENT = Experiment(
    "loc-smoothing",
    "Localization, elu score: adaptive and constant smoothing of prox-linear steps",
    tuple(Case(ELU[name], 1.0) for name in ("cow", "sheep")),
    with_tuned("loc-smoothing", METHODS),
    passes=40,
    figure="fig:ncvx_smoothing",
    seeds=3,
    metrics=("corloc", "ap"),
)
