"""Graph cuts: superpixels of every sixth of the Weizmann horses (needs OpenCV), and squares of made-up pictures."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np

from casimir.datasets.blobs import Blob, make_blobs
from casimir.experiments.base import Data, Places, Source
from casimir.losses import Hinge
from casimir.objective import Objective
from casimir.penalties import Ridge
from casimir.scores import FloatArray
from casimir.tasks.segment.features import learn_features
from casimir.tasks.segment.graphs import CutModel, ImageGraph, PixelHamming, edge_weights, structure
from casimir.tasks.segment.pictures import read_folder

FOLDER = "horses"
_EVERY = 6
_SIDE = 8  # pixels of a square


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
    objective = Objective(CutModel(graphs), structure(graphs), Hinge(cost), truth, penalty(1.0), n_threads=1)
    return Data(objective, penalty=penalty)


@cache
def _horse_graphs(folder: Path) -> list[ImageGraph]:
    """Features take ten seconds to learn, so they are kept while the process lives."""
    return learn_features(read_folder(folder)[::_EVERY])[1]


def square_graph(blob: Blob) -> ImageGraph:
    """A grid of squares: mean colours and their squares, place, 1; neighbours by the difference of their colours."""
    rows, columns = (side // _SIDE for side in blob.mask.shape)
    number = np.arange(rows * columns).reshape(rows, columns)
    labels = number.repeat(_SIDE, axis=0).repeat(_SIDE, axis=1)
    squares = np.stack([_means(channel) for channel in np.moveaxis(blob.image / 255.0, 2, 0)], axis=1)
    place = np.indices((rows, columns)).reshape(2, -1).T / (rows, columns) - 0.5
    nodes = np.concatenate([squares, squares**2, place, place**2, np.ones((len(squares), 1))], axis=1)
    pairs = [(number[:, :-1], number[:, 1:]), (number[:-1], number[1:])]
    edges = np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in pairs])
    distance = np.linalg.norm(squares[edges[:, 0]] - squares[edges[:, 1]], axis=1, keepdims=True)
    cuts = np.concatenate([np.ones_like(distance), np.exp(-5.0 * distance)], axis=1) / len(edges)
    truth = (_means(blob.mask.astype(np.float64)) > 0.5).astype(np.int64)
    return ImageGraph(labels, np.full(len(nodes), 1.0 / len(nodes)), nodes, edges, cuts, truth)


def _means(channel: FloatArray) -> FloatArray:
    """float64[squares] of float64[H, W]"""
    rows, columns = (side // _SIDE for side in channel.shape)
    means: FloatArray = channel.reshape(rows, _SIDE, columns, _SIDE).mean(axis=(1, 3)).ravel()
    return means


def _horses(places: Places) -> Data:
    assert places.data is not None
    return segmentation_data(_horse_graphs(places.data / FOLDER))


def _blobs(places: Places, count: int) -> Data:
    return segmentation_data([square_graph(blob) for blob in make_blobs(count)])


BLOBS = Source("blobs", partial(_blobs, count=20))
HORSES = Source("horses", _horses, (FOLDER,), BLOBS)
