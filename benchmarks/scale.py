"""Training on many workers: what one, two and more of them take, as ratios, and what a hundred would take, on paper.

python -m benchmarks.scale                  # measured here: workers of one thread each, against one process
python -m benchmarks.scale --passes         # passes to a gap of 1e-2 over 2, 4 and 8 shards, against one machine's
python -m benchmarks.scale --paper 13e6     # sizing for so many tokens, from constants that are measured first
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

import casimir as cs
from benchmarks import problems
from casimir.dask import Central, Piece, Sharded, work
from casimir.dask.crew import Alone
from casimir.dask.objective import SpreadObjective
from casimir.dask.optimize import crew_of
from casimir.dask.pieces import Held
from casimir.dask.vectors import Sent
from casimir.estimators.compact import UsedFeatures

NETWORK, ROUND = 1.1e9, 0.01  # bytes a second and link; seconds of Dask for a round of few tasks
WORKERS = (1, 2, 4, 8, 16, 32, 100)


@dataclass(frozen=True)
class Constants:
    """What a pass is made of.

    gradient   CPU seconds per token of forward-backward and a gradient
    n_params   weights
    sent       bytes of a vector of them on its way
    """

    gradient: float
    n_params: int
    sent: int


def pieces_of(data: problems.Problem, count: int, n: int | None = None, seed: int = 0) -> list[Piece]:
    """The first n examples of a random order, in so many pieces."""
    order = np.random.default_rng(seed).permutation(len(data.y))[:n]
    _, X = UsedFeatures.of(data.model.X[order])
    y, L = [data.y[i] for i in order], data.model.n_labels
    cuts = np.linspace(0, len(y), count + 1).astype(int).tolist()
    return [Piece(cs.LinearChainModel(X[a:b], L), cs.Chain(L), y[a:b]) for a, b in pairwise(cuts)]


def spread(pieces: list[Piece], loss: cs.Hinge, lam: float) -> SpreadObjective:
    """The same numbers in this process."""
    return SpreadObjective(Alone([Held(piece, loss, 1) for piece in pieces]), loss, lam, lambda: pieces)


def measured(data: problems.Problem, copies: int) -> Constants:
    """CPU time of gradients in this process."""
    (piece,) = pieces_of(data, 1)
    held = Held(piece, cs.Log(), 1)
    w = Sent.of(np.random.default_rng(0).normal(size=held.objective.n_params))
    work.evaluate(held, w, 1.0, None, True)
    began = time.process_time()
    for _ in range(copies):
        found = work.evaluate(held, w, 1.0, None, True)
    seconds = (time.process_time() - began) / copies
    assert found.gradient is not None
    return Constants(seconds / piece.model.X.n_tokens, held.objective.n_params, found.gradient.nbytes)


def paper(constants: Constants, tokens: float, cores: int = 8) -> str:
    """T(W) = tokens c / (W cores) + (vector down + vector up) ceil(log2(W + 1)) / network + a round."""
    rows = [f"{tokens:.3g} tokens, {constants.n_params:,} weights, {cores} cores a worker", ""]
    rows += ["| workers | pass, s | of it network, s | speed-up | MB moved a pass |", "|---|---|---|---|---|"]
    alone = tokens * constants.gradient / cores
    for W in WORKERS:
        compute = tokens * constants.gradient / (W * cores)
        hops = np.ceil(np.log2(W + 1)) if W > 1 else 0.0
        network = 2.0 * constants.sent * hops / NETWORK + (ROUND * (1.0 + hops) if W > 1 else 0.0)
        moved = 2.0 * constants.sent * W / 1e6 if W > 1 else 0.0
        total = compute + network
        rows.append(f"| {W} | {total:.3g} | {network:.2g} | {alone / total:.3g} | {moved:.3g} |")
    return "\n".join(rows)


def passes(data: problems.Problem, n: int, tol: float, shards: tuple[int, ...]) -> str:
    """Passes to the gap: steps and evaluations together, over examples."""
    rows = ["| lam n | scheme | " + " | ".join(f"{k} shards" for k in shards) + " |", "|---" * (2 + len(shards)) + "|"]
    for lam_n in (1.0, 0.1):
        loss, lam = cs.Hinge(cs.Hamming()), lam_n / n
        (whole,) = pieces_of(data, 1, n)
        one = cs.Objective(whole.model, whole.structure, loss, whole.y, lam, n_threads=1)
        alone = _passes(cs.minimize(one, cs.DualProximal(), epochs=500, tol=tol), n)
        rows.append(f"| {lam_n:g} | one machine: {alone:.0f} passes | " + " | " * (len(shards) - 1) + " |")
        for solver in (Central(), Sharded()):
            cells = []
            for k in shards:
                count = 8 * k if isinstance(solver, Central) else k
                result = cs.minimize(spread(pieces_of(data, count, n), loss, lam), solver, epochs=150, tol=tol)
                cells.append(f"{_passes(result, n) / alone:.2f}x" if result.converged else f"gap {result.gap:.1e}")
            rows.append(f"| {lam_n:g} | {type(solver).__name__} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def _passes(result: cs.Result, n: int) -> float:
    return result.trace[-1].oracle_calls / n


def speed(data: problems.Problem, n: int, epochs: int = 20) -> str:
    """Twenty L-BFGS iterations of a CRF, over those of one process; the same result.

    Wall-clock time is what it is on a machine that others use too. CPU time is not: a run can be no faster than the
    client's and the busiest worker's together where they do not overlap, which they do not in a round.
    """
    from distributed import Client, LocalCluster

    lam, pieces = 1.0 / n, pieces_of(data, 8, n)
    (whole,) = pieces_of(data, 1, n)
    one = cs.Objective(whole.model, whole.structure, cs.Log(), whole.y, lam, n_threads=1)
    cpu, began = time.process_time(), time.perf_counter()
    result = cs.minimize(one, cs.LBFGS(), epochs=epochs, tol=1e-9)
    alone, wall = time.process_time() - cpu, time.perf_counter() - began
    rows = [f"one process, one thread: {_passes(result, n):.0f} passes, {alone:.2f} s of CPU", ""]
    rows += ["| workers | passes | wall clock | CPU, all | client's CPU | busiest worker's | MB moved a pass |"]
    rows += ["|---|---|---|---|---|---|---|"]
    for count in (1, 2):
        with (
            LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=":0") as cluster,
            Client(cluster) as client,
        ):
            crew = crew_of(client, pieces, cs.Log())
            many = SpreadObjective(crew, cs.Log(), lam)
            many.evaluate(np.zeros(many.n_params))  # everything is loaded
            moved, cpu, began = crew.traffic.moved, time.process_time(), time.perf_counter()
            workers = client.run(time.process_time)
            found = cs.minimize(many, cs.LBFGS(), epochs=epochs, tol=1e-9)
            busy = [after - workers[name] for name, after in client.run(time.process_time).items()]
            seconds, own = time.perf_counter() - began, time.process_time() - cpu
        assert abs(found.objective - result.objective) <= 1e-6 * result.objective
        calls = _passes(found, n)
        parts = seconds / wall, (own + sum(busy)) / alone, own / alone, max(busy) / alone
        told = " | ".join(f"{part:.2f}" for part in parts)
        rows.append(f"| {count} | {calls:.0f} | {told} | {(crew.traffic.moved - moved) / calls / 1e6:.1f} |")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passes", action="store_true")
    parser.add_argument("--paper", type=float, metavar="TOKENS")
    parser.add_argument("--sentences", type=int, default=4700, help="of CoNLL-2003, or all of the embedded corpus")
    given = parser.parse_args()
    data = problems.conll() if os.environ.get("CASIMIR_DATA") else problems.news()
    n = min(given.sentences, len(data.y))
    if given.paper:
        print(paper(measured(data, 3), given.paper))
    elif given.passes:
        print(passes(data, n, 1e-2, (2, 4, 8)))
    else:
        print(speed(data, n))


if __name__ == "__main__":
    main()
