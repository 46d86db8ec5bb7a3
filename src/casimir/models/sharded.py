"""Linear chains whose sentences lie in several shards, all with the same weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from casimir._state_memory import StateMemory
from casimir.models.linear import LinearChainModel
from casimir.scores import FloatArray, IntArray, Scores, concatenate, offsets_of


@dataclass(frozen=True, eq=False)
class ShardedChainModel:
    """The sentences of all shards, one after another; w is that of each of them.

    shards  LinearChainModel of the same features and labels
    state   where what training keeps of every sentence lies
    enter   called with the number of a shard and that of the next one, or None, before a pass comes to it
    digests of the data of each shard, where they are known: runs are told apart by them; None: by the data
    """

    shards: Sequence[LinearChainModel]
    state: StateMemory
    enter: Callable[[int, int | None], object] = lambda shard, following: None
    digests: Sequence[str] | None = None

    def fingerprint(self) -> Any:
        """What a checkpoint is compared by."""
        return self.n_labels, list(self.shards) if self.digests is None else list(self.digests)

    @property
    def n_labels(self) -> int:
        return self.shards[0].n_labels

    @property
    def n_examples(self) -> int:
        return int(self.starts[-1])

    @property
    def n_params(self) -> int:
        return self.shards[0].n_params

    @cached_property
    def starts(self) -> IntArray:
        """int64[shards + 1]: the first sentence of every shard."""
        return offsets_of([shard.n_examples for shard in self.shards])

    def zeros(self) -> FloatArray:
        """Weights to start from, aligned for the native kernels."""
        return self.shards[0].zeros()

    def layout(self) -> Scores:
        """Node scores of all examples, all 0."""
        lengths = np.concatenate([shard.X.lengths for shard in self.shards])
        offsets = offsets_of(lengths)
        nodes = np.broadcast_to(0.0, (int(offsets[-1]), self.n_labels))  # one number, however many tokens there are
        return Scores.unchecked(nodes, offsets)

    def longest_rows(self, y: Any) -> FloatArray:
        """As those of the shards."""
        return np.concatenate([shard.longest_rows(None) for shard in self.shards])

    def scores(self, w: FloatArray, examples: Any = None) -> Scores:
        """The part scores of the examples chosen, shard by shard where all are."""
        if examples is None:
            return concatenate([shard.scores(w) for shard in self.shards])
        places = [self._place(i) for i in np.arange(self.n_examples)[examples].tolist()]
        return concatenate([self.shards[s].scores(w, [i]) for s, i in places])

    def adjoint(self, marginals: Scores, examples: Any = None) -> FloatArray:
        """sum_i J_i^T m_i"""
        total = self.zeros()
        for k, i in enumerate(np.arange(self.n_examples)[slice(None) if examples is None else examples].tolist()):
            s, own = self._place(i)
            total += self.shards[s].adjoint(marginals.select([k]), [own])
        return total

    def _place(self, i: int) -> tuple[int, int]:
        shard = int(np.searchsorted(self.starts, i, side="right")) - 1
        return shard, i - int(self.starts[shard])
