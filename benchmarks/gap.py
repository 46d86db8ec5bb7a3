"""CPU time to a certified relative gap, in iterations of CRFsuite's L-BFGS that are timed between the runs."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

import casimir as cs
from benchmarks.clock import seconds_of
from benchmarks.table import Row
from casimir.solvers.choose import choose

if TYPE_CHECKING:
    from benchmarks.context import Context
    from benchmarks.workload import Workload

SEGMENT = 8  # L-BFGS iterations before, between and after the runs
MOST_EPOCHS = 1000


@dataclass(frozen=True)
class Goal:
    """lam = lam_n / n, a relative gap, and the number of L-BFGS iterations it may cost."""

    lam_n: float
    tol: float
    iterations: float


@dataclass(frozen=True)
class Certified:
    seconds: float
    result: cs.Result
    oracle_passes: float


GOALS = (Goal(1.0, 1e-2, 16), Goal(1.0, 1e-3, 28), Goal(0.1, 1e-3, 50), Goal(0.01, 1e-2, 45))


def gap_rows(context: Context) -> list[Row]:
    workload, runs = context.paper(), []

    def after_iteration(number: int) -> None:
        if number % SEGMENT == 0 and len(runs) < len(GOALS):
            goal = GOALS[len(runs)]
            context.say(f"solver auto to a gap of {goal.tol:g} at lam = {goal.lam_n:g}/n")
            runs.append(certify(workload, goal))

    seconds, _ = context.peer.train(
        "lbfgs", SEGMENT * (len(GOALS) + 1), after_iteration, c2=1.0, epsilon=0.0, delta=0.0
    )
    return [_row(goal, run, _unit(seconds, k)) for k, (goal, run) in enumerate(zip(GOALS, runs, strict=True))]


def certify(workload: Workload, goal: Goal) -> Certified:
    """Everything from packed features on is charged: the objective, the dual blocks, every pass and certificate."""
    results: list[tuple[cs.Objective, cs.Result]] = []

    def solve() -> None:
        objective = workload.objective(goal.lam_n)
        result = cs.minimize(objective, choose("auto", objective), MOST_EPOCHS, goal.tol)
        results.append((objective, result))

    seconds = seconds_of(solve)
    objective, result = results[0]
    return Certified(seconds, result, objective.oracle_calls / objective.n_examples)


def _unit(seconds: list[float], run: int) -> float:
    """Median CPU seconds of the L-BFGS iterations just before and just after a run."""
    return statistics.median(seconds[run * SEGMENT : (run + 2) * SEGMENT])


def _row(goal: Goal, run: Certified, unit: float) -> Row:
    iterations = run.seconds / unit
    certified = run.result.gap <= goal.tol
    return Row(
        f"certified gap {goal.tol:.0e} by solver auto, lam = {goal.lam_n:g}/n",
        f"L-BFGS {1e3 * unit:.0f} ms an iteration",
        f"{run.seconds:.2f} s" if certified else f"gap {run.result.gap:.1e} after {run.seconds:.2f} s",
        f"{iterations:.0f} iterations",
        f"<= {goal.iterations:.0f}",
        certified and iterations <= goal.iterations,
        f"{run.oracle_passes:.0f} oracle passes, certificates included",
        {"seconds": run.seconds, "unit": unit, "iterations": iterations, "gap": run.result.gap},
    )
