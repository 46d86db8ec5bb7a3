"""A picture as a graph of superpixels, and a batch of graphs as a model, a structure and a cost.

score(y) = sum_v share_v [y_v = 1] <x_v, w> - sum_(u, v) [y_u != y_v] <phi_uv, w_e>,   phi >= 0, w_e >= 0

so cutting an edge never adds to the score: -score is submodular, and the best labelling is a minimum cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from casimir.costs import part_scores
from casimir.models.linear import LinearPartsModel
from casimir.scores import FloatArray, IntArray, Scores
from casimir.structures import GraphCut
from casimir.structures.base import Structure


@dataclass(frozen=True, eq=False)
class ImageGraph:
    """labels   int64[H, W]: the node of every pixel
    share    float64[p]: share of the image's pixels that a node has
    nodes    float64[p, d]: features x
    edges    int64[m, 2]
    cuts     float64[m, q]: features phi
    truth    int64[p]: 1 where most of a node's pixels are foreground; None where nobody knows
    """

    labels: IntArray
    share: FloatArray
    nodes: FloatArray
    edges: IntArray
    cuts: FloatArray
    truth: IntArray | None = None

    def without_edges(self) -> ImageGraph:
        return replace(self, edges=self.edges[:0], cuts=self.cuts[:0])


def linear_model(graphs: Sequence[ImageGraph]) -> LinearPartsModel:
    """The scores above; w has the d node weights first, then the q edge weights."""
    d, q = graphs[0].nodes.shape[1], graphs[0].cuts.shape[1]
    nodes, edges = [_node_rows(graph, d + q) for graph in graphs], [_edge_rows(graph, d + q) for graph in graphs]
    return LinearPartsModel(nodes, edges, n_labels=2)


def edge_weights(graphs: Sequence[ImageGraph]) -> npt.NDArray[np.bool_]:
    """bool[d + q]: the weights of edges. Kept at 0 or above, they make all pair scores submodular."""
    d, q = graphs[0].nodes.shape[1], graphs[0].cuts.shape[1]
    return np.asarray(np.arange(d + q) >= d)


def structure(graphs: Sequence[ImageGraph]) -> GraphCut:
    return GraphCut([graph.edges for graph in graphs])


def best_labels(graphs: Sequence[ImageGraph], w: FloatArray) -> list[IntArray]:
    """The best labelling of every graph, int64[p_i]."""
    return structure(graphs).max(linear_model(graphs).scores(w)).outputs


@dataclass(frozen=True, eq=False)
class PixelHamming:
    """l(y, y') = sum_v share_v [y_v != y'_v]: the share of pixels in nodes with a wrong label, at most 1.

    shares  list of float64[p_i]
    """

    shares: Sequence[FloatArray]

    def parts(self, structure: Structure, s: Scores, y: Sequence[IntArray]) -> Scores:
        wrong = 1.0 - np.eye(2)
        costs = [wrong[true] * share[:, None] for true, share in zip(y, self.shares, strict=True)]
        return part_scores(structure, s, costs, "PixelHamming")

    def __call__(self, y_true: Any, y_pred: Any, example: int | None = None) -> float:
        if example is None and len(self.shares) != 1:
            raise ValueError(f"PixelHamming has {len(self.shares)} examples; say which: cost(y, y', example=i).")
        return float(self.shares[example or 0] @ (np.asarray(y_true) != np.asarray(y_pred)))


def _node_rows(graph: ImageGraph, columns: int) -> Any:
    """Sparse [2 p, columns]: nothing for label 0, share_v x_v for label 1."""
    p, d = graph.nodes.shape
    values = graph.nodes * graph.share[:, None]
    starts = np.append(np.repeat(np.arange(p) * d, 2), p * d)  # row 2 v is empty, row 2 v + 1 has d entries
    return sp.csr_array((values.ravel(), np.tile(np.arange(d), p), starts), shape=(2 * p, columns))


def _edge_rows(graph: ImageGraph, columns: int) -> Any:
    """Sparse [4 m, columns]: -phi for the label pairs (0, 1) and (1, 0), nothing for equal labels."""
    m, q = graph.cuts.shape
    rows = np.repeat((4 * np.arange(m)[:, None] + (1, 2)).ravel(), q)
    place = (rows, np.tile(np.arange(columns - q, columns), 2 * m))
    return sp.csr_array((np.repeat(-graph.cuts, 2, axis=0).ravel(), place), shape=(4 * m, columns))
