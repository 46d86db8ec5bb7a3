"""The commands `train NAME`, `evaluate` and `predict`, made from what tasks declare."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from casimir.cli import options
from casimir.cli.console import clear_ends
from casimir.cli.options import (
    Declared,
    declared,
    parameter,
    parameter_of,
    parameters_of,
    split_options,
    with_signature,
)
from casimir.cli.parallel import threads
from casimir.tasks.parts import Wanted
from casimir.tasks.registry import tasks
from casimir.tasks.task import Fit, Task

EVALUATE_EXAMPLES = """Examples:

casimir evaluate out/ eng.testa

casimir evaluate out/ eng.testa --json"""
PREDICT_EXAMPLES = """Examples:

casimir predict out/ file.txt > tagged.txt

casimir predict out/ - < file.txt

casimir predict out/ horses/images/ --output masks/"""
REPORT_EXAMPLES = """Example:

casimir report out/ eng.testa --out report.html"""
_INTERRUPT = "Ctrl-C saves the best model so far."


def train_command(task: Task) -> Callable[..., None]:
    """`casimir train NAME`: the task's own options first, then those of all tasks."""

    def run(**given: Any) -> None:
        with clear_ends():
            from casimir.cli.run import Manner, train

            own, common = split_options(task.train_options, given)
            fit = Fit(**{name: common[name] for name in ("lam", "solver", "tol", "epochs", "seed")})
            wanted = Wanted(**{name: common[name] for name in ("train", "dev", "test", "held_out", "folds")})
            manner = Manner(
                common["model"],
                common.get("pictures"),
                not common.get("no_baselines", True),
                common["quiet"],
                common["json"],
                common["jobs"],
            )
            with threads(common["jobs"]):
                train(task, own, fit, wanted, manner, common.get("encoding", "utf-8"))

    data = Annotated[Path | None, typer.Option("--train", metavar="PATH", help=f"{task.data} Default: made-up data.")]
    parameters = [
        parameter("model", options.Target),
        parameter("train", data, None),
        parameter("dev", options.Dev, None),
        parameter("test", options.Test, None),
        parameter("held_out", options.HeldOut, None),
        parameter("folds", options.Folds, None),
        *parameters_of(task.train_options),
        *([parameter("pictures", options.Pictures, None)] if task.pictures is not None else []),
        *([parameter("no_baselines", options.NoBaselines, False)] if task.baselines is not None else []),
        parameter("lam", options.Lam, None),
        parameter("solver", options.Solver, "auto"),
        parameter("tol", options.Tol, 1e-2),
        parameter("epochs", options.Epochs, None),
        parameter("seed", options.Seed, 0),
        parameter("jobs", options.Jobs, None),
        *([parameter("encoding", options.Encoding, "utf-8")] if task.is_text else []),
        parameter("quiet", options.Quiet, False),
        parameter("json", options.Json, False),
    ]
    return with_signature(run, f"train_{task.name}", f"{task.about} {_INTERRUPT}", parameters)


def train_examples(task: Task) -> str:
    return "\n\n".join(["Examples:", *task.examples])


def evaluate_command() -> Callable[..., None]:
    def run(**given: Any) -> None:
        with clear_ends():
            from casimir.cli.run import evaluate

            common = {name: given.pop(name) for name in ("model", "file", "encoding", "json", "quiet", "jobs")}
            with threads(common["jobs"]):
                evaluate(common["model"], common["file"], given, common["encoding"], common["json"], common["quiet"])

    about = "\n\n".join(
        ["Scores of a model on labelled data, beside those of simpler methods."]
        + [f"{task.title}: {task.scores}" for task in tasks().values()]
    )
    return with_signature(run, "evaluate", about, [*_use("evaluate"), parameter("json", options.Json, False)])


def predict_command() -> Callable[..., None]:
    def run(**given: Any) -> None:
        with clear_ends():
            from casimir.cli.run import predict

            common = {name: given.pop(name) for name in ("model", "file", "output", "encoding", "quiet", "jobs")}
            with threads(common["jobs"]):
                predict(common["model"], common["file"], given, common["output"], common["encoding"], common["quiet"])

    about = "\n\n".join(
        ["Write what a model predicts for new data."] + [f"{task.title}: {task.writes}" for task in tasks().values()]
    )
    return with_signature(run, "predict", about, [*_use("predict"), parameter("output", options.Output, None)])


def report_command() -> Callable[..., None]:
    def run(**given: Any) -> None:
        with clear_ends():
            from casimir.cli.run import report

            report(given["model"], given["file"], given["out"], given["encoding"], given["quiet"])

    about = """Write a page about a model on labelled data: scores, confusions, calibration, weights, convergence, and
    the worst sentences, with filters. The page is one HTML file that needs no network.

    For models that tag: train tag, ner, pos, chunk."""
    return with_signature(
        run,
        "report",
        about,
        [
            parameter("model", options.ModelFolder),
            parameter("file", options.File),
            parameter("out", options.Page, Path("report.html")),
            parameter("encoding", options.Encoding, "utf-8"),
            parameter("quiet", options.Quiet, False),
        ],
    )


def _use(command: str) -> list[inspect.Parameter]:
    """What `evaluate` and `predict` take: the options of all tasks, each once, and which tasks they are for."""
    titles: dict[str, list[str]] = {}
    found: dict[str, Declared] = {}
    for task in tasks().values():
        for name, one in declared(task.use_options).items():
            if one[2].only in (None, command):
                titles.setdefault(name, []).append(task.title)
                found.setdefault(name, one)
    return [
        parameter("model", options.ModelFolder),
        parameter("file", options.File),
        *(parameter_of(*found[name], title=", ".join(titles[name])) for name in found),
        parameter("jobs", options.Jobs, None),
        parameter("encoding", options.Encoding, "utf-8"),
        parameter("quiet", options.Quiet, False),
    ]
