"""Runs with a checkpoint in any order of calls: whatever interrupts them, they are parts of one straight run."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from checkpoints import CLOCKS, InterruptAt
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from problems import candidate_parts, chain_parts, tree_parts
from soak.budget import examples

import casimir as cs
from casimir.persistence import checkpoint_file

MOST = 14
PARTS = {
    "chains": lambda: chain_parts(valued=True, n=6),
    "trees": lambda: tree_parts(n=4),
    "candidates": lambda: candidate_parts(n=6),
}
SOLVERS: dict[str, list[Any]] = {
    "hinge": [
        cs.DualProximal(),
        cs.SGD(),
        cs.BCFW(),
        cs.BCFW(pairwise=True, cached_passes=2),
        cs.Casimir(),
        cs.ExponentiatedGradient(),
    ],
    "crf": [cs.DualProximal(), cs.SVRG(), cs.SAGA(), cs.LBFGS(), cs.Casimir(), cs.SDCA()],
}
PENALTIES = [cs.Ridge(0.3), cs.ElasticNet(0.3, 0.4)]


def rows_of(result: cs.Result) -> list[dict[str, Any]]:
    return [{name: x for name, x in row.items() if name not in CLOCKS} for row in result.trace.as_dicts()]


class Runs(RuleBasedStateMachine):
    """`straight` is what nobody has interrupted; `done` are the epochs that a checkpoint must have."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.kept = cs.Checkpoint(self.folder / "run", 0)
        self.done = 0

    @initialize(parts=st.sampled_from(sorted(PARTS)), loss=st.sampled_from(sorted(SOLVERS)), data=st.data())
    def begin(self, parts: str, loss: str, data: st.DataObject) -> None:
        self.parts, self.loss = parts, loss
        self.solver = data.draw(st.sampled_from(SOLVERS[loss]))
        is_ridge = isinstance(self.solver, cs.SDCA)
        self.penalty = PENALTIES[0] if is_ridge else data.draw(st.sampled_from(PENALTIES))
        self.straight = self.run(MOST)
        self.rows = rows_of(self.straight)

    def run(self, epochs: int, **options: Any) -> cs.Result:
        objective = PARTS[self.parts]().objective(self.penalty, self.loss, n_threads=1)
        return cs.minimize(objective, self.solver, epochs, 0.0, **{"seed": 5, **options})

    def check(self, result: cs.Result) -> None:
        """A beginning of the straight run, at least as long as before."""
        found = rows_of(result)
        assert found == self.rows[: len(found)]
        assert found[-1]["epoch"] >= self.done
        self.done = int(found[-1]["epoch"])
        if len(found) == len(self.rows):
            assert result.w.tobytes() == self.straight.w.tobytes()
            assert (result.objective, result.dual) == (self.straight.objective, self.straight.dual)

    @precondition(lambda self: self.done < MOST)
    @rule(more=st.integers(1, 5))
    def go_on(self, more: int) -> None:
        """To an epoch whose objective the straight run evaluates too; another one would be evaluated because it is the
        last, and what is learnt from that changes what follows, see docs/solvers.md."""
        ends = [int(row["epoch"]) for row in self.rows if row["epoch"] > self.done]
        self.check(self.run(ends[min(more, len(ends)) - 1], checkpoint=self.kept))

    @precondition(lambda self: self.done < MOST)
    @rule(after=st.integers(1, 4))
    def be_interrupted(self, after: int) -> None:
        self.check(self.run(MOST, checkpoint=self.kept, callbacks=[InterruptAt(self.done + after)]))

    @precondition(lambda self: self.done < MOST)
    @rule(after=st.integers(1, 4))
    def fail_in_a_callback(self, after: int) -> None:
        at = self.done + after

        def fail(row: Any, w: Any) -> None:
            if row.epoch >= at:
                raise ZeroDivisionError

        if at >= len(self.rows):
            return
        with pytest.raises(ZeroDivisionError):
            self.run(MOST, checkpoint=self.kept, callbacks=[fail])

    @rule()
    def go_on_elsewhere(self) -> None:
        """A folder that was copied, as to another machine."""
        if (self.folder / "run").exists():
            shutil.rmtree(self.folder / "moved", ignore_errors=True)
            shutil.copytree(self.folder / "run", self.folder / "moved")
            self.kept = cs.Checkpoint(self.folder / "moved", 0)
            shutil.rmtree(self.folder / "run")
            (self.folder / "moved").rename(self.folder / "run")
            self.kept = cs.Checkpoint(self.folder / "run", 0)

    @precondition(lambda self: self.done > 0)
    @rule(option=st.sampled_from([{"seed": 6}, {"evaluate_every": 2}]))
    def ask_for_another_run(self, option: dict[str, Any]) -> None:
        file = self.folder / "run" / checkpoint_file.FILE
        before = file.read_bytes()
        with pytest.raises(ValueError, match="of a run with another"):
            self.run(MOST, checkpoint=self.kept, **option)
        assert file.read_bytes() == before

    @precondition(lambda self: self.done > 0)
    @rule(place=st.floats(0.0, 1.0, exclude_max=True), bit=st.integers(0, 7))
    def meet_a_damaged_file(self, place: float, bit: int) -> None:
        file = self.folder / "run" / checkpoint_file.FILE
        before = file.read_bytes()
        damaged = bytearray(before)
        damaged[int(place * len(damaged))] ^= 1 << bit
        file.write_bytes(damaged)
        with pytest.raises((ValueError, FileExistsError)):
            self.run(MOST, checkpoint=self.kept)
        assert file.read_bytes() == damaged
        file.write_bytes(before)

    @rule()
    def begin_anew(self) -> None:
        shutil.rmtree(self.folder / "run", ignore_errors=True)
        self.done = 0

    def teardown(self) -> None:
        shutil.rmtree(self.folder)


Runs.TestCase.settings = settings(
    max_examples=examples(12),
    stateful_step_count=10,
    deadline=None,
    derandomize=examples(1) == 1,
    suppress_health_check=list(HealthCheck),
)
TestRuns = Runs.TestCase


@pytest.mark.parametrize("loss", ["hinge", "crf"])
def test_runs_that_go_on_from_an_epoch_that_would_not_be_evaluated_end_as_well(loss: str, tmp_path: Path) -> None:
    def run(epochs: int, folder: str) -> cs.Result:
        objective = candidate_parts(n=6).objective(0.3, loss, n_threads=1)
        kept = cs.Checkpoint(tmp_path / folder, 0)
        return cs.minimize(objective, cs.DualProximal(), epochs, 1e-6, 5, checkpoint=kept)

    straight = run(60, "straight")
    left_out = [k for k in range(1, straight.trace[-1].epoch) if k not in straight.trace["epoch"]]
    assert left_out
    for k in left_out:
        assert run(k, f"from {k}").trace[-1].epoch == k
        result = run(60, f"from {k}")
        assert result.converged
        assert result.objective - straight.dual <= 2e-6 * straight.objective
        assert result.trace[-1].epoch <= straight.trace[-1].epoch + 5
