"""Labels of the pixels of images: a `GraphLabeler` whose graphs are grids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from casimir._validate import finite_float, sequence_of
from casimir.estimators.graph_labeler import GraphLabeler
from casimir.estimators.graphs import Graphs
from casimir.estimators.training import for_log_loss
from casimir.scores import FloatArray, IntArray
from casimir.solvers.base import Solver


class GridLabeler(GraphLabeler):
    """The labels of images: every pixel is a node, and pixels beside or below each other are an edge.

    directional  True: pairs beside each other and pairs below each other have weights of their own
    pairs        as for `GraphLabeler`: "attractive", the default, is for two labels on images of any size. The others
                 are for images that are narrow in one direction, since their cost grows as L^min(H, W)

    X is a list of feature maps [H, W, d], y a list of label maps [H, W]; predictions are label maps. Other parameters
    and what `fit` leaves are as for `GraphLabeler`; pairs_ is [1, L, L], or [2, L, L] (beside, below).

    >>> image = np.array([[[1.0], [0.9], [-0.1]], [[1.1], [-0.2], [-1.0]]])
    >>> GridLabeler().fit([image], [[[1, 1, 0], [1, 0, 0]]]).predict([image])[0].tolist()
    [[1, 1, 0], [1, 0, 0]]
    """

    def __init__(
        self,
        lam: float | None = None,
        loss: str = "hinge",
        solver: str | Solver = "auto",
        tol: float = 1e-2,
        random_state: Any = 0,
        *,
        directional: bool = False,
        pairs: str = "attractive",
        class_weight: Mapping[Any, float] | str | None = None,
        l1_ratio: float = 0.0,
        max_epochs: int = 500,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            lam,
            loss,
            solver,
            tol,
            random_state,
            pairs=pairs,
            class_weight=class_weight,
            l1_ratio=l1_ratio,
            max_epochs=max_epochs,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.directional = directional

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GridLabeler:
        """Train on feature maps X with label maps y; sample_weight [n]: how much each image counts."""
        maps = _checked_maps(X)
        labels = [np.asarray(given) for given in sequence_of(y, "y")]
        for i, (image, given) in enumerate(zip(maps, labels, strict=False)):
            if given.shape != image.shape[:2]:
                raise ValueError(f"y[{i}] has shape {list(given.shape)}; X[{i}] needs {list(image.shape[:2])}.")
        self._fit_graphs(self._grids(maps), [given.ravel() for given in labels], sample_weight)
        return self

    def predict(self, X: Any) -> list[Any]:
        """The best label map of every image."""
        maps = _checked_maps(X)
        found = super().predict(self._grids(maps))
        return [labels.reshape(image.shape[:2]) for labels, image in zip(found, maps, strict=True)]

    @for_log_loss
    def predict_marginals(self, X: Any) -> list[FloatArray]:
        """A float64[H, W, L] per image: the probability of every label at every pixel; loss="log" only."""
        maps = _checked_maps(X)
        found = super().predict_marginals(self._grids(maps))
        return [p.reshape(*image.shape[:2], -1) for p, image in zip(found, maps, strict=True)]

    def _grids(self, maps: list[FloatArray]) -> Graphs:
        return Graphs.of([self._grid(image) for image in maps])

    def _grid(self, image: FloatArray) -> tuple[Any, ...]:
        height, width, d = image.shape
        beside, below = grid_edges(height, width)
        nodes, edges = image.reshape(-1, d), np.concatenate([beside, below])
        if not self.directional:
            return nodes, edges
        kind = np.repeat(np.eye(2), [len(beside), len(below)], axis=0)
        return nodes, edges, kind


def grid_edges(height: int, width: int) -> tuple[IntArray, IntArray]:
    """int64[m, 2] each: pairs of pixels beside and below each other, numbered row by row."""
    number = np.arange(height * width).reshape(height, width)
    beside = np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()], axis=1)
    below = np.stack([number[:-1].ravel(), number[1:].ravel()], axis=1)
    return beside, below


def _checked_maps(X: Any) -> list[FloatArray]:
    maps = [finite_float(image, f"X[{i}]") for i, image in enumerate(sequence_of(X, "X"))]
    for i, image in enumerate(maps):
        if image.ndim != 3 or min(image.shape) < 1:
            raise ValueError(f"X[{i}] has shape {list(image.shape)}; an image is a feature map [H, W, d].")
    return maps
