"""Oracle passes to a certified gap, for the older systems that the paper's tab:rates compares with, and DualProximal.

    python -m benchmarks.classics --data conll --lams 1,0.1 --most 2000

A pass is n oracle calls. In brackets with the passes that only evaluate F, which certificates need; CPU seconds are
without these. A solver ends after `most` passes of the first kind.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import casimir as cs
from benchmarks.problems import PROBLEMS, Problem
from benchmarks.table import machine, markdown

TOLS = (1e-1, 1e-2)
SOLVERS: dict[str, Any] = {
    "DualProximal": cs.DualProximal(),
    "BCFW": cs.BCFW(),
    "ExponentiatedGradient": cs.ExponentiatedGradient(),
    "CuttingPlanes": cs.CuttingPlanes(),
    "BMRM": cs.CuttingPlanes(step=1.0),
    "ExcessiveGap": cs.ExcessiveGap(),
}
HEADER = ("problem", "lam n", "solver", *(f"gap {tol:g}" for tol in TOLS), "gap at the end", "passes", "CPU s")


def row_of(name: str, problem: Problem, lam_n: float, solver: str, most: int) -> tuple[str, ...]:
    objective = problem.objective(lam_n)
    n = objective.n_active

    def is_done(row: cs.TraceRow, w: Any) -> bool:
        return row.oracle_calls - row.evaluations >= most * n

    trace = cs.minimize(objective, SOLVERS[solver], 10 * most, TOLS[-1], callbacks=[is_done]).trace
    working, every = (trace["oracle_calls"] - trace["evaluations"]) / n, trace["oracle_calls"] / n
    reached = [np.flatnonzero(trace["gap"] <= tol) for tol in TOLS]
    found = [f"{working[k[0]]:.0f} ({every[k[0]]:.0f})" if len(k) else "-" for k in reached]
    last = trace[-1]
    return name, f"{lam_n:g}", solver, *found, f"{last.gap:.2g}", f"{working[-1]:.0f}", f"{last.cpu_seconds:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.classics", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", default="multiclass", help="separated by commas: " + ", ".join(PROBLEMS))
    parser.add_argument("--lams", default="1,0.1", help="lam n, separated by commas")
    parser.add_argument("--most", type=int, default=2000, help="passes")
    parser.add_argument("--solvers", default=",".join(SOLVERS), help="of " + ", ".join(SOLVERS))
    given = parser.parse_args()
    print(f"{machine()}\n\n{markdown(HEADER, [])}")
    for name in given.data.split(","):
        problem = PROBLEMS[name]()
        for lam_n in map(float, given.lams.split(",")):
            for solver in given.solvers.split(","):
                print("| " + " | ".join(row_of(name, problem, lam_n, solver, given.most)) + " |", flush=True)


if __name__ == "__main__":
    main()
