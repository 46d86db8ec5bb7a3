"""Beyond the paper: auto against the tuned solvers on graph cuts, in CPU seconds.

Those that need no smoothing: graph cuts have no sums over outputs, and their best K outputs take K cuts and more.
"""

from __future__ import annotations

from casimir.experiments.base import Case, Experiment, Knob, Method
from casimir.experiments.methods import auto, bcfw, sgd
from casimir.experiments.races import Race
from casimir.experiments.sources.segmentation import HORSES
from casimir.experiments.tuned import with_tuned
from casimir.solvers import CuttingPlanes


def cutting_planes(size: object) -> CuttingPlanes:
    return CuttingPlanes()


METHODS = (
    Method("sgd", sgd, "SGD", knobs={"gamma0": Knob(1.0), "t0": Knob(8.0)}),
    Method("bcfw", bcfw, "BCFW"),
    Method("cuts", cutting_planes, "CuttingPlanes()"),
    Method("auto", auto, "auto: DualProximal()"),
)

EXPERIMENT = Experiment(
    "auto-segment",
    "Beyond the paper: auto against tuned solvers, segmentation by graph cuts",
    tuple(Case(HORSES, lam_n) for lam_n in (0.01, 1.0)),
    with_tuned("auto-segment", METHODS),
    passes=20,
    seeds=3,
    evaluate_every_tuning=5,
    view=Race(),
)
