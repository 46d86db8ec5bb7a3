"""fig:plot_ner_warm-start: where Casimir's subproblems start, for -const and -adapt."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from casimir.experiments.base import Case, Knob, Method
from casimir.experiments.catalog.ner_solvers import EXPERIMENT as NER_SOLVERS
from casimir.experiments.methods import adapt, const
from casimir.experiments.sources.tagging import CONLL
from casimir.experiments.tuned import with_tuned

STARTS = ("prox-center", "extrapolation", "prev-iterate")
L = {"lipschitz": Knob(32.0)}
METHODS = tuple(
    Method(f"{name}-{start}", partial(make, warm_start=start), f"{name}, {start}", {"mu": mu, "k": 5}, L)
    for name, make, mu in (("const", const, 1.0), ("adapt", adapt, 2.0))
    for start in STARTS
)

EXPERIMENT = replace(
    NER_SOLVERS,
    name="ner-warm-start",
    title="Named entities: warm starts",
    cases=(Case(CONLL, 0.01), Case(CONLL, 1.0)),
    methods=with_tuned("ner-warm-start", METHODS),
    passes=20,
    figure="fig:plot_ner_warm-start",
    seeds=3,
)
