"""plot and table: every experiment in a folder, shown as its view says."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from casimir.experiments.base import View
from casimir.experiments.grids import AnyRow
from casimir.experiments.plots import figure_of, save
from casimir.experiments.registry import known_view
from casimir.experiments.results import Results, load_results
from casimir.experiments.tables import Row, rows_of


@dataclass(frozen=True)
class Curves:
    """A picture of the objective and of every metric, and a table of final values."""

    def rows(self, results: Results) -> list[Row]:
        return rows_of(results)

    def figures(self, results: Results) -> dict[str, Any]:
        return {column: figure_of(results, column) for column in ("objective", *results.manifest.metrics)}


def view_of(results: Results) -> View:
    """That of the experiment in the catalogue; those of your own are shown as curves, or by their view's methods."""
    return known_view(results.manifest.name) or Curves()


def plot(
    folder: str | os.PathLike[str], to: str | os.PathLike[str] | None = None, names: Collection[str] = ()
) -> list[Path]:
    """EXPERIMENT-objective and EXPERIMENT-METRIC, or what a view has, as PNG and SVG, in `to` or the folder's `plots`.

    names  of the experiments to draw; none: all in the folder
    Returns the files.
    """
    target = Path(folder) / "plots" if to is None else Path(to)
    files = []
    for results in load_results(Path(folder), names):
        for name, figure in view_of(results).figures(results).items():
            files += save(figure, target, f"{results.manifest.name}-{name}")
    return files


def rows_in(results: Results) -> list[AnyRow]:
    """The rows of one experiment."""
    return view_of(results).rows(results)


def table(folder: str | os.PathLike[str], names: Collection[str] = ()) -> list[Any]:
    """The rows of every experiment in a folder, or of those that are named: `tables.Row`, or what a view makes."""
    return [row for results in load_results(Path(folder), names) for row in rows_in(results)]
