"""Finding one object per image: a score per visual word, the best box of the map by branch and bound."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from casimir._validate import positive_int
from casimir.costs import IoU
from casimir.models import LinearPartsModel
from casimir.objective import Objective
from casimir.persistence import save_folder
from casimir.scores import FloatArray, IntArray
from casimir.structures import BoxSearch
from casimir.tasks.arrays import checked_array
from casimir.tasks.boxes.features import N_DESCRIPTORS, VisualWords, describe, learn_words
from casimir.tasks.boxes.grid import to_cells, to_pixels
from casimir.tasks.boxes.images import Image, boxes_of
from casimir.tasks.boxes.metrics import BoxScores, box_scores, centre_boxes, relative_box, whole_images
from casimir.tasks.training import DEFAULT, Run, Training, fit

KIND = "boxes"
_LARGEST_CELL = 2**12  # pixels on a side


@dataclass(frozen=True, eq=False)
class BoxesModel:
    """score(box) = sum of w[word of the cell] over the cells in the box.

    cell   pixels on a side of a cell
    words  the vocabulary
    w      float64[n_words]
    share  float64[2]: mean height and width of the training boxes as shares of the image's, for the baseline
    run    how training ended
    """

    cell: int
    words: VisualWords
    w: FloatArray
    share: FloatArray
    run: Run

    def score_map(self, image: Image) -> FloatArray:
        """float64[rows, columns]: the score of every cell."""
        descriptors = describe(image.pixels, self.cell)
        return np.asarray(self.w[self.words.of(descriptors)].reshape(descriptors.shape[:2]))

    def find(self, images: Sequence[Image]) -> IntArray:
        """int64[n, 4]: the best box of every image, in pixels."""
        search = BoxSearch()
        found = search.max(search.scores([self.score_map(image) for image in images])).outputs
        boxes = [to_pixels(y, image.pixels, self.cell) for y, image in zip(found, images, strict=True)]
        return np.array(boxes, dtype=np.int64).reshape(-1, 4)

    def evaluate(self, images: Sequence[Image]) -> dict[str, BoxScores]:
        """Scores of the model and of two baselines on images with known boxes."""
        true = boxes_of(images)
        return {
            "casimir": box_scores(true, self.find(images)),
            "centre box": box_scores(true, centre_boxes(images, self.share)),
            "whole image": box_scores(true, whole_images(images)),
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model folder that `casimir.load` reads."""
        arrays = {"w": self.w, "share": self.share, "mean": self.words.mean, "scale": self.words.scale}
        meta = {"cell": self.cell, "run": self.run.to_dict()}
        save_folder(path, KIND, meta, arrays | {"centres": self.words.centres})


def train(
    images: Sequence[Image],
    how: Training = DEFAULT,
    *,
    cell: int = 8,
    n_words: int = 64,
    track: Callable[[Iterable[Any], str], Iterable[Any]] = lambda items, what: items,
) -> BoxesModel:
    """Learn the scores of visual words from images with boxes, with the cost 1 - IoU.

    cell     pixels on a side of a cell; boxes are found up to this precision
    n_words  size of the vocabulary
    lam      of `how`: None is 1/n
    track    wraps the list of images to look at, e.g. to show progress
    """
    cell, n_words, boxes = positive_int(cell, "cell"), positive_int(n_words, "n_words"), boxes_of(images)
    if cell > _LARGEST_CELL:
        raise ValueError(f"cell={cell}; it must be {_LARGEST_CELL} pixels at most.")
    if not len(images):
        raise ValueError("Training needs at least one image.")
    lam = how.lam_or(1.0 / len(images))
    descriptors = [describe(image.pixels, cell) for image in track(images, "images")]
    words = learn_words(descriptors, n_words, how.seed)
    model = LinearPartsModel([words.indicators(d) for d in descriptors], shapes=[d.shape[:2] for d in descriptors])
    truth = np.array([to_cells(box, image.pixels, cell) for box, image in zip(boxes, images, strict=True)])
    objective = Objective(model, BoxSearch(), IoU(), list(truth), lam)
    result = fit(objective, how)
    return BoxesModel(cell, words, result.w, relative_box(images, boxes), Run.of(result, lam))


def decode_model(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> BoxesModel:
    """The model that `BoxesModel.save` wrote."""
    try:
        cell, run = int(meta["cell"]), Run.from_dict(meta["run"])
    except (KeyError, TypeError) as error:
        raise ValueError(f"the model file is damaged: it has no proper {error}.") from None
    centres = checked_array(arrays, "centres", (None, N_DESCRIPTORS))
    w, share = checked_array(arrays, "w", (len(centres),)), checked_array(arrays, "share", (2,))
    mean, scale = (checked_array(arrays, name, (N_DESCRIPTORS,)) for name in ("mean", "scale"))
    if not 1 <= cell <= _LARGEST_CELL or not (scale > 0.0).all():  # images are padded to whole cells
        raise ValueError(f"the model file is damaged: its cells have {cell} pixels, of a scale {scale.min()} at least.")
    return BoxesModel(cell, VisualWords(mean, scale, centres), w, share, run)
