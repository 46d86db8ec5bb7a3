"""The task of segmentation: foreground and background of pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from casimir.tasks.task import Given, Task, lam_of

if TYPE_CHECKING:  # OpenCV and scikit-learn take a second to load, which --help need not wait for
    from casimir.tasks.segment.features import Features
    from casimir.tasks.segment.graphs import ImageGraph
    from casimir.tasks.segment.metrics import SegmentScores
    from casimir.tasks.segment.model import SegmentModel
    from casimir.tasks.segment.pictures import Mask, Picture

ALONE = "without edges"
_SOLVERS = ("auto", "bcfw", "dual", "sgd")


@dataclass(frozen=True, eq=False)
class Learned:
    """What was learned from pictures before any weights: features, and the graphs of these pictures."""

    features: Features
    graphs: Sequence[ImageGraph]


@dataclass(frozen=True, eq=False)
class Seen:
    """Pictures with their graphs."""

    pictures: Sequence[Picture]
    graphs: Sequence[ImageGraph]

    @property
    def masks(self) -> list[Mask]:
        return [picture.mask for picture in self.pictures if picture.mask is not None]

    def predicted(self, model: SegmentModel) -> list[Mask]:
        return [model.mask(graph, p.image.shape[:2]) for graph, p in zip(self.graphs, self.pictures, strict=True)]


def check(given: Given, pictures: Path | None) -> None:
    """Raise now what would otherwise be raised after all features were learned."""
    solver = given.fit.solver
    if solver not in _SOLVERS:
        raise ValueError(
            f"--solver {solver} cannot train graph cuts: casimir and svrg cannot keep edge weights non-negative, and "
            f"lbfgs needs sums over all labellings. Use {', '.join(_SOLVERS[:-1])} or {_SOLVERS[-1]}."
        )
    if lam_of(given.fit.lam, 1) == 0.0:
        raise ValueError("--lam 0 leaves the weights of graph cuts without a certificate. Give a number above 0.")


def read(path: Path, labelled: bool, given: Given) -> list[Picture]:
    """A folder with images/ and masks/; new pictures are an image, a folder of images, or its images/."""
    from casimir.tasks.segment.pictures import Picture, check_image, image_files, read_folder, read_image

    if labelled:
        return read_folder(path)
    files = [path] if not path.is_dir() else image_files(path / "images" if (path / "images").is_dir() else path)
    found = []
    for file in files:
        pixels = read_image(file)
        check_image(pixels, str(file))
        found.append(Picture(file.stem, pixels, None))
    return found


def made_up() -> tuple[list[Picture], None]:
    from casimir.datasets import blobs
    from casimir.tasks.segment.pictures import Picture

    return [Picture(f"blob{k:02d}", blob.image, blob.mask) for k, blob in enumerate(blobs.make_blobs())], None


def prepare(pictures: Sequence[Picture], given: Given) -> Learned:
    from casimir.tasks.segment.features import learn_features

    if len(pictures) < 2:
        raise ValueError(f"There is {len(pictures)} picture to train on; there must be at least 2.")
    return Learned(*learn_features(pictures, given.fit.seed, given.track))


def train(learned: Learned, given: Given, callbacks: tuple[Any, ...], edges: bool = True) -> SegmentModel:
    from casimir.tasks.segment.model import train_weights

    how = given.fit.training(len(learned.graphs), callbacks)
    return train_weights(learned.features, learned.graphs, how, edges=edges)


def baselines(learned: Learned, given: Given) -> dict[str, SegmentModel]:
    return {ALONE: train(learned, given, (), edges=False)}


def featurise(model: SegmentModel, pictures: Sequence[Picture], given: Given) -> Seen:
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        graphs = [model.features.graph(picture.image) for picture in given.track(pictures, "pictures")]
    return Seen(pictures, graphs)


def score(model: SegmentModel, seen: Seen, given: Given) -> SegmentScores:
    from casimir.tasks.segment.metrics import segment_scores

    return segment_scores(seen.masks, seen.predicted(model))


def compare(model: SegmentModel, seen: Seen, given: Given) -> Mapping[str, SegmentScores]:
    from casimir.tasks.segment.metrics import segment_scores

    return {"all background": segment_scores(seen.masks, [mask & False for mask in seen.masks])}


def draw(folder: Path, results: Sequence[tuple[SegmentModel, Seen]], given: Given) -> list[Path]:
    from casimir.tasks.segment.overlays import write_overlays

    pictures = [picture for _, seen in results for picture in seen.pictures]
    return write_overlays(folder, pictures, [mask for model, seen in results for mask in seen.predicted(model)])


def write(model: SegmentModel, pictures: Sequence[Picture], given: Given, output: Path | None) -> None:
    from casimir.tasks.opencv import write_image

    if output is None:
        raise ValueError("Masks are PNG files; say in which folder to write them: --output DIR.")
    if output.exists() and not output.is_dir():
        raise ValueError(f"'{output}' is a file; masks are written into a folder. Give another --output.")
    for picture in given.track(pictures, "pictures"):
        write_image(output / f"{picture.name}.png", model.predict(picture.image))


TASK = Task.of(
    globals(),
    name="segment",
    title="Segmentation",
    about="""Train a foreground segmenter: graph cuts over superpixels, with a certified distance to the best objective.

    The folder has images/ and masks/ with files of the same base names; foreground is where a mask is not 0.""",
    data="Folder with images/ and masks/.",
    scores="pixel accuracy and intersection over union, for a folder with images/ and masks/.",
    writes="a mask PNG in the folder --output for an image, or for every image in a folder.",
    units="pictures",
    examples=(
        "casimir train segment --model out/",
        "casimir train segment --train horses/ --model out/ --pictures seen/",
        "casimir train segment --train horses/ --model out/ --held-out 0.25 --json > run.json",
    ),
    columns={"pixel accuracy": "accuracy", "IoU": "iou", "mean IoU": "mean_iou"},
    is_text=False,
    held_out=0.5,
    pictures=draw,
)
