"""fig:plot_all_loc: the paper's five methods on classes of PASCAL VOC, and three of ours that need no tuning."""

from __future__ import annotations

from casimir.experiments.base import Case, Experiment, Knob
from casimir.experiments.methods import UNTUNED, paper_five
from casimir.experiments.sources.localization import LINEAR
from casimir.experiments.tuned import with_tuned

PAPER = paper_five(Knob(0.2), Knob(0.5), Knob(32.0), Knob(1 / 128), adapt_mu=10.0, k=10)

EXPERIMENT = Experiment(
    "loc-convex",
    "Localization, linear score: the paper's five methods, and three without tuning",
    tuple(Case(source, 10.0) for source in LINEAR.values()),
    with_tuned("loc-convex", PAPER) + UNTUNED,
    passes=20,
    figure="fig:plot_all_loc",
    seeds=5,
    metrics=("corloc", "ap"),
)
