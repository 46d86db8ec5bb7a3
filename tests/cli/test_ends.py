"""However a command ends, it ends in one sentence and an exit code; `--debug` shows where an error comes from."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from running_commands import send_at, started
from typer.testing import CliRunner

import casimir.cli
from casimir.cli import app

TRAIN = "Ada B-PER\nslept O\nin O\nLeeds B-LOC\n\nBob B-PER\nleft O\n\n" * 5


def invoke(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(one) for one in arguments])


@pytest.fixture
def train(tmp_path: Path) -> Path:
    (tmp_path / "train.txt").write_text(TRAIN)
    return tmp_path / "train.txt"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (KeyError("F8_E4M3"), "error: KeyError: 'F8_E4M3'. This should not happen"),
        (NotImplementedError("compression 97"), "error: NotImplementedError: compression 97. This should not happen"),
        (ZeroDivisionError("float division by zero"), "error: float division by zero"),
        (MemoryError(), "error: there is not enough memory."),
        (RecursionError("too deep"), "error: RecursionError: too deep. This should not happen"),
        (AssertionError(), "error: AssertionError. This should not happen"),
        (ValueError("two\nlines"), "error: two lines"),
    ],
)
def test_any_error_is_one_sentence(
    error: Exception, words: str, train: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setenv("CASIMIR_DEBUG", "")
    monkeypatch.delenv("CASIMIR_DEBUG")
    monkeypatch.setattr("casimir.tasks.tag.task.parse_conll", fail)
    arguments = ("train", "tag", "--train", train, "--model", tmp_path / "m", "-q")
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith(words)
    assert result.stderr.count("\n") == 1
    told = invoke("--debug", *arguments)
    assert told.exit_code == 2
    assert "Traceback (most recent call last)" in told.stderr
    assert "in fail\n    raise error\n" in told.stderr
    assert words in told.stderr


def test_a_tiny_lam_is_refused_in_one_sentence(train: Path, tmp_path: Path) -> None:
    result = invoke("train", "tag", "--train", train, "--model", tmp_path / "m", "--lam", "1e-320", "-q")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: lam=1e-320; below 1e-100 numbers made from it overflow.")
    assert result.stderr.count("\n") == 1


def test_ctrl_c_while_commands_are_loaded(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    class Interrupting:
        def find_spec(self, name: str, *_: object) -> None:
            if name == "casimir.cli.program":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "casimir.cli.program")
    monkeypatch.setattr(sys, "meta_path", [Interrupting(), *sys.meta_path])
    monkeypatch.setattr(sys, "argv", ["casimir", "demo"])
    with pytest.raises(SystemExit) as ended:
        casimir.cli.main()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "Interrupted; nothing was saved.\n"


SLOW_SAVE = """
import sys, time
from casimir.tasks.tag.model import TagModel
def save(*_):
    sys.stderr.write("saving\\n")
    sys.stderr.flush()
    time.sleep(600)
TagModel.save = save
sys.argv[0] = "casimir"
from casimir.cli import main
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("first", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_at_once(
    first: signal.Signals, second: signal.Signals, train: Path, tmp_path: Path
) -> None:
    arguments = ["train", "tag", "--train", str(train), "--model", str(tmp_path / "m"), "--held-out", "0"]
    asked = ["--no-baselines", "--tol", "0", "--epochs", "100000000"]
    process = started([sys.executable, "-c", SLOW_SAVE, *arguments, *asked])
    send_at(process, "epoch", first)
    send_at(process, "saving", second)
    process.communicate(timeout=60)
    assert process.returncode == -second  # 143 or 130 in a shell
    assert not (tmp_path / "m").exists()


SLOW_EPOCH = """
import sys, time
from casimir.objective import Objective
def evaluate(*_, **__):
    sys.stderr.write("evaluating\\n")
    sys.stderr.flush()
    time.sleep(600)
Objective.evaluate = evaluate
sys.argv[0] = "casimir"
from casimir.cli import main
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
def test_a_second_signal_does_not_wait_for_the_checkpoint(train: Path, tmp_path: Path) -> None:
    """The first one waits for the end of the epoch, which is far off here."""
    folders = ["--model", str(tmp_path / "m"), "--checkpoint", str(tmp_path / "c")]
    command = ["train", "tag", "--train", str(train), *folders, "--held-out", "0", "--no-baselines"]
    process = started([sys.executable, "-c", SLOW_EPOCH, *command])
    send_at(process, "evaluating", signal.SIGTERM)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=1)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGTERM
    assert not (tmp_path / "m").exists()
    assert list((tmp_path / "c").iterdir()) == []
