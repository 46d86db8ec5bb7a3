"""Oracles over the whole training set, scoring included and marginals kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.clock import medians, take_turns
from benchmarks.table import Row, ms, times
from casimir._native import core
from casimir.costs import Hamming
from casimir.models.linear import LinearChainModel
from casimir.problems import Combination, Truth, core_problem
from casimir.structures import Chain

if TYPE_CHECKING:
    from benchmarks.context import Context
    from benchmarks.workload import Workload

REPETITIONS = 25
ALL_PULLED = 1e6  # a mu so large that every example needs all k outputs
ORACLES = {
    "max": ("hard", 1, 0.0),
    "top": ("l2", 5, ALL_PULLED),
    "top, 5 pulled": ("l2", 4, ALL_PULLED),
    "top, mu=2": ("l2", 5, 2.0),
    "top, mu=0.03": ("l2", 5, 0.03),
    "exp": ("entropy", 1, 1.0),
}


def problem_of(workload: Workload) -> Any:
    """The core's problem, whose passes write into memory that is there already."""
    labels = len(workload.classes)
    given = Combination(Chain(labels), Hamming(), workload.y, Truth(workload.y))
    return core_problem(LinearChainModel(workload.X, labels), given)


def oracle_medians(context: Context) -> dict[str, float]:
    """CPU seconds of a pass with each oracle, kept by the context after the first call."""
    if "oracles" not in context.kept:
        problem, w = problem_of(context.paper()), context.weights
        marginals = np.zeros(problem.n_marginals)
        context.say("oracles in turn")
        actions = {name: _pass(problem, w, kind, marginals) for name, kind in ORACLES.items()}
        context.kept["oracles"] = medians(take_turns(actions, REPETITIONS))
    return context.kept["oracles"]


def _pass(problem: Any, w: Any, kind: tuple[str, int, float], marginals: Any) -> Callable[[], object]:
    smoothing = core.Smoothing(*kind)
    return lambda: problem.full_pass(w, smoothing, 1, marginals, None)


def topk_row(context: Context, target: float) -> Row:
    seconds = oracle_medians(context)
    ratios = {name: seconds[name] / seconds["max"] for name in seconds if name.startswith("top")}
    ours = f"{ms(seconds['top'])} / {ms(seconds['max'])}"
    note = (
        "every example pulls 5 outputs, and a 6th that tells whether 5 were enough; without it "
        f"{times(ratios['top, 5 pulled'])}; smoothing with L2(k=5) pulls what it needs: "
        f"{times(ratios['top, mu=2'])} at mu = 2, {times(ratios['top, mu=0.03'])} at mu = 0.03"
    )
    return Row(
        "top-5 oracle / max oracle",
        "-",
        ours,
        times(ratios["top"]),
        f"<= {times(target)}",
        ratios["top"] <= target,
        note,
        {"seconds": seconds, "ratios": ratios},
    )


def exp_row(context: Context, target: float) -> Row:
    seconds = oracle_medians(context)
    ratio = seconds["exp"] / seconds["max"]
    ours = f"{ms(seconds['exp'])} / {ms(seconds['max'])}"
    return Row(
        "exp oracle / max oracle", "-", ours, times(ratio), f"<= {times(target)}", ratio <= target, "", {"ratio": ratio}
    )
