"""fig:plot_ner_smoothing-2: smooth optimization with smoothing, and used heuristically without."""

from __future__ import annotations

from dataclasses import replace

from casimir.experiments.base import Case, Knob, Method
from casimir.experiments.catalog.ner_solvers import EXPERIMENT as NER_SOLVERS
from casimir.experiments.methods import adapt, adapt_hard, const, const_hard, svrg, svrg_hard
from casimir.experiments.sources.tagging import CONLL
from casimir.experiments.tuned import with_tuned

L = {"lipschitz": Knob(32.0)}
MU_1, MU_2 = {"mu": 1.0, "k": 5}, {"mu": 2.0, "k": 5}
METHODS = (
    Method("svrg", svrg, "SVRG, smooth", MU_1, L),
    Method("const", const, "const, smooth", MU_1, L),
    Method("adapt", adapt, "adapt, smooth", MU_2, L),
    Method("svrg-hard", svrg_hard, "SVRG, non-smooth", knobs=L),
    Method("const-hard", const_hard, "const, non-smooth", knobs=L),
    Method("adapt-hard", adapt_hard, "adapt, non-smooth", knobs=L),
)

EXPERIMENT = replace(
    NER_SOLVERS,
    name="ner-nonsmooth",
    title="Named entities: with and without smoothing",
    cases=(Case(CONLL, 0.01),),
    methods=with_tuned("ner-nonsmooth", METHODS),
    passes=20,
    figure="fig:plot_ner_smoothing-2",
    seeds=3,
)
