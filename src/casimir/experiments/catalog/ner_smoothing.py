"""fig:plot_ner_smoothing: levels of smoothing for Casimir-SVRG-const and -adapt, each with the L that suits it."""

from __future__ import annotations

from dataclasses import replace

from casimir.experiments.base import Case, Knob, Method
from casimir.experiments.catalog.ner_solvers import EXPERIMENT as NER_SOLVERS
from casimir.experiments.methods import adapt, const
from casimir.experiments.sources.tagging import CONLL
from casimir.experiments.tuned import with_tuned

LEVELS = (1 / 16, 1 / 4, 1.0, 4.0, 16.0)
L = {"lipschitz": Knob(32.0)}

METHODS = tuple(
    Method(f"{name}-{mu:g}", make, f"{name}, μ = {mu:g}", {"mu": mu, "k": 5}, L)
    for name, make in (("const", const), ("adapt", adapt))
    for mu in LEVELS
)

EXPERIMENT = replace(
    NER_SOLVERS,
    name="ner-smoothing",
    title="Named entities: levels of smoothing",
    cases=(Case(CONLL, 0.01), Case(CONLL, 1.0)),
    methods=with_tuned("ner-smoothing", METHODS),
    passes=20,
    figure="fig:plot_ner_smoothing",
    seeds=3,
)
