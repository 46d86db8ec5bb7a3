"""Predictions that wait for nothing: the same results as from the full commands, and everything else left to them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from casimir.cli import app
from casimir.cli.quick import understood

RUN = [sys.executable, "-c", "from casimir.cli import main; main()"]
GOLDEN = Path(__file__).parents[1] / "golden" / "tasks-1"
TAGGED = "Paris NNP B-LOC\nis VBZ O\nnice JJ O\n"


@pytest.fixture
def words(tmp_path: Path) -> str:
    path = tmp_path / "words.txt"
    path.write_text(TAGGED, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    "options",
    [
        ("predict",),
        ("predict", "--json"),
        ("predict", "--inline", "-q"),
        ("predict", "--keep-gold", "--jobs", "2"),
        ("predict", "--labelled", "--encoding", "latin-1"),
        ("evaluate",),
        ("evaluate", "--json"),
        ("evaluate", "--quiet", "--jobs", "1"),
    ],
)
def test_the_results_are_those_of_the_full_commands(options: tuple[str, ...], words: str) -> None:
    arguments = [options[0], str(GOLDEN / "ner"), words, *options[1:]]
    assert understood(arguments) is not None
    quick = subprocess.run([*RUN, *arguments], capture_output=True, text=True, env={"COLUMNS": "80"}, check=True)
    full = CliRunner().invoke(app, arguments, env={"COLUMNS": "80", "TERM": "dumb"})
    assert full.exit_code == 0, full.output
    assert quick.stdout.replace("\r\n", "\n") == full.stdout
    assert quick.stdout


def test_files_are_written(words: str, tmp_path: Path) -> None:
    for name in ("-o", "--output"):
        out = tmp_path / f"out{name}"
        arguments = ["predict", str(GOLDEN / "ner"), words, name, str(out)]
        run: Any = understood(arguments)
        run()
        assert out.read_text(encoding="utf-8").startswith("Paris NNP ")


@pytest.mark.parametrize(
    "rest",
    [
        (),
        ("--help",),
        ("FILE", "--help"),
        ("FILE", "--jobs"),
        ("FILE", "--jobs", "0"),
        ("FILE", "--jobs", "two"),
        ("FILE", "--jobs=2"),
        ("FILE", "--no-such"),
        ("FILE", "--output"),
        ("FILE", "more"),
        ("FILE", "--pictures", "p"),  # of another task
        ("--json", "FILE"),
    ],
)
def test_what_is_not_plainly_right_is_left_to_the_full_commands(rest: tuple[str, ...], words: str) -> None:
    told = [words if word == "FILE" else word for word in rest]
    assert understood(["predict", str(GOLDEN / "ner"), *told]) is None


def test_other_commands_and_folders_are_left_to_the_full_commands(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for arguments in ([], ["train", "ner"], ["predict", str(tmp_path), words], ["predict", words, words]):
        assert understood(arguments) is None
    (tmp_path / "model.json").write_text("[]")
    assert understood(["predict", str(tmp_path), words]) is None
    monkeypatch.setenv("_CASIMIR_COMPLETE", "complete_bash")
    assert understood(["predict", str(GOLDEN / "ner"), words]) is None


def test_errors_are_one_sentence(tmp_path: Path) -> None:
    arguments = ["predict", str(GOLDEN / "ner"), str(tmp_path / "none.txt")]
    assert understood(arguments) is not None
    done = subprocess.run([*RUN, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: cannot read ")
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
def test_a_reader_that_goes_away_ends_the_command_quietly(tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_text(TAGGED.replace("\n", "\n" * 2) * 20_000, encoding="utf-8")
    command = " ".join([sys.executable, "-c", "'from casimir.cli import main; main()'", "predict"])
    line = f"{command} {GOLDEN / 'ner'} {path} | head -n 1"
    done = subprocess.run(line, shell=True, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Paris ")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("kind", sorted(path.name for path in GOLDEN.iterdir() if path.is_dir()))
def test_models_of_every_task_are_known(kind: str, words: str) -> None:
    assert understood(["predict", str(GOLDEN / kind), words]) is not None
