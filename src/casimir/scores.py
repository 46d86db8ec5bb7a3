"""A ragged batch of part scores. Marginals, costs and indicators of outputs have the same layout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, slots=True)
class Scores:
    """score_i(y) = sum of the scores of the parts that output y of example i uses.

    nodes         float64[N, L] or [N]: node parts of all examples, one after another
    offsets       int64[n + 1]: example i owns the rows offsets[i]:offsets[i + 1] of nodes
    edges         None (no edge scores), float64[L, L] shared by all edges (alone, those of chains: p_i - 1 per example;
                  next to scores with edges of their own, those), or float64[M, L, L]
    edge_offsets  int64[n + 1] into edges when they are not shared, else None
    shapes        int64[n, 2] when the node parts of example i form a matrix of this shape (nodes are [N]), else None
    whole         float64[n]: the score of one more part per example, which belongs to the output as a whole; the
                  structure says how much of it an output uses. None is zero
    reference     int64[n, 4]: the box that `whole` refers to; None where outputs are no boxes

    The constructor checks its arrays. Results of the library are made by `Scores.unchecked`, which does not.
    """

    nodes: FloatArray
    offsets: IntArray
    edges: FloatArray | None = None
    edge_offsets: IntArray | None = None
    shapes: IntArray | None = None
    whole: FloatArray | None = None
    reference: IntArray | None = None

    def __post_init__(self) -> None:
        _check_array("nodes", self.nodes, np.float64, (1, 2))
        _check_offsets("offsets", self.offsets, len(self.nodes))
        self._check_edges()
        if self.shapes is not None:
            _check_array("shapes", self.shapes, np.int64, (2,))
            if self.nodes.ndim != 1 or not np.array_equal(self.shapes.prod(axis=1), np.diff(self.offsets)):
                raise ValueError(
                    "Scores.shapes must be one (rows, columns) per example, for nodes [N] of as many cells."
                )
        if self.whole is not None:
            _check_array("whole", self.whole, np.float64, (1,))
            if len(self.whole) != len(self):
                raise ValueError(f"Scores.whole has {len(self.whole)} entries for {len(self)} examples.")
        if self.reference is not None:
            _check_array("reference", self.reference, np.int64, (2,))
            if self.reference.shape != (len(self), 4):
                raise ValueError(
                    f"Scores.reference has shape {list(self.reference.shape)}; {len(self)} examples need "
                    f"{[len(self), 4]}, a box (top, left, bottom, right) each."
                )

    def _check_edges(self) -> None:
        if self.edges is None:
            if self.edge_offsets is not None:
                raise ValueError("Scores has edge_offsets but no edges; leave both out or give both.")
            return
        _check_array("edges", self.edges, np.float64, (2, 3))
        if (self.edges.ndim == 3) != (self.edge_offsets is not None):
            raise ValueError(
                f"Scores has edges {list(self.edges.shape)} and edge_offsets {self.edge_offsets}; "
                "shared edges [L, L] need None, own edges [M, L, L] need int64[n + 1]."
            )
        if self.edge_offsets is not None:
            _check_offsets("edge_offsets", self.edge_offsets, len(self.edges))
            if len(self.edge_offsets) != len(self.offsets):
                raise ValueError(
                    f"edge_offsets has {len(self.edge_offsets)} entries; it needs {len(self.offsets)}, as offsets."
                )

    @classmethod
    def unchecked(
        cls,
        nodes: FloatArray,
        offsets: IntArray,
        edges: FloatArray | None = None,
        edge_offsets: IntArray | None = None,
        shapes: IntArray | None = None,
        whole: FloatArray | None = None,
        reference: IntArray | None = None,
    ) -> Scores:
        """The same object without a look at its arrays: for code that made them itself, in the layout above."""
        made = object.__new__(cls)
        keep = object.__setattr__
        keep(made, "nodes", nodes)
        keep(made, "offsets", offsets)
        keep(made, "edges", edges)
        keep(made, "edge_offsets", edge_offsets)
        keep(made, "shapes", shapes)
        keep(made, "whole", whole)
        keep(made, "reference", reference)
        return made

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def unary(self, i: int) -> FloatArray:
        """float64[p_i, L], [m_i] or of the shape of example i: a view of its node parts."""
        i = range(len(self))[i]
        nodes = self.nodes[self.offsets[i] : self.offsets[i + 1]]
        return nodes if self.shapes is None else nodes.reshape(self.shapes[i])

    def pairwise(self, i: int) -> FloatArray:
        """float64[m_i, L, L]: a view of the edge parts of example i; shared ones are broadcast to [p_i - 1, L, L]."""
        i = range(len(self))[i]
        if self.edges is None:
            raise ValueError("These scores have no edge parts; only unary(i) is defined.")
        if self.edge_offsets is None:
            return np.broadcast_to(self.edges, (self.offsets[i + 1] - self.offsets[i] - 1, *self.edges.shape))
        return self.edges[self.edge_offsets[i] : self.edge_offsets[i + 1]]

    def dot(self, other: Scores) -> FloatArray:
        """float64[n]: <self_i, other_i>, e.g. of scores with marginals. Missing edges count as zero."""
        check_same_layout(self, other)
        products = np.einsum("nl,nl->n" if self.nodes.ndim == 2 else "n,n->n", self.nodes, other.nodes)
        total = segment_sums(products, self.offsets)
        if self.whole is not None and other.whole is not None:
            total += self.whole * other.whole
        if self.edges is None or other.edges is None:
            return total
        edge_offsets = self.edge_offsets if self.edge_offsets is not None else other.edge_offsets
        if edge_offsets is None:
            return total + np.diff(chain_edge_offsets(self.offsets)) * float(np.vdot(self.edges, other.edges))
        shape = (edge_offsets[-1], *self.edges.shape[-2:])
        products = np.einsum("mab,mab->m", np.broadcast_to(self.edges, shape), np.broadcast_to(other.edges, shape))
        return total + segment_sums(products, edge_offsets)

    def __add__(self, other: Scores) -> Scores:
        check_same_layout(self, other)
        return Scores.unchecked(
            self.nodes + other.nodes,
            self.offsets,
            _sum(self.edges, other.edges),
            _either(self.edge_offsets, other.edge_offsets),
            _either(self.shapes, other.shapes),
            _sum(self.whole, other.whole),
            _either(self.reference, other.reference),
        )

    def __sub__(self, other: Scores) -> Scores:
        check_same_layout(self, other)
        return Scores.unchecked(
            self.nodes - other.nodes,
            self.offsets,
            _difference(self.edges, other.edges),
            _either(self.edge_offsets, other.edge_offsets),
            _either(self.shapes, other.shapes),
            _difference(self.whole, other.whole),
            _either(self.reference, other.reference),
        )

    def __mul__(self, factor: float) -> Scores:
        factor = float(factor)
        return Scores.unchecked(
            self.nodes * factor,
            self.offsets,
            None if self.edges is None else self.edges * factor,
            self.edge_offsets,
            self.shapes,
            None if self.whole is None else self.whole * factor,
            self.reference,
        )

    __rmul__ = __mul__

    def select(self, examples: Any) -> Scores:
        """The sub-batch of the given examples: an index array, a mask or a slice. That of one example is a view."""
        chosen = np.arange(len(self))[examples]
        if chosen.ndim != 1:
            raise ValueError(f"select got {examples!r}; it needs a list of example indices. Try [{examples!r}].")
        rows, offsets = _rows_of(self.offsets, chosen)
        edges, edge_offsets = self.edges, None
        if self.edges is not None and self.edge_offsets is not None:
            edge_rows, edge_offsets = _rows_of(self.edge_offsets, chosen)
            edges = self.edges[edge_rows]
        shapes, whole, reference = (
            None if rest is None else rest[chosen] for rest in (self.shapes, self.whole, self.reference)
        )
        return Scores.unchecked(self.nodes[rows], offsets, edges, edge_offsets, shapes, whole, reference)


def concatenate(batches: Sequence[Scores]) -> Scores:
    """One batch from several of the same kind; shared edges have to be the same in all of them."""
    first = batches[0]
    if len(batches) == 1:
        return first
    nodes = np.concatenate([b.nodes for b in batches])
    offsets = offsets_of(np.concatenate([np.diff(b.offsets) for b in batches]))
    shapes, whole, reference = (_joined(batches, name) for name in ("shapes", "whole", "reference"))
    counts = _joined(batches, "edge_offsets", np.diff)
    if counts is None:
        if first.edges is not None and not all(_equal(first.edges, b.edges) for b in batches):
            raise ValueError("Batches with different shared edges cannot be joined; give every example its own edges.")
        return Scores.unchecked(nodes, offsets, first.edges, None, shapes, whole, reference)
    edges = _joined(batches, "edges")
    return Scores.unchecked(nodes, offsets, edges, offsets_of(counts), shapes, whole, reference)


def offsets_of(counts: Any) -> IntArray:
    """int64[n + 1]: where each of n consecutive segments of the given lengths starts, and where the last one ends."""
    offsets = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets


def chain_edge_offsets(offsets: IntArray) -> IntArray:
    """int64[n + 1]: offsets of the p_i - 1 edges of chains whose nodes have the given offsets."""
    return offsets - np.arange(len(offsets))


def ragged_rows(offsets: IntArray, examples: IntArray) -> tuple[IntArray, IntArray]:
    """Rows of the given examples one after another, and the offsets of each example among them."""
    counts = np.diff(offsets)[examples]
    chosen = offsets_of(counts)
    return np.arange(chosen[-1]) + np.repeat(offsets[:-1][examples] - chosen[:-1], counts), chosen


def _rows_of(offsets: IntArray, examples: IntArray) -> tuple[Any, IntArray]:
    """`ragged_rows`, as a slice where there is one example: a stochastic step needs no copy."""
    if len(examples) != 1:
        return ragged_rows(offsets, examples)
    first, last = offsets[examples[0] : examples[0] + 2].tolist()
    return slice(first, last), np.array([0, last - first], dtype=np.int64)


def segment_sums(values: FloatArray, offsets: IntArray) -> FloatArray:
    """float64[n]: sum of each segment of values float64[N]; an empty segment gives 0."""
    sums = np.zeros(len(offsets) - 1)
    filled = np.flatnonzero(np.diff(offsets))
    if len(filled):
        sums[filled] = np.add.reduceat(values, offsets[:-1][filled])
    return sums


def _sum(a: FloatArray | None, b: FloatArray | None) -> FloatArray | None:
    """a + b, where None is zero."""
    if a is None or b is None:
        return a if b is None else b
    return np.asarray(a + b, dtype=np.float64)


def _difference(a: FloatArray | None, b: FloatArray | None) -> FloatArray | None:
    """a - b, where None is zero."""
    return a if b is None else _sum(a, -b)


def _either(a: IntArray | None, b: IntArray | None) -> IntArray | None:
    return b if a is None else a


def _joined(batches: Sequence[Scores], name: str, of: Callable[[Any], Any] = np.asarray) -> Any:
    """of(array) of every batch in one array; None where no batch has one."""
    parts = [getattr(b, name) for b in batches]
    if all(part is None for part in parts):
        return None
    if any(part is None for part in parts):
        i = next(i for i, part in enumerate(parts) if part is None)
        raise ValueError(f"Batch {i} has no {name} and others do; batches that are joined must be of the same kind.")
    return np.concatenate([of(part) for part in parts])


def _equal(a: FloatArray | None, b: FloatArray | None) -> bool:
    return a is not None and b is not None and np.array_equal(a, b)


def _check_array(name: str, array: Any, dtype: type, ndims: tuple[int, ...]) -> None:
    if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim not in ndims:
        given = f"{array.dtype}{list(array.shape)}" if isinstance(array, np.ndarray) else type(array).__name__
        dims = " or ".join(map(str, ndims))
        raise ValueError(f"Scores.{name} is {given}; it needs a {np.dtype(dtype)} array of {dims} dimensions.")
    if not array.flags.c_contiguous:
        raise ValueError(f"Scores.{name} is not C-contiguous; pass np.ascontiguousarray({name}).")


def _check_offsets(name: str, offsets: Any, end: int) -> None:
    _check_array(name, offsets, np.int64, (1,))
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != end or np.any(np.diff(offsets) < 0):
        raise ValueError(f"Scores.{name} must rise from 0 to {end}, the number of rows; got {offsets}.")


def check_same_layout(a: Scores, b: Scores) -> None:
    """Raises where a and b are not parts of the same examples."""
    if a.nodes.shape != b.nodes.shape or not _same(a.offsets, b.offsets):
        raise ValueError(
            f"Scores of {len(a)} examples, nodes {list(a.nodes.shape)}, and of {len(b)} examples, nodes "
            f"{list(b.nodes.shape)}, differ in layout. Both must come from the same structure and examples."
        )
    if a.shapes is not None and b.shapes is not None and not _same(a.shapes, b.shapes):
        raise ValueError("Scores whose examples have different matrix shapes differ in layout.")
    if a.reference is not None and b.reference is not None and not _same(a.reference, b.reference):
        raise ValueError(
            "Scores whose `whole` refers to different boxes differ in layout; take one reference for both."
        )
    if a.edges is None or b.edges is None:
        return
    fits = a.edges.shape[-2:] == b.edges.shape[-2:]
    if a.edge_offsets is not None and b.edge_offsets is not None:  # one matrix fits edges of any number
        fits = fits and _same(a.edge_offsets, b.edge_offsets)
    if not fits:
        raise ValueError(f"Edges {list(a.edges.shape)} and {list(b.edges.shape)} differ in layout.")


def _same(a: IntArray, b: IntArray) -> bool:
    return a is b or np.array_equal(a, b)
