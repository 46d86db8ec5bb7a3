"""A segmentation model: features that were learned from pictures, and the weights of a graph cut over them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from casimir.objective import Objective
from casimir.penalties import Ridge
from casimir.persistence import save_folder
from casimir.scores import FloatArray
from casimir.tasks.arrays import checked_array
from casimir.tasks.segment.boundaries import N_EDGE_FEATURES
from casimir.tasks.segment.features import Features, learn_features, resized_mask
from casimir.tasks.segment.graphs import CutModel, ImageGraph, PixelHamming, best_labels, edge_weights, structure
from casimir.tasks.segment.looks import Track
from casimir.tasks.segment.metrics import SegmentScores, segment_scores
from casimir.tasks.segment.pictures import Image, Mask, Picture, check_image
from casimir.tasks.segment.state import FEATURE_SET, READ, decode_features, encode_features
from casimir.tasks.training import DEFAULT, Run, Training, fit

KIND = "segment"
DEFAULT_LAM = 0.01  # times 1/n


@dataclass(frozen=True, eq=False)
class SegmentModel:
    """features    pictures -> graphs
    weights     float64[d + q]: of nodes, then of edges, the latter not negative
    edges       False for the baseline that labels every superpixel on its own
    run         how training ended
    """

    features: Features
    weights: FloatArray
    edges: bool
    run: Run

    def predict(self, image: Image) -> Mask:
        """bool[H, W] of an image uint8[H, W, 3] in RGB: where its foreground is."""
        check_image(image)
        return self.mask(self.features.graph(image), image.shape[:2])

    def mask(self, graph: ImageGraph, shape: tuple[int, ...]) -> Mask:
        """bool of a picture's shape, given its graph."""
        graph = graph if self.edges else graph.without_edges()
        labels = best_labels([graph], self.weights)[0]
        return resized_mask(labels.astype(np.bool_)[graph.labels], shape)

    def evaluate(self, pictures: Iterable[Picture]) -> SegmentScores:
        """Pixel accuracy and intersection over union on pictures with masks."""
        true, predicted = [], []
        for picture in pictures:
            if picture.mask is None:
                raise ValueError(f"{picture.name!r} has no mask to compare with.")
            true.append(picture.mask)
            predicted.append(self.predict(picture.image))
        return segment_scores(true, predicted)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model folder that `casimir.load` reads."""
        arrays = {**encode_features(self.features), "weights": self.weights}
        meta = {"feature_set": FEATURE_SET, "edges": self.edges, "run": self.run.to_dict()}
        save_folder(path, KIND, meta, arrays)


def train(
    pictures: Sequence[Picture], how: Training = DEFAULT, track: Track = lambda items, what: items
) -> SegmentModel:
    """Learn features and weights from pictures with masks.

    lam    of `how`: None is 0.01 / n, chosen by cross-validation on the training half of the Weizmann horses
    track  wraps the list of pictures to look at, e.g. to show progress
    """
    return train_weights(*learn_features(pictures, how.seed, track), how)


def train_weights(
    features: Features, graphs: Sequence[ImageGraph], how: Training = DEFAULT, *, edges: bool = True
) -> SegmentModel:
    """The weights alone, given what `learn_features` found; edges=False is the baseline without smoothness."""
    used = list(graphs) if edges else [graph.without_edges() for graph in graphs]
    truth = [graph.truth for graph in used if graph.truth is not None]
    lam = how.lam_or(DEFAULT_LAM / len(used))
    cost = PixelHamming([graph.share for graph in used])
    penalty = Ridge(lam, nonnegative=edge_weights(used))
    objective = Objective(CutModel(used), structure(used), cost, truth, penalty)
    result = fit(objective, how)
    return SegmentModel(features, result.w, edges, Run.of(result, lam))


def decode_model(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> SegmentModel:
    """The model that `SegmentModel.save` wrote."""
    if meta.get("feature_set") not in READ:
        raise ValueError(
            f"it has the feature set {meta.get('feature_set')!r}, which this casimir does not know; upgrade casimir."
        )
    features = decode_features(arrays)
    weights = checked_array(arrays, "weights", (features.n_node_features + N_EDGE_FEATURES,))
    if weights[features.n_node_features :].min() < 0.0:
        raise ValueError("the model file is damaged: its weights of edges must not be negative.")
    return SegmentModel(features, weights, bool(meta.get("edges", True)), Run.from_dict(meta.get("run")))
