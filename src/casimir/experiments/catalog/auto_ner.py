"""Beyond the paper: auto against the tuned solvers on CoNLL-2003, in CPU seconds. The runs are those of ner-solvers."""

from __future__ import annotations

from dataclasses import replace

from casimir.experiments.catalog.ner_solvers import EXPERIMENT as NER_SOLVERS
from casimir.experiments.races import Race

EXPERIMENT = replace(
    NER_SOLVERS,
    name="auto-ner",
    title="Beyond the paper: auto against tuned solvers, named entities",
    figure="",
    view=Race((1.0, 0.1, 0.01)),  # F* is small where λ is
)
