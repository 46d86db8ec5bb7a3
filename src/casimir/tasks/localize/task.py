"""The task of localization: the object of one class in pictures, among proposed boxes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from casimir.tasks.task import Given, Opt, Task

if TYPE_CHECKING:  # --help need not wait for these
    from casimir.tasks.localize import CandidateSet, Descriptor, LocalizeModel, LocalizeScores, Picture

_MADE_UP = 80  # images
_CACHE = Path("casimir") / "localize"
_BOTH = (
    "--train says where images are and --class what to find in them, such as dog: give both, or none of them for "
    "made-up images."
)


@dataclass(frozen=True)
class Options:
    target: Annotated[
        str | None, Opt("Which class of objects to find, such as dog.", metavar="NAME", name="--class")
    ] = None
    split: Annotated[
        str | None, Opt("List of images, such as val. Default: trainval, or train where there is none.", metavar="NAME")
    ] = None
    weights: Annotated[
        Path | None,
        Opt("Weights of AlexNet, .npz or torchvision's .pth. Default: HOG and colours.", metavar="FILE"),
    ] = None
    context: Annotated[
        float | None,
        Opt("AlexNet also sees the box made X times as large, such as 2; takes twice the time.", metavar="X"),
    ] = None
    cache: Annotated[
        Path | None,
        Opt(
            "Folder that keeps the features, so that they are computed once. Default: ~/.cache/casimir.", metavar="DIR"
        ),
    ] = None
    no_cache: Annotated[bool, Opt("Keep no features.")] = False
    score: Annotated[str, Opt("linear, or the paper's non-linear elu.", choices=("linear", "elu"))] = "linear"
    features: Annotated[
        str | None,
        Opt(
            "paper, geometry (and where boxes lie), full (and what is near) or raw. Default: full; elu geometry.",
            choices=("full", "geometry", "paper", "raw"),
            metavar="NAME",
        ),
    ] = None
    top: Annotated[int, Opt("Candidate boxes per image at most.", metavar="N", low=1)] = 1000


@dataclass(frozen=True)
class UseOptions:
    split: Annotated[str | None, Opt("Which list of images of a VOC folder to take.", metavar="NAME")] = None
    weights: Annotated[Path | None, Opt("Weights of AlexNet. Default: the file used in training.", metavar="FILE")] = (
        None
    )
    cache: Annotated[Path | None, Opt("Folder that keeps features.", metavar="DIR")] = None
    pictures: Annotated[
        Path | None, Opt("Folder for pictures with the boxes drawn in them.", metavar="DIR", only="predict")
    ] = None


class Collected:
    """Pictures whose candidates are described when they are first asked for."""

    def __init__(self, pictures: Sequence[Picture], describe: Callable[[], CandidateSet]) -> None:
        self.pictures, self._describe = pictures, describe

    @cached_property
    def candidates(self) -> CandidateSet:
        return self._describe()


@dataclass(frozen=True, eq=False)
class Images:
    """Some of the pictures; `descriptor` makes their features, None where a model does."""

    whole: Collected
    rows: Sequence[int]
    descriptor: Descriptor | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def pictures(self) -> list[Picture]:
        return [self.whole.pictures[i] for i in self.rows]

    @property
    def candidates(self) -> CandidateSet:
        return self.whole.candidates.select(self.rows)

    def select(self, examples: Any) -> Images:
        return replace(self, rows=[self.rows[i] for i in examples])


def check(given: Given, pictures: Path | None) -> None:
    """Raise now what would otherwise be raised after all features were computed."""
    from casimir.tasks.localize.solvers import solver_for

    o = given.options
    if o.weights is not None and not o.weights.is_file():
        raise ValueError(f"There is no file '{o.weights}'. --weights is a file with the weights of AlexNet.")
    if o.context is not None and o.weights is None:
        raise ValueError("--context is for AlexNet, whose weights are in a file: give --weights FILE too.")
    if not given.has_data and o.target is not None:
        raise ValueError(_BOTH)
    if not given.has_data and o.split is not None:
        raise ValueError("--split is one of the lists of --train; without --train, made-up images are used.")
    if o.cache is not None and o.no_cache:
        raise ValueError("--cache and --no-cache exclude each other.")
    solver_for(given.fit.solver, o.score)


def read(path: Path, labelled: bool, given: Given) -> Images:
    from casimir.tasks.localize import read_pictures

    o, model = given.options, given.model
    if model is not None:
        found = read_pictures(path, model.target, o.split, labelled=labelled, encoding=given.encoding)
        known = len(set(model.pictures) & {picture.name for picture in found}) if labelled else 0
        if known:
            given.say(f"note: the model was trained on {known} of these {len(found)} images, by their names.")

        def described() -> CandidateSet:
            with given.kept(o.cache):
                progress = given.progress("features")
                collected: CandidateSet = model.collect(found, weights=o.weights, cache=o.cache, progress=progress)
                return collected

        return Images(Collected(found, described), range(len(found)))
    if o.target is None:
        raise ValueError(_BOTH)
    return _collected(read_pictures(path, o.target, o.split, labelled=True, encoding=given.encoding), given)


def made_up() -> tuple[Images, None]:
    from casimir.datasets.objects import make_objects
    from casimir.tasks.localize import HandMade, collect, pictures_of

    pictures, descriptor = pictures_of(make_objects(_MADE_UP)), HandMade()
    return Images(Collected(pictures, lambda: collect(pictures, descriptor)), range(len(pictures)), descriptor), None


def _collected(pictures: Sequence[Picture], given: Given) -> Images:
    from casimir.tasks.localize import AlexNet, HandMade, collect
    from casimir.tasks.localize.alexnet import WEIGHTS_ADVICE

    o = given.options
    if o.weights is None:
        given.say(f"note: {WEIGHTS_ADVICE}")
    descriptor = HandMade() if o.weights is None else AlexNet(o.weights, context=o.context)
    folder = _cache_folder(o.cache, o.no_cache)
    if folder is not None and o.cache is None:
        given.say(f"Features are kept in {folder}; --cache names another folder, --no-cache keeps none")

    def described() -> CandidateSet:
        return collect(pictures, descriptor, top=o.top, cache=folder, progress=given.progress("features"))

    return Images(Collected(pictures, described), range(len(pictures)), descriptor)


def _cache_folder(cache: Path | None, no_cache: bool) -> Path | None:
    """Where features are kept."""
    if cache is not None or no_cache:
        return cache
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if base.startswith("~"):  # nobody's home
        raise ValueError("There is no home folder to keep features in. Give --cache DIR, or --no-cache to keep none.")
    return Path(base) / _CACHE


def train(images: Images, given: Given, callbacks: tuple[Any, ...]) -> LocalizeModel:
    from casimir.tasks import localize

    o, arguments = given.options, given.fit.arguments(len(images))
    assert images.descriptor is not None
    with given.kept(o.cache if o.target is None else _cache_folder(o.cache, o.no_cache)):
        return localize.train(
            images.candidates,
            images.descriptor,
            score=o.score,
            features=o.features,
            top=o.top,
            target=o.target or "object",
            callbacks=callbacks,
            **{**arguments, "solver": localize.solver_for(given.fit.solver, o.score)},
        )


def score(model: LocalizeModel, images: Images, given: Given) -> LocalizeScores:
    from casimir.tasks.localize.metrics import localize_scores
    from casimir.tasks.localize.model import known_boxes

    found = model.find(images.candidates)
    return localize_scores(known_boxes(images.candidates), found.boxes, found.confidence)


def compare(model: LocalizeModel, images: Images, given: Given) -> Mapping[str, LocalizeScores]:
    from casimir.tasks.localize.metrics import baselines
    from casimir.tasks.localize.model import known_boxes

    return baselines(images.candidates.boxes, known_boxes(images.candidates))


def draw(folder: Path, results: Sequence[tuple[LocalizeModel, Images]], given: Given) -> list[Path]:
    from casimir.tasks.localize.model import Found
    from casimir.tasks.localize.overlays import write_overlays

    found = [model.find(images.candidates) for model, images in results]
    joined = Found(np.concatenate([f.boxes for f in found]), np.concatenate([f.confidence for f in found]))
    return write_overlays(folder, [picture for _, images in results for picture in images.pictures], joined)


def write(model: LocalizeModel, images: Images, given: Given, output: Path | None) -> str:
    from casimir.tasks.localize import format_found
    from casimir.tasks.localize.overlays import write_overlays

    found, folder = model.find(images.candidates), given.options.pictures
    if folder is not None:
        files = write_overlays(folder, images.pictures, found)
        given.say(f"Drew {len(files) - 1} pictures into {folder}; overview.png shows all of them")
    return format_found([picture.name for picture in images.pictures], found)


def decode(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> LocalizeModel:
    from casimir.tasks.localize.model import decode_model

    return decode_model(meta, arrays)


TASK = Task(
    name="localize",
    title="Localization",
    about="""Learn to find the object of one class in images, among boxes that selective search proposes.

    Images with exactly one object of the class are used. Ctrl-C while features are computed keeps those that are
    done.""",
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
    ),
    columns={"CorLoc": "corloc", "AP": "ap", "mean IoU": "mean_iou"},
    train_options=Options,
    use_options=UseOptions,
    held_out=0.25,
    check=check,
    read=read,
    made_up=made_up,
    train=train,
    score=score,
    compare=compare,
    pictures=draw,
    write=write,
    decode=decode,
    figures=lambda model: {"descriptor": model.recipe.descriptor},
)
