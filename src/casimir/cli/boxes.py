"""`casimir train boxes`, and what `evaluate` and `predict` do with its models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from casimir.cli.apply import EvaluateOptions, PredictOptions
from casimir.cli.console import clear_ends, write_result
from casimir.cli.options import Encoding, Epochs, Json, Lam, Quiet, Seed, Solver, Target, Tol, lam_of
from casimir.cli.report import Report, figure_table
from casimir.cli.train import train_and_report
from casimir.persistence import check_target

if TYPE_CHECKING:  # --help need not wait for these
    from casimir.tasks.boxes import BoxesModel, BoxScores, Image

TRAIN_EXAMPLES = """Examples:

casimir train boxes --model out/

casimir train boxes --train boxes.csv --dev dev.csv --model out/ --cell 16 --lam 0.1/n"""


def train(
    model: Target,
    train: Annotated[
        Path | None, typer.Option("--train", metavar="FILE", help="Labelled table of images. Default: made-up images.")
    ] = None,
    dev: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Labelled table to report on; not used to train.")
    ] = None,
    cell: Annotated[int, typer.Option(min=1, metavar="N", help="Pixels on a side of a cell of the map.")] = 8,
    words: Annotated[int, typer.Option(min=1, metavar="N", help="Size of the vocabulary of cells.")] = 64,
    lam: Lam = None,
    solver: Solver = "auto",
    tol: Tol = 1e-2,
    epochs: Epochs = 500,
    seed: Seed = 0,
    encoding: Encoding = "utf-8",
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Learn to find one object per image.

    FILE is a CSV table with the line image,top,left,bottom,right first (pixels, both ends inclusive) and one image per
    line; names are relative to it. Without --train and --dev, images are made up. Ctrl-C saves the best model so far.
    """
    with clear_ends():
        check_target(model)
        images, held_out = _data(train, dev, encoding)
        from casimir.tasks import boxes

        train_and_report(
            lambda callbacks: boxes.train(
                images,
                cell=cell,
                n_words=words,
                lam=lam_of(lam, len(images)),
                solver=solver,
                tol=tol,
                epochs=epochs,
                seed=seed,
                callbacks=callbacks,
            ),
            lambda trained: _report(trained, held_out),
            title=f"Trained on {len(images):,} images",
            target=model,
            quiet=quiet,
            json=json,
        )


def evaluate_model(model: BoxesModel, file: Path, options: EvaluateOptions) -> Report:
    """Mean IoU and CorLoc on a table of images with boxes."""
    from casimir.tasks.boxes import read_images

    scores = model.evaluate(read_images(file, encoding=options.encoding))
    return Report(_figures(scores), lambda console: _show(console, scores, f"Boxes in {file}"))


def predict_model(model: BoxesModel, file: Path, options: PredictOptions) -> None:
    """The table with the boxes that were found."""
    from casimir.tasks.boxes import format_boxes, read_images

    images = read_images(file, labelled=False, encoding=options.encoding)
    text = format_boxes(images, model.find(images))
    write_result(text, options.encoding, options.output, f"Found the boxes of {len(images):,} images, written to")


def _data(train: Path | None, dev: Path | None, encoding: str) -> tuple[list[Image], list[Image] | None]:
    from casimir.tasks.boxes import images_of, read_images

    if train is not None:
        return read_images(train, encoding=encoding), None if dev is None else read_images(dev, encoding=encoding)
    if dev is not None:
        raise ValueError("--dev comes with --train; without both, made-up images are used.")
    from casimir.datasets.objects import load_objects

    made_up = load_objects()
    return images_of(made_up.train), images_of(made_up.heldout)


def _report(model: BoxesModel, held_out: Sequence[Image] | None) -> Report:
    figures = {"cell": model.cell, "words": len(model.words)}
    if held_out is None:
        return Report(figures)
    scores = model.evaluate(held_out)

    def show(console: Console) -> None:
        console.print()
        _show(console, scores, "Boxes of held-out images")

    return Report({**figures, "dev": _figures(scores)}, show)


def _figures(scores: Mapping[str, BoxScores]) -> dict[str, object]:
    ours, *baselines = scores.items()
    return {**ours[1].to_dict(), "baselines": {name: row.to_dict() for name, row in baselines}}


def _show(console: Console, scores: Mapping[str, BoxScores], title: str) -> None:
    rows = [(name, row.mean_iou, row.corloc, row.n) for name, row in scores.items()]
    console.print(figure_table(title, ["", "mean IoU", "CorLoc", "images"], rows))
