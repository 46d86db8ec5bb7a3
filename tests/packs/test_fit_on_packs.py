"""Training on a pack: the optimum that sentences in memory have, within the memory that is given."""

from __future__ import annotations

import errno
import gc
import json
import os
import subprocess
import sys
import time
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_up_packs import in_memory, packed, sentences, small_shards  # noqa: F401
from sanitizers import core_has_sanitizer

import casimir as cs
from casimir import _state_memory
from casimir._sizes import parse_size
from casimir.packs import writer

pytestmark = pytest.mark.usefixtures("small_shards")
SOLVERS = {
    "lbfgs": ("crf", cs.LBFGS()),
    "sdca": ("crf", cs.SDCA()),
    "dual": ("hinge", cs.DualProximal()),
    "bcfw": ("hinge", cs.BCFW()),
    "casimir": ("hinge", cs.Casimir()),
    "svrg": ("crf", cs.SVRG()),
    "sgd": ("hinge", cs.SGD()),
    "auto-hinge": ("hinge", "auto"),
    "auto-crf": ("crf", "auto"),
}


def exact(loss: str, X: Any, y: Any, weights: Any, lam: float) -> cs.SequenceTagger:
    solver = cs.LBFGS() if loss == "crf" else cs.DualProximal()
    return cs.SequenceTagger(lam=lam, loss=loss, solver=solver, tol=1e-9, max_epochs=3000).fit(
        X, y, sample_weight=weights
    )


@pytest.mark.parametrize("name", SOLVERS)
def test_every_solver_certifies_the_optimum_that_memory_has(tmp_path: Path, name: str) -> None:
    loss, solver = SOLVERS[name]
    pack = packed(tmp_path, *sentences())
    tol = 1e-2 if name in ("sgd", "bcfw", "casimir") else 1e-4
    found = cs.SequenceTagger(lam=0.05, loss=loss, solver=solver, tol=tol, max_epochs=400).fit(pack)
    optimum = exact(loss, *in_memory(pack), 0.05).objective_
    assert found.gap_ <= tol
    assert found.status_ == "converged"
    assert found.dual_ <= optimum + 1e-9
    assert optimum - 1e-9 <= found.objective_ <= optimum / (1.0 - tol) + 1e-9


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("memory", [None, "2GB"])
def test_full_gradients_end_at_the_same_optimum(tmp_path: Path, weighted: bool, memory: str | None) -> None:
    weights = np.random.default_rng(0).integers(0, 3, size=60).astype(float) if weighted else None
    pack = packed(tmp_path, *sentences(valued=True), sample_weight=weights)
    X, y, shares = in_memory(pack)
    there = cs.SequenceTagger(lam=0.05, loss="crf", solver="lbfgs", tol=1e-12, max_epochs=500).fit(pack, memory=memory)
    here = cs.SequenceTagger(lam=0.05, loss="crf", solver="lbfgs", tol=1e-12, max_epochs=500)
    here.fit(X, y, sample_weight=shares)
    assert abs(there.objective_ - here.objective_) <= 1e-8 * here.objective_
    assert there.gap_ <= 1e-10
    assert there.gap_ == pytest.approx(here.gap_, abs=1e-10)
    assert there.predict(X) == here.predict(X)
    assert tuple(there.classes_) == tuple(here.classes_)


def test_exact_names_and_label_costs_go_along(tmp_path: Path) -> None:
    X, y = sentences()
    pack = packed(tmp_path, X, y, n_features=None)
    costs = {("N", "V"): 3.0}
    there = cs.SequenceTagger(lam=0.05, tol=1e-6, label_costs=costs, l1_ratio=0.2).fit(pack)
    here = cs.SequenceTagger(lam=0.05, tol=1e-6, label_costs=costs, l1_ratio=0.2, n_features=None).fit(X, y)
    assert there.objective_ == pytest.approx(here.objective_, rel=3e-6)
    assert there.lam_ == here.lam_
    assert there.predict([[{"w0": True}, {"w1": True}]]) == here.predict([[{"w0": True}, {"w1": True}]])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"min_frequency": 2}, "min_frequency=2 .* in memory.*; leave features"),
        ({"warm_start": True}, "warm_start=True .* in memory.*; a checkpoint goes on"),
        ({"keep_names": True}, "keep_names=True .* in memory.*; pack with n_features=None"),
        ({"lam": "auto"}, "lam='auto' .* in memory.*; give a number"),
    ],
)
def test_options_that_need_the_sentences_are_refused_with_a_way_around(
    tmp_path: Path, options: dict[str, Any], said: str
) -> None:
    pack = packed(tmp_path, *sentences(20))
    with pytest.raises(ValueError, match=said):
        cs.SequenceTagger(**options).fit(pack)


def test_labels_and_bounds_come_with_the_pack(tmp_path: Path) -> None:
    pack = packed(tmp_path / "p", *sentences(20))
    with pytest.raises(ValueError, match="y does not go with a pack"):
        cs.SequenceTagger().fit(pack, [["N"]] * 20)
    with pytest.raises(ValueError, match="memory is for packs"):
        cs.SequenceTagger().fit([[["a"]]], [["N"]], memory="1GB")
    bare = cs.pack(sentences(20)[0], 512, out=tmp_path / "bare")
    with pytest.raises(ValueError, match="has no labels"):
        cs.SequenceTagger().fit(bare)
    with pytest.raises(ValueError, match=r"need .* MB\. Give more"):
        cs.SequenceTagger().fit(pack, memory="1MB")
    with pytest.raises(ValueError, match="it must be an amount"):
        cs.SequenceTagger().fit(pack, memory="much")


@pytest.mark.parametrize(("text", "size"), [("512MB", 512 * 10**6), ("1.5 GiB", 3 * 2**29), (7, 7), ("2g", 2 * 10**9)])
def test_sizes_read_as_people_write_them(text: str | int, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("how", ["touched", "shorter", "gone", "replaced"])
def test_a_shard_that_changes_during_training_ends_it_in_one_sentence(tmp_path: Path, how: str) -> None:
    pack = packed(tmp_path, *sentences())
    file = sorted(tmp_path.glob("shard-*"))[1]

    def change(row: Any, predictor: Any) -> None:
        if row.epoch > 2:
            return
        data = file.read_bytes()
        if how == "touched":
            file.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        elif how == "shorter":
            os.truncate(file, len(data) - 8)
        else:
            file.unlink()
        if how == "replaced":
            file.write_bytes(data)

    tagger = cs.SequenceTagger(tol=1e-12, max_epochs=200)
    with pytest.raises(ValueError, match=r"has changed since it was opened|is gone") as caught:
        tagger.fit(pack, callbacks=[change])
    assert "\n" not in str(caught.value)
    assert not hasattr(tagger, "predictor_")


def test_a_callback_sees_a_tagger_and_can_end_the_training(tmp_path: Path) -> None:
    pack = packed(tmp_path, *sentences())
    seen = []

    def stop(row: Any, predictor: Any) -> bool:
        seen.append(predictor.predict([[{"w0": True}]]))
        return True

    tagger = cs.SequenceTagger(tol=1e-9).fit(pack, callbacks=[stop])
    assert len(seen) == 1
    assert tagger.status_ == "callback"


def test_a_full_disk_for_dual_variables_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(_state_memory.os, "posix_fallocate", full)
    memory = _state_memory.StateMemory(10**6)
    assert memory.array(10, np.float64).sum() == 0.0
    with pytest.raises(OSError, match=r"more of disk for its dual variables .* Set TMPDIR"):
        memory.array(10**6, np.float64)


def test_memory_that_is_given_back_counts_no_more() -> None:
    memory = _state_memory.StateMemory(10**6)
    first, second = memory.array(10**5, np.float64), memory.array(10**5, np.float64)
    second[:] = 1.0
    assert (memory.anonymous, memory.in_files) == (8 * 10**5, 8 * 10**5)
    del first, second
    assert (memory.anonymous, memory.in_files) == (0, 0)


def test_training_leaves_nothing_mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    class Watched(_state_memory.StateMemory):
        def __init__(self, limit: int | None = None) -> None:
            super().__init__(0)
            made.append(weakref.ref(self))

    monkeypatch.setattr("casimir.estimators.packed_fit.StateMemory", Watched)
    tagger = cs.SequenceTagger(tol=0.1).fit(packed(tmp_path, *sentences()))
    gc.collect()
    assert tagger.gap_ <= 0.1
    assert [one() for one in made] == [None]
    if sys.platform == "linux":
        assert str(tmp_path) not in Path("/proc/self/maps").read_text(encoding="utf-8")


CHILD = """
import sys
import casimir as cs
from casimir._sizes import anonymous_memory
pack, bound = cs.open_pack(sys.argv[1]), int(sys.argv[2])
tagger = cs.SequenceTagger(tol=1e-2, max_epochs=100, n_jobs=1)
print(anonymous_memory(), flush=True)
tagger.fit(pack, memory=bound or None)
print(tagger.gap_, tagger.objective_, tagger.dual_, flush=True)
"""


def trained_in_a_child(folder: Path, memory: int) -> tuple[int, int, list[float]]:
    """(anonymous bytes before training, the most of them during it, gap, F and D); memory 0: as much as it needs."""
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(folder), str(memory)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    status, most = Path(f"/proc/{process.pid}/status"), 0
    while process.poll() is None:
        for line in status.read_text().splitlines():
            if line.startswith("RssAnon:"):
                most = max(most, 1024 * int(line.split()[1]))
        time.sleep(0.002)
    said, errors = process.communicate()
    assert process.returncode == 0, errors
    before, results = said.split("\n")[:2]
    return int(before), most, [float(number) for number in results.split()]


@pytest.mark.skipif(sys.platform != "linux", reason="RssAnon is in /proc")
def test_training_stays_within_its_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if core_has_sanitizer():
        pytest.skip("a sanitizer keeps memory of its own")
    monkeypatch.setattr(writer, "SHARD_TOKENS", 2**14)
    rng = np.random.default_rng(0)
    lengths = rng.integers(5, 40, size=12_000)
    offsets = np.concatenate([[0], lengths.cumsum()])
    kinds = rng.integers(6, size=offsets[-1])
    features = np.column_stack([kinds, *(6 + rng.integers(2000, size=(7, len(kinds))))]).astype(np.uint32)
    X = cs.PackedSequences(offsets, np.arange(len(kinds) + 1) * 8, np.sort(features).ravel(), None, 2006)
    noisy = np.where(rng.random(len(kinds)) < 0.7, kinds, rng.integers(6, size=len(kinds)))
    y = np.array(list("ABCDEF"))[noisy]
    cs.pack(X, y=np.split(y, offsets[1:-1]), out=tmp_path / "p")
    before, free, unbounded = trained_in_a_child(tmp_path / "p", 0)
    memory = before + (free - before) // 2
    _, most, bounded = trained_in_a_child(tmp_path / "p", memory)
    print(json.dumps({"before": before, "unbounded": free, "memory": memory, "most": most}))
    assert free > before + 20_000_000
    assert most <= memory
    assert bounded == unbounded
    assert bounded[0] <= 1e-2
