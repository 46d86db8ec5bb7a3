"""Pictures of a run. Needs matplotlib: pip install "casimir[plot]"."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from casimir.scores import FloatArray
from casimir.solvers import Trace

__all__ = ["plot_convergence", "save_convergence"]

# Okabe and Ito's colours, which colour-blind readers can tell apart
_BLUE, _ORANGE, _GREY = "#0072B2", "#D55E00", "#555555"
_X_LABELS = {"epoch": "epochs", "oracle_calls": "oracle calls", "seconds": "seconds"}


def plot_convergence(
    trace: Trace, x: str = "epoch", *, tol: float | None = None, title: str | None = None, figure: Any = None
) -> Any:
    """Objective and lower bound above, certified relative gap below, both on log scales; returns the figure.

    x       "epoch", "oracle_calls" or "seconds"
    tol     draws the gap that was asked for
    figure  a matplotlib figure to draw into; None makes a new one
    """
    if x not in _X_LABELS:
        raise ValueError(f"x={x!r}; it must be one of {', '.join(map(repr, _X_LABELS))}.")
    if not len(trace):
        raise ValueError("The trace is empty; there is nothing to plot.")
    if figure is None:
        figure = _figure()
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    places = trace.column(x)
    _draw_objective(top, places, trace.column("objective"), trace.column("dual"))
    _draw_gap(bottom, places, trace.column("gap"), tol)
    bottom.set_xlabel(_X_LABELS[x])
    _use_whole_numbers(bottom, x)
    if title:
        top.set_title(title, loc="left", fontsize=11, fontweight="bold", pad=10)
    return figure


def save_convergence(trace: Trace, path: str | os.PathLike[str], x: str = "epoch", **options: Any) -> None:
    """`plot_convergence` into a file; its ending tells the format."""
    plot_convergence(trace, x, **options).savefig(path, dpi=150)


def _figure() -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError('Plotting needs matplotlib, which is not installed: pip install "casimir[plot]"') from None
    return Figure(figsize=(7.0, 5.2), layout="constrained")


def _draw_objective(axes: Any, x: FloatArray, objective: FloatArray, dual: FloatArray) -> None:
    bound = np.where(dual > 0.0, dual, np.nan)
    axes.fill_between(x, bound, objective, color=_BLUE, alpha=0.10, linewidth=0)
    _line(axes, x, objective, _BLUE, "o")
    _line(axes, x, bound, _ORANGE, "s")
    if np.nanmin(objective) > 0.0:
        axes.set_yscale("log")
    middle = len(x) // 2
    axes.annotate("objective", (x[middle], objective[middle]), xytext=(6, 8), textcoords="offset points", color=_BLUE)
    if np.isfinite(bound).any():
        place = np.flatnonzero(np.isfinite(bound))
        i = place[len(place) // 2]
        label = "lower bound (dual)"
        axes.annotate(label, (x[i], bound[i]), xytext=(8, -14), textcoords="offset points", color=_ORANGE)
    axes.set_ylabel("objective")
    _tidy(axes)


def _draw_gap(axes: Any, x: FloatArray, gap: FloatArray, tol: float | None) -> None:
    _line(axes, x, np.where(gap > 0.0, gap, np.nan), _GREY, "o")
    if np.any(gap > 0.0):
        axes.set_yscale("log")
    if tol is not None and tol > 0.0:
        axes.axhline(tol, color="black", linewidth=1.0, linestyle=(0, (4, 3)))
        axes.annotate(
            f"tol = {tol:g}", (0, tol), xycoords=("axes fraction", "data"), xytext=(6, 4), textcoords="offset points"
        )
    axes.set_ylabel("certified relative gap")
    _tidy(axes)


def _line(axes: Any, x: FloatArray, y: FloatArray, color: str, marker: str) -> None:
    axes.plot(x, y, color=color, marker=marker, markersize=3.5, linewidth=1.6)


def _tidy(axes: Any) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", which="major", color="#dddddd", linewidth=0.8)
    axes.set_axisbelow(True)


def _use_whole_numbers(axes: Any, x: str) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    if x != "seconds":
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
