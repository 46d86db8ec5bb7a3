"""The convergence plot: a proper PNG, every x axis, and a clear message without matplotlib."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import casimir as cs
from casimir.plotting import plot_convergence, save_convergence


def trace(gaps: tuple[float, ...] = (1.0, 0.5, 0.05)) -> cs.Trace:
    return cs.Trace(
        [
            cs.TraceRow(i + 1, 10 * (i + 1), 0.1 * i, 1.0 / (i + 1), None, (1 - gap) / (i + 1), gap, None, None)
            for i, gap in enumerate(gaps)
        ]
    )


@pytest.mark.parametrize("x", ["epoch", "oracle_calls", "seconds"])
def test_objective_bound_and_gap_are_drawn_over_every_axis(x: str) -> None:
    figure = plot_convergence(trace(), x, tol=0.1, title="A run")
    top, bottom = figure.axes
    objective, bound = top.get_lines()
    assert list(objective.get_xdata()) == list(trace()[x])
    assert list(objective.get_ydata()) == list(trace()["objective"])
    assert list(bound.get_ydata())[1:] == list(trace()["dual"])[1:]
    assert bottom.get_yscale() == "log"
    assert bottom.get_ylabel() == "certified relative gap"
    assert bottom.get_xlabel() == {"epoch": "epochs", "oracle_calls": "oracle calls", "seconds": "seconds"}[x]


@pytest.mark.parametrize("gaps", [(1.0,), (0.0, 0.0), (1.0, 0.0)])
def test_short_and_exact_runs_can_be_saved(tmp_path: Path, gaps: tuple[float, ...]) -> None:
    save_convergence(trace(gaps), tmp_path / "run.png", tol=1e-2)
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="x='time'"):
        plot_convergence(trace(), "time")
    with pytest.raises(ValueError, match="empty"):
        plot_convergence(cs.Trace())


def test_without_matplotlib_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r'pip install "casimir\[plot\]"'):
        plot_convergence(trace())
