"""A day's work in one function, whose bits depend on its seed alone: for threads, processes and ThreadSanitizer.

`python workers.py THREADS` does it in so many threads at once, each with as many threads in the core.
"""

from __future__ import annotations

import hashlib
import sys
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from problems import candidate_parts, chain_parts, tree_parts

import casimir as cs


def work(seed: int, threads: int = 1) -> str:
    """A digest of what oracles, packing, training and predicting give."""
    rng = np.random.default_rng(seed)
    found = hashlib.sha256()
    for parts in (chain_parts(seed=seed, valued=True, n=40), tree_parts(seed=seed, n=20), candidate_parts(seed=seed)):
        for solver, loss in ((cs.DualProximal(), "hinge"), (cs.SVRG(), "crf"), (cs.BCFW(), "hinge")):
            result = cs.minimize(parts.objective(cs.Ridge(0.1), loss, n_threads=threads), solver, 4, 0.0, seed)
            found.update(result.w.tobytes())
    sizes = rng.integers(1, 6, 12).tolist()
    edges = [np.array([(v, v + 1) for v in range(p - 1)], dtype=np.int64).reshape(-1, 2) for p in sizes]
    unary = [rng.normal(size=(p, 2)) for p in sizes]
    attracting = [np.tile(np.eye(2), (len(own), 1, 1)) for own in edges]
    for structure in (cs.GraphCut(edges), cs.JunctionTree(edges, 2)):
        s = structure.scores(unary, attracting)
        found.update(structure.topk(s, 3).value.tobytes() + structure.max(s).value.tobytes())
    matchings = cs.Matching()
    found.update(matchings.topk(matchings.scores([rng.normal(size=(4, 4)) for _ in range(9)]), 5).value.tobytes())
    words = [[f"w{k}" for k in rng.integers(20, size=5)] for _ in range(30)]
    tagger = cs.SequenceTagger(0.1, max_epochs=30, tol=0.1, n_jobs=threads, n_features=64)
    tagger.fit([[[word] for word in row] for row in words], [[word[-1] for word in row] for row in words])
    found.update(repr(tagger.predict([[[word] for word in row] for row in words])).encode())
    return found.hexdigest()


def all_equal(pool: Executor, seed: int, tasks: int, threads: int) -> None:
    """Every worker of the pool gets what one thread alone gets."""
    expected = work(seed)
    for digest in pool.map(partial(work, threads=threads), [seed] * tasks):
        assert digest == expected, f"seed {seed}: other bits in a pool"


if __name__ == "__main__":
    from casimir import _threads

    count = int(sys.argv[1])
    _threads.allowed_cpus = lambda: count
    with ThreadPoolExecutor(count) as pool:
        all_equal(pool, 0, 2 * count, count)
    print(f"{count} threads agree")
