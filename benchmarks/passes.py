"""Passes of CRFsuite and casimir over the training set, taking turns: SGD and the max oracle."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import casimir as cs
from benchmarks.clock import seconds_of
from benchmarks.crfsuite import Peer
from benchmarks.sgd import AveragedSGD
from benchmarks.table import Row, ms, times
from benchmarks.workload import Workload
from casimir.scores import FloatArray

if TYPE_CHECKING:
    from benchmarks.context import Context

PASSES = 10


@dataclass
class PassRun:
    """CPU seconds of every pass."""

    ap: list[float] = field(default_factory=list)
    pa: list[float] = field(default_factory=list)
    sgd: list[float] = field(default_factory=list)
    max_oracle: list[float] = field(default_factory=list)


def run_passes(peer: Peer, workload: Workload, say: Callable[[str], None]) -> PassRun:
    """After every pass of CRFsuite an SGD epoch and three max-oracle passes at its average so far."""
    run = PassRun()
    sgd = AveragedSGD.start(workload.objective())

    def after_pass(number: int) -> None:
        run.sgd.append(seconds_of(sgd.epoch))
        w = sgd.mean()
        run.max_oracle += [seconds_of(lambda: max_oracle(sgd.objective, w)) for _ in range(3)]

    say(f"averaged perceptron and passive aggressive, {PASSES} passes each, and casimir in turn")
    run.ap, _ = peer.train("ap", PASSES, after_pass)
    run.pa, _ = peer.train("pa", PASSES, after_pass)
    return run


def max_oracle(objective: cs.Objective, w: FloatArray) -> None:
    """Scores, cost and max of every example; values only."""
    objective.problem(cs.Hard()).full_pass(w, cs.Hard(), 0.0, gradient=False, keep=False)


def sgd_row(context: Context, target: float) -> Row:
    run = context.passes
    ap, pa, sgd = (statistics.median(s) for s in (run.ap, run.pa, run.sgd))
    ratio = sgd / min(ap, pa)
    return Row(
        "one SGD pass, packed features",
        f"AP {ms(ap)}, PA {ms(pa)}",
        ms(sgd),
        f"{sgd / ap:.2f}x AP, {sgd / pa:.2f}x PA",
        f"<= {times(target)}",
        ratio <= target,
        "averaging included; the verdict is against the faster of AP and PA",
        {"ap": ap, "pa": pa, "sgd": sgd, "ratio": ratio},
    )


def max_row(context: Context, target: float) -> Row:
    run = context.passes
    ap, ours = statistics.median(run.ap), statistics.median(run.max_oracle)
    return Row(
        "max oracle, whole train set, scoring included",
        f"AP pass {ms(ap)}",
        ms(ours),
        f"{ours / ap:.3f}x",
        f"<= {times(target)}",
        ours / ap <= target,
        numbers={"ap": ap, "max": ours, "ratio": ours / ap},
    )
