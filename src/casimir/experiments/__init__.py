"""The paper's experiments: cases x methods x seeds, resumable, with certified zero lines."""

from casimir.experiments.api import run
from casimir.experiments.base import Case, Data, Experiment, Knob, Method, Places, Size, Source, View
from casimir.experiments.registry import names
from casimir.experiments.rules import LowestObjective, LowestObjectiveNearBest
from casimir.experiments.views import plot, table

__all__ = [
    "Case",
    "Data",
    "Experiment",
    "Knob",
    "LowestObjective",
    "LowestObjectiveNearBest",
    "Method",
    "Places",
    "Size",
    "Source",
    "View",
    "names",
    "plot",
    "run",
    "table",
]
