"""tab:rates and tab:sc-svrg_rates_summary for lam > 0: oracle calls to F - F* <= eps against eps, n and lam."""

from __future__ import annotations

from casimir.experiments.base import Case, Experiment
from casimir.experiments.rate_lines import LINES
from casimir.experiments.rates import Place, Rates
from casimir.experiments.sources.classes import classes

AT = Place(10_000, 1e-4)
PLACES = (
    *(Place(n, AT.lam) for n in (1_000, 3_162, 10_000, 31_623, 100_000)),
    *(Place(AT.n, lam) for lam in (1e-3, 3.162e-4, 3.162e-5, 1e-5)),
)
EPS = (0.1, 0.05623, 0.03162, 0.01778, 0.01, 0.005623, 0.003162, 0.001778, 0.001)
GIVEN_EPS = EPS[:7:2]  # smaller ones take too long with the propositions' constants

EXPERIMENT = Experiment(
    "rates",
    "Oracle calls to an accuracy: the paper's tables of rates, lam > 0",
    tuple(Case(classes(place.n), place.lam * place.n) for place in PLACES),
    tuple(method for line in LINES for method in line.methods(GIVEN_EPS)),
    passes=10_000,
    figure="tab:rates",
    seeds=1,
    calls=20_000_000,
    target=EPS[-1],
    view=Rates(AT, EPS, {line.label: line.bound for line in LINES if line.bound is not None}),
)
