"""Time to useful quality: CPU time of averaged SGD until its F1 is that of CRFsuite's averaged perceptron."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchmarks.clock import seconds_of
from benchmarks.crfsuite import tag
from benchmarks.sgd import AveragedSGD
from benchmarks.table import Row, times
from benchmarks.workload import Workload
from casimir.tasks.ner import entity_scores

if TYPE_CHECKING:
    from benchmarks.context import Context

AP_PASSES, ROUNDS, MOST_EPOCHS = 20, 3, 60
FEATURE_SPACES = {"65,535 buckets": 2**16 - 1, "exact vocabulary": None}


@dataclass
class Runner:
    """SGD at lam = 1/n, nothing tuned; F1 is evaluated outside the clock."""

    workload: Workload
    sgd: AveragedSGD
    seconds: list[float] = field(default_factory=list)
    f1: list[float] = field(default_factory=list)

    @classmethod
    def start(cls, workload: Workload, seed: int) -> Runner:
        return cls(workload, AveragedSGD.start(workload.objective(), seed))

    def epoch(self) -> None:
        self.seconds.append(seconds_of(self.sgd.epoch))
        self.f1.append(self.workload.f1(self.sgd.mean()))

    def epochs_to(self, goal: float) -> int | None:
        """Epochs until F1 >= goal, running on if need be; None if it is not there after the most allowed."""
        while max(self.f1, default=0.0) < goal and len(self.f1) < MOST_EPOCHS:
            self.epoch()
        return next((epoch for epoch, f1 in enumerate(self.f1, 1) if f1 >= goal), None)


def useful_rows(context: Context, target: float) -> list[Row]:
    """Medians of three rounds: both sides visit the examples in random orders, which moves F1 by some 0.003."""
    runners: dict[str, list[Runner]] = {name: [] for name in FEATURE_SPACES}
    seconds, f1 = [], []
    for seed in range(ROUNDS):
        context.say(f"averaged perceptron and SGD in turn, round {seed + 1} of {ROUNDS}")
        for name, n_features in FEATURE_SPACES.items():
            runners[name].append(Runner.start(context.paper(n_features), seed))
        passes, model = context.peer.train("ap", AP_PASSES, lambda _: [r[-1].epoch() for r in runners.values()])
        seconds.append(sum(passes))
        f1.append(entity_scores(context.labels[1], tag(model, context.strings[1])).f1)
    goal, budget = statistics.median(f1), statistics.median(seconds)
    peer = f"AP {AP_PASSES} passes {budget:.2f} s: F1 {goal:.4f}"
    note = "AP's F1 by round " + ", ".join(f"{value:.4f}" for value in f1) + "; SGD() at lam = 1/n"
    return [_row(name, peer, goal, budget, runs, target, note) for name, runs in runners.items()]


def _row(name: str, peer: str, goal: float, budget: float, runs: list[Runner], target: float, note: str) -> Row:
    epochs = [run.epochs_to(goal) for run in runs]
    spent = [math.inf if e is None else sum(run.seconds[:e]) for e, run in zip(epochs, runs, strict=True)]
    seconds = statistics.median(spent)
    numbers = {"goal": goal, "ap seconds": budget, "epochs": epochs, "seconds": spent, "f1": [run.f1 for run in runs]}
    what = f"time to useful quality, {name}"
    if math.isinf(seconds):
        best = f"F1 {max(max(run.f1) for run in runs):.4f} in {MOST_EPOCHS} epochs"
        return Row(what, peer, best, "-", f"<= {times(target)}", False, note, numbers)
    counted = ", ".join("not reached" if e is None else str(e) for e in epochs)
    ours = f"SGD {seconds:.2f} s"
    note = f"{note}, epochs needed by round {counted}"
    return Row(
        what, peer, ours, times(seconds / budget), f"<= {times(target)}", seconds / budget <= target, note, numbers
    )
