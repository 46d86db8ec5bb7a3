"""The commands of `casimir`, put together."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated

import typer

from casimir.cli import cluster, commands, console, demo, experiment, pack
from casimir.cli.parsing import Command, Program
from casimir.tasks.registry import tasks


def _flowing(command: Callable[..., None]) -> str:
    """The docstring of a command as paragraphs without line ends, which would be kept in terminals of any width."""
    return "\n\n".join(" ".join(part.split()) for part in inspect.cleandoc(command.__doc__ or "").split("\n\n"))


app = typer.Typer(
    cls=Program,
    help="Structured prediction with certified duality gaps.",
    epilog="Start with: casimir demo",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # boxes of rich leave some 16 columns of 80 to the texts
)
app.command("demo", cls=Command, short_help="Train and show a named-entity tagger, in under a minute.")(demo.demo)
train = typer.Typer(help="Train a model for one of the tasks below.", no_args_is_help=True)
for task in tasks().values():
    made = commands.train_command(task)
    train.command(
        task.name,
        cls=Command,
        help=_flowing(made),
        short_help=task.title,
        epilog=commands.train_examples(task),
    )(made)
app.add_typer(train, name="train", short_help="Train a model for one of the tasks.")
for name, short, made, examples in (
    ("evaluate", "Scores of a model on labelled data.", commands.evaluate_command(), commands.EVALUATE_EXAMPLES),
    ("predict", "What a model predicts for new data.", commands.predict_command(), commands.PREDICT_EXAMPLES),
    ("report", "A page about a tagger on labelled data.", commands.report_command(), commands.REPORT_EXAMPLES),
):
    app.command(name, cls=Command, help=_flowing(made), short_help=short, epilog=examples)(made)

app.command(
    "cluster",
    cls=Command,
    help=_flowing(cluster.cluster),
    short_help="Clusters of words, learnt from text.",
    epilog=cluster.EXAMPLES,
)(cluster.cluster)

packing = pack.pack_command()
app.command(
    "pack",
    cls=Command,
    help=_flowing(packing),
    short_help="Labelled files as shards on disk.",
    epilog=pack.EXAMPLES,
)(packing)

experiments = typer.Typer(help="The paper's experiments: list, run, plot, table.", no_args_is_help=True)
experiments.command("list", cls=Command, help=_flowing(experiment.list_experiments))(experiment.list_experiments)
experiments.command("run", cls=Command, help=_flowing(experiment.run), epilog=experiment.RUN_EXAMPLES)(experiment.run)
experiments.command("plot", cls=Command, help=_flowing(experiment.plot), short_help="Draw experiments as PNG and SVG.")(
    experiment.plot
)
experiments.command("table", cls=Command, help=_flowing(experiment.table), short_help="Final values of experiments.")(
    experiment.table
)
app.add_typer(experiments, name="experiment")


def _show_version(wanted: bool) -> None:
    if wanted:
        from casimir import __version__

        typer.echo(f"casimir {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True)
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show where errors come from, not only what they say.")
    ] = False,
) -> None:
    """Structured prediction with certified duality gaps."""
    if debug:
        console.debug()
