"""`casimir train ocr`, and what `evaluate` and `predict` do with its models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from casimir.cli.apply import EvaluateOptions, PredictOptions
from casimir.cli.console import clear_ends, write_result
from casimir.cli.options import Epochs, Json, Lam, Quiet, Seed, Solver, Target, Tol, lam_of, one_of
from casimir.cli.report import Report, figure_table
from casimir.cli.train import train_and_report
from casimir.persistence import check_target

if TYPE_CHECKING:  # scikit-learn takes a second to load, which --help need not wait for
    from casimir.tasks.ocr.metrics import LetterScores
    from casimir.tasks.ocr.model import OCRModel
    from casimir.tasks.ocr.words import Words

TRAIN_EXAMPLES = """Examples:

casimir train ocr --model out/

casimir train ocr --data letter.data.gz --model out/

casimir train ocr --data letters.npz --model out/ --train-folds 0,1,2 --features pixels --json > run.json"""
_SETS = ("strokes", "pixels")


def _check_folds(given: str) -> str:
    _folds_of(given)
    return given


def _folds_of(given: str) -> tuple[int, ...]:
    """ "0,3" is (0, 3)."""
    try:
        return tuple(int(part) for part in given.split(","))
    except ValueError:
        raise typer.BadParameter(f"{given!r} is not a list of folds such as 0 or 0,1,2.") from None


def train(
    model: Target,
    data: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="letter.data, plain or .gz, or an .npz file. Default: made-up words."),
    ] = None,
    train_folds: Annotated[
        str, typer.Option(metavar="N,N,..", callback=_check_folds, help="Folds to train on; the rest is held out.")
    ] = "0",
    features: Annotated[
        str, typer.Option(metavar="|".join(_SETS), callback=one_of(_SETS), help="Feature set.")
    ] = "strokes",
    lam: Lam = None,
    solver: Solver = "auto",
    tol: Tol = 1e-2,
    epochs: Epochs = 500,
    seed: Seed = 0,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Train a reader of handwritten words until its distance to the best possible objective is certified.

    FILE holds Taskar's words or others like them: a row of 16 x 8 letter images each. The report compares the chain
    with letters that are read one by one, on the folds that were held out. Ctrl-C saves the best model so far.
    """
    with clear_ends():
        check_target(model)
        learned, held_out = _parts(_read(data), _folds_of(train_folds))
        from casimir.tasks.ocr.model import train as train_model

        def options(n: int) -> dict[str, Any]:
            return {"lam": lam_of(lam, n), "solver": solver, "tol": tol, "epochs": epochs, "seed": seed}

        def report(trained: OCRModel) -> Report:
            if not len(held_out):
                return Report({"features": features})
            alone = train_model(learned, feature_set=features, chained=False, **options(len(learned.pixels)))
            return _report({"chain": trained, "letters one by one": alone}, held_out, features)

        train_and_report(
            lambda callbacks: train_model(learned, feature_set=features, callbacks=callbacks, **options(len(learned))),
            report,
            title=f"Trained on {len(learned):,} words, {len(learned.pixels):,} letters",
            target=model,
            quiet=quiet,
            json=json,
        )


def _read(data: Path | None) -> Words:
    from casimir.tasks.ocr import read_letters, words_of

    if data is not None:
        return read_letters(data)
    from casimir.datasets.handwriting import make_words

    return words_of(make_words())


def _parts(words: Words, folds: tuple[int, ...]) -> tuple[Words, Words]:
    """Words of the folds to train on, and all others."""
    there = sorted(set(words.folds.tolist()))
    missing = [fold for fold in folds if fold not in there]
    if missing:
        raise ValueError(f"There is no fold {missing[0]} in {words.name}; the folds are {', '.join(map(str, there))}.")
    words.texts()  # letters are needed
    chosen = words.in_folds(folds)
    return words.select(chosen), words.select(~chosen)


def _report(models: dict[str, OCRModel], held_out: Words, features: str) -> Report:
    scores = {name: model.evaluate(held_out) for name, model in models.items()}
    figures = {"features": features, "heldout": {name.replace(" ", "_"): s.to_dict() for name, s in scores.items()}}

    def show(console: Console) -> None:
        console.print()
        console.print(_score_table(f"Held-out words ({len(held_out):,})", scores))

    return Report(figures, show)


def _score_table(title: str, scores: dict[str, LetterScores]) -> Any:
    rows = [(name, s.letter_accuracy, s.word_accuracy, f"{s.letters:,}") for name, s in scores.items()]
    return figure_table(title, ["", "letter accuracy", "word accuracy", "letters"], rows)


def evaluate_model(model: OCRModel, file: Path, options: EvaluateOptions) -> Report:
    """Letter and word accuracy on a file with letters; folds that the model was trained on are also left out."""
    from casimir.tasks.ocr import read_letters

    words = read_letters(file)
    scores = {"all words": model.evaluate(words)}
    others = ~words.in_folds(model.folds)
    if others.any() and not others.all():
        scores = {"folds not trained on": model.evaluate(words.select(others)), **scores}
    figures = {name.replace(" ", "_"): s.to_dict() for name, s in scores.items()}
    return Report(figures, lambda console: console.print(_score_table(f"{len(words):,} words in {file}", scores)))


def predict_model(model: OCRModel, file: Path, options: PredictOptions) -> None:
    """One word per line; with --keep-gold the true word, a tab, and what was read."""
    from casimir.tasks.ocr import read_letters

    words = read_letters(file)
    lines = model.read(words)
    if options.keep_gold:
        lines = [f"{true}\t{read}" for true, read in zip(words.texts(), lines, strict=True)]
    text = "".join(f"{line}\n" for line in lines)
    write_result(text, options.encoding, options.output, f"Read {len(lines):,} words into")
