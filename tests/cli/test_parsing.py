"""What the parser of command lines says: refusals of one sentence, and help without the types of Python."""

from __future__ import annotations

import re
from typing import Any

import pytest
from typer.testing import CliRunner

from casimir.cli import app, parsing


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments), prog_name="casimir")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["list"], "error: No such command 'list'. See `casimir --help`."),
        (["train", "tga"], "error: No such command 'tga'. Did you mean 'tag'? See `casimir train --help`."),
        (["train", "ner"], "error: Missing option '--model'. See `casimir train ner --help`."),
        (["evaluate", "nowhere"], "error: Missing argument 'FILE'. See `casimir evaluate --help`."),
        (["cluster", "x", "--out", "y", "--kmeans"], "error: No such option: --kmeans. See `casimir cluster --help`."),
        (
            ["train", "ner", "--model", "m", "--lam", "abc"],
            "error: Invalid value for '--lam': 'abc' is not a number such as 1e-4, or a multiple of 1/n such as 0.1/n. "
            "See `casimir train ner --help`.",
        ),
    ],
)
def test_what_is_not_understood_is_refused_in_one_line(arguments: list[str], words: str) -> None:
    result = invoke(*arguments)
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", words + "\n")


@pytest.mark.parametrize("arguments", [[], ["train"], ["experiment"]])
def test_a_command_of_commands_alone_shows_them(arguments: list[str]) -> None:
    result = invoke(*arguments)
    assert result.exit_code in (0, 2)  # typer has changed its mind
    assert "Commands:" in result.output
    assert "error:" not in result.output


def test_ctrl_c_before_a_command_has_begun_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing.TyperGroup, "invoke", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    result = invoke("demo")
    assert (result.exit_code, result.stderr) == (130, "Interrupted; nothing was saved.\n")


def test_version_and_help_end_well() -> None:
    assert invoke("--version").exit_code == 0
    assert invoke("demo", "--help").exit_code == 0


@pytest.mark.parametrize(
    ("command", "usage"),
    [("evaluate", "[OPTIONS] DIR FILE"), ("cluster", "[OPTIONS] FILE..."), ("pack", "[OPTIONS] [FILE]...")],
)
def test_arguments_are_shown_by_name(command: str, usage: str) -> None:
    shown = invoke(command, "--help").output
    assert f"Usage: casimir {command} {usage}\n" in shown
    assert re.search(r"^  FILE  +\w", shown, re.MULTILINE) or re.search(r"^  \[?FILE\S*  +\w", shown, re.MULTILINE)
    assert not re.search(r"<\w+|list\[", shown)


def test_short_texts_of_commands_are_whole() -> None:
    for command in ([], ["train"], ["experiment"]):
        usage, _, shown = invoke(*command, "--help").output.partition("\n")
        assert usage.startswith("Usage:")
        assert "..." not in shown


def test_every_task_says_what_it_holds_out() -> None:
    def about(task: str) -> str:
        shown = " ".join(invoke("train", task, "--help").output.split())
        found = re.search(r"trains on all of it\.(.*?) --folds", shown)
        assert found is not None
        return found[1]

    assert about("segment") == " Default: 0.5 without --dev or --test."
    assert about("tag") == " Default: 0."
    assert about("ocr") == ""  # --train-folds says it
