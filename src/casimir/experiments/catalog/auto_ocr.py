"""Beyond the paper: auto against the tuned solvers on Taskar's letters, in CPU seconds."""

from __future__ import annotations

from casimir.experiments.base import Case, Experiment, Knob
from casimir.experiments.methods import UNTUNED, paper_five
from casimir.experiments.races import Race
from casimir.experiments.sources.letters import TASKAR
from casimir.experiments.tuned import with_tuned

PAPER = paper_five(Knob(0.05), Knob(8.0), Knob(64.0), Knob(1.0), adapt_mu=2.0, k=5)

EXPERIMENT = Experiment(
    "auto-ocr",
    "Beyond the paper: auto against tuned solvers, handwritten words",
    tuple(Case(TASKAR, lam_n) for lam_n in (0.1, 1.0, 10.0)),
    with_tuned("auto-ocr", PAPER) + UNTUNED,
    passes=200,
    seeds=3,
    evaluate_every_tuning=5,
    view=Race(),
)
