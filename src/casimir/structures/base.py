"""What a structure is: oracles over part scores. It never sees weights or inputs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from casimir._validate import all_finite, positive_float, positive_int, ragged_float
from casimir.scores import FloatArray, IntArray, Scores


@dataclass(frozen=True, eq=False, slots=True)
class Best:
    """max_y score_i(y) and where it is.

    value    float64[n]: the score of the output found
    outputs  list of int64[p_i], the first maximiser in lexicographic order
    upper    float64[n]: value <= max_y score_i(y) <= upper, equal to value where the search was finished; None where
             value is the maximum of every example
    """

    value: FloatArray
    outputs: list[IntArray]
    upper: FloatArray | None = None


@dataclass(frozen=True, eq=False, slots=True)
class TopK:
    """The k best outputs, sorted by (-value, lexicographic order).

    value    float64[n, k], -inf where an example has fewer than k outputs
    outputs  list of int64[k_i, p_i]
    upper    float64[n]: where a search was cut short, so that the list may lack outputs, all that are not on it score
             at most this; -inf where it was not. None where no search was
    """

    value: FloatArray
    outputs: list[IntArray]
    upper: FloatArray | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Pulled:
    """The k_i best outputs, a different number per example.

    values   list of float64[k_i], sorted
    outputs  list of int64[k_i, p_i]
    upper    as for TopK
    """

    values: list[FloatArray]
    outputs: list[IntArray]
    upper: FloatArray | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Expectation:
    """value float64[n] = mu logsumexp_y(score_i(y) / mu); marginals = its gradient, in the layout of the scores."""

    value: FloatArray
    marginals: Scores


class WeightedPairs(Protocol):
    """The gradients of the losses of a batch by scores of pairs that all its edges share."""

    def weighted(self, weights: FloatArray) -> FloatArray:
        """float64[L, L]: the sum over examples, times weights float64[n]."""
        ...


@dataclass(frozen=True, eq=False, slots=True)
class SharedGradient:
    """The gradient of losses by scores with one matrix for all edges, which is added up when it is asked for.

    nodes  Scores without edges
    pairs  what the losses of all examples add to the gradient by the matrix
    """

    nodes: Scores
    pairs: WeightedPairs


class Structure(Protocol):
    """The outputs of a batch of examples, and oracles over the scores of their parts.

    An oracle that is out of reach raises `Intractable` and says what to use instead. A structure may also offer

    log_n_outputs(s)           float64[n]: log |Y_i|
    topk_until(s, k, mu)       Pulled: at most k outputs, fewer once proj_simplex(z / mu) gives all others weight 0
    parts_of_cost(s, costs)    Scores: the numbers that describe a cost, as part scores. One entry per example: where
                               nodes are labelled float64[p_i, L_i], the cost of node v having label j; where outputs
                               are listed float64[K_i], the cost of each; where they are boxes int[4], the box b of the
                               cost 1 - IoU(b, y)
    nodes_are_labels           True: the score of node part (v, j) counts where y_v = j, so that float64[N, L], the
                               cost of every label of every node, are part scores as they are
    nodes_are_outputs          True: node part j is output j, so that the cost of every output is a part score
    label_shapes(s)            int64[n, 2]: (p_i, L_i), where the layout of the scores does not show it
    restricted(allowed)        Structure: the same with fewer outputs; allowed says which node parts of each example
                               (of Enumerated: which listed outputs) are left, a list of bool arrays or None
    check_allowed(s, y, name)  raises where an output int[p_i] in the list y is not allowed
    soft_loss(s, y, mu)        (float64[n], Scores): expect(s, mu) - score_of(s, y) and its gradient by s; y int64[*]:
                               all outputs in a row. Where s has one [L, L] for all edges, a SharedGradient
    layout                     TensorLayout: how scores and outputs lie in tensors, for casimir.torch
    forbidden(s)               Scores of 0 and -inf that its oracles add to s, None when nothing is forbidden: nodes
                               [N, L], edges one [L, L] for all edges or None
    """

    def max(self, s: Scores) -> Best:
        """max_y score(y)."""
        ...

    def topk(self, s: Scores, k: int) -> TopK:
        """The k largest scores and their outputs."""
        ...

    def expect(self, s: Scores, mu: float) -> Expectation:
        """mu log sum_y exp(score(y) / mu)."""
        ...

    def max_marginals(self, s: Scores) -> list[FloatArray]:
        """List of float64[p_i, L]: max of score(y) over the outputs with y_v = j."""
        ...

    def mixture(self, s: Scores, outputs: Sequence[IntArray], weights: Sequence[FloatArray]) -> Scores:
        """sum_k weights[i][k] parts(outputs[i][k]), with outputs int64[k_i, p_i] as topk gives them."""
        ...

    def score_of(self, s: Scores, outputs: Sequence[IntArray]) -> FloatArray:
        """float64[n]: the score of one output int64[p_i] per example."""
        ...

    def select(self, examples: Any) -> Structure:
        """The structure of a sub-batch; itself when it does not depend on the examples."""
        ...


@runtime_checkable
class PullsTopK(Protocol):
    """A structure that knows when enough outputs have been pulled."""

    def topk_until(self, s: Scores, k: int, mu: float) -> Pulled: ...


def indicator(structure: Structure, s: Scores, outputs: Sequence[IntArray]) -> Scores:
    """parts(y_i): 1 on the parts that output int64[p_i] of example i uses; score_of(s, y) = s.dot(indicator)."""
    return structure.mixture(s, [np.asarray(y)[None] for y in outputs], [np.ones(1)] * len(outputs))


def weighted_counts(index: IntArray, weights: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """float64[shape]: the sum of the weights that fall on each flat index, added up in order."""
    counts = np.bincount(index, weights, minlength=math.prod(shape))
    return counts.astype(np.float64, copy=False).reshape(shape)


def pad_topk(values: FloatArray, counts: IntArray, k: int) -> FloatArray:
    """float64[n, k] from float64[sum counts], filled with -inf."""
    if len(values) == k * len(counts):
        return values.reshape(-1, k)
    padded = np.full((len(counts), k), -np.inf)
    padded[np.arange(k) < counts[:, None]] = values
    return padded


def split_flat(flat: Any, offsets: IntArray) -> list[Any]:
    """Views of the segments offsets[i]:offsets[i + 1]."""
    return [flat[a:b] for a, b in itertools.pairwise(offsets.tolist())]


def split_outputs(labels: IntArray, counts: IntArray, lengths: IntArray) -> list[IntArray]:
    """List of int64[k_i, p_i] from all labels, example after example."""
    sizes, dtype = counts * lengths, labels.dtype
    starts = (np.cumsum(sizes) - sizes) * labels.itemsize
    shapes = zip(counts.tolist(), lengths.tolist(), strict=True)
    # Views in one step each, where a slice and its reshape are two.
    return [np.ndarray(shape, dtype, labels, start) for shape, start in zip(shapes, starts.tolist(), strict=True)]


def check_layout(s: Scores, node_shape: tuple[int, ...], name: str) -> None:
    """What is given must be Scores with the right number of labels."""
    if not isinstance(s, Scores):
        raise TypeError(f"{name} got a {type(s).__name__}; it reads Scores. Make them with {name}.scores(...).")
    if s.nodes.shape[1:] != node_shape:
        needed = "[" + ", ".join(["N", *map(str, node_shape)]) + "]"
        raise ValueError(f"{name} got scores with nodes {list(s.nodes.shape)}; it reads {needed}.")


def check_scores(s: Scores, node_shape: tuple[int, ...], name: str) -> None:
    """Oracles read only finite scores with the right number of labels, also when a model made them."""
    check_layout(s, node_shape, name)
    if not all_finite(s.nodes) or (s.edges is not None and not all_finite(s.edges)):
        raise ValueError(f"{name} got scores that are NaN or infinite; they must be finite. Check weights and costs.")


def checked_k(k: Any) -> int:
    """How many outputs a caller asks for: a whole number, 1 or larger."""
    return positive_int(k, "k")


def checked_mu(mu: Any) -> float:
    """A level of smoothing: finite and larger than 0."""
    return positive_float(mu, "mu")


def check_mixture(s: Scores, outputs: Sequence[IntArray], weights: Sequence[FloatArray]) -> None:
    if len(outputs) != len(s) or len(weights) != len(s):
        raise ValueError(f"mixture got {len(outputs)} outputs and {len(weights)} weights for {len(s)} examples.")
    for i, (y, u) in enumerate(zip(outputs, weights, strict=True)):
        if np.ndim(y) != 2 or np.shape(u) != (len(y),):
            raise ValueError(
                f"mixture got outputs[{i}] of shape {list(np.shape(y))} and weights[{i}] of shape {list(np.shape(u))}; "
                "they must be [k, p] and [k]."
            )


def node_costs(s: Scores, costs: Any) -> Scores:
    """`parts_of_cost` of any structure whose nodes are [N, L]: costs, a list of [p_i, L], on the nodes."""
    nodes, offsets = ragged_float(costs, "costs", s.nodes.shape[1:])
    check_rows_of_costs(offsets, s.offsets, "nodes")
    return Scores.unchecked(nodes, s.offsets)


def check_rows_of_costs(offsets: IntArray, needed: IntArray, parts: str) -> None:
    """Whether costs were given for as many examples, and for as many parts of each, as there are."""
    if len(offsets) != len(needed):
        raise ValueError(f"costs has {len(offsets) - 1} entries for {len(needed) - 1} examples; give one per example.")
    bad = np.flatnonzero(np.diff(offsets) != np.diff(needed))
    if len(bad):
        i = int(bad[0])
        raise ValueError(
            f"costs[{i}] has {np.diff(offsets)[i]} entries for the {np.diff(needed)[i]} {parts} of example {i}; "
            "give one for each."
        )
