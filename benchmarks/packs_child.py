"""Trains on a pack in a process of its own, from disk or from copies in memory, and prints what it took as JSON.

python -m benchmarks.packs_child disk|memory DIR TOL [SIZE]     SIZE such as 512MB, for disk
"""

from __future__ import annotations

import json
import resource
import sys
import time
from typing import ClassVar

import numpy as np

import casimir as cs
from casimir._state_memory import StateMemory
from casimir.estimators import packed_fit


class Counted(StateMemory):
    """Knows how many bytes were cut into pieces."""

    made: ClassVar[list[Counted]] = []

    def __init__(self, limit: int | None = None) -> None:
        super().__init__(limit)
        self.cut = 0
        self.made.append(self)

    def _chunk(self, size: int) -> np.ndarray:
        self.cut += size
        return super()._chunk(size)


def in_memory(pack: cs.Pack) -> tuple[cs.PackedSequences, list[np.ndarray]]:
    """All sentences of the pack with their labels, as copies."""
    shards = pack.shards
    ends = np.cumsum([0, *(shard.X.n_tokens for shard in shards)])
    places = np.cumsum([0, *(len(shard.X.indices) for shard in shards)])
    offsets = np.concatenate([[0], *(shard.X.offsets[1:] + end for shard, end in zip(shards, ends, strict=False))])
    indptr = np.concatenate([[0], *(shard.X.indptr[1:] + place for shard, place in zip(shards, places, strict=False))])
    indices = np.concatenate([shard.X.indices for shard in shards])
    names = np.array(pack.labels)
    labels = np.concatenate([names[shard.labels] for shard in shards])
    return cs.PackedSequences(offsets, indptr, indices, None, pack.n_features), np.split(labels, offsets[1:-1])


def main(where: str, folder: str, tol: str, memory: str | None = None) -> None:
    pack = cs.open_pack(folder)
    tagger = cs.SequenceTagger(tol=float(tol), random_state=0, n_jobs=1, max_epochs=500, verbose=True)
    packed_fit.StateMemory = Counted  # type: ignore[misc]
    X, y = (pack, None) if where == "disk" else in_memory(pack)
    cpu, began = time.process_time(), time.perf_counter()
    tagger.fit(X, y, memory=memory)
    took = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - began}
    found = {
        "gap": tagger.gap_,
        "objective": tagger.objective_,
        "dual": tagger.dual_,
        "passes": tagger.trace_.rows[-1].epoch,
        "kept": sum(one.cut for one in Counted.made),
    }
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({**took, **found, "tokens": pack.n_tokens, "status": tagger.status_, "resident": peak}))


if __name__ == "__main__":
    main(*sys.argv[1:])
