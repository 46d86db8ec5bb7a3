"""`casimir train localize`, and what `evaluate` and `predict` do with its models."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from casimir.cli.apply import EvaluateOptions, PredictOptions
from casimir.cli.console import INTERRUPTED, clear_ends, err, say, write_result
from casimir.cli.options import Json, Lam, Pictures, Quiet, Seed, Solver, Target, Tol, lam_of, one_of
from casimir.cli.report import Report, figure_table
from casimir.cli.train import train_and_report
from casimir.persistence import check_target

if TYPE_CHECKING:  # --help need not wait for these
    from casimir.scores import IntArray
    from casimir.tasks.localize import CandidateSet, Descriptor, Found, LocalizeModel, LocalizeScores, Picture

TRAIN_EXAMPLES = """Examples:

casimir train localize --model out/ --pictures seen/

casimir train localize --voc VOCdevkit/VOC2012 --class dog --weights alexnet.pth --model out/

casimir train localize --voc VOCdevkit/VOC2012 --class dog --weights alexnet.pth --folds 4 --model out/ --json"""
_SCORES = ("linear", "elu")
_FEATURES = ("full", "geometry", "paper", "raw")
_HELD_OUT = 0.25
_MADE_UP = 80  # images


def train(
    model: Target,
    voc: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Folder of one year of PASCAL VOC, with Annotations/. Default: made-up images."
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--class", metavar="NAME", help="Which class of objects to find, such as dog.")
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="List of images, such as val. Default: trainval, or train where there is none."
        ),
    ] = None,
    weights: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Weights of AlexNet, .npz or torchvision's .pth. Default: HOG and colours."),
    ] = None,
    context: Annotated[
        float | None,
        typer.Option(
            metavar="X", help="AlexNet also sees the box made X times as large, such as 2; takes twice the time."
        ),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder that keeps the features of --voc, so that they are computed once. Default: ~/.cache/casimir.",
        ),
    ] = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Keep no features.")] = False,
    score: Annotated[
        str, typer.Option(metavar="NAME", callback=one_of(_SCORES), help="linear, or the paper's non-linear elu.")
    ] = "linear",
    features: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            callback=one_of(_FEATURES),
            help="paper, geometry (and where boxes lie), full (and what is near) or raw. Default: full; elu geometry.",
        ),
    ] = None,
    top: Annotated[int, typer.Option(min=1, metavar="N", help="Candidate boxes per image at most.")] = 1000,
    held_out: Annotated[
        float | None,
        typer.Option(metavar="X", help="Share of the images to report on, drawn by the seed. Default: 0.25."),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(min=2, metavar="N", help="Train on all images, and report by cross-validation instead."),
    ] = None,
    pictures: Pictures = None,
    lam: Lam = None,
    solver: Solver = "auto",
    tol: Tol = 1e-2,
    epochs: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Stop after this many epochs at the latest. Default: 500; with elu 15."),
    ] = None,
    seed: Seed = 0,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Learn to find the object of one class in images, among boxes that selective search proposes.

    Images with exactly one object of the class are used. Scores are those of images that were held out. Ctrl-C while
    features are computed keeps those that are done; during training it saves the best model so far.
    """
    with clear_ends():
        check_target(model)
        _check(voc, name, split, weights, pictures)
        from casimir.tasks import localize

        images = _read(voc, name, split)
        split_up = _split(len(images), held_out, folds, seed)
        options: dict[str, Any] = {
            "score": score,
            "features": features,
            "top": top,
            "target": name or "object",
            "solver": localize.solver_for(solver, score),
            "tol": tol,
            "epochs": epochs,
            "seed": seed,
        }
        descriptor = _descriptor(weights, context, told=voc is not None and not quiet)
        folder = _cache_folder(cache, no_cache, voc is None)
        if folder is not None and cache is None:
            _say(quiet, f"Features are kept in {folder}; --cache names another folder, --no-cache keeps none")
        with _bar("features", quiet) as progress, _kept(folder):
            candidates = localize.collect(images, descriptor, top=top, cache=folder, progress=progress)

        def fit(some: CandidateSet, callbacks: tuple[Any, ...] = ()) -> LocalizeModel:
            return localize.train(some, descriptor, lam=lam_of(lam, len(some)), callbacks=callbacks, **options)

        def report(trained: LocalizeModel) -> Report:
            if folds is None:
                result = _on_held_out(trained, candidates, split_up[0])
            else:
                result = _on_folds(fit, candidates, folds, seed, quiet)
            drawn = _draw(pictures, [images[i] for i in result.images], result.found, quiet)
            return _report(result, {"descriptor": descriptor.name, "pictures": drawn})

        learned = candidates.select(split_up[1])
        with _kept(folder):  # before the first epoch there is no model to save
            train_and_report(
                lambda callbacks: fit(learned, callbacks),
                report,
                title=f"Trained on {len(learned):,} images, {sum(map(len, learned.boxes)):,} candidates",
                target=model,
                quiet=quiet,
                json=json,
            )


def _check(voc: Path | None, name: str | None, split: str | None, weights: Path | None, pictures: Path | None) -> None:
    """Raise now what would otherwise be raised after all features were computed."""
    if (voc is None) != (name is None):
        raise ValueError(
            "--voc says where images are and --class what to find in them, such as dog: give both, or none of them for "
            "made-up images."
        )
    if voc is None and split is not None:
        raise ValueError("--split is one of the lists of --voc; without --voc, made-up images are used.")
    if weights is not None and not weights.is_file():
        raise ValueError(f"There is no file '{weights}'. --weights is a file with the weights of AlexNet.")
    if pictures is not None and pictures.exists() and not pictures.is_dir():
        raise ValueError(f"'{pictures}' is a file; pictures are written into a folder. Give another --pictures.")
    if pictures is not None:
        try:
            pictures.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ValueError(
                f"There can be no folder '{pictures}' ({error.strerror}). Give another --pictures."
            ) from None


def _read(voc: Path | None, name: str | None, split: str | None) -> list[Picture]:
    from casimir.tasks.localize import pictures_of, read_voc

    if voc is not None and name is not None:
        return read_voc(voc, name, split)
    from casimir.datasets.objects import make_objects

    return pictures_of(make_objects(_MADE_UP))


def _split(n: int, share: float | None, folds: int | None, seed: int) -> tuple[IntArray, IntArray]:
    """The images that are held out and those that are trained on, both in their order; the seed draws them."""
    import numpy as np

    if folds is not None:
        if share is not None:
            raise ValueError("--folds and --held-out exclude each other: with folds, every image is held out once.")
        if not folds <= n:
            raise ValueError(f"--folds {folds} of {n} images; there must be at least one image per fold.")
        return np.arange(0), np.arange(n)
    share = _HELD_OUT if share is None else share
    if not 0.0 < share < 1.0:  # also refuses NaN
        raise ValueError(f"--held-out {share:g} is not a share of the images; it must be between 0 and 1.")
    n_out = round(share * n)
    if not 0 < n_out < n:
        raise ValueError(
            f"--held-out {share:g} of {n} images leaves {n - n_out} to train on and {n_out} to report on; both need at "
            "least one image."
        )
    order = np.random.default_rng(seed).permutation(n)
    return np.sort(order[n - n_out :]), np.sort(order[: n - n_out])


def _cache_folder(cache: Path | None, no_cache: bool, made_up: bool) -> Path | None:
    """Where features are kept. Those of made-up images take seconds, and are kept only where the user says so."""
    if cache is not None and no_cache:
        raise ValueError("--cache and --no-cache exclude each other.")
    if cache is not None or no_cache or made_up:
        return cache
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if base.startswith("~"):  # nobody's home
        raise ValueError("There is no home folder to keep features in. Give --cache DIR, or --no-cache to keep none.")
    return Path(base) / "casimir" / "localize"


def _descriptor(weights: Path | None, context: float | None, told: bool) -> Descriptor:
    """AlexNet from a file; without one the hand-made descriptor, and a line on where to get the file."""
    from casimir.tasks.localize import AlexNet, HandMade
    from casimir.tasks.localize.alexnet import WEIGHTS_ADVICE

    if weights is not None:
        return AlexNet(weights, context=context)
    if context is not None:
        raise ValueError("--context is for AlexNet, whose weights are in a file: give --weights FILE too.")
    if told:
        say(err(), f"note: {WEIGHTS_ADVICE}", "yellow")
    return HandMade()


@dataclass(frozen=True, eq=False)
class _Result:
    """What was found in images that training did not see.

    images   their numbers
    scores   by method, ours first
    part     what --json calls them
    """

    title: str
    part: str
    images: Sequence[int]
    found: Found
    scores: Mapping[str, LocalizeScores]
    folds: Sequence[LocalizeScores] = ()


def _on_held_out(model: LocalizeModel, candidates: CandidateSet, images: IntArray) -> _Result:
    from casimir.tasks.localize import compared

    rest = candidates.select(images)
    found = model.find(rest)
    return _Result(f"Held-out images ({len(rest)})", "heldout", images.tolist(), found, compared(rest, found))


def _on_folds(fit: Any, candidates: CandidateSet, folds: int, seed: int, quiet: bool) -> _Result:
    from casimir.tasks.localize import cross_validate

    _say(quiet, f"Training {folds} more models, each without one fold")
    with _bar("folds", quiet) as progress:
        done = cross_validate(fit, candidates, folds, seed, progress)
    n = len(candidates)
    title = f"Cross-validation ({folds} folds of {n} images)"
    return _Result(title, "cross_validation", range(n), done.found, done.scores, done.folds)


def _draw(folder: Path | None, images: Sequence[Picture], found: Found, quiet: bool) -> list[str]:
    if folder is None:
        return []
    from casimir.tasks.localize.overlays import write_overlays

    try:
        files = write_overlays(folder, images, found)
    except OSError as error:  # such as a full disk: the figures are not lost with the pictures
        warnings.warn(str(error), RuntimeWarning, stacklevel=2)
        return []
    _say(quiet, f"Drew {len(files) - 1} held-out images into {folder}; overview.png shows all of them")
    return [str(file) for file in files]


def _report(result: _Result, figures: Mapping[str, Any]) -> Report:
    told: dict[str, Any] = _figures(result.scores)
    if result.folds:
        told["folds"] = [fold.to_dict() for fold in result.folds]

    def show(console: Console) -> None:
        console.print()
        _show(console, result.scores, result.title)

    return Report({**figures, result.part: told}, show)


def _figures(scores: Mapping[str, LocalizeScores]) -> dict[str, Any]:
    ours, *baselines = scores.items()
    return {**ours[1].to_dict(), "baselines": {name: row.to_dict() for name, row in baselines}}


def _show(console: Console, scores: Mapping[str, LocalizeScores], title: str) -> None:
    rows = [(name, row.corloc, "-" if row.ap is None else row.ap, row.mean_iou) for name, row in scores.items()]
    console.print(figure_table(title, ["", "CorLoc", "AP", "mean IoU"], rows))


# --- evaluate and predict


def evaluate_model(model: LocalizeModel, file: Path, options: EvaluateOptions) -> Report:
    """CorLoc, AP and mean IoU on a VOC folder or on a table of images with boxes."""
    from casimir.tasks.localize import read_pictures

    images = read_pictures(file, model.target, options.split, labelled=True, encoding=options.encoding)
    candidates = _collect(model, images, options)
    scores = model.evaluate(candidates)
    known = len(set(model.pictures) & set(candidates.names))
    if known:
        say(err(), f"note: the model was trained on {known} of these {len(images)} images, by their names.", "yellow")
    figures = {**_figures(scores), "trained_on": known}
    return Report(figures, lambda console: _show(console, scores, f"{len(images)} images of {file}"))


def predict_model(model: LocalizeModel, file: Path, options: PredictOptions) -> None:
    """A table of the boxes that were found and of their scores."""
    from casimir.tasks.localize import format_found, read_pictures

    images = read_pictures(file, model.target, options.split, labelled=False, encoding=options.encoding)
    text = format_found([image.name for image in images], model.find(_collect(model, images, options)))
    write_result(text, options.encoding, options.output, f"Found the boxes of {len(images):,} images, written to")


def _collect(
    model: LocalizeModel, images: Sequence[Picture], options: EvaluateOptions | PredictOptions
) -> CandidateSet:
    with _bar("features", quiet=False) as progress, _kept(options.cache):
        return model.collect(images, weights=options.weights, cache=options.cache, progress=progress)


@contextmanager
def _bar(what: str, quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """A progress bar on stderr, where that is a terminal: call it with what is done and the total."""
    if quiet or not err().is_terminal:
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err(), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def _kept(cache: Path | None) -> Iterator[None]:
    """Ctrl-C before there is a model says that the features in the cache are not lost."""
    try:
        yield
    except KeyboardInterrupt:
        if cache is None:
            raise
        say(
            err(),
            f"Interrupted; the features so far are in {cache}, and the same command goes on from there.",
            "yellow",
        )
        raise typer.Exit(INTERRUPTED) from None


def _say(quiet: bool, text: str) -> None:
    if not quiet:
        say(err(), text)
