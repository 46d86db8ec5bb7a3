"""What every task must do alike: its options, its baselines, what it tells and where, on its made-up data."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer.main
from running_commands import send_at, started
from typer.testing import CliRunner

from casimir import load
from casimir.cli import app
from casimir.solvers.checkpoint import Keeper
from casimir.tasks import registry
from casimir.tasks.task import Task, selected

RUN = [sys.executable, "-c", "from casimir.cli import main; main()"]
SHARED = {"model", "train", "dev", "test", "held_out", "folds", "lam", "solver", "tol", "epochs", "seed"}
SHARED |= {"quiet", "json"}
FEW = 24  # of the made-up examples
NEEDS = {"segment": "cv2.ximgproc", "localize": "cv2.ximgproc"}
TASKS = sorted(registry.tasks())


def invoke(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": "80", "TERM": "dumb"})


@pytest.fixture
def few(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Task]:
    """The task of that name, with a part of its made-up data and looks that are learned in no time."""
    name = request.param
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    if name == "localize":
        monkeypatch.setattr("casimir.tasks.localize.task._MADE_UP", 8)  # candidates of all of them are described
    task = registry.tasks()[name]
    original = task.made_up
    made, dev = original()
    part = selected(made, np.arange(min(FEW, len(made))))
    object.__setattr__(task, "made_up", lambda: (part, None if dev is None else selected(dev, np.arange(8))))
    if name == "segment":
        from dataclasses import replace

        from casimir.tasks.segment import features

        monkeypatch.setattr(features, "FIRST", replace(features.FIRST, n_features=50))
        monkeypatch.setattr(features, "AGAIN", replace(features.AGAIN, n_features=30))
    yield task
    object.__setattr__(task, "made_up", original)


def arguments_of(task: Task) -> list[object]:
    return ["--held-out", 0.5] if task.held_out is not None else []


@pytest.mark.parametrize("few", TASKS, indirect=True)
def test_a_task_trains_on_its_made_up_data_and_reports_baselines(few: Task, tmp_path: Path) -> None:
    quick = ["--tol", 0.3, "--epochs", 15]
    result = invoke("train", few.name, "--model", tmp_path / "m", *arguments_of(few), *quick)
    assert result.exit_code == 0, result.output
    shown = result.stdout.splitlines()
    assert max(map(len, shown)) <= 80
    assert "…" not in result.stdout
    methods = [line.split("  ")[0] for line in shown]
    assert "casimir" in methods
    assert methods[methods.index("casimir") + 1], "a simpler method stands below"
    assert " s of CPU time, " in result.stderr
    assert result.stderr.splitlines()[-1].startswith("Saved the model to ")


@pytest.mark.parametrize("few", TASKS, indirect=True)
def test_a_task_trains_on_all_of_its_data(few: Task, tmp_path: Path) -> None:
    options = ["--held-out", 0, "--tol", 0.5, "--epochs", 5, "--no-baselines", "--json"]
    if few.baselines is None:
        options.remove("--no-baselines")
    result = invoke("train", few.name, "--model", tmp_path / "m", *options)
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout)
    assert not {"heldout", "dev", "test"} & set(figures)
    assert {"status", "objective", "gap", "wall_seconds", "cpu_seconds", "peak_memory"} <= set(figures)


def told(option: Any) -> str:
    """The help of an option, without the default of --held-out, which is the task's own."""
    return str(option.help).partition(" Default: ")[0] if option.name == "held_out" else str(option.help)


@pytest.mark.parametrize("name", TASKS)
def test_words_of_options_are_the_same_everywhere(name: str) -> None:
    group = typer.main.get_command(app)
    command = group.commands["train"].commands[name]  # type: ignore[attr-defined]
    options = {one.name: one for one in command.params}
    assert set(options) >= SHARED
    reference = {one.name: one for one in group.commands["train"].commands["boxes"].params}  # type: ignore[attr-defined]
    for shared in SHARED - {"train"}:
        assert options[shared].opts == reference[shared].opts
        assert told(options[shared]) == told(reference[shared])
        assert options[shared].metavar == reference[shared].metavar
    assert all(option.help and option.help[0].isupper() and option.help.endswith(".") for option in command.params)


@pytest.mark.parametrize("words", [[], ["train"], *(["train", name] for name in TASKS), ["evaluate"], ["predict"]])
def test_help_fits_a_terminal_and_cuts_nothing(words: list[str]) -> None:
    result = invoke(*words, "--help")
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "…" not in result.stdout
    assert "..." not in result.stdout.replace("[ARGS]...", "").replace("X,...", "").replace("N,..", "")


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("width", [58, 78, 80])
def test_examples_in_help_are_cut_between_words_alone(name: str, width: int) -> None:
    command = typer.main.get_command(app).commands["train"].commands[name]  # type: ignore[attr-defined]
    shown = command.get_help(command.context_class(command, terminal_width=width)).split("Examples:")[1]
    assert max(map(len, shown.splitlines())) <= width
    parts = [" ".join(part.split()) for part in shown.strip().split("\n\n")]
    assert parts == list(registry.tasks()[name].examples)


# --- runs that do not end well


def small(tmp_path: Path) -> Path:
    text = "".join(f"word{k % 7} {'AB'[k % 2]}\n" + ("\n" if k % 5 == 4 else "") for k in range(60))
    (tmp_path / "train.txt").write_text(text + "\n")
    return tmp_path / "train.txt"


def full(*_: Any, **__: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_ends_in_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["train", "tag", "--train", small(tmp_path), "--model", tmp_path / "m", "--held-out", 0, "-q"]
    monkeypatch.setattr("casimir.persistence.files.write_by", full)
    result = invoke(*arguments, "--no-baselines")
    monkeypatch.undo()
    assert result.exit_code == 2
    errors = [line for line in result.stderr.splitlines() if not line.startswith("note: ")]
    assert len(errors) == 1
    assert "No space left on device" in errors[0]
    assert "Traceback" not in result.output
    assert not (tmp_path / "m").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_to_a_full_disk_ends_in_one_sentence(tmp_path: Path) -> None:
    trained = ["train", "tag", "--train", small(tmp_path), "--model", tmp_path / "m", "--held-out", 0, "-q"]
    assert invoke(*trained, "--no-baselines").exit_code == 0
    with open("/dev/full", "w") as target:
        command = [*RUN, "predict", str(tmp_path / "m"), str(tmp_path / "train.txt")]
        buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
        options: dict[str, Any] = {"stderr": subprocess.PIPE, "text": True, "timeout": 60, "check": False}
        done = subprocess.run(command, stdout=target, env=buffered, **options)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "No space left on device" in done.stderr


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_run_that_is_told_to_end_saves_the_best_model(tmp_path: Path, sent: signal.Signals, code: int) -> None:
    arguments = ["train", "tag", "--train", small(tmp_path), "--model", tmp_path / "m", "--held-out", "0"]
    process = started([*RUN, *arguments, "--no-baselines", "--tol", "0", "--epochs", "100000000"])
    send_at(process, "epoch", sent)
    _, rest = process.communicate(timeout=60)
    assert process.returncode == code
    assert "Saved the best model so far to" in rest
    assert "Traceback" not in rest
    assert invoke("evaluate", tmp_path / "m", tmp_path / "train.txt").exit_code == 0


def test_a_killed_run_leaves_no_half_of_a_model(tmp_path: Path) -> None:
    arguments = ["train", "tag", "--train", small(tmp_path), "--model", tmp_path / "m", "--held-out", "0"]
    command = [*RUN, *map(str, arguments), "--no-baselines", "--tol", "0", "--epochs", "100000000"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("epoch"):
            process.kill()
            break
    process.communicate(timeout=60)
    assert not (tmp_path / "m").exists()
    assert invoke(*arguments, "--no-baselines", "--epochs", 3, "-q").exit_code == 0


# --- progress


def test_progress_is_told_every_few_seconds_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    from casimir.cli import console

    now, said = [0.0], []
    monkeypatch.setattr(console.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(console, "say", lambda where, text, style=None: said.append(text))
    tell = console.counted("pictures")
    for done in range(31):
        now[0] = float(done)
        tell(done, 30)
    assert said == [f"pictures: {done} / 30, about {30 - done} s left" for done in (6, 12, 18, 24)]


# --- checkpoints


def arrays_of(folder: Path) -> list[str]:
    """The names of the files with arrays, which are made from their content."""
    return sorted(path.name for path in folder.glob("model-*.safetensors"))


class InterruptOnce:
    """In the place of `Keeper.is_due`: the third time that it is asked, Ctrl-C comes."""

    def __init__(self) -> None:
        self.asked, self.is_due = 0, Keeper.is_due

    def __call__(self, keeper: Keeper) -> bool:
        self.asked += 1
        if self.asked == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return self.is_due(keeper)


@pytest.mark.parametrize("few", [name for name in TASKS if name not in ("align", "boxes")], indirect=True)  # slow ones
def test_a_task_goes_on_from_its_checkpoint(few: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ["train", few.name, *arguments_of(few), "--tol", 0, "--epochs", 6, "-q"]
    straight = invoke(*command, "--model", tmp_path / "straight")
    assert straight.exit_code == 0, straight.output
    kept = [*command, "--model", tmp_path / "kept", "--checkpoint", tmp_path / "checkpoint"]
    interrupt = InterruptOnce()
    with monkeypatch.context() as patch:
        patch.setattr(Keeper, "is_due", lambda self: interrupt(self))
        interrupted = invoke(*kept)
    assert (interrupted.exit_code, interrupt.asked) == (130, 3), interrupted.output
    assert "The same command goes on from the checkpoint in" in interrupted.stderr
    assert arrays_of(tmp_path / "kept") != arrays_of(tmp_path / "straight")
    assert invoke(*kept).exit_code == 0
    assert arrays_of(tmp_path / "kept") == arrays_of(tmp_path / "straight")
    again = invoke(*kept, "--seed", 5)
    assert again.exit_code == 2, "a checkpoint of another seed"
    assert again.stderr.splitlines()[-1].startswith("error: The checkpoint in '")


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_run_that_is_told_to_end_leaves_a_checkpoint(tmp_path: Path, sent: signal.Signals, code: int) -> None:
    data = ["train", "tag", "--train", small(tmp_path), "--held-out", 0, "--no-baselines", "--solver", "sgd"]
    kept = [*data, "--tol", 0, "--model", tmp_path / "m", "--checkpoint", tmp_path / "c"]
    process = started([*RUN, *kept, "--epochs", 100000000])
    send_at(process, "epoch", sent)
    _, rest = process.communicate(timeout=60)
    assert process.returncode == code
    assert "Saved the best model so far to" in rest
    assert "The same command goes on from the checkpoint in" in rest
    epochs = load(tmp_path / "m").run.epochs + 5
    assert invoke(*kept, "--epochs", epochs).exit_code == 0
    assert invoke(*data, "--tol", 0, "--model", tmp_path / "straight", "--epochs", epochs).exit_code == 0
    assert arrays_of(tmp_path / "m") == arrays_of(tmp_path / "straight")
