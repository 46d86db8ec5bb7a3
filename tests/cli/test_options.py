"""What `casimir evaluate` and `casimir predict` do alike for every task."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from casimir.cli import app

_TASKS = ["align", "boxes", "chunk", "deprel", "localize", "ner", "ocr", "pos", "segment", "tag"]


@pytest.fixture(scope="module")
def aligner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("align")
    (folder / "text").write_text("a b ||| c d\nb ||| d\n")
    (folder / "gold").write_text("1-1 2-2\n1-1\n")
    arguments = ["--train", str(folder / "text"), "--gold", str(folder / "gold"), "--held-out", "0"]
    result = CliRunner().invoke(app, ["train", "align", *arguments, "--model", str(folder / "model"), "--quiet"])
    assert result.exit_code == 0, result.output
    return folder


def test_names_in_capitals_stay_so_behind_the_tasks_of_an_option() -> None:
    shown = " ".join(CliRunner().invoke(app, ["predict", "--help"]).output.split())
    assert ": FILE is plain text" in shown
    assert ": write JSON lines." in shown


def test_tasks_come_in_one_order() -> None:
    shown = CliRunner().invoke(app, ["train", "--help"]).output
    assert [name for name in re.findall(r"^  (\w+)  ", shown, re.MULTILINE) if name in _TASKS] == _TASKS
    for command in ("evaluate", "predict"):
        text = CliRunner().invoke(app, [command, "--help"]).output
        names = [
            "Word alignment:",
            "Boxes:",
            "Chunks:",
            "Dependency",
            "Localization:",
            "Named entities:",
            "Handwritten",
            "Parts of speech:",
            "Segmentation:",
            "Tagging:",
        ]
        places = [text.index(name) for name in names]
        assert places == sorted(places)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["predict", "--keep-gold"],
            "--keep-gold is for models of `casimir train chunk`, `ner`, `ocr`, `pos` and `tag`; this one",
        ),
        (
            ["predict", "--unlabelled"],
            "--labelled is for models of `casimir train chunk`, `ner`, `pos` and `tag`; this one is of",
        ),
        (["predict", "--weights", "x"], "--weights is for models of `casimir train localize`; this one is"),
        (["predict", "--encoding", "klingon"], "unknown encoding 'klingon'"),
        (["predict", "--output", "."], "cannot write .: Is a directory"),
        (["evaluate"], "give them with --gold FILE"),
    ],
)
def test_options_of_other_tasks_are_refused(aligner: Path, arguments: list[str], message: str) -> None:
    command, *options = arguments
    result = CliRunner().invoke(app, [command, str(aligner / "model"), str(aligner / "text"), *options])
    assert result.exit_code == 2
    assert message in result.stderr
    assert not result.stdout


def test_what_predict_writes_can_be_evaluated(aligner: Path) -> None:
    out = aligner / "links"
    model, text = str(aligner / "model"), str(aligner / "text")
    assert CliRunner().invoke(app, ["predict", model, text, "--output", str(out)]).exit_code == 0
    result = CliRunner().invoke(app, ["evaluate", model, text, "--gold", str(out), "--json"])
    assert result.exit_code == 0, result.output


def test_a_solver_without_its_oracle_says_what_to_use(aligner: Path) -> None:
    arguments = ["--train", str(aligner / "text"), "--gold", str(aligner / "gold"), "--solver", "lbfgs"]
    result = CliRunner().invoke(app, ["train", "align", *arguments, "--model", str(aligner / "new")])
    assert result.exit_code == 2
    assert "The solver 'lbfgs' cannot train this model: Matching has no" in result.stderr
    assert "use the solver 'auto'" in result.stderr
    assert not (aligner / "new").exists()


def test_named_entities_train_on_the_embedded_news(tmp_path: Path) -> None:
    arguments = ["train", "ner", "--model", str(tmp_path / "model"), "--tol", "0.5", "--quiet", "--json"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["dev"]["f1"] > 0.8
    result = CliRunner().invoke(app, [*arguments, "--dev", "x"])
    assert result.exit_code == 2
    assert "come with --train" in result.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--solver", "svrg"], "--solver svrg cannot train graph cuts"),
        (["--solver", "lbfgs"], "Use auto, bcfw, dual or sgd."),
        (["--lam", "0"], "--lam 0 leaves"),
        (["--pictures", __file__], "is a file; pictures are written into a folder"),
    ],
)
def test_segmentation_refuses_before_it_learns_features(tmp_path: Path, options: list[str], message: str) -> None:
    result = CliRunner().invoke(app, ["train", "segment", "--model", str(tmp_path / "model"), *options])
    assert result.exit_code == 2
    assert message in result.stderr


def test_names_that_the_terminal_cannot_show_do_not_end_the_command(aligner: Path) -> None:
    text = aligner / "\u00e9"
    text.write_bytes((aligner / "text").read_bytes())
    arguments = ["evaluate", str(aligner / "model"), str(text), "--gold", str(aligner / "gold")]
    code = f"from casimir.cli import app; app({arguments!r})"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "COLUMNS": "200"}
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment, check=False)
    assert result.returncode == 0, result.stderr
    assert b"?" in result.stdout
