"""Displays in scikit-learn's manner: they draw the numbers they were given, where they are told to."""

from __future__ import annotations

import subprocess
import sys
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

import casimir as cs
from casimir.estimators.calibration import Reliability, span_outcomes, token_outcomes
from casimir.plotting import ConvergenceDisplay, RegularizationPathDisplay, ReliabilityDisplay, TransitionDisplay

X = [[{"w": "Ada"}, {"w": "met"}, {"w": "Bob"}], [{"w": "Paris"}, {"w": "is"}], [{"w": "Bob"}, {"w": "slept"}]]
Y = [["B-PER", "O", "B-PER"], ["B-LOC", "O"], ["B-PER", "O"]]
PATH = [(1.0, 0.5, 0.1, 10), (0.01, 0.7, 0.02, 90), (0.1, 0.8, 0.01, 40)]


@pytest.fixture(scope="module")
def tagger() -> cs.SequenceTagger:
    return cs.SequenceTagger(loss="crf").fit(X, Y)


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    plt.close("all")


def test_all_draw_into_given_axes_or_a_new_figure(tagger: cs.SequenceTagger, tmp_path: Path) -> None:
    makers: list[Any] = [
        lambda ax: ConvergenceDisplay.from_estimator(tagger, ax=ax),
        lambda ax: TransitionDisplay.from_estimator(tagger, ax=ax),
        lambda ax: ReliabilityDisplay.from_estimator(tagger, X, Y, ax=ax),
        lambda ax: RegularizationPathDisplay.from_path(PATH, ax=ax),
    ]
    for make in makers:
        _, ax = plt.subplots()
        display = make(ax)
        assert (display.ax_, display.figure_) == (ax, ax.figure)
        fresh = make(None)
        assert fresh.figure_ is not ax.figure
        fresh.figure_.savefig(tmp_path / "one.png")
        again = fresh.plot()
        assert again is fresh


def test_convergence_draws_the_trace(tagger: cs.SequenceTagger) -> None:
    display = ConvergenceDisplay.from_estimator(tagger, x="oracle_calls")
    objective, bound = display.ax_.get_lines()
    assert list(objective.get_ydata()) == list(tagger.trace_.column("objective"))
    assert list(objective.get_xdata()) == list(tagger.trace_.column("oracle_calls"))
    assert np.nanmax(bound.get_ydata()) == tagger.trace_.column("dual").max()
    gap = ConvergenceDisplay.from_trace(tagger.trace_, tol=0.01, y="gap")
    assert list(gap.ax_.get_lines()[0].get_ydata()) == list(tagger.trace_.column("gap"))
    assert "tol = 0.01" in [text.get_text() for text in gap.ax_.texts]
    with pytest.raises(ValueError, match="y='loss'"):
        gap.plot(y="loss")


def test_transitions_of_weights_and_of_labels(tagger: cs.SequenceTagger) -> None:
    weights = TransitionDisplay.from_estimator(tagger)
    assert np.array_equal(weights.image_.get_array(), tagger.transitions_)
    assert [label.get_text() for label in weights.ax_.get_xticklabels()] == list(tagger.classes_)
    shares = TransitionDisplay.from_predictions([["a", "b", "a", "b", "b"], ["c"]])
    assert shares.labels == ["a", "b", "c"]
    np.testing.assert_allclose(shares.values, [[0, 1, 0], [0.5, 0.5, 0], [0, 0, 0]])
    with pytest.raises(ValueError, match="the label 'b'"):
        TransitionDisplay.from_predictions([["a", "b"]], labels=["a"])
    with pytest.raises(ValueError, match="shape \\[1, 2\\]"):
        TransitionDisplay(np.zeros((1, 2)), ["a", "b"])


@pytest.mark.parametrize(("of", "outcomes"), [("tokens", token_outcomes), ("spans", span_outcomes)])
def test_reliability_draws_the_bins(tagger: cs.SequenceTagger, of: str, outcomes: Any) -> None:
    display = ReliabilityDisplay.from_estimator(tagger, X, Y, of=of, n_bins=5, color="red")
    expected = Reliability.of(*outcomes(tagger, X, Y), n_bins=5)
    np.testing.assert_array_equal(display.line_.get_xdata(), expected.confidence)
    np.testing.assert_array_equal(display.line_.get_ydata(), expected.accuracy)
    assert display.line_.get_color() == "red"
    assert f"{of} (expected error" in display.ax_.get_legend().get_texts()[0].get_text()
    both = ReliabilityDisplay.from_predictions([True, False], [0.8, 0.4], ax=display.ax_, name="others")
    assert sum(line.get_gid() == "diagonal" for line in both.ax_.get_lines()) == 1
    with pytest.raises(ValueError, match="of='words'"):
        ReliabilityDisplay.from_estimator(tagger, X, Y, of="words")


@pytest.mark.parametrize("kind", ["rows", "dicts", "objects", "named", "lists"])
def test_a_path_is_any_sequence_of_points(kind: str) -> None:
    names = ("lam", "score", "gap", "n_nonzero")
    row = namedtuple("row", ("extra", *names))
    path: Any = {
        "rows": PATH,
        "lists": [list(point) for point in PATH],
        "dicts": [dict(zip(names, point, strict=True)) for point in PATH],
        "objects": (SimpleNamespace(**dict(zip(names, point, strict=True))) for point in PATH),
        "named": [row(0, *point) for point in PATH],
    }[kind]
    display = RegularizationPathDisplay.from_path(path)
    assert display.lam.tolist() == [0.01, 0.1, 1.0]
    assert display.score.tolist() == display.line_.get_ydata().tolist() == [0.7, 0.8, 0.5]
    assert (display.gap[0], display.n_nonzero[0], display.best) == (0.02, 90, 1)
    assert display.ax_.get_xscale() == "log"
    assert display.plot(y="n_nonzero").line_.get_ydata().tolist() == [90, 40, 10]


def test_bad_paths_are_named() -> None:
    with pytest.raises(TypeError, match="it needs lam, score, gap and n_nonzero"):
        RegularizationPathDisplay.from_path([(1.0, 2.0)])
    with pytest.raises(ValueError, match="one at least"):
        RegularizationPathDisplay.from_path([])
    tie = RegularizationPathDisplay([1, 10], [0.5, 0.5], [0, 0], [1, 1])
    assert tie.best == 1


def test_without_matplotlib_displays_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "casimir\[plot\]"'):
        RegularizationPathDisplay.from_path(PATH)


def test_pictures_load_neither_scikit_learn_nor_matplotlib_before_they_are_drawn() -> None:
    code = "import sys, casimir.plotting; print({'sklearn', 'matplotlib'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
