"""The commands `train NAME`, `evaluate`, `predict` and `report`, made from what tasks declare."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from casimir.cli import parameters as shared
from casimir.cli.options import Declared, Manner, Using, declared, taken
from casimir.cli.parallel import threads
from casimir.cli.parameters import command, parameter, parameter_of, parameters_of
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
_JOBS = "Threads, and folds at a time. Default: all CPUs, one fold at a time."
_INTERRUPT = "Ctrl-C saves the best model so far."


def train_command(task: Task) -> Callable[..., None]:
    """`casimir train NAME`: the task's own options first, then those of all tasks."""

    def run(given: dict[str, Any]) -> None:
        from casimir.cli.run import train

        with threads(given["jobs"]):
            train(task, *(taken(kind, given) for kind in (task.train_options, Fit, Wanted, Manner)))

    model, jobs, encoding, quiet, pictures, no_baselines, json = parameters_of(Manner, jobs=_JOBS)
    parameters = [
        model,
        *parameters_of(Wanted, train=f"{task.data} Default: made-up data.", held_out=_held_out(task)),
        *parameters_of(task.train_options),
        *([pictures] if task.pictures is not None else []),
        *([no_baselines] if task.baselines is not None else []),
        *parameters_of(Fit),
        jobs,
        *([encoding] if task.is_text else []),
        quiet,
        json,
    ]
    return command(f"train_{task.name}", f"{task.about} {_INTERRUPT}", parameters, run)


def _held_out(task: Task) -> str:
    about = "Share of the data to report on, drawn by the seed; 0 trains on all of it."
    if task.split is not None:  # which says by itself what is held out
        return about
    return (
        f"{about} Default: 0."
        if task.held_out is None
        else f"{about} Default: {task.held_out:g} without --dev or --test."
    )


def train_examples(task: Task) -> str:
    return "\n\n".join(["Examples:", *task.examples])


def evaluate_command() -> Callable[..., None]:
    def run(given: dict[str, Any]) -> None:
        from casimir.cli.run import evaluate

        with threads(given["jobs"]):
            evaluate(taken(Using, given), given.pop("file"), given.pop("json"), given)

    about = ["Scores of a model on labelled data, beside those of simpler methods."]
    about += [f"{task.title}: {task.scores}" for task in tasks().values()]
    return command("evaluate", "\n\n".join(about), [*_use("evaluate"), parameter("json", shared.Json, False)], run)


def predict_command() -> Callable[..., None]:
    def run(given: dict[str, Any]) -> None:
        from casimir.cli.run import predict

        with threads(given["jobs"]):
            predict(taken(Using, given), given.pop("file"), given.pop("output"), given)

    about = ["Write what a model predicts for new data."]
    about += [f"{task.title}: {task.writes}" for task in tasks().values()]
    return command("predict", "\n\n".join(about), [*_use("predict"), parameter("output", shared.Output, None)], run)


def report_command() -> Callable[..., None]:
    def run(given: dict[str, Any]) -> None:
        from casimir.cli.run import report

        report(taken(Using, given), given["file"], given["out"])

    about = """Write a page about a model on labelled data: scores, confusions, calibration, weights, convergence, and
    the worst sentences, with filters. The page is one HTML file that needs no network.

    For models that tag: train tag, ner, pos, chunk."""
    _, _, encoding, quiet = parameters_of(Using)
    page = parameter("out", shared.Page, Path("report.html"))
    return command("report", about, [*_ARGUMENTS, page, encoding, quiet], run)


_ARGUMENTS = [parameter("model", shared.ModelFolder), parameter("file", shared.File)]


def _use(command: str) -> list[inspect.Parameter]:
    """What `evaluate` and `predict` take: the options of all tasks, each once, and which tasks they are for."""
    titles: dict[str, list[str]] = {}
    found: dict[str, Declared] = {}
    for task in tasks().values():
        for name, one in declared(task.use_options).items():
            if one[2].only in (None, command):
                titles.setdefault(name, []).append(task.title)
                found.setdefault(name, one)
    own = [parameter_of(*found[name], title=", ".join(titles[name])) for name in found]
    return [*_ARGUMENTS, *own, *parameters_of(Using)[1:]]
