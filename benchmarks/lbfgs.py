"""What an iteration of L-BFGS on a CRF costs, casimir's and CRFsuite's: python -m benchmarks.lbfgs --help

Both minimise the same function, as in benchmarks.crf. casimir's iterations have a certificate each. casimir runs before
CRFsuite does and again when it has finished. The first iterations, whose memories are not full, are left out.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np

import casimir as cs
from benchmarks.crfsuite import Peer
from benchmarks.table import machine, markdown
from benchmarks.tagged import CORPORA, Tagged, with_ends

ITERATIONS, LEFT_OUT = 45, 12


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lbfgs", description=__doc__)
    parser.add_argument("--data", default="wnut", help=f"separated by commas: {','.join(CORPORA)}")
    parser.add_argument("--lam", type=float, default=1.0, help="lam n")
    options = parser.parse_args(arguments)
    rows = []
    for name in options.data.split(","):
        data = CORPORA[name]()
        ours = _casimir(data, options.lam)
        theirs = _crfsuite(data, options.lam)
        ours = float(np.mean([ours, _casimir(data, options.lam)]))
        rows.append((name, f"{options.lam:g}", f"{1e3 * ours:.0f}", f"{1e3 * theirs:.0f}", f"{ours / theirs:.2f}"))
    header = ("data", "lam n", "casimir, CPU ms an iteration", "CRFsuite, CPU ms an iteration", "ratio")
    print(f"{machine()}\n\n{markdown(header, rows)}")
    return 0


def _casimir(data: Tagged, lam_n: float) -> float:
    """The median iteration, with its evaluations and its certificate."""
    X, classes = cs.pack(data[0], n_features=None), sorted({label for labels in data[1] for label in labels})
    number, n = {label: j for j, label in enumerate(classes)}, len(data[0])
    y = [np.array([number[label] for label in labels]) for labels in data[1]]
    model, chain = cs.LinearChainModel(X, len(classes)), cs.Chain(len(classes))
    objective = cs.Objective(model, chain, cs.Log(), y, cs.Ridge(lam_n / n), n_threads=1)
    ends: list[float] = []
    cs.minimize(objective, cs.LBFGS(), ITERATIONS, 0.0, callbacks=[lambda *_: ends.append(time.process_time())])
    return float(np.median(np.diff(ends)[LEFT_OUT:]))


def _crfsuite(data: Tagged, lam_n: float) -> float:
    dense = {"feature.possible_states": True, "feature.possible_transitions": True}
    seconds, _ = Peer(with_ends(data[0]), data[1]).train("lbfgs", ITERATIONS, c1=0.0, c2=lam_n / 2.0, **dense)
    return float(np.median(seconds[LEFT_OUT:]))


if __name__ == "__main__":
    sys.exit(main())
