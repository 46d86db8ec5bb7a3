"""`python -m casimir` is the command, and shells complete its words."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import casimir


def run(*arguments: str, **environment: str) -> str:
    command = [sys.executable, "-m", "casimir", *arguments]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=True)
    return done.stdout


def test_python_m_casimir_is_the_command() -> None:
    assert run("--version") == f"casimir {casimir.__version__}\n"
    assert "casimir demo" in run("--help")


@pytest.mark.parametrize(
    ("words", "wanted"),
    [("casimir pre", ["predict"]), ("casimir train oc", ["ocr"]), ("casimir predict --keep", ["--keep-gold"])],
)
def test_bash_completes_commands_tasks_and_options(words: str, wanted: list[str]) -> None:
    place = str(len(words.split()) - 1)
    assert run(_CASIMIR_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=place).split() == wanted


def test_there_is_a_script_to_install() -> None:
    assert "_CASIMIR_COMPLETE" in run("--show-completion", "bash", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
