"""The commands of `casimir`, put together."""

from __future__ import annotations

from typing import Annotated

import typer

from casimir.cli import align, apply, boxes, demo, deprel, ner, ocr, segment

app = typer.Typer(
    help="Structured prediction with certified duality gaps.",
    epilog="Start with: casimir demo",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command("demo")(demo.demo)
train = typer.Typer(help="Train a model for one of the tasks below.", no_args_is_help=True)
train.command("ner", epilog=ner.TRAIN_EXAMPLES)(ner.train)
train.command("boxes", epilog=boxes.TRAIN_EXAMPLES)(boxes.train)
train.command("ocr", epilog=ocr.TRAIN_EXAMPLES)(ocr.train)
train.command("segment", epilog=segment.TRAIN_EXAMPLES)(segment.train)
train.command("deprel", epilog=deprel.TRAIN_EXAMPLES)(deprel.train)
train.command("align", epilog=align.TRAIN_EXAMPLES)(align.train)
app.add_typer(train, name="train")
app.command("evaluate", epilog=apply.EVALUATE_EXAMPLES)(apply.evaluate)
app.command("predict", epilog=apply.PREDICT_EXAMPLES)(apply.predict)


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
) -> None:
    """Structured prediction with certified duality gaps."""


def main() -> None:
    """Entry point of the `casimir` command."""
    app(prog_name="casimir")
