"""fig:plot_all_ner: the paper's five methods on CoNLL-2003, and three of ours that need no tuning."""

from __future__ import annotations

from casimir.experiments.base import Case, Experiment, Knob
from casimir.experiments.methods import UNTUNED, paper_five
from casimir.experiments.rules import LowestObjectiveNearBest
from casimir.experiments.sources.tagging import CONLL
from casimir.experiments.tuned import with_tuned

LAMBDAS = (0.01, 0.1, 1.0, 10.0)
CASES = tuple(Case(CONLL, lam_n) for lam_n in LAMBDAS)
PAPER = paper_five(Knob(0.05), Knob(8.0), Knob(32.0), Knob(1.0), adapt_mu=2.0, k=5)

EXPERIMENT = Experiment(
    "ner-solvers",
    "Named entities: the paper's five methods, and three without tuning",
    CASES,
    with_tuned("ner-solvers", PAPER) + UNTUNED,
    passes=40,
    figure="fig:plot_all_ner",
    metrics=("f1",),
    evaluate_every=2,
    evaluate_every_tuning=10,
    rule=LowestObjectiveNearBest("f1", 0.01),
)
