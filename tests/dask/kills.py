"""Trains on worker processes, some of which are killed in each training and one of which sleeps; prints JSON."""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from dask_problems import chain_pieces
from distributed import Client, LocalCluster

import casimir as cs
from casimir.dask import Sharded, minimize

KILLS, EPOCHS, NAP = {"crf": 1, "hinge": 5}, {"crf": 6, "hinge": 16}, 1.0


class Shots:
    """A callback: after every row of the trace one of the victims is killed, as long as there are any."""

    def __init__(self, victims: list[int]) -> None:
        self.victims, self.killed = victims, 0

    def __call__(self, row: Any, w: Any) -> None:
        if self.victims:
            self.killed += 1
            threading.Timer(0.01, os.kill, (self.victims.pop(), signal.SIGKILL)).start()  # in the middle of a pass


class Nap:
    """A callback: after the third epoch, or soon after it, a worker is stopped for a while."""

    def __init__(self, worker: int) -> None:
        self.worker, self.taken = worker, 0

    def __call__(self, row: Any, w: Any) -> None:
        if row.epoch >= 3 and not self.taken:
            self.taken = 1
            os.kill(self.worker, signal.SIGSTOP)
            threading.Timer(NAP, os.kill, (self.worker, signal.SIGCONT)).start()


def main() -> None:
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    one, pieces = chain_pieces(100, 3)
    found: dict[str, Any] = {}
    with (
        LocalCluster(n_workers=sum(KILLS.values()) + 1, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        pids = [worker.pid for worker in cluster.workers.values()]
        for name, loss, solver in (("crf", cs.Log(), cs.LBFGS()), ("hinge", one.loss, Sharded(rounds=2))):

            def train(callback: Any, name: str = name, loss: Any = loss, solver: Any = solver) -> cs.Result:
                options: Any = {"tol": 1e-6, "epochs": EPOCHS[name], "client": client, "callbacks": [callback]}
                return minimize(pieces, loss, one.penalty, solver, **options)

            alone, shots, nap = train(lambda row, w: None), Shots(pids[1 : 1 + KILLS[name]]), Nap(pids[0])
            del pids[1 : 1 + KILLS[name]]
            slow, again = train(nap), train(shots)
            found[name] = {
                "kills": shots.killed,
                "naps": nap.taken,
                "same": bool(np.array_equal(alone.w, again.w)) and alone.dual == again.dual,
                "same_with_nap": bool(np.array_equal(alone.w, slow.w)) and alone.dual == slow.dual,
                "gap": again.gap,
            }
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
