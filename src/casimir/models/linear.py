"""Linear models: scores_i = J_i w, adjoint m -> sum_i J_i^T m_i, composed in NumPy and SciPy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from casimir._arrays import aligned_zeros
from casimir._validate import all_finite, finite_float, positive_int, sequence_of
from casimir.features import PackedSequences
from casimir.models.base import check_marginals, check_weights, chosen_examples
from casimir.models.part_rows import LinearParts, PartRows, read_only_rows
from casimir.models.tokens import TokenModel, feature_matrix, sums_squared
from casimir.models.weight_rows import CHAIN_ENDS, WeightRows, chain_rows
from casimir.scores import FloatArray, IntArray, Scores, offsets_of, ragged_rows

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class LinearChainModel(TokenModel):
    """unary[t, j] = <features of token t, U[:, j]> + [t first] start[j] + [t last] stop[j];  pairwise = transitions.

    Where X has features of edges, pairwise[t - 1] = transitions + sum_f x_tf V[f], V[f] a matrix (from, to).

    Rows of w (see `WeightRows`): n_features of U, L of transitions (from, to), one of start, one of stop, L for each
    feature of edges.
    """

    extra_rows: ClassVar[int] = CHAIN_ENDS
    takes_edges: ClassVar[bool] = True

    @cached_property
    def weights(self) -> WeightRows:
        """How w is cut into rows."""
        return chain_rows(self.X.n_features, self.n_labels, 0 if self.X.edges is None else self.X.edges.n_features)

    def unpack(self, w: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Views of w: unary [n_features, L], transitions [L, L], start [L], stop [L]."""
        start, stop = self.weights.ends(w)[:CHAIN_ENDS]
        return self.weights.unary(w), self.weights.pairs(w), start, stop

    def edge_weights(self, w: FloatArray) -> FloatArray:
        """float64[m, L, L] (from, to) of the m features of edges, a view of w."""
        return self.weights.ends(w)[CHAIN_ENDS:].reshape(-1, self.n_labels, self.n_labels)

    def scores(self, w: FloatArray, examples: Any = None) -> Scores:
        nodes, offsets = self._unary(w, examples)
        _, transitions, start, stop = self.unpack(w)
        nodes[offsets[:-1]] += start
        nodes[offsets[1:] - 1] += stop
        matrix = self._edge_matrix(examples)
        if matrix is None:
            return Scores.unchecked(nodes, offsets, transitions.copy())
        pairs = matrix @ self.edge_weights(w).reshape(-1, self.n_labels**2)
        edges = pairs.reshape(-1, self.n_labels, self.n_labels) + transitions
        return Scores.unchecked(nodes, offsets, edges, offsets - np.arange(len(offsets)))

    def adjoint(self, marginals: Scores, examples: Any = None) -> FloatArray:
        gradient, offsets = self._unary_adjoint(marginals, examples)
        _, transitions, start, stop = self.unpack(gradient)
        transitions += _edge_total(marginals)
        start += marginals.nodes[offsets[:-1]].sum(axis=0)
        stop += marginals.nodes[offsets[1:] - 1].sum(axis=0)
        matrix = self._edge_matrix(examples)
        if matrix is not None and marginals.edges is not None:
            rows = _edge_rows(marginals.edges, matrix.shape[0], self.n_labels**2, type(self).__name__)
            of_pairs = matrix.T @ rows.reshape(-1, self.n_labels**2)
            self.weights.ends(gradient)[CHAIN_ENDS:] = of_pairs.reshape(-1, self.n_labels)
        return gradient

    def _edge_matrix(self, examples: Any) -> Any | None:
        """The features of the edges of the examples chosen, sparse [edges, m], or None."""
        if self.X.edges is None:
            return None
        edges = self.X.edges if examples is None else self.X.edges.select(chosen_examples(examples, self.n_examples))
        ends_none = np.zeros(edges.n_tokens, dtype=np.bool_)
        ends_none[edges.offsets[:-1]] = True
        return feature_matrix(edges)[~ends_none]

    @cached_property
    def _longest_rows(self) -> FloatArray:
        longest = super()._longest_rows
        if self.X.edges is None:
            return longest
        return np.asarray(longest + 2.0 * sums_squared(feature_matrix(self.X.edges), self.X.offsets))


def native_edges(X: PackedSequences) -> tuple[Any, ...]:
    """The features of edges as the core takes them; none are no arguments."""
    edges = X.edges
    return () if edges is None else (edges.indptr, edges.indices, edges.values, edges.n_features)


class LinearPartsModel:
    """Every part score is a row times w, for any structure: nodes_i = A_i w, edges_i = B_i w.

    nodes     list of dense (float32 or float64) or sparse [m_i, d]; with n_labels, m_i = p_i L and the scores are
              [p_i, L]
    edges     None, or a list of [e_i L L, d]; the scores are [e_i, L, L]
    n_labels  L; None for one score per node part (Candidates, Enumerated)
    shapes    list of (rows, columns) with rows * columns = m_i where node scores form a matrix (Matching, BoxSearch)
    """

    def __init__(
        self,
        nodes: Sequence[Any],
        edges: Sequence[Any] | None = None,
        n_labels: int | None = None,
        shapes: Sequence[tuple[int, int]] | None = None,
    ) -> None:
        self.n_labels = None if n_labels is None else positive_int(n_labels, "n_labels")
        self._nodes, self._offsets = _stack(nodes, "nodes", self.n_labels or 1)
        self._shapes = None if shapes is None else _checked_shapes(shapes, np.diff(self._offsets), self.n_labels)
        self._edges, self._edge_offsets = None, None
        if edges is None:
            return
        if self.n_labels is None:
            raise ValueError("LinearPartsModel got edges without n_labels; edge scores are [e_i, L, L], so give L.")
        self._edges, self._edge_offsets = _stack(edges, "edges", self._edge_block)
        if self._edges.shape[1] != self.n_params or len(self._edge_offsets) != len(self._offsets):
            raise ValueError(
                f"edges has {len(edges)} matrices of {self._edges.shape[1]} columns; nodes has {len(nodes)} of "
                f"{self.n_params}. Both need one matrix per example with as many columns as weights."
            )

    @property
    def n_examples(self) -> int:
        return len(self._offsets) - 1

    @property
    def n_params(self) -> int:
        return int(self._nodes.shape[1])

    def zeros(self) -> FloatArray:
        """Weights to start from, aligned for the native kernels."""
        return aligned_zeros(self.n_params)

    def layout(self) -> Scores:
        """Node scores of all examples, all 0."""
        tail = () if self.n_labels is None else (self.n_labels,)
        return Scores.unchecked(np.zeros((int(self._offsets[-1]), *tail)), self._offsets, shapes=self._shapes)

    def parts(self) -> LinearParts:
        one = np.ones((1, 1))
        edges = None if self._edges is None else PartRows(self._edges, 0, one)
        return LinearParts(PartRows(self._nodes, 0, one), edges, self._edge_offsets)

    def scores(self, w: FloatArray, examples: Any = None) -> Scores:
        check_weights(w, self.n_params, "LinearPartsModel")
        flat, offsets = _products(self._nodes, self._offsets, self.n_labels or 1, examples, w)
        unary = flat if self.n_labels is None else flat.reshape(-1, self.n_labels)
        if self._edges is None or self._edge_offsets is None or self.n_labels is None:
            shapes = self._shapes
            if shapes is not None and examples is not None:
                shapes = shapes[chosen_examples(examples, self.n_examples)]
            return Scores.unchecked(unary, offsets, shapes=shapes)
        of_edges, edge_offsets = _products(self._edges, self._edge_offsets, self._edge_block, examples, w)
        pairs = of_edges.reshape(-1, self.n_labels, self.n_labels)
        return Scores.unchecked(unary, offsets, pairs, edge_offsets)

    def adjoint(self, marginals: Scores, examples: Any = None) -> FloatArray:
        nodes, offsets = _pick_blocks(self._nodes, self._offsets, self.n_labels or 1, examples)
        tail = () if self.n_labels is None else (self.n_labels,)
        check_marginals(marginals, (int(offsets[-1]), *tail), offsets, "LinearPartsModel")
        gradient = nodes.T @ marginals.nodes.ravel()
        if self._edges is not None and self._edge_offsets is not None and marginals.edges is not None:
            edges, edge_offsets = _pick_blocks(self._edges, self._edge_offsets, self._edge_block, examples)
            gradient = gradient + edges.T @ _edge_rows(marginals.edges, int(edge_offsets[-1]), self._edge_block).ravel()
        return np.asarray(gradient, dtype=np.float64)

    def longest_rows(self, y: Any) -> FloatArray:
        """float64[n], at least max_y |Phi(y) - Phi(y_i)|^2: the square of a sum of lengths of rows.

        A labelled node or an edge is in two outputs with at most two rows, each at most as long as its longest; without
        labels two outputs differ in parts that each count once.
        """
        total = _summed(_lengths(self._nodes, self.n_labels or 1), self._offsets) * (
            1.0 if self.n_labels is None else 2.0
        )
        if self._edges is not None and self._edge_offsets is not None:
            total = total + 2.0 * _summed(_lengths(self._edges, self._edge_block), self._edge_offsets)
        return np.asarray(total**2, dtype=np.float64)

    @property
    def _edge_block(self) -> int:
        return (self.n_labels or 1) ** 2


def _lengths(matrix: Any, block: int) -> FloatArray:
    """float64[blocks]: the longest row of every block of rows."""
    import scipy.sparse as sp

    squares = (
        matrix.multiply(matrix).sum(axis=1) if sp.issparse(matrix) else np.square(matrix, dtype=np.float64).sum(axis=1)
    )
    lengths: FloatArray = np.sqrt(np.asarray(squares, dtype=np.float64).reshape(-1, block).max(axis=1))
    return lengths


def _summed(values: FloatArray, offsets: IntArray) -> FloatArray:
    """float64[n]: the sums over the entries of every example."""
    running = np.concatenate([[0.0], np.cumsum(values)])
    return np.asarray(running[offsets[1:]] - running[offsets[:-1]], dtype=np.float64)


def _edge_total(marginals: Scores) -> FloatArray | float:
    """float64[L, L]: the sum over the edges of all chains; shared edges count once per edge."""
    if marginals.edges is None:
        return 0.0
    if marginals.edge_offsets is None:
        return marginals.edges * float(len(marginals.nodes) - len(marginals))
    return np.asarray(marginals.edges.sum(axis=0), dtype=np.float64)


def _edge_rows(edges: FloatArray, n_edges: int, block: int, model: str = "LinearPartsModel") -> FloatArray:
    """float64[n_edges, L, L] of edges [n_edges, L, L], or [L, L] shared by all."""
    if edges[..., 0, 0].shape not in ((), (n_edges,)) or edges.shape[-2] * edges.shape[-1] != block:
        raise ValueError(f"{model} got marginal edges {list(edges.shape)}; it needs {n_edges} edges of {block} scores.")
    return np.broadcast_to(edges, (n_edges, *edges.shape[-2:]))


def _stack(matrices: Sequence[Any], name: str, block: int) -> tuple[Any, IntArray]:
    """One matrix of all examples' rows (sparse as soon as one of them is), and offsets in blocks of rows."""
    import scipy.sparse as sp  # takes a tenth of a second to load, which chains need not wait for

    given = sequence_of(matrices, name)
    if not len(given):
        raise ValueError(f"{name} is empty; give one matrix [m_i, d] per example.")
    parts: list[Any] = [m if sp.issparse(m) else _checked_rows(m, f"{name}[{i}]") for i, m in enumerate(given)]
    for i, part in enumerate(parts):
        if part.ndim != 2 or part.shape[1] != parts[0].shape[1]:
            raise ValueError(f"{name}[{i}] has shape {list(part.shape)}; it must be [m, {parts[0].shape[-1]}].")
        if part.shape[0] % block:
            raise ValueError(f"{name}[{i}] has {part.shape[0]} rows; it must be a multiple of {block} (see n_labels).")
        if sp.issparse(part) and not all_finite(part.tocsr().data):
            raise ValueError(f"{name}[{i}] has entries that are NaN or infinite; they must be finite.")
    offsets = offsets_of([part.shape[0] // block for part in parts])
    if any(sp.issparse(part) for part in parts):
        rows = sp.vstack([sp.csr_array(part, dtype=np.float64) for part in parts], format="csr")
        return read_only_rows(rows.copy() if len(parts) == 1 else rows), offsets
    return read_only_rows(np.concatenate(parts)), offsets


def _checked_rows(matrix: Any, name: str) -> Any:
    """float32 rows as they are, all others as float64; finite."""
    if isinstance(matrix, np.ndarray) and matrix.dtype == np.float32 and all_finite(matrix):
        return matrix
    return finite_float(matrix, name)


def _checked_shapes(shapes: Sequence[tuple[int, int]], counts: IntArray, n_labels: int | None) -> IntArray:
    array = np.asarray(shapes, dtype=np.int64)
    if n_labels is not None:
        raise ValueError("LinearPartsModel got n_labels and shapes; node scores are [p_i, L] or a matrix, not both.")
    if array.shape != (len(counts), 2) or not np.array_equal(array.prod(axis=1), counts):
        raise ValueError("shapes must give (rows, columns) per example, with as many cells as nodes[i] has rows.")
    return array


def _products(matrix: Any, offsets: IntArray, block: int, examples: Any, w: FloatArray) -> tuple[FloatArray, IntArray]:
    """The rows of the examples chosen times w, and their offsets in blocks of `block` rows."""
    if examples is None or not isinstance(matrix, np.ndarray):
        rows, picked = _pick_blocks(matrix, offsets, block, examples)
        return rows @ w, picked
    chosen = chosen_examples(examples, len(offsets) - 1)  # slices are views: the rows of several would be copied
    picked = np.concatenate([[0], np.cumsum(offsets[chosen + 1] - offsets[chosen])])
    found = np.empty(int(picked[-1]) * block)
    for k, i in enumerate(chosen.tolist()):
        np.dot(
            matrix[offsets[i] * block : offsets[i + 1] * block], w, out=found[picked[k] * block : picked[k + 1] * block]
        )
    return found, picked


def _pick_blocks(matrix: Any, offsets: IntArray, block: int, examples: Any) -> tuple[Any, IntArray]:
    """The rows of the examples chosen and their offsets, both in blocks of `block` rows."""
    if examples is None:
        return matrix, offsets
    chosen = chosen_examples(examples, len(offsets) - 1)
    if len(chosen) == 1:  # a stochastic step: a slice is a view of a dense matrix, and cheap for a sparse one
        first, last = offsets[chosen[0]], offsets[chosen[0] + 1]
        return matrix[first * block : last * block], np.array([0, last - first])
    rows, picked = ragged_rows(offsets, chosen)
    return matrix[(rows[:, None] * block + np.arange(block)).ravel()], picked
