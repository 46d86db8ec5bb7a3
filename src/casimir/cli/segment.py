"""`casimir train segment`, and what `evaluate` and `predict` do with its models."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import track as rich_track

from casimir.cli.apply import EvaluateOptions, PredictOptions
from casimir.cli.console import clear_ends, err, say
from casimir.cli.options import Epochs, Json, Lam, Pictures, Quiet, Seed, Solver, Target, Tol, lam_of
from casimir.cli.report import Report, figure_table
from casimir.cli.train import train_and_report
from casimir.persistence import check_target

if TYPE_CHECKING:  # OpenCV and scikit-learn take a second to load, which --help need not wait for
    from casimir.tasks.segment.metrics import SegmentScores
    from casimir.tasks.segment.model import SegmentModel
    from casimir.tasks.segment.pictures import Mask, Picture

TRAIN_EXAMPLES = """Examples:

casimir train segment --model out/

casimir train segment --data horses/ --model out/ --pictures seen/

casimir train segment --data horses/ --model out/ --train-share 0.75 --json > run.json"""
_SOLVERS = ("auto", "bcfw", "dual", "sgd")


def train(
    model: Target,
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder with images/ and masks/. Default: made-up pictures."),
    ] = None,
    train_share: Annotated[
        float,
        typer.Option(min=0.0, max=1.0, metavar="X", help="Share to train on, drawn by the seed; the rest is held out."),
    ] = 0.5,
    pictures: Pictures = None,
    lam: Lam = None,
    solver: Solver = "auto",
    tol: Tol = 1e-2,
    epochs: Epochs = 500,
    seed: Seed = 0,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Train a foreground segmenter: graph cuts over superpixels, with a certified distance to the best objective.

    DIR has images/ and masks/ with files of the same base names; foreground is where a mask is not 0. Scores are those
    of the pictures that were held out. Ctrl-C during training saves the best model so far.
    """
    with clear_ends():
        check_target(model)
        _check(solver, lam, pictures)
        learned, held_out = _parts(_read(data), train_share, seed)
        from casimir.tasks.segment.features import learn_features
        from casimir.tasks.segment.model import train_weights

        options: dict[str, Any] = {"lam": lam_of(lam, len(learned)), "solver": solver, "tol": tol, "epochs": epochs}
        features, graphs = learn_features(learned, seed, _no_track if quiet else _track)

        def report(trained: SegmentModel) -> Report:
            _say(quiet, "Training the baseline without edges")
            alone = train_weights(features, graphs, edges=False, seed=seed, **options)
            return _report(trained, alone, held_out, pictures, quiet)

        train_and_report(
            lambda callbacks: train_weights(features, graphs, seed=seed, callbacks=callbacks, **options),
            report,
            title=f"Trained on {len(learned):,} pictures, {sum(len(g.share) for g in graphs):,} superpixels",
            target=model,
            quiet=quiet,
            json=json,
        )


def _check(solver: str, lam: str | None, pictures: Path | None) -> None:
    """Raise now what would otherwise be raised after all features were learned."""
    if solver not in _SOLVERS:
        raise ValueError(
            f"--solver {solver} cannot train graph cuts: casimir and svrg cannot keep edge weights non-negative, and "
            f"lbfgs needs sums over all labellings. Use {', '.join(_SOLVERS[:-1])} or {_SOLVERS[-1]}."
        )
    if lam_of(lam, 1) == 0.0:
        raise ValueError("--lam 0 leaves the weights of graph cuts without a certificate. Give a number above 0.")
    if pictures is not None and pictures.exists() and not pictures.is_dir():
        raise ValueError(f"'{pictures}' is a file; pictures are written into a folder. Give another --pictures.")


def _read(data: Path | None) -> list[Picture]:
    from casimir.tasks.segment.pictures import Picture, read_folder

    if data is not None:
        return read_folder(data)
    from casimir.datasets.blobs import make_blobs

    return [Picture(f"blob{k:02d}", blob.image, blob.mask) for k, blob in enumerate(make_blobs())]


def _parts(pictures: list[Picture], share: float, seed: int) -> tuple[list[Picture], list[Picture]]:
    """Training and held-out pictures, in their order; the seed draws them."""
    import numpy as np

    n_train = round(share * len(pictures))
    if not 0.0 < share < 1.0 or n_train < 2 or n_train == len(pictures):
        raise ValueError(
            f"--train-share {share:g} of {len(pictures)} pictures leaves {max(n_train, 0)} to train on; it must leave "
            "at least 2 to train on and 1 to hold out."
        )
    order = np.random.default_rng(seed).permutation(len(pictures))
    learned, held_out = np.sort(order[:n_train]), np.sort(order[n_train:])
    return [pictures[i] for i in learned], [pictures[i] for i in held_out]


def _report(
    model: SegmentModel, alone: SegmentModel, held_out: Sequence[Picture], folder: Path | None, quiet: bool
) -> Report:
    """Held-out scores of the model, of the model without edges, and of no foreground at all."""
    from casimir.tasks.segment.metrics import segment_scores

    watched = held_out if quiet else _track(held_out, "held-out pictures")
    graphs = [model.features.graph(picture.image) for picture in watched]
    truth = _masks(held_out)
    predicted = {
        "graph cut": [model.mask(graph, mask.shape) for graph, mask in zip(graphs, truth, strict=True)],
        "without edges": [alone.mask(graph, mask.shape) for graph, mask in zip(graphs, truth, strict=True)],
        "all background": [mask & False for mask in truth],
    }
    scores = {name: segment_scores(truth, masks) for name, masks in predicted.items()}
    written = _draw(folder, held_out, predicted["graph cut"], quiet)
    figures = {
        "pictures": written,
        "heldout": {name.replace(" ", "_"): score.to_dict() for name, score in scores.items()},
    }

    def show(console: Console) -> None:
        console.print()
        console.print(_score_table(f"Held-out pictures ({len(held_out)})", scores))

    return Report(figures, show)


def _draw(folder: Path | None, pictures: Sequence[Picture], masks: list[Mask], quiet: bool) -> list[str]:
    if folder is None:
        return []
    from casimir.tasks.segment.overlays import write_overlays

    files = write_overlays(folder, pictures, masks)
    _say(quiet, f"Drew {len(files) - 1} held-out pictures into {folder}; overview.png shows all of them")
    return [str(file) for file in files]


def _masks(pictures: Iterable[Picture]) -> list[Mask]:
    return [picture.mask for picture in pictures if picture.mask is not None]


def _score_table(title: str, scores: dict[str, SegmentScores]) -> Any:
    rows = [(name, score.accuracy, score.iou, score.mean_iou) for name, score in scores.items()]
    return figure_table(title, ["", "pixel accuracy", "IoU", "mean IoU"], rows)


def evaluate_model(model: SegmentModel, file: Path, options: EvaluateOptions) -> Report:
    """Pixel accuracy and intersection over union on a folder with images/ and masks/."""
    from casimir.tasks.segment.pictures import read_folder

    pictures = read_folder(file)
    scores = model.evaluate(_track(pictures, "pictures"))
    title = f"{len(pictures)} pictures in {file}"
    return Report(scores.to_dict(), lambda console: console.print(_score_table(title, {"graph cut": scores})))


def predict_model(model: SegmentModel, file: Path, options: PredictOptions) -> None:
    """Write one mask PNG per image: of an image file, of a folder of images, or of its images/."""
    from casimir.tasks.segment.pictures import check_image, read_image, write_image

    if options.output is None:
        raise ValueError("Masks are PNG files; say in which folder to write them: --output DIR.")
    if options.output.exists() and not options.output.is_dir():
        raise ValueError(f"'{options.output}' is a file; masks are written into a folder. Give another --output.")
    files = _image_files(file)
    for image in _track(files, "pictures"):
        pixels = read_image(image)
        check_image(pixels, str(image))
        write_image(options.output / f"{image.stem}.png", model.predict(pixels))
    say(err(), f"Wrote {len(files)} masks into {options.output}", "green")


def _image_files(path: Path) -> list[Path]:
    from casimir.tasks.segment.pictures import image_files

    if not path.is_dir():
        return [path]
    return image_files(path / "images" if (path / "images").is_dir() else path)


def _track(items: Iterable[Any], what: str) -> Iterable[Any]:
    """A progress bar on stderr, where that is a terminal."""
    return rich_track(list(items), what, console=err(), transient=True) if err().is_terminal else items


def _no_track(items: Iterable[Any], what: str) -> Iterable[Any]:
    return items


def _say(quiet: bool, text: str) -> None:
    if not quiet:
        say(err(), text)
