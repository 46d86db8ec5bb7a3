"""Medians over seeds, and how often one method beats another: for runs of which a few go far astray.

All methods of a seed draw the same examples, so seeds are compared one by one.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from casimir.experiments.grids import Grid
from casimir.experiments.results import Results
from casimir.experiments.tables import last_row

COUNTS = {"paper": "", "full": ", all calls"}


def medians_of(results: Results, rival: str) -> Grid:
    """Two lines per case: full gradients left out, and counted. A cell is a median of (F - F*) / F*, or of F where F*
    is not known, and in how many of the seeds that both have F is below that of `rival`, the name of a method.
    """
    methods = {cell.method: cell.label for cell in results.cells}
    if rival not in methods:
        raise ValueError(f"{results.manifest.name} has no runs of {rival!r}; choose one of {', '.join(methods)}.")
    lines = []
    for case in results.cases:
        for measure, added in COUNTS.items():
            ends = {method: _ends(results, case, method, measure) for method in methods}
            cells = [_text(ends[method], None if method == rival else ends[rival]) for method in methods]
            lines.append([case + added, *cells])
    return Grid(f"{results.manifest.name}: medians", ["", *methods.values()], lines)


def _ends(results: Results, case: str, method: str, measure: str) -> dict[int, float]:
    """seed -> the value in the last row within the budget; runs that diverged or have no such row are infinite."""
    best = results.optima[case]
    ends = {}
    for record in results.records.get((case, method), []):
        row = None if record.status == "diverged" else last_row(record, measure, results.manifest.passes)
        value = np.inf if row is None else float(record.column("objective")[row])
        ends[int(record.settings["seed"])] = value if best is None else (value - best.middle) / best.middle
    return ends


def _text(mine: Mapping[int, float], rival: Mapping[int, float] | None) -> str:
    if not mine:
        return "-"
    median = f"{np.median(list(mine.values())):.3g}"
    if rival is None:
        return median
    both = mine.keys() & rival.keys()
    return f"{median} ({sum(mine[seed] < rival[seed] for seed in both)} of {len(both)})"
