"""fig:plot_ncvx_loc: prox-linear steps against SGD on the elu score, and prox-linear steps that need no tuning."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from casimir.experiments.base import Case, Experiment, Knob, Method, Size
from casimir.experiments.methods import PROX_LINEAR_KNOBS, prox_linear
from casimir.experiments.sources.localization import ELU
from casimir.experiments.tuned import with_tuned
from casimir.solvers import SGD, Casimir, Constant, Inverse, InverseRoot, ProxLinear
from casimir.solvers.schedules import Schedule


def sgd(size: Size, gamma0: float, schedule: Callable[[float], Schedule], power: float) -> SGD:
    """gamma_t = gamma0 (n / t)^power: gamma0 is the step after the first pass. The last iterate is reported."""
    return SGD(schedule(gamma0 * size.n**power), averaging="none")


def untuned(size: Size) -> ProxLinear:
    return ProxLinear(Casimir())


def dual(size: Size) -> ProxLinear:
    return ProxLinear()


def sgd_method(name: str, label: str, schedule: Callable[[float], Schedule], power: float, guess: float) -> Method:
    """F is evaluated every 5 passes, about as often as prox-linear steps do it."""
    make = partial(sgd, schedule=schedule, power=power)
    return Method(name, make, label, knobs={"gamma0": Knob(guess)}, evaluate_every=5)


METHODS = (
    sgd_method("sgd-const", "SGD-const", Constant, 0.0, 0.06),
    sgd_method("sgd-root", "SGD-t^-1/2", InverseRoot, 0.5, 0.2),
    sgd_method("sgd-inverse", "SGD-t^-1", Inverse, 1.0, 0.1),
    Method("prox-linear", prox_linear, "PL-Casimir-SVRG", knobs=PROX_LINEAR_KNOBS),
    Method("untuned", untuned, "ProxLinear(Casimir()), untuned"),
    Method("dual", dual, "ProxLinear(), untuned"),
)

EXPERIMENT = Experiment(
    "loc-nonconvex",
    "Localization, elu score: prox-linear steps against SGD",
    tuple(Case(source, 1.0) for source in ELU.values()),
    with_tuned("loc-nonconvex", METHODS),
    passes=40,
    figure="fig:plot_ncvx_loc",
    seeds=5,
    metrics=("corloc", "ap"),
)
