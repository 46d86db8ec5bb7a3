"""Localization: classes of PASCAL VOC with AlexNet's conv4 (Sec. 7.1), and made-up candidates.

LINEAR and ELU have a source per class, by the name of the class: the linear score and <elu(Phi * w1), w2>.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from casimir._boxes import iou
from casimir.experiments.base import Data, Places, Source
from casimir.models.base import ScoreModel
from casimir.scores import FloatArray, IntArray
from casimir.tasks.localize.alexnet import AlexNet
from casimir.tasks.localize.candidates import CandidateSet
from casimir.tasks.localize.features import FeatureMap
from casimir.tasks.localize.metrics import LocalizeScores, localize_scores
from casimir.tasks.localize.model import known_boxes, training_objective
from casimir.tasks.localize.scores import make_score
from casimir.tasks.localize.store import collect
from casimir.tasks.localize.voc import read_voc

CLASSES = ("aeroplane", "cat", "cow", "dog", "horse", "sheep")
VOC, WEIGHTS = "VOCdevkit/VOC2012", "weights/alexnet_features.npz"
TRAIN_SHARE = 0.75
_SIDE = 100  # pixels of made-up pictures


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What is found in held-out pictures; the scores of the last w are kept, as several metrics ask for them.

    model   the scores of all candidates
    boxes   int64[m_i, 4] each, truth int64[n, 4]
    """

    model: ScoreModel
    boxes: list[IntArray]
    truth: IntArray
    _last: dict[bytes, LocalizeScores] = field(default_factory=dict)

    def corloc(self, w: FloatArray) -> float:
        return self.scores(w).corloc

    def ap(self, w: FloatArray) -> float:
        found = self.scores(w).ap
        assert found is not None
        return found

    def scores(self, w: FloatArray) -> LocalizeScores:
        key = w.tobytes()
        if key not in self._last:
            self._last.clear()
            self._last[key] = self._scores(w)
        return self._last[key]

    def _scores(self, w: FloatArray) -> LocalizeScores:
        found = self.model.scores(w)
        values = np.split(found.nodes, found.offsets[1:-1])
        best = [int(np.argmax(one)) for one in values]
        boxes = np.array([b[j] for b, j in zip(self.boxes, best, strict=True)], dtype=np.int64)
        return localize_scores(self.truth, boxes, np.array([one.max() for one in values]))


def split(n: int) -> tuple[IntArray, IntArray]:
    """The pictures to train on and those that are held out."""
    order = np.random.default_rng(0).permutation(n)
    first = round(TRAIN_SHARE * n)
    return order[:first], order[first:]


def localization_data(candidates: CandidateSet, features: FeatureMap, score: str) -> Data:
    """Training on 75 % of the pictures, CorLoc and AP on the others."""
    train, rest = (candidates.select(part) for part in split(len(candidates)))
    form = make_score(score, features.cells, features.n_channels)
    objective = training_objective(train, features, form, 1.0, n_threads=1)
    held_out = HeldOut(form.model(*features.stacked(rest)), rest.boxes, known_boxes(rest))
    start = None if form.start(0) is None else form.start
    return Data(objective, {"corloc": held_out.corloc, "ap": held_out.ap}, start)  # type: ignore[arg-type]


def _voc(places: Places, name: str, score: str) -> Data:
    assert places.data is not None
    descriptor = AlexNet(places.data / WEIGHTS)
    candidates = collect(read_voc(places.data / VOC, name), descriptor, cache=places.cache / "voc")
    return localization_data(candidates, FeatureMap(descriptor.cells, descriptor.channels, "paper"), score)


def made_up(n: int = 32, m: int = 30) -> tuple[CandidateSet, FeatureMap]:
    """n pictures of m candidates. Features: the IoU with the object times a fixed vector, and noise."""
    rng, features = np.random.default_rng(0), FeatureMap(4, 6, "paper")
    signal = rng.normal(size=features.cells * features.channels)
    boxes = [_random_boxes(rng, m) for _ in range(n)]
    truth = np.array([b[rng.integers(m)] for b in boxes])
    overlaps = [iou(b, box) for b, box in zip(boxes, truth, strict=True)]
    rows = [(o[:, None] * signal + rng.normal(size=(m, len(signal)))).astype(np.float32) for o in overlaps]
    return CandidateSet([f"picture {i}" for i in range(n)], boxes, rows, truth), features


def _made_up(places: Places, score: str) -> Data:
    return localization_data(*made_up(), score)


def _random_boxes(rng: np.random.Generator, m: int) -> IntArray:
    """int64[m, 4]"""
    ends = np.sort(rng.integers(_SIDE, size=(m, 2, 2)), axis=1)
    return np.asarray(ends.reshape(m, 4), dtype=np.int64)


def _sources(score: str, suffix: str, convex: bool) -> dict[str, Source]:
    small = Source(f"made-up{suffix}", partial(_made_up, score=score), convex=convex)
    return {
        name: Source(f"{name}{suffix}", partial(_voc, name=name, score=score), (VOC, WEIGHTS), small, convex)
        for name in CLASSES
    }


LINEAR = _sources("linear", "", convex=True)
ELU = _sources("elu", "-elu", convex=False)
