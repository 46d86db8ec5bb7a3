"""Beyond the paper: auto against the tuned solvers on PASCAL VOC, in CPU seconds. The runs are those of loc-convex."""

from __future__ import annotations

from dataclasses import replace

from casimir.experiments.catalog.loc_convex import EXPERIMENT as LOC_CONVEX
from casimir.experiments.races import Race

EXPERIMENT = replace(
    LOC_CONVEX,
    name="auto-voc",
    title="Beyond the paper: auto against tuned solvers, localization",
    figure="",
    view=Race(),
)
