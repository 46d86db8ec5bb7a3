"""The task of handwritten words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from casimir.tasks.task import Given, Task, opt, random_split

if TYPE_CHECKING:  # scikit-learn takes a second to load, which --help need not wait for
    from casimir.tasks.ocr.model import OCRModel
    from casimir.tasks.ocr.words import WordImages

ALONE = "letters one by one"
_DRAWN_FROM = 1000  # words


@dataclass(frozen=True)
class Options:
    train_folds: str = opt(
        "Folds of the file to train on; the rest is held out, unless --held-out says what.", "0", metavar="N,N,.."
    )
    features: str = opt("Feature set.", "strokes", choices=("strokes", "pixels"))


@dataclass(frozen=True)
class UseOptions:
    keep_gold: bool = opt("Write the true labels too, before the predicted ones.", False, only="predict")


def check(given: Given, pictures: Path | None) -> None:
    _folds_of(given.options.train_folds)


def _folds_of(given: str) -> tuple[int, ...]:
    """ "0,3" is (0, 3)."""
    try:
        return tuple(int(part) for part in given.split(","))
    except ValueError:
        raise ValueError(f"--train-folds {given!r} is not a list of folds such as 0 or 0,1,2.") from None


def read(path: Path, labelled: bool, given: Given) -> WordImages:
    from casimir.tasks.ocr.reader import read_letters

    words = read_letters(path)
    if given.model is None or not labelled:
        return words
    others = ~words.in_folds(given.model.folds)
    if others.any() and not others.all():
        given.say(f"note: {int((~others).sum()):,} words of folds that the model was trained on are left out.")
        return words.select(others)
    return words


def made_up() -> tuple[WordImages, None]:
    from casimir.datasets.handwriting import make_words
    from casimir.tasks.ocr.words import words_of

    return words_of(make_words()), None


def split(words: WordImages, share: float | None, given: Given) -> tuple[WordImages, WordImages]:
    """By the folds of the file, or at random where a share is given."""
    if share is not None:
        return random_split(words, share, given)
    folds, there = _folds_of(given.options.train_folds), sorted(set(words.folds.tolist()))
    missing = [fold for fold in folds if fold not in there]
    if missing:
        raise ValueError(f"There is no fold {missing[0]} in {words.name}; the folds are {', '.join(map(str, there))}.")
    chosen = words.in_folds(folds)
    if chosen.all():
        raise ValueError(
            f"{words.name} has no words outside the folds {given.options.train_folds}; train on all of "
            "them with --held-out 0."
        )
    return words.select(chosen), words.select(~chosen)


def train(words: WordImages, given: Given, callbacks: tuple[Any, ...], chained: bool = True) -> OCRModel:
    from casimir.tasks.ocr import model

    n = len(words) if chained else len(words.pixels)
    return model.train(words, given.fit.training(n, callbacks), feature_set=given.options.features, chained=chained)


def baselines(words: WordImages, given: Given) -> dict[str, OCRModel]:
    return {ALONE: train(words, given, (), chained=False)}


def draw(folder: Path, results: Sequence[tuple[OCRModel, WordImages]], given: Given) -> list[Path]:
    from casimir.tasks.ocr.pictures import write_words
    from casimir.tasks.panels import spread

    model, words = results[0]  # with folds, of the first
    some = words.select(spread(len(words), _DRAWN_FROM))
    return write_words(folder, some, model.read(some))


def write(model: OCRModel, words: WordImages, given: Given, output: Path | None) -> str:
    """One word per line; with --keep-gold the true word, a tab, and what was read."""
    lines = model.read(words)
    if given.options.keep_gold:
        lines = [f"{true}\t{guess}" for true, guess in zip(words.texts(), lines, strict=True)]
    return "".join(f"{line}\n" for line in lines)


TASK = Task.of(
    globals(),
    name="ocr",
    title="Handwritten words",
    about="""Train a reader of handwritten words until its distance to the best possible objective is certified.

    The file holds Taskar's words or others like them: a row of 16 x 8 letter images each. The report compares the chain
    with letters that are read one by one, on words that were held out.""",
    data="Handwritten words: letter.data, plain or .gz, or an .npz file.",
    scores="accuracy of letters and of whole words.",
    writes="one word per line.",
    units="words",
    examples=(
        "casimir train ocr --model out/ --pictures seen/",
        "casimir train ocr --train letter.data.gz --model out/",
        "casimir train ocr --train letters.npz --model out/ --train-folds 0,1,2 --features pixels --json > run.json",
    ),
    columns={"letter accuracy": "letter_accuracy", "word accuracy": "word_accuracy", "letters": "letters"},
    train_options=Options,
    use_options=UseOptions,
    is_text=False,
    held_out=0.9,
    pictures=draw,
    figures=lambda model: {"features": model.feature_set},
)
