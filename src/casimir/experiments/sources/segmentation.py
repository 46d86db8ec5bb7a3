"""Graph cuts over superpixels: every sixth of the Weizmann horses, and made-up pictures. Needs OpenCV."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from casimir.datasets.blobs import make_blobs
from casimir.experiments.base import Data, Places, Source
from casimir.losses import Hinge
from casimir.objective import Objective
from casimir.penalties import Ridge
from casimir.tasks.segment.features import learn_features
from casimir.tasks.segment.graphs import ImageGraph, PixelHamming, edge_weights, linear_model, structure
from casimir.tasks.segment.pictures import Picture, read_folder

FOLDER = "horses"
_EVERY = 6


@dataclass(frozen=True, eq=False)
class KeptSubmodular:
    """lam -> the square of all weights, those of edges not negative."""

    graphs: list[ImageGraph]

    def __call__(self, lam: float) -> Ridge:
        return Ridge(lam, nonnegative=edge_weights(self.graphs))


def segmentation_data(graphs: list[ImageGraph]) -> Data:
    penalty = KeptSubmodular(graphs)
    truth = [graph.truth for graph in graphs if graph.truth is not None]
    cost = PixelHamming([graph.share for graph in graphs])
    objective = Objective(linear_model(graphs), structure(graphs), Hinge(cost), truth, penalty(1.0), n_threads=1)
    return Data(objective, penalty=penalty)


@cache
def _graphs(pictures: Callable[[], list[Picture]]) -> list[ImageGraph]:
    """Features take seconds to learn, so they are kept while the process lives."""
    return learn_features(pictures())[1]


@dataclass(frozen=True)
class Horses:
    folder: Path

    def __call__(self) -> list[Picture]:
        return read_folder(self.folder)[::_EVERY]


@dataclass(frozen=True)
class Blobs:
    count: int

    def __call__(self) -> list[Picture]:
        return [Picture(f"blob {k}", blob.image, blob.mask) for k, blob in enumerate(make_blobs(self.count))]


def _horses(places: Places) -> Data:
    assert places.data is not None
    return segmentation_data(_graphs(Horses(places.data / FOLDER)))


def _blobs(places: Places, count: int) -> Data:
    return segmentation_data(_graphs(Blobs(count)))


BLOBS = Source("blobs", partial(_blobs, count=8))
HORSES = Source("horses", _horses, (FOLDER,), BLOBS)
