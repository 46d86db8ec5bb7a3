"""Labels together with the state of an automaton after them: a chain of these is a chain under the automaton."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from casimir.scores import FloatArray, IntArray, Scores
from casimir.structures.masks import BoolArray

_MOST = 2**14  # wide labels: their square is kept for all pairs of them


def check_size(n_wide: int) -> None:
    """Raise where an automaton has too many pairs of labels and states for a chain over them."""
    if n_wide > _MOST:
        raise ValueError(
            f"the automaton has more than {_MOST:,} pairs of a label and the state after it, and oracles take the "
            "square of that. Give one with fewer states."
        )


@dataclass(frozen=True, eq=False)
class Unfolded:
    """Wide labels: the pairs (label, state after reading it) that can be reached, in the order of their labels.

    Since the automaton is deterministic, a valid sequence of labels is one sequence of wide labels, and the other way
    round; so a chain of wide labels is the chain of labels under the automaton.

    label  int64[M]: the label of every wide label
    pairs  bool[M, M]: whether a step leads from one to the other
    first, last  bool[M]: whether a sequence may begin, may end with it
    """

    n_labels: int
    label: IntArray
    pairs: BoolArray
    first: BoolArray
    last: BoolArray
    native: tuple[Any, ...] = field(repr=False)
    """The same as the core takes it."""

    @classmethod
    def of(cls, table: IntArray, final: BoolArray) -> Unfolded:
        """Of an automaton with the steps int64[Q, L] and the final states bool[Q], see `StateTable`."""
        reached, queue = {0}, [0]
        for q in queue:  # grows on the way
            more = set(table[q].tolist()) - reached - {-1}
            reached |= more
            queue += sorted(more)
        steps = [(j, to) for q in queue for j, to in enumerate(table[q].tolist()) if to >= 0]
        wide = sorted(set(steps))
        if not wide:
            raise ValueError("the automaton has no step from its first state: no sequence of labels is valid.")
        check_size(len(wide))
        label, state = (np.array(part, dtype=np.int64) for part in zip(*wide, strict=True))
        pairs = table[state].take(label, axis=1) == state
        first, last = table[0, label] == state, final[state]
        arrays = (np.where(mask, 0.0, -np.inf) for mask in (pairs, first, last))
        return cls(table.shape[1], label, pairs, first, last, (label.astype(np.int32), *arrays))

    @property
    def members(self) -> FloatArray:
        """float64[M, L]: 1 where a wide label is of a label."""
        return np.asarray(self.label[:, None] == np.arange(self.n_labels), dtype=np.float64)

    def scores(self, s: Scores) -> Scores:
        """Those of wide labels."""
        edges = s.edges
        if edges is not None:
            edges = edges.take(self.label, axis=-2).take(self.label, axis=-1)
        return Scores.unchecked(s.nodes.take(self.label, axis=1), s.offsets, edges, s.edge_offsets)

    def folded(self, marginals: Scores) -> Scores:
        """Sums of what wide labels have, for every label."""
        fold, edges = self.members, marginals.edges
        if edges is not None:
            edges = np.ascontiguousarray(fold.T @ edges @ fold)
        return Scores.unchecked(marginals.nodes @ fold, marginals.offsets, edges, marginals.edge_offsets)
