"""Trains on worker processes, five of which are killed on the way; prints JSON."""

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

KILLS = 5


def main() -> None:
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    one, pieces = chain_pieces(400, 4)
    found = {}
    with (
        LocalCluster(n_workers=KILLS + 1, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        victims = [worker.pid for worker in cluster.workers.values()][:KILLS]
        for name, loss, solver, kills in (("crf", cs.Log(), cs.LBFGS(), 3), ("hinge", one.loss, Sharded(), 2)):
            alone = minimize(pieces, loss, one.penalty, solver, tol=1e-5, epochs=40, client=client)
            shot: list[int] = []

            def shoot(row: Any, w: Any, shot: list[int] = shot, kills: int = kills) -> None:
                if row.epoch % 2 and len(shot) < kills:
                    shot.append(victims.pop())
                    threading.Timer(0.01, os.kill, (shot[-1], signal.SIGKILL)).start()

            again = minimize(pieces, loss, one.penalty, solver, tol=1e-5, epochs=40, client=client, callbacks=[shoot])
            found[name] = {
                "kills": len(shot),
                "same": bool(np.array_equal(alone.w, again.w)) and alone.dual == again.dual,
                "gap": again.gap,
            }
        print(json.dumps(found), flush=True)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
