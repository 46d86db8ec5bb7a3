"""Pictures of a run: what was gained, and what is certified."""

from __future__ import annotations

import os
from typing import Any, Self

import numpy as np

from casimir.plotting.style import BLUE, GREY, ORANGE, check_choice, needs_matplotlib, new_axes, tidy
from casimir.scores import FloatArray
from casimir.solvers import Trace

_X_LABELS = {"epoch": "epochs", "oracle_calls": "oracle calls", "seconds": "seconds"}


class ConvergenceDisplay:
    """How a run approached its optimum.

    trace  a row per evaluated epoch
    tol    the gap that was asked for, or None

    After `plot`: ax_, figure_.
    """

    def __init__(self, trace: Trace, *, tol: float | None = None) -> None:
        self.trace, self.tol = trace, tol

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, x: str = "epoch", y: str = "objective") -> Self:
        """Of a fitted estimator that has trace_ and tol."""
        return cls(estimator.trace_, tol=estimator.tol).plot(ax, x=x, y=y)

    @classmethod
    def from_trace(
        cls, trace: Trace, *, tol: float | None = None, ax: Any = None, x: str = "epoch", y: str = "objective"
    ) -> Self:
        """Of the trace of `minimize`."""
        return cls(trace, tol=tol).plot(ax, x=x, y=y)

    def plot(self, ax: Any = None, *, x: str = "epoch", y: str = "objective") -> Self:
        """Draw into `ax`, or into a new figure.

        x  "epoch", "oracle_calls" or "seconds"
        y  "objective", with its lower bound, or "gap"
        """
        _check(self.trace, x)
        check_choice(y, "y", ("objective", "gap"))
        self.ax_ = new_axes(ax)
        self.figure_ = self.ax_.figure
        places = self.trace.column(x)
        if y == "objective":
            _draw_objective(self.ax_, places, self.trace.column("objective"), self.trace.column("dual"))
        else:
            _draw_gap(self.ax_, places, self.trace.column("gap"), self.tol)
        self.ax_.set_xlabel(_X_LABELS[x])
        _use_whole_numbers(self.ax_, x)
        return self


def plot_convergence(
    trace: Trace, x: str = "epoch", *, tol: float | None = None, title: str | None = None, figure: Any = None
) -> Any:
    """Objective and lower bound above, certified relative gap below, both on log scales; returns the figure.

    x       "epoch", "oracle_calls" or "seconds"
    tol     draws the gap that was asked for
    figure  a matplotlib figure to draw into; None makes a new one
    """
    _check(trace, x)
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


def _check(trace: Trace, x: str) -> None:
    check_choice(x, "x", _X_LABELS)
    if not len(trace):
        raise ValueError("The trace is empty; there is nothing to plot.")


def _figure() -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise needs_matplotlib() from None
    return Figure(figsize=(7.0, 5.2), layout="constrained")


def _draw_objective(axes: Any, x: FloatArray, objective: FloatArray, dual: FloatArray) -> None:
    bound = np.where(dual > 0.0, dual, np.nan)
    axes.fill_between(x, bound, objective, color=BLUE, alpha=0.10, linewidth=0)
    _line(axes, x, objective, BLUE, "o")
    _line(axes, x, bound, ORANGE, "s")
    if np.nanmin(objective) > 0.0:
        axes.set_yscale("log")
    middle = len(x) // 2
    axes.annotate("objective", (x[middle], objective[middle]), xytext=(6, 8), textcoords="offset points", color=BLUE)
    if np.isfinite(bound).any():
        place = np.flatnonzero(np.isfinite(bound))
        i = place[len(place) // 2]
        label = "lower bound (dual)"
        axes.annotate(label, (x[i], bound[i]), xytext=(8, -14), textcoords="offset points", color=ORANGE)
    axes.set_ylabel("objective")
    tidy(axes)


def _draw_gap(axes: Any, x: FloatArray, gap: FloatArray, tol: float | None) -> None:
    _line(axes, x, np.where(gap > 0.0, gap, np.nan), GREY, "o")
    if np.any(gap > 0.0):
        axes.set_yscale("log")
    if tol is not None and tol > 0.0:
        axes.axhline(tol, color="black", linewidth=1.0, linestyle=(0, (4, 3)))
        axes.annotate(
            f"tol = {tol:g}", (0, tol), xycoords=("axes fraction", "data"), xytext=(6, 4), textcoords="offset points"
        )
    axes.set_ylabel("certified relative gap")
    tidy(axes)


def _line(axes: Any, x: FloatArray, y: FloatArray, color: str, marker: str) -> None:
    axes.plot(x, y, color=color, marker=marker, markersize=3.5, linewidth=1.6)


def _use_whole_numbers(axes: Any, x: str) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    if x != "seconds":
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
