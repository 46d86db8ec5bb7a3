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

casimir evaluate out/ horses/

casimir evaluate out/ enfr.src-tgt --gold enfr.gold

casimir evaluate out/ VOCdevkit/VOC2012 --split val --cache features/"""
PREDICT_EXAMPLES = """Examples:

casimir predict out/ file.txt > tagged.txt

casimir predict out/ eng.testa --keep-gold --output scored.txt

casimir predict out/ horses/images/ --output masks/"""

# class of the model -> module with evaluate_model(model, file, EvaluateOptions) -> Report
# and predict_model(model, file, PredictOptions) -> None
_TASKS = {
    "NERModel": "casimir.cli.ner",
    "OCRModel": "casimir.cli.ocr",
    "DeprelModel": "casimir.cli.deprel",
    "SegmentModel": "casimir.cli.segment",
    "AlignModel": "casimir.cli.align",
    "BoxesModel": "casimir.cli.boxes",
    "LocalizeModel": "casimir.cli.localize",
}
# options that not every task has -> classes of the models whose tasks have them
_SPECIAL = {
    "--gold": ("AlignModel",),
    "--keep-gold": ("NERModel", "OCRModel"),
    "--labelled or --unlabelled": ("NERModel",),
    "--split": ("LocalizeModel",),
    "--weights": ("LocalizeModel",),
    "--cache": ("LocalizeModel",),
}

File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="What to read: the file or folder, in the format of the training data.", show_default=False
    ),
]
Gold = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Word alignment: the true links, which are a file of their own.")
]
Output = Annotated[
    Path | None, typer.Option(metavar="PATH", help="File to write, or folder for masks. Default: stdout.")
]
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
Split = Annotated[
    str | None, typer.Option(metavar="NAME", help="Localization: which list of images of a VOC folder to take.")
]
Weights = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Localization: weights of AlexNet. Default: the file used in training."),
]
Cache = Annotated[Path | None, typer.Option(metavar="DIR", help="Localization: folder that keeps features.")]


@dataclass(frozen=True)
class EvaluateOptions:
    encoding: str
    gold: Path | None
    split: str | None
    weights: Path | None
    cache: Path | None


@dataclass(frozen=True)
class PredictOptions:
    encoding: str
    output: Path | None
    keep_gold: bool
    labelled: bool | None
    split: str | None
    weights: Path | None
    cache: Path | None


def evaluate(
    model: ModelFolder,
    file: File,
    gold: Gold = None,
    split: Split = None,
    weights: Weights = None,
    cache: Cache = None,
    encoding: Encoding = "utf-8",
    json: Json = False,
) -> None:
    """Scores of a model on labelled data.

    Named entities: precision, recall and F1, as the official CoNLL script counts them.

    Handwritten words: accuracy of letters and of whole words.

    Dependency relations: accuracy, and precision, recall and F1 of the labels.

    Segmentation: pixel accuracy and intersection over union, for a folder with images/ and masks/.

    Word alignment: alignment error rate, precision and recall, against the links in --gold.

    Boxes: mean intersection over union, and the share of boxes that overlap the truth by more than half.

    Localization: that share (CorLoc), average precision and mean intersection over union, for a VOC folder or a table
    of images with boxes.
    """
    with clear_ends():
        loaded = load(model)
        _refuse_unused(loaded, {"--gold": gold, "--split": split, "--weights": weights, "--cache": cache})
        options = EvaluateOptions(encoding, gold, split, weights, cache)
        report = _task_of(loaded, model).evaluate_model(loaded, file, options)
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
    split: Split = None,
    weights: Weights = None,
    cache: Cache = None,
    encoding: Encoding = "utf-8",
) -> None:
    """Write what a model predicts for new data.

    Named entities: the file with predicted labels as its last column, in its own scheme. It has the columns of the
    training file, with or without labels; labels that it has are replaced.

    Handwritten words: one word per line.

    Dependency relations: the CoNLL-U file with predicted labels in its column DEPREL.

    Segmentation: a mask PNG in the folder --output for the image FILE, or for every image in the folder FILE.

    Word alignment: one line of links such as 3-4 per sentence pair, words counted from 1.

    Boxes: the table of images with the box that was found in each.

    Localization: a table of boxes and their scores, for an image FILE, a folder of images, a table that names images,
    or a VOC folder.
    """
    with clear_ends():
        loaded = load(model)
        given = {"--keep-gold": keep_gold or None, "--labelled or --unlabelled": labelled}
        _refuse_unused(loaded, {**given, "--split": split, "--weights": weights, "--cache": cache})
        options = PredictOptions(encoding, output, keep_gold, labelled, split, weights, cache)
        _task_of(loaded, model).predict_model(loaded, file, options)


def _task_of(model: Any, folder: Path) -> Any:
    name = type(model).__name__
    if name not in _TASKS:
        raise ValueError(
            f"'{folder}' holds a {name}, which belongs to no task of the command line. Use casimir.load in Python, "
            "or give a folder made by `casimir train`."
        )
    return import_module(_TASKS[name])


def _refuse_unused(model: Any, given: dict[str, object]) -> None:
    """An option that the task of the model does not have is refused, not ignored."""
    name = type(model).__name__
    for option, value in given.items():
        if name in _TASKS and value is not None and name not in _SPECIAL[option]:
            owners = " and ".join(f"`casimir train {_TASKS[owner].rpartition('.')[2]}`" for owner in _SPECIAL[option])
            raise ValueError(f"{option} is for models of {owners}; this one is a {name}. Leave it out.")
