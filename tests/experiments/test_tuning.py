"""Tuning: grids that grow while an end wins, the paper's two rules, other seeds than the final runs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from experiment_cases import EXPERIMENT, fake, fake_far_off, fake_that_diverges, fakes, records
from typer.testing import CliRunner

from casimir import experiments as ex
from casimir.cli import app
from casimir.experiments import registry


def tuned_cell(folder: Path) -> dict[str, object]:
    cell: dict[str, object] = json.loads((folder / "fakes.json").read_text())["cells"][0]
    return cell


def test_a_grid_is_extended_while_its_end_wins(tmp_path: Path) -> None:
    """The best x is 8, three steps from the guess: the grid goes one further, and y stays within one step."""
    ex.run(fakes(fake), out=tmp_path, tune=True)
    cell = tuned_cell(tmp_path)
    assert cell["params"] == {"x": 8.0, "y": 1.0}
    tuning = cell["tuning"]
    assert isinstance(tuning, dict)
    tried = {(one["params"]["x"], one["params"]["y"]): one["objective"] for one in tuning["grid"]}
    assert {x for x, _ in tried} == {0.5, 1.0, 2.0, 4.0, 8.0, 16.0}
    assert {y for _, y in tried} == {0.5, 1.0, 2.0}
    assert tuning["runs"] == len(tried) == 18
    assert tried[8.0, 1.0] == 1.0
    assert tried[2.0, 2.0] == 6.0


def test_a_grid_grows_around_its_best_place_alone(tmp_path: Path) -> None:
    """The best place (8, 8) is three steps off along both knobs: a box up to there would have 36 places."""
    ex.run(fakes(fake_far_off), out=tmp_path, tune=True)
    cell = tuned_cell(tmp_path)
    assert cell["params"] == {"x": 8.0, "y": 8.0}
    tuning = cell["tuning"]
    assert isinstance(tuning, dict)
    tried = {(one["params"]["x"], one["params"]["y"]) for one in tuning["grid"]}
    assert {(x, y) for x in (4.0, 8.0, 16.0) for y in (4.0, 8.0, 16.0)} <= tried
    assert len(tried) == tuning["runs"] == 9 + 3 * 5


def test_tuning_runs_may_report_less_often(tmp_path: Path) -> None:
    ex.run(fakes(fake, evaluate_every_tuning=3), out=tmp_path, tune=True)
    epochs = {
        r.settings["seed"]: r.column("epoch").tolist() for r in records(tmp_path).values() if r.settings["passes"]
    }
    assert epochs == {0: [3, 6], 100: [1, 2, 3, 4, 5, 6]}


def test_tuning_runs_report_as_often_as_final_ones_where_nothing_else_is_said(tmp_path: Path) -> None:
    experiment = fakes(fake)
    method = replace(experiment.methods[0], evaluate_every=3)
    ex.run(replace(experiment, methods=(method,)), out=tmp_path, tune=True)
    assert {tuple(r.column("epoch")) for r in records(tmp_path).values() if r.settings["passes"]} == {(3, 6)}


def test_a_later_run_keeps_how_its_parameters_were_tuned(tmp_path: Path) -> None:
    ex.run(fakes(fake), out=tmp_path, tune=True)
    cell = tuned_cell(tmp_path)
    experiment = fakes(fake)
    method = replace(experiment.methods[0], tuned={"classes 1/n": {"x": 8.0, "y": 1.0}})
    ex.run(replace(experiment, methods=(method,)), out=tmp_path)
    assert tuned_cell(tmp_path) == cell


def test_steps_that_diverge_do_not_win(tmp_path: Path) -> None:
    ex.run(fakes(fake_that_diverges), out=tmp_path, tune=True)
    cell = tuned_cell(tmp_path)
    assert cell["params"] == {"x": 4.0, "y": 1.0}
    tuning = cell["tuning"]
    assert isinstance(tuning, dict)
    assert {one["objective"] for one in tuning["grid"] if one["params"]["x"] == 8.0} == {None}


def test_tuning_uses_other_seeds_than_final_runs(tmp_path: Path) -> None:
    ex.run(fakes(fake), out=tmp_path, tune=True, seeds=2)
    seeds = {r.settings["seed"]: [] for r in records(tmp_path).values() if r.settings["passes"]}
    assert set(seeds) == {0, 100, 101}


def test_tuning_goes_on_from_its_records(tmp_path: Path) -> None:
    ex.run(fakes(fake), out=tmp_path, tune=True)
    before = set(records(tmp_path))
    cell = tuned_cell(tmp_path)
    ex.run(fakes(fake), out=tmp_path, tune=True)
    assert set(records(tmp_path)) == before
    assert tuned_cell(tmp_path) == cell


def test_values_in_the_file_are_taken_without_tuning(tmp_path: Path) -> None:
    experiment = fakes(fake)
    method = replace(experiment.methods[0], tuned={"classes 1/n": {"x": 4.0, "y": 2.0}})
    ex.run(replace(experiment, methods=(method,)), out=tmp_path)
    assert tuned_cell(tmp_path)["params"] == {"x": 4.0, "y": 2.0}


def test_the_rule_of_localization_takes_the_lowest_objective() -> None:
    found = [{"objective": 2.0, "f1": 0.9}, {"objective": 1.0, "f1": 0.1}, {"objective": float("inf"), "f1": 1.0}]
    assert ex.LowestObjective().best(found) == 1


def test_the_rule_of_named_entities_wants_a_good_f1_first() -> None:
    rule = ex.LowestObjectiveNearBest("f1", 0.01)
    found = [{"objective": o, "f1": f} for o, f in ((1.0, 0.80), (3.0, 0.85), (2.0, 0.841), (1.9, 0.839))]
    assert rule.best(found) == 2
    assert rule.best([*found, {"objective": float("inf"), "f1": 0.95}]) == 2
    assert rule.best([{"objective": float("inf"), "f1": 0.0}] * 2) == 0


def test_the_command_prints_the_number_of_tuning_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_all", lambda: {"fakes": fakes(fake), "tiny": EXPERIMENT})
    result = CliRunner().invoke(app, ["experiment", "run", "fakes", "--out", str(tmp_path), "--tune"])
    assert result.exit_code == 0, result.output
    assert "fake: 18 tuning runs" in result.stderr
    assert "classes 1/n: {'x': 8.0, 'y': 1.0}" in result.stderr
