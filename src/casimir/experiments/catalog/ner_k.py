"""fig:plot_ner_K: how many outputs the top-K oracle gives, for SVRG, Casimir-SVRG-const and -adapt."""

from __future__ import annotations

from dataclasses import replace

from casimir.experiments.base import Case, Knob, Method
from casimir.experiments.catalog.ner_solvers import EXPERIMENT as NER_SOLVERS
from casimir.experiments.methods import adapt, const, svrg
from casimir.experiments.sources.tagging import CONLL
from casimir.experiments.tuned import with_tuned

L = {"lipschitz": Knob(32.0)}
METHODS = tuple(
    Method(f"{name}-{k}", make, f"{label}, K = {k}", {"mu": mu, "k": k}, L)
    for name, label, make, mu in (
        ("svrg", "SVRG", svrg, 1.0),
        ("const", "const", const, 1.0),
        ("adapt", "adapt", adapt, 2.0),
    )
    for k in (2, 5, 10)
)

EXPERIMENT = replace(
    NER_SOLVERS,
    name="ner-k",
    title="Named entities: K of the top-K oracle",
    cases=(Case(CONLL, 0.01),),
    methods=with_tuned("ner-k", METHODS),
    passes=20,
    figure="fig:plot_ner_K",
    seeds=5,
)
