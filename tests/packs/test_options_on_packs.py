"""What `fit` takes beside a pack: checkpoints, dev sets, weights of labels, rules of valid labels."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoints import InterruptAt
from made_up_packs import LABELS, in_memory, packed, sentences, small_shards  # noqa: F401
from sklearn.exceptions import ConvergenceWarning

import casimir as cs
from casimir import _state_memory

pytestmark = pytest.mark.usefixtures("small_shards")
SOLVERS: dict[str, tuple[str, Any]] = {
    "dual": ("hinge", cs.DualProximal()),
    "bcfw": ("hinge", cs.BCFW()),
    "sdca": ("crf", cs.SDCA()),
    "lbfgs": ("crf", cs.LBFGS()),
    "sgd": ("hinge", cs.SGD()),
    "svrg": ("crf", cs.SVRG()),
    "casimir": ("hinge", cs.Casimir()),
}


def tagger(name: str, **options: Any) -> cs.SequenceTagger:
    loss, solver = SOLVERS[name]
    return cs.SequenceTagger(lam=0.05, loss=loss, solver=solver, tol=0.0, max_epochs=9, **options)


@pytest.mark.filterwarnings("ignore:Training ended")
@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("memory", [None, "2GB"])
def test_a_training_that_was_cut_short_goes_on_bit_for_bit(tmp_path: Path, name: str, memory: str | None) -> None:
    packed(tmp_path / "p", *sentences())
    whole = tagger(name).fit(cs.open_pack(tmp_path / "p"), memory=memory)
    kept = cs.Checkpoint(tmp_path / "c", every_seconds=1e6)
    for epoch in (1, 2):
        part = tagger(name, checkpoint=kept)
        with pytest.warns(ConvergenceWarning, match="interrupted"):
            part.fit(cs.open_pack(tmp_path / "p"), memory=memory, callbacks=[InterruptAt(epoch)])
        assert part.status_ == "interrupted"
    again = tagger(name, checkpoint=kept).fit(cs.open_pack(tmp_path / "p"), memory=memory)
    np.testing.assert_array_equal(again.predictor_.w, whole.predictor_.w)
    assert (again.objective_, again.dual_) == (whole.objective_, whole.dual_)
    assert [row.epoch for row in again.trace_.rows] == [row.epoch for row in whole.trace_.rows]


def test_a_checkpoint_of_another_pack_is_refused(tmp_path: Path) -> None:
    kept = cs.Checkpoint(tmp_path / "c", every_seconds=0.0)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        tagger("dual", checkpoint=kept).fit(packed(tmp_path / "p", *sentences()), callbacks=[InterruptAt(3)])
    with pytest.raises(ValueError, match="of a run with another training data"):
        tagger("dual", checkpoint=kept).fit(packed(tmp_path / "q", *sentences(seed=1)))


@pytest.mark.filterwarnings("ignore:Training ended")
def test_a_checkpoint_takes_one_shard_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dual variables that lie in files are not collected in memory to be written."""
    from casimir.problems.fused import FusedDualBlocks

    held: list[int] = []
    state = FusedDualBlocks.state

    class Watched(_state_memory.StateMemory):
        def __init__(self, limit: int | None = None) -> None:
            super().__init__(0)

    def counted(self: Any) -> Any:
        found = state(self)
        held.append(sum(one.nbytes for one in found if isinstance(one, np.ndarray)))
        return found

    monkeypatch.setattr("casimir.estimators.packed_fit.StateMemory", Watched)
    monkeypatch.setattr(FusedDualBlocks, "state", counted)
    pack = packed(tmp_path / "p", *sentences())
    kept = cs.Checkpoint(tmp_path / "c", every_seconds=1e6)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        tagger("dual", checkpoint=kept).fit(pack, callbacks=[InterruptAt(3)])
    assert len(pack.shards) >= 3
    assert len(held) >= 2 * len(pack.shards)
    written = (tmp_path / "c" / "run.checkpoint").stat().st_size
    assert written > sum(held[-len(pack.shards) :]) > 2 * max(held)


def test_the_weights_that_did_best_on_a_dev_set_are_kept(tmp_path: Path) -> None:
    pack, (X_dev, y_dev) = packed(tmp_path, *sentences()), sentences(30, seed=5)
    X, y, _ = in_memory(pack)
    options: dict[str, Any] = {"lam": 0.01, "solver": "lbfgs", "loss": "crf", "tol": 1e-9, "max_epochs": 30}
    there = cs.SequenceTagger(**options, patience=3).fit(pack, X_dev=X_dev, y_dev=y_dev)
    here = cs.SequenceTagger(**options, patience=3).fit(X, y, X_dev=X_dev, y_dev=y_dev)
    assert there.dev_scores_ == here.dev_scores_
    assert there.best_epoch_ == here.best_epoch_ == int(there.trace_.rows[int(np.argmax(there.dev_scores_))].epoch)
    assert there.score(X_dev, y_dev) == max(there.dev_scores_)
    assert there.gap_ == pytest.approx(here.gap_)


def test_dev_sets_are_packed_as_the_pack_is(tmp_path: Path) -> None:
    X, y = [[{"w": "a"}, {"w": "b"}]] * 20, [["A", "B"]] * 20
    pack = cs.pack(X, None, y=y, out=tmp_path / "p", separator=":")
    assert cs.SequenceTagger().fit(pack, X_dev=X, y_dev=y).dev_scores_[-1] == 1.0


@pytest.mark.filterwarnings("ignore:Training ended")
def test_the_best_on_a_dev_set_goes_into_checkpoints(tmp_path: Path) -> None:
    pack, (X_dev, y_dev) = packed(tmp_path / "p", *sentences()), sentences(30, seed=5)
    whole = tagger("lbfgs").fit(pack, X_dev=X_dev, y_dev=y_dev)
    kept = cs.Checkpoint(tmp_path / "c", every_seconds=1e6)
    part = tagger("lbfgs", checkpoint=kept)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        part.fit(pack, X_dev=X_dev, y_dev=y_dev, callbacks=[InterruptAt(4)])
    again = tagger("lbfgs", checkpoint=kept).fit(pack, X_dev=X_dev, y_dev=y_dev)
    assert again.dev_scores_ == whole.dev_scores_
    np.testing.assert_array_equal(again.predictor_.w, whole.predictor_.w)


def test_patience_needs_a_dev_set(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="patience=3 is how long"):
        cs.SequenceTagger(patience=3).fit(packed(tmp_path, *sentences(20)))


@pytest.mark.parametrize("loss", ["hinge", "crf"])
@pytest.mark.parametrize("class_weight", ["balanced", {"N": 3.0, "D": 0.5}])
@pytest.mark.parametrize("weighted", [False, True])
def test_labels_weigh_as_in_memory(tmp_path: Path, loss: str, class_weight: Any, weighted: bool) -> None:
    shares = np.random.default_rng(0).integers(0, 3, size=60).astype(float) if weighted else None
    pack = packed(tmp_path, *sentences(), sample_weight=shares)
    X, y, weights = in_memory(pack)
    options: dict[str, Any] = {"loss": loss, "lam": 0.05, "class_weight": class_weight, "tol": 1e-6, "max_epochs": 2000}
    there, here = cs.SequenceTagger(**options).fit(pack), cs.SequenceTagger(**options).fit(X, y, sample_weight=weights)
    assert there.objective_ == pytest.approx(here.objective_, rel=2e-6)
    plain = cs.SequenceTagger(**options | {"class_weight": None}).fit(pack)
    assert abs(plain.objective_ - there.objective_) > 1e-3


def spans(labels: list[str]) -> list[str]:
    """IOB2 of such labels: a run of N or V is an X, an A alone a Y."""
    kinds = [{"N": "X", "V": "X", "A": "Y"}.get(label) for label in labels]
    firsts = [kind != "X" or before != "X" for kind, before in zip(kinds, [None, *kinds], strict=False)]
    return ["O" if k is None else f"{'B' if first else 'I'}-{k}" for k, first in zip(kinds, firsts, strict=True)]


@pytest.mark.parametrize("loss", ["hinge", "crf"])
def test_rules_of_valid_labels_hold_on_packs(tmp_path: Path, loss: str) -> None:
    X, y = sentences()
    y = [spans(labels) for labels in y]
    pack = packed(tmp_path, X, y)
    X, y, _ = in_memory(pack)
    options: dict[str, Any] = {"loss": loss, "lam": 0.05, "constraints": "IOB2", "tol": 1e-6, "max_epochs": 2000}
    there, here = cs.SequenceTagger(**options).fit(pack), cs.SequenceTagger(**options).fit(X, y)
    assert there.objective_ == pytest.approx(here.objective_, rel=2e-6)
    assert there.constraints_.scheme == "IOB2"
    assert there.predict(X) == here.predict(X)
    free = cs.SequenceTagger(**options | {"constraints": None}).fit(pack)
    assert abs(free.objective_ - there.objective_) > 1e-6


@pytest.mark.parametrize("shard", [0, 2])
def test_labels_that_break_the_rules_are_told_wherever_they_lie(tmp_path: Path, shard: int) -> None:
    pack = packed(tmp_path, *sentences())
    y = in_memory(pack)[1]
    first = sum(len(one.X) for one in pack.shards[:shard])
    pairs = [list(itertools.pairwise(labels)) for labels in y]
    late = {pair for own in pairs[first:] for pair in own} - {pair for own in pairs[:first] for pair in own}
    broken = sorted(late)[0] if shard and late else pairs[first + next(k for k, p in enumerate(pairs[first:]) if p)][0]
    i = next(k for k, own in enumerate(pairs) if broken in own)
    count = sum(own.count(broken) for own in pairs)
    with pytest.raises(ValueError, match=rf"y\[{i}\] has .*{count} places in all"):
        cs.SequenceTagger(constraints=[broken]).fit(pack)
    assert set(broken) <= set(LABELS)
