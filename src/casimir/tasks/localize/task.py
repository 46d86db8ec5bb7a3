"""The task of localization: the objects of one or several classes in pictures, among proposed boxes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from casimir.tasks.task import Given, Table, Task, later, opt

if TYPE_CHECKING:  # --help need not wait for these
    from casimir.scores import IntArray
    from casimir.tasks.localize import CandidateSet, ClassModels, ClassScores, LocalizeModel, LocalizeScores
    from casimir.tasks.localize.pool import Images

    Model = LocalizeModel | ClassModels
    Scores = LocalizeScores | ClassScores

_MADE_UP, _MADE_UP_CLASS = 80, "object"  # images, and what is in them
_CACHE = Path("casimir") / "localize"
_BOTH = (
    "--train says where images are and --class what to find in them, such as dog: give both, or none of them for "
    "made-up images."
)


@dataclass(frozen=True)
class Options:
    classes: list[str] | None = opt(
        "Which objects to find, such as dog; several times, or dog,cat, for several.", metavar="NAME", name="--class"
    )
    split: str | None = opt(
        "List of images, such as val. Default: trainval, or train where there is none.", metavar="NAME"
    )
    weights: Path | None = opt(
        "Weights of AlexNet, .npz or torchvision's .pth. Default: HOG and colours.", metavar="FILE"
    )
    context: float | None = opt(
        "AlexNet also sees the box made X times as large, such as 2; takes twice the time.", metavar="X"
    )
    cache: Path | None = opt(
        "Folder that keeps the features, so that they are computed once. Default: ~/.cache/casimir.", metavar="DIR"
    )
    no_cache: bool = opt("Keep no features.", False)
    score: str = opt("How a box is scored: linear, or the paper's non-linear elu.", "linear", choices=("linear", "elu"))
    features: str | None = opt(
        "Of a box: paper, geometry (where it lies too), full (what is near too), raw. Default: full; elu geometry.",
        choices=("full", "geometry", "paper", "raw"),
        metavar="NAME",
    )
    top: int = opt("Candidate boxes per image at most.", 1000, metavar="N", low=1)


@dataclass(frozen=True)
class UseOptions:
    split: str | None = opt("Which list of images of a VOC folder to take.", metavar="NAME")
    weights: Path | None = opt("Weights of AlexNet. Default: the file used in training.", metavar="FILE")
    cache: Path | None = opt("Folder that keeps features.", metavar="DIR")
    pictures: Path | None = opt("Folder for pictures with the boxes drawn in them.", metavar="DIR", only="predict")


def check(given: Given, pictures: Path | None) -> None:
    """Raise now what would otherwise be raised after all features were computed."""
    from casimir.tasks.localize.solvers import solver_for

    o = given.options
    if o.weights is not None and not o.weights.is_file():
        raise ValueError(f"There is no file '{o.weights}'. --weights is a file with the weights of AlexNet.")
    if o.context is not None and o.weights is None:
        raise ValueError("--context is for AlexNet, whose weights are in a file: give --weights FILE too.")
    if given.has_data != bool(_targets(o.classes)):
        raise ValueError(_BOTH)
    if not given.has_data and o.split is not None:
        raise ValueError("--split is one of the lists of --train; without --train, made-up images are used.")
    if o.cache is not None and o.no_cache:
        raise ValueError("--cache and --no-cache exclude each other.")
    solver_for(given.fit.solver, o.score)


def _targets(given: Sequence[str] | None) -> list[str]:
    """--class cat --class dog, or --class cat,dog: each once."""
    names = [name.strip() for one in given or () for name in one.split(",")]
    return list(dict.fromkeys(name for name in names if name))


def read(path: Path, labelled: bool, given: Given) -> Images:
    from casimir.tasks.localize.pool import Pool
    from casimir.tasks.localize.tables import read_classes

    o, model = given.options, given.model
    targets = _targets(o.classes) if model is None else model.targets
    by_class = read_classes(path, targets, o.split, labelled=labelled, encoding=given.encoding)
    if model is None:
        return _to_train(by_class, given)

    def describe(pictures: Any) -> CandidateSet:
        with given.kept(o.cache):
            progress = given.progress("features")
            collected: CandidateSet = model.collect(pictures, weights=o.weights, cache=o.cache, progress=progress)
            return collected

    pool = Pool.of(by_class, describe)
    known = len(set(model.pictures) & {picture.name for picture in pool.pictures}) if labelled else 0
    if known:
        given.say(f"note: the model was trained on {known} of these {len(pool.pictures)} images, by their names.")
    return pool.images()


def made_up() -> tuple[Images, None]:
    from casimir.datasets.objects import make_objects
    from casimir.tasks.localize import HandMade, collect, pictures_of
    from casimir.tasks.localize.pool import Pool

    descriptor, pictures = HandMade(), pictures_of(make_objects(_MADE_UP))
    return Pool.of({_MADE_UP_CLASS: pictures}, lambda some: collect(some, descriptor)).images(descriptor), None


def _to_train(by_class: Mapping[str, Any], given: Given) -> Images:
    from casimir.tasks.localize import AlexNet, HandMade, collect
    from casimir.tasks.localize.alexnet import WEIGHTS_ADVICE
    from casimir.tasks.localize.pool import Pool

    o = given.options
    if o.weights is None and given.role == "train":
        given.say(f"note: boxes are described by HOG and colours; AlexNet finds more (--weights). {WEIGHTS_ADVICE}")
    descriptor = HandMade() if o.weights is None else AlexNet(o.weights, context=o.context)
    folder = _cache_folder(o.cache, o.no_cache)
    if folder is not None and o.cache is None and given.role == "train":
        given.say(f"Features are kept in {folder}; --cache names another folder, --no-cache keeps none")

    def describe(pictures: Any) -> CandidateSet:
        return collect(pictures, descriptor, top=o.top, cache=folder, progress=given.progress("features"))

    return Pool.of(by_class, describe).images(descriptor)


def _cache_folder(cache: Path | None, no_cache: bool) -> Path | None:
    """Where features are kept."""
    if cache is not None or no_cache:
        return cache
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if base.startswith("~"):  # nobody's home
        raise ValueError("There is no home folder to keep features in. Give --cache DIR, or --no-cache to keep none.")
    return Path(base) / _CACHE


def train(images: Images, given: Given, callbacks: tuple[Any, ...]) -> Model:
    from casimir.tasks import localize

    o, targets = given.options, _targets(given.options.classes) or [_MADE_UP_CLASS]
    assert images.descriptor is not None
    with given.kept(_cache_folder(o.cache, o.no_cache) if given.has_data else o.cache):
        candidates = {name: images.labelled(name) for name in targets}
        how = given.fit.training(sum(map(len, candidates.values())), callbacks)
        settings = {"score": o.score, "features": o.features, "top": o.top}
        if len(targets) == 1:
            return localize.train(candidates[targets[0]], images.descriptor, how, target=targets[0], **settings)

        def begin(name: str, n: int) -> None:
            given.say(f"{name}: {n:,} images")

        return localize.train_classes(candidates, images.descriptor, how, begin=begin, **settings)


def score(model: Model, images: Images, given: Given) -> Scores:
    from casimir.tasks.localize.metrics import localize_scores

    found = model.find_all(images.candidates)
    by_class = {
        name: localize_scores(truth, found[name].boxes[rows], found[name].confidence[rows])
        for name, (rows, truth) in _objects(model, images).items()
    }
    return _joined(model, by_class)


def compare(model: Model, images: Images, given: Given) -> Mapping[str, Scores]:
    from casimir.tasks.localize.metrics import baselines

    offered = images.candidates.boxes
    objects = _objects(model, images).items()
    by_class = {name: baselines([offered[k] for k in rows], truth) for name, (rows, truth) in objects}
    methods = next(iter(by_class.values()))
    return {method: _joined(model, {name: own[method] for name, own in by_class.items()}) for method in methods}


def _objects(model: Model, images: Images) -> dict[str, tuple[list[int], IntArray]]:
    """By class: which of the pictures have an object of it, and where; classes without any are left out."""
    found = {}
    for name in model.targets:
        known = [(k, box) for k, box in enumerate(images.boxes(name)) if box is not None]
        if known:
            found[name] = [k for k, _ in known], np.array([box for _, box in known], dtype=np.int64)
    if not found:
        raise ValueError(f"There is no image with an object of {' or '.join(model.targets)} to report on.")
    return found


def _joined(model: Model, by_class: Mapping[str, LocalizeScores]) -> Scores:
    from casimir.tasks.localize.metrics import ClassScores

    return ClassScores(by_class) if len(model.targets) > 1 else next(iter(by_class.values()))


def details(scores: Scores) -> list[Table]:
    by_class = getattr(scores, "by_class", {})
    rows = [(name, one.corloc, one.ap, one.mean_iou, one.n) for name, one in by_class.items()]
    note = "The figures above are means over the classes."
    return [Table(["class", "CorLoc", "AP", "mean IoU", "images"], rows, note)] if rows else []


def draw(folder: Path, results: Sequence[tuple[Model, Images]], given: Given) -> list[Path]:
    from casimir.tasks.localize.overlays import overlays_of, write_overlays

    drawn = [one for model, images in results for one in overlays_of(images, model.find_all(images.candidates))]
    return write_overlays(folder, drawn)


def write(model: Model, images: Images, given: Given, output: Path | None) -> str:
    from casimir.tasks.localize import format_found
    from casimir.tasks.localize.overlays import overlays_of, write_overlays

    found, folder = model.find_all(images.candidates), given.options.pictures
    if folder is not None:
        files = write_overlays(folder, overlays_of(images, found, every_class=True))
        given.say(f"Drew {len(files) - 1} pictures into {folder}; overview.png shows all of them")
    names = [picture.name for picture in images.pictures]
    return format_found(names, found if len(found) > 1 else next(iter(found.values())))


TASK = Task.of(
    globals(),
    name="localize",
    title="Localization",
    about="""Learn to find the object of a class in images, among boxes that selective search proposes.

    Images with exactly one object of the class are used. Several classes share boxes and features, and one model folder
    finds all of them. Ctrl-C while features are computed keeps those that are done.""",
    data="Folder of one year of PASCAL VOC, with Annotations/, or a table of images with boxes.",
    scores="""the share of boxes that overlap the truth by more than half (CorLoc), average precision and mean
    intersection over union, for a VOC folder or a table of images with boxes.""",
    writes="""a table of boxes and their scores, for an image, a folder of images, a table that names images, or a VOC
    folder.""",
    units="images",
    examples=(
        "casimir train localize --model out/ --pictures seen/",
        "casimir train localize --train VOCdevkit/VOC2012 --class dog --weights alexnet.pth --model out/",
        "casimir train localize --train VOCdevkit/VOC2012 --class dog --weights alexnet.pth --folds 4 --model out/",
        "casimir train localize --train VOCdevkit/VOC2012 --class cat --class dog --weights alexnet.pth --model out/",
    ),
    columns={"CorLoc": "corloc", "AP": "ap", "mean IoU": "mean_iou"},
    train_options=Options,
    use_options=UseOptions,
    held_out=0.25,
    pictures=draw,
    decode=later("casimir.tasks.localize.several", "decode_localizer"),
    figures=lambda model: {"descriptor": model.recipe.descriptor},
)
