"""`casimir experiment`: errors in one sentence, a summary at the end; a version of every experiment takes seconds."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from experiment_cases import EXPERIMENT
from typer.testing import CliRunner

from casimir import experiments as ex
from casimir.cli import app
from casimir.experiments import catalog, registry

EXPERIMENTS = [registry.find(name)[0] for name in ex.names() if name != "smoke"]


@pytest.fixture
def invoke(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.delenv("CASIMIR_DATA", raising=False)
    return lambda *arguments: CliRunner().invoke(app, ["experiment", *map(str, arguments)])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", "nothing"], "There is no experiment 'nothing'; choose one of"),
        (["run", "ner-solvers"], "needs a data folder with conll2003/eng.train, conll2003/eng.testa; give one (--data"),
        (["run", "ner-solvers", "--data", "nowhere"], "There is no data folder nowhere"),
        (["run", "ner-solvers", "--data", "."], ". has no conll2003/eng.train"),
        (["run", "smoke", "--only", "lam=7/n"], "no lam '7/n' in these 20 experiments; it may be 0.01/n, 1/n"),
        (
            ["run", "smoke", "--only", "method=sgd,bfcw"],
            "no method 'bfcw' in these 20 experiments; it may be sgd",
        ),
        (["run", "smoke", "--only", "method=cuts,data=made-up"], "fits all of 'method=cuts,data=made-up'. There is"),
        (["run", "smoke", "--only", "bcfw"], "'bcfw' begins with no key"),
        (["run", "smoke", "--only", "seed=3"], "'seed=3' has the key 'seed'; write it like"),
        (["run", "smoke", "--only", "lam="], "'lam=' has nothing after lam=; write it like"),
        (["run", "smoke", "--only", ""], "'' names no part; leave it out for everything"),
        (["table", "nowhere"], "There is no folder nowhere"),
        (["plot", "."], "has no experiment"),
    ],
)
def test_errors_are_one_sentence(
    invoke: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    target = ["--out", "out"] if arguments[0] == "run" else []
    result = invoke(*arguments, *target)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert says in result.stderr
    assert result.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("missing", [{"cases": ()}, {"methods": ()}, {"seeds": 0}], ids=str)
def test_an_empty_grid_is_refused_in_one_sentence(tmp_path: Path, missing: dict[str, Any]) -> None:
    with pytest.raises(
        ValueError, match=r"tiny has \d cases, \d methods and \d seeds; it needs at least one of each"
    ) as e:
        ex.run(replace(EXPERIMENT, **missing), out=tmp_path)
    assert "\n" not in str(e.value)
    assert not list(tmp_path.iterdir())


def test_list_names_every_experiment(invoke: Any) -> None:
    result = invoke("list", "--json")
    assert [e["name"] for e in json.loads(result.stdout)["experiments"]] == [e.name for e in EXPERIMENTS]
    assert "smoke" in invoke("list").stdout


def test_smoke_runs_a_tiny_version_of_every_experiment_in_under_a_minute(invoke: Any, tmp_path: Path) -> None:
    began = time.process_time()
    result = invoke("run", "smoke", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert time.process_time() - began < 60.0
    for experiment in EXPERIMENTS:
        for method in experiment.methods:
            assert f"{method.title}  " in result.stdout
        assert f"{experiment.name}-smoke: runs: " in result.stderr
    rows = ex.table(tmp_path)
    assert {row.experiment for row in rows} == {f"{e.name}-smoke" for e in EXPERIMENTS}
    assert all(row.runs % 2 == 0 for row in rows)
    assert invoke("plot", tmp_path).exit_code == 0
    curves = [e for e in EXPERIMENTS if e.view is None]
    others = len(EXPERIMENTS) - len(curves)  # their views have one picture each
    assert len(list((tmp_path / "plots").iterdir())) == 2 * (others + sum(1 + len(e.metrics) for e in curves))


def test_a_part_is_what_only_says(invoke: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_all", lambda: {"tiny": EXPERIMENT})
    result = invoke("run", "tiny", "--out", tmp_path, "--seeds", 1, "--only", "method=SGD,bcfw,lam=10/n", "--json")
    rows = json.loads(result.stdout)["rows"]
    assert [(row["case"], row["method"]) for row in rows] == [("classes 10/n", "SGD"), ("classes 10/n", "BCFW")]


def test_missing_tuned_values_are_told(tmp_path: Path) -> None:
    from experiment_cases import fake, fakes

    with pytest.warns(UserWarning, match="no tuned values for fake on 1 of 1 cases"):
        ex.run(fakes(fake), out=tmp_path)


@pytest.mark.parametrize("path", sorted(Path(catalog.__path__[0]).glob("[a-z]*.py")), ids=lambda path: path.name)
def test_an_experiment_is_a_file_of_at_most_100_lines(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 100


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.name)
def test_small_versions_need_no_data_and_no_tuning(experiment: ex.Experiment) -> None:
    small = experiment.small()
    assert all(not case.source.files for case in small.cases)
    assert all(not method.knobs for method in small.methods)
    assert len(small.methods) == len(experiment.methods)


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.name)
def test_tuned_values_belong_to_a_case_and_to_knobs(experiment: ex.Experiment) -> None:
    names = {case.name for case in experiment.cases}
    for method in experiment.methods:
        assert set(method.tuned) <= names
        assert all(set(values) == set(method.knobs) for values in method.tuned.values())
