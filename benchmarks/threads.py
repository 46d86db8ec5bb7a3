"""Full passes on two threads."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.chain_oracles import problem_of
from benchmarks.clock import medians, take_turns
from benchmarks.table import Row, ms, times
from casimir._arrays import aligned_zeros
from casimir._native import core

if TYPE_CHECKING:
    from benchmarks.context import Context

REPETITIONS = 60


def threads_row(context: Context, target: float) -> Row:
    """Wall clock, so other work on the machine counts against two threads; best and CPU times tell how much."""
    context.say("full passes on one and two threads")
    actions = _passes(context)
    wall = take_turns(actions, REPETITIONS, time.perf_counter)
    seconds, best = medians(wall), {name: min(values) for name, values in wall.items()}
    cpu = medians(take_turns(actions, REPETITIONS // 4))
    speedup = seconds["1"] / seconds["2"]
    return Row(
        "full pass (value and gradient) on 2 threads",
        "-",
        f"{ms(seconds['1'])} -> {ms(seconds['2'])}",
        times(speedup),
        f">= {times(target)}",
        speedup >= target,
        _note(seconds, best, cpu),
        {"seconds": seconds, "best": best, "cpu": cpu, "load": os.getloadavg()[0], "speedup": speedup},
    )


def _note(seconds: dict[str, float], best: dict[str, float], cpu: dict[str, float]) -> str:
    return (
        f"wall clock, at a load average of {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs; "
        f"best times {times(best['1'] / best['2'])}; "
        f"two threads spend {times(cpu['2'] / cpu['1'])} the CPU time of one; "
        f"values only: {times(seconds['values 1'] / seconds['values 2'])}, "
        f"best times {times(best['values 1'] / best['values 2'])}"
    )


def _passes(context: Context) -> dict[str, Callable[[], object]]:
    problem, w = problem_of(context.paper()), context.weights
    marginals, gradient = np.zeros(problem.n_marginals), aligned_zeros(problem.n_params)
    hard = core.Smoothing("hard", 1, 0.0)
    return {
        "1": lambda: problem.full_pass(w, hard, 1, marginals, gradient),
        "2": lambda: problem.full_pass(w, hard, 2, marginals, gradient),
        "values 1": lambda: problem.full_pass(w, hard, 1, None, None),
        "values 2": lambda: problem.full_pass(w, hard, 2, None, None),
    }
