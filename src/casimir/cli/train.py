"""How every `casimir train` command runs: progress, the model folder, the figures, Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any, TypeVar

import typer

from casimir.cli.console import INTERRUPTED, err, out, say, write_json
from casimir.cli.report import Report, show_run
from casimir.progress import Metric, Progress
from casimir.tasks.training import TaskModel

Model = TypeVar("Model", bound=TaskModel)


def train_and_report(
    train: Callable[[tuple[Any, ...]], Model],
    report: Callable[[Model], Report],
    *,
    title: str,
    target: Path,
    metrics: Mapping[str, Metric] | None = None,
    quiet: bool = False,
    json: bool = False,
) -> None:
    """Train, save the model, then report. After Ctrl-C the best model so far is saved and nothing else is done.

    train    from callbacks of `minimize` to a model
    report   what to tell about the model, such as scores on held-out data
    """
    with nullcontext() if quiet else Progress(metrics or {}, err()) as progress:
        model = train(() if progress is None else (progress,))
    model.save(target)
    interrupted = model.run.status == "interrupted"
    try:
        told = Report() if interrupted else report(model)
    except KeyboardInterrupt:
        say(err(), f"Interrupted after training; the model is in {target}", "yellow")
        raise typer.Exit(INTERRUPTED) from None
    if json:
        write_json({"model": str(target), **model.run.to_dict(), **told.figures})
    else:
        show_run(out(), model.run, title)
        told.show(out())
    say(err(), f"Saved {'the best model so far' if interrupted else 'the model'} to {target}", "green")
    if interrupted:
        raise typer.Exit(INTERRUPTED)
