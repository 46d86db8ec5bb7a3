"""Races: the first row that is close enough, by every measure; and data sets beyond the paper."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from experiment_records import cell, record, results

from casimir import experiments as ex
from casimir.experiments.grids import markdown
from casimir.experiments.races import Race, RaceRow
from casimir.experiments.records import Record
from casimir.experiments.sources.letters import HANDWRITING
from casimir.experiments.sources.segmentation import BLOBS

COLUMNS = {"objective": [2.0, 1.05, 1.005], "steps": [10, 20, 30], "full_gradients": [10, 20, 30]}


def race(*runs: Record) -> RaceRow:
    cells = [cell("made-up 1/n", "1/n", "one", "One")]
    return Race().rows(results(cells, {("made-up 1/n", "one"): list(runs)}, 1.0, 1.0))[0]


def test_times_are_those_of_the_first_row_that_is_close_enough() -> None:
    clocks = {"cpu_seconds": [0.5, 1.0, 2.0]}
    row = race(record(10, **COLUMNS, gap=[0.9, 0.5, 0.005], **clocks), record(10, **COLUMNS, gap=[0.9] * 3, **clocks))
    assert row.reached == {"cpu": [1.0, 2.0, None], "paper": [2.0, 3.0, None], "full": [4.0, 6.0, None]}
    assert row.certified is None  # one of the two never says so
    row = race(record(10, **COLUMNS, gap=[0.9, 0.5, 0.005], **clocks))
    assert row.certified == 2.0
    assert "| One | 1 | 1 | 2 | - | 3 | 6 | 2 |" in markdown([row])


def test_a_level_that_one_seed_missed_is_missing() -> None:
    other = record(10, objective=[2.0, 1.5, 1.2], steps=[10, 20, 30], gap=[1.0] * 3)
    assert race(record(10, **COLUMNS, gap=[1.0] * 3), other).reached["paper"] == [None, None, None]


def test_a_method_without_steps_has_no_count_without_full_gradients() -> None:
    row = race(record(10, objective=[2.0, 1.0], full_gradients=[10, 20], gap=[1.0, 0.0]))
    assert row.reached["paper"] == [None, None, None]
    assert row.reached["full"] == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("source", [HANDWRITING, BLOBS])
def test_stand_ins_can_be_learned(source: ex.Source, tmp_path: Path) -> None:
    import casimir as cs

    data = source.load(ex.Places(None, tmp_path))
    objective = ex.Case(source, 1.0).objective(data)
    result = cs.minimize(objective, cs.DualProximal(), epochs=200, tol=0.05)
    assert result.converged
    assert result.objective < 0.9 * objective.value(np.zeros(objective.n_params))
    for metric in data.metrics.values():
        assert metric(result.w) > 0.4


def test_edges_of_graph_cuts_stay_submodular(tmp_path: Path) -> None:
    data = BLOBS.load(ex.Places(None, tmp_path))
    penalty = ex.Case(BLOBS, 1.0).objective(data).penalty
    found = penalty.prox(-np.ones(data.objective.n_params), 1.0)
    assert (found[-2:] == 0.0).all()
    assert (found[:-2] < 0.0).all()
