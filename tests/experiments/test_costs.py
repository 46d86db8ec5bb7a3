"""What runs cost is counted from their records, those of tuning among them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from experiment_cases import EXPERIMENT, fake, fakes, records
from typer.testing import CliRunner

from casimir import experiments as ex
from casimir.cli import app
from casimir.experiments.costs import cost_grid, costs_of, tuned_grid
from casimir.experiments.results import load_results


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("costs")
    ex.run(fakes(fake), out=target, tune=True)
    ex.run(EXPERIMENT, out=target, seeds=2)
    return target


def minutes(folder: Path, solver: str, is_final: bool) -> float:
    """CPU minutes of the runs of a solver with a budget, from the records themselves."""
    mine = [
        r
        for r in records(folder).values()
        if r.settings["passes"] and r.settings["solver"].startswith(solver) and (r.settings["seed"] >= 100) == is_final
    ]
    return sum(float(r.column("cpu_seconds")[-1] + r.column("evaluation_seconds")[-1]) for r in mine) / 60.0


def test_every_run_of_a_method_is_counted(folder: Path) -> None:
    fake_costs, tiny = (costs_of(results) for results in load_results(folder))
    found = {cost.method: cost for cost in fake_costs}
    assert (found["fake"].tuning_runs, found["fake"].runs, found["F*"].runs) == (18, 1, 1)
    assert found["fake"].tuning_minutes == pytest.approx(minutes(folder, "Fake", False))
    assert found["fake"].minutes == pytest.approx(minutes(folder, "Fake", True))
    assert [(cost.method, cost.tuning_runs, cost.runs) for cost in tiny] == [
        ("SGD", 0, 4),
        ("BCFW", 0, 4),
        ("casimir", 0, 4),
        ("F*", 0, 2),
    ]
    assert tiny[2].minutes == pytest.approx(minutes(folder, "Casimir", True))


def test_the_grid_has_a_line_per_method_or_per_experiment(folder: Path) -> None:
    found = load_results(folder)
    one, both = cost_grid(found[:1]), cost_grid(found)
    assert [line[:2] + line[3:4] for line in one.lines] == [["fake", "18", "1"], ["F*", "-", "1"], ["all", "18", "2"]]
    assert [line[:2] + line[3:4] for line in both.lines] == [["fakes", "18", "2"], ["tiny", "-", "14"]]


def test_tuned_values_have_their_runs_beside_them(folder: Path) -> None:
    found = load_results(folder)
    grid = tuned_grid(found[0])
    assert grid is not None
    assert grid.header == ["method", "runs", "classes 1/n"]
    assert grid.lines == [["fake", "18", "x 8, y 1"]]
    assert tuned_grid(found[1]) is None


def test_a_folder_that_does_not_name_its_tuning_runs_still_counts_them(folder: Path, tmp_path: Path) -> None:
    """Folders were written without these keys once."""
    whole = json.loads((folder / "fakes.json").read_text())
    for point in whole["cells"][0]["tuning"]["grid"]:
        del point["runs"]
    (tmp_path / "fakes.json").write_text(json.dumps(whole))
    (tmp_path / "runs").symlink_to(folder / "runs")
    cost = costs_of(load_results(tmp_path)[0])[0]
    assert (cost.tuning_runs, cost.tuning_minutes) == (18, None)
    assert cost.cells()[:2] == ["18", "?"]


def test_the_command_ends_with_what_runs_cost(folder: Path) -> None:
    table = CliRunner().invoke(app, ["experiment", "table", str(folder), "fakes"])
    assert "fakes: cost" in table.stdout
    assert [line.split()[:2] for line in table.stdout.splitlines() if line.startswith("fake ")][-1] == ["fake", "18"]
    told = json.loads(CliRunner().invoke(app, ["experiment", "table", str(folder), "--json"]).stdout)
    assert (told["costs"][0]["experiment"], told["costs"][0]["tuning_runs"]) == ("fakes", 18)
