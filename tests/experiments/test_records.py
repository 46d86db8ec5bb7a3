"""Records: whole or not there; what cannot be trusted is refused in one sentence and kept."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from experiment_cases import EXPERIMENT, records
from typer.testing import CliRunner

from casimir import experiments as ex
from casimir.cli import app
from casimir.experiments import manifest
from casimir.experiments.records import read_record
from casimir.experiments.selection import narrowed

SMALL = narrowed(EXPERIMENT, "method=bcfw,lam=1/n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    ex.run(SMALL, out=tmp_path, seeds=1)
    return tmp_path


def rewritten(path: Path, **changes: Any) -> None:
    """Other fields with a checksum that fits them."""
    fields = {**json.loads(path.read_bytes()), **changes}
    head = {name: fields.pop(name) for name in ("format", "format_version", "sha256")}
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"))
    head["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    path.write_text(json.dumps({**head, **fields}))


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def with_another_digit(path: Path) -> None:
    path.write_text(path.read_text().replace('"n": 30', '"n": 31'))


def of_another_format(path: Path) -> None:
    path.write_text(json.dumps({**json.loads(path.read_bytes()), "format_version": 2}))


def of_another_casimir(path: Path) -> None:
    rewritten(path, machine={**json.loads(path.read_bytes())["machine"], "casimir": "9.9"})


def renamed(path: Path) -> None:
    rewritten(path, key="0" * 24)


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (truncated, "damaged"),
        (lambda path: path.write_text("[]"), "damaged"),
        (with_another_digit, "does not match|do not match"),
        (renamed, "do not match"),
        (lambda path: rewritten(path, trace=[]), "not what a run writes"),
        (lambda path: rewritten(path, trace={"epoch": [1, 2], "objective": ["a", "b"]}), "not what a run writes"),
        (lambda path: rewritten(path, trace={"epoch": [1, 2], "objective": [1.0]}), "not what a run writes"),
        (lambda path: rewritten(path, machine=3), "not what a run writes"),
        (lambda path: path.write_text("[" * 100_000), "damaged"),
        (lambda path: path.write_text('{"format": NaN}'), "damaged"),
        (of_another_format, "format casimir-run 2"),
        (of_another_casimir, "made by casimir 9.9"),
    ],
)
def test_what_cannot_be_trusted_is_refused_and_kept(
    folder: Path, damage: Any, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = sorted((folder / "runs").iterdir())[0]
    damage(path)
    before = path.read_bytes()
    monkeypatch.setattr("casimir.experiments.grid.perform", None)  # nothing runs
    with pytest.raises(ValueError, match=says) as error:
        ex.run(SMALL, out=folder, seeds=1)
    assert str(path) in str(error.value)
    assert "move it away" in str(error.value)
    assert "\n" not in str(error.value)
    assert path.read_bytes() == before


def test_the_command_line_refuses_a_damaged_record_with_one_sentence(folder: Path) -> None:
    truncated(sorted((folder / "runs").iterdir())[0])
    for command in ("table", "plot"):
        result = CliRunner().invoke(app, ["experiment", command, str(folder)])
        assert result.exit_code == 2
        assert result.stderr.startswith("error: ")
        assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "change",
    [
        {"title": 3},
        {"passes": None},
        {"metrics": "length"},
        {"cells": {}},
        {"cells": [{}]},
        {"surprise": 1},
        {"runs": {"0": "../../elsewhere"}},
        {"runs": {"x": "0" * 24}},
        {"runs": []},
        {"optimum": "/etc/passwd"},
        {"params": {"lr": "0.1"}},
        {"tuning": []},
        {"tuning": {"grid": [{"runs": ["../x"]}]}},
        {"lam": None},
    ],
)
def test_lists_of_runs_that_no_experiment_writes_are_refused_in_one_sentence(
    folder: Path, change: dict[str, Any]
) -> None:
    [file] = folder.glob("*.json")
    given = json.loads(file.read_bytes())
    manifest.read(file)
    if set(change) <= {"runs", "optimum", "params", "tuning", "lam"}:
        given["cells"][0] |= change
    else:
        given |= change
    file.write_text(json.dumps(given))
    for command in ("table", "plot"):
        result = CliRunner().invoke(app, ["experiment", command, str(folder)])
        assert result.exit_code == 2
        assert "is not the list of an experiment's runs" in " ".join(result.stderr.split())
    with pytest.raises(ValueError, match="or is damaged"):
        manifest.read(file)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_records_are_regular_files(folder: Path) -> None:
    for file in (*folder.glob("*.json"), sorted((folder / "runs").iterdir())[0]):
        file.unlink()
        os.mkfifo(file)
        with pytest.raises(ValueError, match="no regular file"):
            manifest.read(file) if file.suffix == ".json" else read_record(file)


def test_half_a_record_that_a_kill_left_behind_does_not_matter(folder: Path) -> None:
    for path in list((folder / "runs").iterdir()):
        path.rename(path.with_name(f".{path.name}.new"))
    ex.run(SMALL, out=folder, seeds=1)
    assert len(records(folder)) == 2


def test_a_record_tells_everything(folder: Path) -> None:
    one = next(r for r in records(folder).values() if r.settings["seed"] == 100)
    assert one.settings["solver"].startswith("BCFW(pairwise=False")
    assert (one.settings["data"], one.settings["lam"], one.settings["passes"]) == ("classes", "1/n", 6)
    assert set(one.fields["machine"]) == {"casimir", "numpy", "python", "system", "cpu"}
    assert (len(one), one.n, one.status) == (6, 30, "budget")
    assert one.column("steps").tolist() == [30.0 * k for k in range(1, 7)]
    assert one.column("length").min() > 0.0
    assert set(one.fields["clocks"]) == {"seconds", "cpu_seconds", "evaluation_seconds"}
    assert not set(one.fields["clocks"]) & set(one.fields["trace"])


def test_other_solvers_have_other_records(tmp_path: Path) -> None:
    """A method that keeps its name but makes another solver does not find the old records."""
    from dataclasses import replace

    import casimir as cs

    ex.run(SMALL, out=tmp_path, seeds=1)
    other = replace(SMALL.methods[0], make=lambda size: cs.BCFW(averaging="none"))
    ex.run(replace(SMALL, methods=(other,)), out=tmp_path, seeds=1)
    assert len(records(tmp_path)) == 3
    with pytest.raises(ValueError, match="frozen dataclasses"):
        ex.run(
            replace(SMALL, methods=(replace(other, make=lambda size: cs.Casimir(mu=lambda k: 1 / k)),)), out=tmp_path
        )


def test_a_diverged_run_is_a_record_too(tmp_path: Path) -> None:
    from dataclasses import replace

    method = replace(EXPERIMENT.methods[0], fixed={"gamma0": 1e200})
    found = ex.run(replace(EXPERIMENT, methods=(method,), cases=EXPERIMENT.cases[:1], seeds=1), out=tmp_path)
    record = found[0].records["classes 1/n", "sgd"][0]
    assert record.status == "diverged"
    row = ex.table(tmp_path)[0]
    assert (row.runs, row.diverged, row.objective) == (1, 1, None)
    assert read_record(next((tmp_path / "runs").glob("*.jsonl"))).n == 30
