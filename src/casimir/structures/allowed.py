"""Outputs that are not allowed: labels and pairs of labels whose score is -inf, for chains and trees."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from casimir._native import core
from casimir._threads import threads_of_oracles
from casimir._validate import flat_labels
from casimir.scores import FloatArray, IntArray, Scores
from casimir.structures.base import Expectation
from casimir.structures.core_oracles import NativeOracles
from casimir.structures.masks import BoolArray, Masks, Seen, bool_array

_CHUNK_CELLS = 2**23  # marginals of pairs that are kept at a time: 64 MB


class AllowedLabels(NativeOracles):
    """Oracles over the allowed outputs of a structure with n_labels labels per node.

    allowed  bool[L, L] or None: pairs of labels at the two ends of an edge
    labels   Masks or None: bool[p_i, L], the labels of every node of every example

    The constraints are scores of 0 and -inf that oracles add to those given. Where they are None, nothing is added.
    """

    n_labels: int
    allowed: BoolArray | None
    labels: Masks | None
    _seen: Seen
    """Where something is forbidden."""

    @property
    def is_constrained(self) -> bool:
        """Whether some output may not be allowed."""
        return self.allowed is not None or self.labels is not None

    @property
    def forbidden_pairs(self) -> FloatArray | None:
        """float64[L, L]: 0 for pairs of labels that are allowed, -inf for the others; None when all are allowed."""
        return None if self.allowed is None else _penalties(self.allowed)

    def forbidden_nodes(self, s: Scores) -> FloatArray | None:
        """float64[N, L]: 0 for labels that are allowed at a node, -inf for the others; None when all are allowed."""
        if self.labels is None:
            return None
        self.labels.check(s.offsets, type(self).__name__)
        if self.labels.allow_all:
            return None
        return _penalties(self.labels.over(s.offsets))

    def forbidden(self, s: Scores) -> Scores | None:
        """What oracles add to the scores s of a batch, None when nothing is forbidden.

        nodes  float64[N, L]: `forbidden_nodes`, zeros if they are None
        edges  float64[L, L]: `forbidden_pairs`, one matrix for all edges, or None

        An example without any allowed output is an error.
        """
        nodes, pairs = self._forbidden_parts(s)
        return None if nodes is None and pairs is None else self._as_scores(s, nodes, pairs)

    def _forbidden_parts(self, s: Scores) -> tuple[FloatArray | None, FloatArray | None]:
        """`forbidden_nodes` and `forbidden_pairs`, of examples that have an allowed output."""
        if not self.is_constrained:
            return None, None
        nodes, pairs = self.forbidden_nodes(s), self.forbidden_pairs
        lengths = np.diff(s.offsets)
        if (nodes is not None or pairs is not None) and not self._seen.covers(lengths):
            self._check_outputs(self._as_scores(s, nodes, pairs))
            self._seen.add(lengths)
        return nodes, pairs

    def _as_scores(self, s: Scores, nodes: FloatArray | None, pairs: FloatArray | None) -> Scores:
        return Scores(np.zeros((s.offsets[-1], self.n_labels)) if nodes is None else nodes, s.offsets, pairs)

    def check_allowed(self, s: Scores, y: Any, name: str = "y") -> None:
        """Raises where one of the outputs y, a list of int[p_i], is not allowed."""
        nodes = self.forbidden_nodes(s)
        if nodes is None and self.allowed is None:
            return
        flat = flat_labels(y, np.diff(s.offsets), self.n_labels, name)
        if nodes is not None:
            for row in np.flatnonzero(nodes[np.arange(len(flat)), flat]):
                i, v = _place(s.offsets, row)
                raise ValueError(f"{name}[{i}][{v}] has the label {flat[row]}, which is not allowed there.")
        if self.allowed is not None:
            first, second = self._ends(s.offsets)
            for edge in np.flatnonzero(~self.allowed[flat[first], flat[second]]):
                a, b = first[edge], second[edge]
                i, v = _place(s.offsets, a)
                pair = self._describe(v, v + int(b - a), flat[a], flat[b])
                raise ValueError(f"{name}[{i}]{pair}, which is not allowed.")

    def log_n_outputs(self, s: Scores) -> FloatArray:
        """float64[n]: the log of the number of allowed outputs; p_i log L when nothing is forbidden."""
        if self.forbidden(s) is None:
            return np.diff(s.offsets) * math.log(self.n_labels)
        zeros = Scores(np.zeros(s.nodes.shape), s.offsets)  # log sum_y exp(0)
        values = [self.select(c).expect(zeros.select(c), 1.0).value for c in _chunks(s.offsets, self.n_labels**2)]
        return np.asarray(np.maximum(np.concatenate(values), 0.0))

    def restricted(self, allowed: Any) -> Self:
        """The structure with fewer outputs: allowed is a list of bool[p_i, L], the labels of every node, or None."""
        more = Masks.of(allowed, "allowed", (self.n_labels,))
        return self._with_labels(more if self.labels is None else self.labels & more)

    def _mask(self, x: Any, name: str, ndim: int) -> BoolArray | None:
        """A checked bool[L] or bool[L, L]; None where it allows everything."""
        if x is None:
            return None
        mask = bool_array(x, name, (self.n_labels,) * ndim)
        return None if mask.all() else mask

    def _masks(self, labels: Any) -> Masks | None:
        """Checked labels of every example; None where no example has any."""
        if labels is None:
            return None
        masks = Masks.of(labels, "labels", (self.n_labels,))
        return masks if masks.given.any() else None

    def _oracle_arrays(self, s: Scores) -> tuple[Any, ...]:
        nodes, offsets, edges, *rest = self._arrays(s)
        of_nodes, of_pairs = self._forbidden_parts(s)
        nodes = nodes if of_nodes is None else nodes + of_nodes
        return nodes, offsets, edges if of_pairs is None else edges + of_pairs, *rest

    def _described(self, *more: str) -> str:
        """The arguments of this structure, for repr."""
        text = [f"n_labels={self.n_labels}"]
        for name in ("allowed", *more):
            mask = getattr(self, name)
            text += [] if mask is None else [f"{name}=<{np.count_nonzero(mask)} of {mask.size}>"]
        return ", ".join(text + ([] if self.labels is None else [f"labels=<of {len(self.labels)} examples>"]))

    def _check_outputs(self, found: Scores) -> None:
        """Whether every example has an output of score 0 under the constraints alone."""
        arrays = self._arrays(Scores(np.zeros(found.nodes.shape), found.offsets))
        edges = np.zeros((self.n_labels, self.n_labels)) if found.edges is None else found.edges
        value, _ = getattr(core, f"{self._core}_max")(
            found.nodes, found.offsets, edges, *arrays[3:], threads_of_oracles()
        )
        bad = np.flatnonzero(np.isneginf(value))
        if len(bad):
            i = int(bad[0])
            rows = found.nodes[found.offsets[i] : found.offsets[i + 1]] == 0.0
            pairs = np.ones((self.n_labels, self.n_labels), dtype=np.bool_) if self.allowed is None else self.allowed
            raise ValueError(
                f"Example {i} has no allowed output: {self._stuck(i, rows, pairs)}. Allow more labels, or more pairs."
            )

    def expect(self, s: Scores, mu: float) -> Expectation:
        raise NotImplementedError

    def select(self, examples: Any) -> Self:
        raise NotImplementedError

    def _with_labels(self, labels: Masks) -> Self:
        raise NotImplementedError

    def _ends(self, offsets: IntArray) -> tuple[IntArray, IntArray]:
        """The rows u, v of every edge, whose labels are the two entries of `allowed`."""
        raise NotImplementedError

    def _describe(self, u: int, v: int, label: int, other: int) -> str:
        """What follows the name of an output whose nodes u and v have labels that are not allowed together."""
        raise NotImplementedError

    def _stuck(self, i: int, rows: BoolArray, pairs: BoolArray) -> str:
        """Where example i, with the labels bool[p_i, L] for its nodes, has no label left."""
        raise NotImplementedError


def same(a: Any, b: Any) -> bool:
    """Whether two masks, or None, are equal."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    return bool(type(a) is type(b) and a == b)


def _penalties(allowed: BoolArray) -> FloatArray:
    return np.where(allowed, 0.0, -np.inf)


def _place(offsets: IntArray, row: Any) -> tuple[int, int]:
    """(example, node) of a row."""
    i = int(np.searchsorted(offsets, row, side="right")) - 1
    return i, int(row - offsets[i])


def _chunks(offsets: IntArray, cells: int) -> Iterator[IntArray]:
    """Examples one after another, cut so that so many cells for each of their rows fit in memory."""
    cost = offsets[1:] * cells // _CHUNK_CELLS
    yield from np.split(np.arange(len(cost)), np.flatnonzero(np.diff(cost)) + 1)
