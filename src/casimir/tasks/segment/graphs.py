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

from casimir._arrays import aligned_zeros
from casimir.costs import part_scores
from casimir.models.base import check_marginals, check_weights, chosen_examples
from casimir.models.part_rows import LinearParts, PartRows, read_only_rows
from casimir.scores import FloatArray, IntArray, Scores, offsets_of
from casimir.structures import GraphCut
from casimir.structures.base import Structure


@dataclass(frozen=True, eq=False)
class ImageGraph:
    """labels   int64[H, W]: the node of every pixel
    share    float64[p]: share of the image's pixels that a node has
    nodes    float32 or float64[p, d]: features x
    edges    int64[m, 2]
    cuts     float64[m, q]: features phi
    truth    int64[p]: 1 where most of a node's pixels are foreground; None where nobody knows
    """

    labels: IntArray
    share: FloatArray
    nodes: npt.NDArray[np.floating[Any]]
    edges: IntArray
    cuts: FloatArray
    truth: IntArray | None = None

    def without_edges(self) -> ImageGraph:
        return replace(self, edges=self.edges[:0], cuts=self.cuts[:0])


class CutModel:
    """The scores above; w has the d node weights first, then the q edge weights."""

    def __init__(self, graphs: Sequence[ImageGraph]) -> None:
        self._graphs = graphs
        self._offsets = offsets_of([len(graph.nodes) for graph in graphs])
        self._edge_offsets = offsets_of([len(graph.edges) for graph in graphs])
        self._d = graphs[0].nodes.shape[1]
        self.n_params = self._d + graphs[0].cuts.shape[1]

    @property
    def n_examples(self) -> int:
        return len(self._graphs)

    def zeros(self) -> FloatArray:
        return aligned_zeros(self.n_params)

    def layout(self) -> Scores:
        """Node scores of all examples, all 0."""
        return Scores.unchecked(np.zeros((int(self._offsets[-1]), 2)), self._offsets)

    def parts(self) -> LinearParts:
        """share_v x_v w is the score of label 1, and -phi_e w_e that of two labels that differ."""
        nodes, cuts = (np.concatenate([getattr(g, name) for g in self._graphs]) for name in ("nodes", "cuts"))
        share = np.concatenate([graph.share for graph in self._graphs])
        return LinearParts(
            PartRows(read_only_rows(nodes), 0, np.array([[0.0, 1.0]]), share),
            PartRows(read_only_rows(cuts), self._d, np.array([[0.0, -1.0, -1.0, 0.0]])),
            self._edge_offsets,
        )

    def scores(self, w: FloatArray, examples: Any = None) -> Scores:
        check_weights(w, self.n_params, "CutModel")
        graphs, offsets, edge_offsets = self._chosen(examples)
        nodes, edges = np.zeros((offsets[-1], 2)), np.zeros((edge_offsets[-1], 2, 2))
        for k, graph in enumerate(graphs):
            nodes[offsets[k] : offsets[k + 1], 1] = graph.share * (graph.nodes @ w[: self._d])
            if len(graph.edges):
                cut = graph.cuts @ w[self._d :]
                own = edges[edge_offsets[k] : edge_offsets[k + 1]]
                own[:, 0, 1], own[:, 1, 0] = -cut, -cut
        return Scores.unchecked(nodes, offsets, edges, edge_offsets)

    def adjoint(self, marginals: Scores, examples: Any = None) -> FloatArray:
        graphs, offsets, edge_offsets = self._chosen(examples)
        check_marginals(marginals, (int(offsets[-1]), 2), offsets, "CutModel")
        gradient = self.zeros()
        for k, graph in enumerate(graphs):
            gradient[: self._d] += (graph.share * marginals.nodes[offsets[k] : offsets[k + 1], 1]) @ graph.nodes
            if len(graph.edges) and marginals.edges is not None:
                own = marginals.edges[edge_offsets[k] : edge_offsets[k + 1]]
                gradient[self._d :] -= (own[:, 0, 1] + own[:, 1, 0]) @ graph.cuts
        return gradient

    def longest_rows(self, y: Any) -> FloatArray:
        """float64[n], at least max_y |Phi(y) - Phi(y_i)|^2: the square of the sum of the lengths of all rows."""
        lengths = [
            float(graph.share @ np.linalg.norm(graph.nodes, axis=1) + np.linalg.norm(graph.cuts, axis=1).sum())
            for graph in self._graphs
        ]
        return np.square(lengths)

    def _chosen(self, examples: Any) -> tuple[Sequence[ImageGraph], IntArray, IntArray]:
        if examples is None:
            return self._graphs, self._offsets, self._edge_offsets
        chosen = chosen_examples(examples, self.n_examples)
        graphs = [self._graphs[i] for i in chosen.tolist()]
        return graphs, offsets_of(np.diff(self._offsets)[chosen]), offsets_of(np.diff(self._edge_offsets)[chosen])


def edge_weights(graphs: Sequence[ImageGraph]) -> npt.NDArray[np.bool_]:
    """bool[d + q]: the weights of edges. Kept at 0 or above, they make all pair scores submodular."""
    d, q = graphs[0].nodes.shape[1], graphs[0].cuts.shape[1]
    return np.asarray(np.arange(d + q) >= d)


def structure(graphs: Sequence[ImageGraph]) -> GraphCut:
    return GraphCut([graph.edges for graph in graphs])


def best_labels(graphs: Sequence[ImageGraph], w: FloatArray) -> list[IntArray]:
    """The best labelling of every graph, int64[p_i]."""
    return structure(graphs).max(CutModel(graphs).scores(w)).outputs


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
