"""Trains with a checkpoint after every epoch, and writes what it found: a client that is killed on the way.

python killed_client.py CHECKPOINT FOUND.npz EPOCHS SOLVER
"""

from __future__ import annotations

import logging
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from dask_problems import chain_pieces
from distributed import Client, LocalCluster

import casimir as cs
from casimir.dask import Sharded, minimize


def main(checkpoint: str, target: str, epochs: str, solver: str) -> None:
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    one, pieces = chain_pieces(60, 3)

    def pause(row: Any, w: Any) -> None:
        time.sleep(0.1)

    chosen, loss = (Sharded(rounds=2), one.loss) if solver == "sharded" else (cs.LBFGS(), cs.Log())
    kept = cs.Checkpoint(checkpoint, every_seconds=0)
    with (
        LocalCluster(n_workers=2, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        options: Any = {"tol": 1e-12, "epochs": int(epochs), "client": client, "callbacks": [pause]}
        found = minimize(pieces, loss, one.penalty, chosen, checkpoint=kept, **options)
    np.savez(target, w=found.w, dual=found.dual, rows=[row.epoch for row in found.trace])


if __name__ == "__main__":
    main(*sys.argv[1:])
