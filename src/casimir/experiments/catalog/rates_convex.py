"""tab:sc-svrg_rates_summary for lam = 0: oracle calls to F - F* <= eps against eps and n.

Without a penalty there is no lower bound of F*, so lam is 1e-7; the algorithms take the sequences of lam = 0.
"""

from __future__ import annotations

from casimir.experiments.base import Case, Experiment
from casimir.experiments.rate_lines import flat_lines
from casimir.experiments.rates import Place, Rates
from casimir.experiments.sources.classes import classes

AT = Place(10_000, 1e-7)
SIZES = (1_000, 3_162, 10_000, 31_623, 100_000)
EPS = (0.1, 0.05623, 0.03162, 0.01778, 0.01)
LINES = flat_lines(distance=40.0)  # measured

EXPERIMENT = Experiment(
    "rates-convex",
    "Oracle calls to an accuracy: the paper's table of rates, lam = 0",
    tuple(Case(classes(n), AT.lam * n) for n in SIZES),
    tuple(method for line in LINES for method in line.methods(EPS)),
    passes=10_000,
    figure="tab:sc-svrg_rates_summary",
    seeds=2,
    calls=20_000_000,
    target=EPS[-1],
    view=Rates(AT, EPS, {line.label: line.bound for line in LINES if line.bound is not None}, axes=("eps", "n")),
)
