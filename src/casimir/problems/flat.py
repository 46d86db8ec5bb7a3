"""Marginals of examples as flat arrays, so that solvers can add, subtract and keep them whatever their structure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from casimir.scores import FloatArray, IntArray, Scores, concatenate, offsets_of


@dataclass(frozen=True, eq=False, slots=True)
class FlatLayout:
    """Example i's nodes, then its edges, then its whole, as one float64[m_i]; `like` has the layout of all examples."""

    like: Scores
    offsets: IntArray

    @classmethod
    def of(cls, like: Scores) -> FlatLayout:
        counts = np.diff(like.offsets) * int(np.prod(like.nodes.shape[1:]))
        if like.edges is not None:
            assert like.edge_offsets is not None, "marginals have edges of their own"
            counts = counts + np.diff(like.edge_offsets) * int(np.prod(like.edges.shape[1:]))
        return cls(like, offsets_of(counts + (like.whole is not None)))

    def flatten(self, one: Scores) -> FloatArray:
        """float64[m_i] of a batch of one example."""
        parts = [one.nodes.ravel()]
        if self.like.edges is not None:
            assert one.edges is not None
            parts.append(one.edges.ravel())
        if self.like.whole is not None:
            assert one.whole is not None
            parts.append(one.whole)
        return np.concatenate(parts) if len(parts) > 1 else parts[0]

    def write(self, s: Scores, examples: Any, out: FloatArray) -> None:
        """The marginals of the given examples (None: all) into their places of out float64[m]."""
        if examples is None and self.like.edges is None and self.like.whole is None:
            out[:] = s.nodes.ravel()
            return
        for k, i in enumerate(range(len(s)) if examples is None else examples):
            out[self.offsets[i] : self.offsets[i + 1]] = self.flatten(s.select([k]))

    def restore(self, flat: FloatArray, example: Any) -> Scores:
        """The Scores, of one example, that `flatten` was given; `example` is any Scores of the same example."""
        nodes = example.nodes.size
        edges = 0 if self.like.edges is None else flat.size - nodes - (self.like.whole is not None)
        return Scores.unchecked(
            flat[:nodes].reshape(example.nodes.shape),
            example.offsets,
            None if self.like.edges is None else flat[nodes : nodes + edges].reshape(-1, *self.like.edges.shape[1:]),
            None if self.like.edges is None else example.edge_offsets,
            example.shapes,
            None if self.like.whole is None else flat[-1:],
            example.reference,
        )

    def restore_all(self, flat: FloatArray) -> Scores:
        """The Scores of all examples whose flat form is float64[m]."""
        one = [self.like.select([i]) for i in range(len(self.like))]
        return concatenate([self.restore(flat[self.offsets[i] : self.offsets[i + 1]], s) for i, s in enumerate(one)])
