"""tab:sc-svrg_rates_summary for lam = 0: oracle calls to F - F* <= eps against eps and n.

Without a penalty there is no lower bound of F*, so lam is 1e-7; the algorithms take the sequences of lam = 0.
"""

from __future__ import annotations

from casimir.experiments.base import Case, Experiment
from casimir.experiments.rate_lines import flat_lines
from casimir.experiments.rates import Place, Rates
from casimir.experiments.sources.classes import classes

AT = Place(10_000, 1e-7)
SIZES = (1_000, 10_000, 100_000)
EPS = (0.3162, 0.1778, 0.1, 0.05623, 0.03162, 0.01, 0.003162, 0.001)
GIVEN_EPS = EPS[:5]  # smaller ones take too long with the proposition's constants
LINES = flat_lines(distance=30.0)  # measured: 35 for n = 1,000, 28 for n = 10,000

EXPERIMENT = Experiment(
    "rates-convex",
    "Oracle calls to an accuracy: the paper's table of rates, lam = 0",
    tuple(Case(classes(n), AT.lam * n) for n in SIZES),
    tuple(method for line in LINES for method in line.methods(GIVEN_EPS)),
    passes=10_000,
    figure="tab:sc-svrg_rates_summary",
    seeds=1,
    calls=5_000_000,
    target=EPS[-1],
    view=Rates(AT, EPS, {line.label: line.bound for line in LINES if line.bound is not None}, axes=("eps", "n")),
)
