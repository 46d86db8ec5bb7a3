"""`casimir evaluate` and `casimir predict`: the model folder says which task they belong to."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from casimir.cli.console import clear_ends, out, write_json
from casimir.cli.options import Encoding, Json, ModelFolder
from casimir.loading import load

EVALUATE_EXAMPLES = """Examples:

casimir evaluate out/ eng.testa

casimir evaluate out/ eng.testa --json

casimir evaluate out/ horses/"""
PREDICT_EXAMPLES = """Examples:

casimir predict out/ file.txt > tagged.txt

casimir predict out/ eng.testa --keep-gold --output scored.txt

casimir predict out/ horses/images/ --output masks/"""

# class of the model -> module with evaluate_model(model, file, EvaluateOptions) -> Report
# and predict_model(model, file, PredictOptions) -> None
_TASKS = {
    "NERModel": "casimir.cli.ner",
    "BoxesModel": "casimir.cli.boxes",
    "SegmentModel": "casimir.cli.segment",
    "DeprelModel": "casimir.cli.deprel",
    "AlignModel": "casimir.cli.align",
    "OCRModel": "casimir.cli.ocr",
}

File = Annotated[
    Path, typer.Argument(metavar="FILE", help="What to read: the format of the training data.", show_default=False)
]
Gold = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Word alignment: the true links, which are a file of their own.")
]
Output = Annotated[Path | None, typer.Option(metavar="PATH", help="Where to write. Default: stdout.")]
KeepGold = Annotated[
    bool,
    typer.Option(
        "--keep-gold",
        help="Named entities: keep the file's labels as the last but one column. Handwriting: the true words first.",
    ),
]
Labelled = Annotated[
    bool | None,
    typer.Option(
        "--labelled/--unlabelled",
        help="Named entities: whether the last column is a label. Default: by their number.",
    ),
]


@dataclass(frozen=True)
class EvaluateOptions:
    encoding: str
    gold: Path | None


@dataclass(frozen=True)
class PredictOptions:
    encoding: str
    output: Path | None
    keep_gold: bool
    labelled: bool | None


def evaluate(
    model: ModelFolder, file: File, gold: Gold = None, encoding: Encoding = "utf-8", json: Json = False
) -> None:
    """Scores of a model on labelled data, such as entity precision, recall and F1."""
    with clear_ends():
        loaded = load(model)
        report = _task_of(loaded, model).evaluate_model(loaded, file, EvaluateOptions(encoding, gold))
        if json:
            write_json({"model": str(model), "file": str(file), **report.figures})
        else:
            report.show(out())


def predict(
    model: ModelFolder,
    file: File,
    output: Output = None,
    keep_gold: KeepGold = False,
    labelled: Labelled = None,
    encoding: Encoding = "utf-8",
) -> None:
    """Write what a model predicts for new data.

    Named entities: the file with predicted labels as its last column, in its own scheme. It has the columns of the
    training file, with or without labels; labels that it has are replaced.

    Word alignment: one line of links such as 3-4 per sentence pair, words counted from 1.

    Segmentation: a mask PNG in the folder --output for the image FILE, or for every image in the folder FILE.

    Dependency relations: the CoNLL-U file with predicted labels in its column DEPREL.

    Handwritten words: one word per line.
    """
    with clear_ends():
        loaded = load(model)
        options = PredictOptions(encoding, output, keep_gold, labelled)
        _task_of(loaded, model).predict_model(loaded, file, options)


def _task_of(model: Any, folder: Path) -> Any:
    name = type(model).__name__
    if name not in _TASKS:
        raise ValueError(
            f"'{folder}' holds a {name}, which belongs to no task of the command line. Use casimir.load in Python, "
            "or give a folder made by `casimir train`."
        )
    return import_module(_TASKS[name])
