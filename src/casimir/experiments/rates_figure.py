"""The picture of rates: calls against 1/eps, n and 1/lam, without and with full gradients. Needs matplotlib."""

from __future__ import annotations

from typing import Any

from casimir.experiments.plots import empty_figure, handle, styles_of, tidy
from casimir.experiments.rates import AXES, COUNTS, Place, Point, Rates, labels_of
from casimir.experiments.results import Results


def figure_of(view: Rates, results: Results) -> Any:
    """A row per count, a column per axis, all in logarithms; what the first row reached is hollow."""
    labels = labels_of(results)
    styles = styles_of(labels)
    figure = empty_figure(10.5, 7.6)
    panels = figure.subplots(len(COUNTS), len(view.axes), squeeze=False, sharey="row", sharex="col")
    for row, count in zip(panels, COUNTS, strict=True):
        for panel, axis in zip(row, view.axes, strict=True):
            panel.set(xscale="log", yscale="log")
            for label in labels:
                _draw(panel, view.line(results, label, count, axis), axis, styles[label])
            tidy(panel)
            panel.set_title(_title(view.place(results), axis), loc="left", fontsize=9)
        row[0].set_ylabel(f"oracle calls, {COUNTS[count]}", fontsize=9)
    for panel, axis in zip(panels[-1], view.axes, strict=True):
        panel.set_xlabel(AXES[axis], fontsize=9)
    handles = [handle(label, styles[label]) for label in labels]
    figure.legend(handles=handles, loc="outside upper center", ncols=4, frameon=False, fontsize=9)
    return figure


def _draw(panel: Any, line: list[Point], axis: str, style: dict[str, Any]) -> None:
    x, y = [p.x(axis) for p in line], [p.calls for p in line]
    panel.plot(x, y, linewidth=1.3, **style)
    for first, face in ((False, style["color"]), (True, "white")):
        some = [k for k, p in enumerate(line) if p.is_first == first]
        places = [x[k] for k in some], [y[k] for k in some]
        panel.plot(*places, "o", markersize=3.5, color=style["color"], markerfacecolor=face, markeredgewidth=0.8)


def _title(at: Place, axis: str) -> str:
    fixed = {"n": f"n = {at.n:,}", "lam": f"λ = {at.lam:g}"}
    return ", ".join(text for name, text in fixed.items() if name != axis)
