"""CRFs to a certified gap, and how long CRFsuite's L-BFGS takes to the same objective: python -m benchmarks.crf --help

Both minimise the same function: all states and transitions are on in CRFsuite, and features of the first and the last
token stand for casimir's start and stop weights. Packing and set-up are left out on both sides. casimir runs before
CRFsuite does and again when it has finished; the mean of both counts.
"""

from __future__ import annotations

import argparse
import math
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import casimir as cs
from benchmarks.clock import seconds_of
from benchmarks.table import machine, markdown
from benchmarks.tagged import CORPORA, Tagged, with_ends
from casimir.solvers.choose import choose

TOLS = (1e-2, 1e-3, 1e-4)
Runs = dict[float, tuple[float, float]]  # tol -> (CPU seconds, objective)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.crf", description=__doc__)
    parser.add_argument("--data", default="conll", help=f"separated by commas: {','.join(CORPORA)}")
    parser.add_argument("--lams", default="10,1,0.1,0.01", help="lam n, separated by commas")
    parser.add_argument("--most-seconds", type=float, default=math.inf, help="CPU seconds that CRFsuite gets per lam")
    parser.add_argument("--solver", default="auto", help="casimir's, by name")
    options = parser.parse_args(arguments)
    rows = []
    for name in options.data.split(","):
        data = CORPORA[name]()
        for lam_n in map(float, options.lams.split(",")):
            print(f"{name}, lam = {lam_n:g}/n ...", file=sys.stderr, flush=True)
            rows += _rows(name, data, lam_n, options.most_seconds, options.solver)
    header = ("data", "lam n", "gap", "casimir, CPU s", "CRFsuite to the same objective, CPU s", "ratio")
    print(f"{machine()}\n\n{markdown(header, rows)}")
    return 0


def _rows(name: str, data: Tagged, lam_n: float, most: float, solver: str) -> list[tuple[str, ...]]:
    first = _certified(data, lam_n, solver)
    reached = _crfsuite(data, lam_n, {tol: first[tol][1] for tol in TOLS}, most)
    again = _certified(data, lam_n, solver)
    rows = []
    for tol in TOLS:
        ours, theirs = (first[tol][0] + again[tol][0]) / 2.0, reached.get(tol)
        found = ("not reached", "-") if theirs is None else (f"{theirs:.1f}", f"1/{theirs / ours:.0f}")
        rows.append((name, f"{lam_n:g}", f"{tol:.0e}", f"{ours:.2f}", *found))
    return rows


def _certified(data: Tagged, lam_n: float, solver: str) -> Runs:
    """Everything from packed features on is charged: the objective, the dual variables, every pass and certificate."""
    X, classes = cs.pack(data[0], n_features=None), sorted({label for labels in data[1] for label in labels})
    number, n = {label: j for j, label in enumerate(classes)}, len(data[0])
    y = [np.array([number[label] for label in labels]) for labels in data[1]]
    runs: Runs = {}
    for tol in TOLS:
        results: list[cs.Result] = []

        def solve(tol: float = tol, results: list[cs.Result] = results) -> None:
            model, chain = cs.LinearChainModel(X, len(classes)), cs.Chain(len(classes))
            objective = cs.Objective(model, chain, cs.Log(), y, cs.Ridge(lam_n / n), n_threads=1)
            results.append(cs.minimize(objective, choose(solver, objective), 1000, tol))

        seconds = seconds_of(solve)
        assert results[0].converged, f"{solver} ended at a gap of {results[0].gap:.1e}"
        runs[tol] = seconds, results[0].objective
    return runs


def _crfsuite(data: Tagged, lam_n: float, goals: dict[float, float], most: float) -> dict[float, float]:
    """CPU seconds to every goal; CRFsuite's objective is n times ours, with c2 |w|^2 for (lam n / 2) |w|^2."""
    reached: dict[float, float] = {}
    n = len(data[0])
    with tempfile.TemporaryDirectory(prefix="casimir-bench-") as folder:
        path = Path(folder) / "data"
        path.write_bytes(pickle.dumps((with_ends(data[0]), data[1], lam_n / 2.0)))
        command = [sys.executable, "-m", "benchmarks.crfsuite_child", str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            for line in child.stdout:
                seconds, value = map(float, line.split())
                for tol, goal in goals.items():
                    if value / n <= goal and tol not in reached:
                        reached[tol] = seconds
                if len(reached) == len(goals) or seconds > most:
                    child.kill()
                    break
    return reached


if __name__ == "__main__":
    sys.exit(main())
