"""Checkpoints: runs go on bit for bit, what does not fit is refused in a sentence, and nothing that fails is lost."""

from __future__ import annotations

import errno
import os
import signal
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from checkpoints import InterruptAt, gone_on, told
from nonlinear import elu_parts
from problems import (
    automaton_parts,
    candidate_parts,
    chain_parts,
    class_parts,
    label_parts,
    shared_parts,
    tiny_parts,
    tree_parts,
)

import casimir as cs
from casimir.persistence import checkpoint_file, files
from casimir.persistence.fingerprint import fingerprint
from casimir.solvers.checkpoint import Keeper

SOLVERS = {
    "sgd": cs.SGD(),
    "sgd-drawn": cs.SGD(averaging="uniform", sampling="replacement"),
    "sgd-last": cs.SGD(averaging="none"),
    "bcfw": cs.BCFW(),
    "bcfw-pairwise": cs.BCFW(pairwise=True, light_passes=1, cached_passes=3),
    "svrg": cs.SVRG(),
    "svrg-bound": cs.SVRG(lipschitz="bound"),
    "saga": cs.SAGA(),
    "casimir": cs.Casimir(),
    "casimir-saga": cs.Casimir(cs.SAGA()),
    "casimir-lbfgs": cs.Casimir(cs.LBFGS()),
    "casimir-descent": cs.Casimir(cs.GradientDescent(), inner_epochs=2),
    "paper": cs.Casimir.paper("const", warm_start="extrapolation"),
    "paper-adapt": cs.Casimir.paper("adapt", cs.SVRG(cs.L2()), stopping="accuracy"),
    "dual": cs.DualProximal(),
    "sdca": cs.SDCA(),
    "eg": cs.ExponentiatedGradient(),
    "lbfgs": cs.LBFGS(),
    "prox-linear": cs.ProxLinear(),
    "concave-convex": cs.ConcaveConvex(),
    "cuts": cs.CuttingPlanes(),
    "excessive-gap": cs.ExcessiveGap(),
}
OF_SMOOTH = {"sgd", "svrg", "casimir", "casimir-saga", "casimir-lbfgs", "dual", "sdca", "eg", "lbfgs", "cuts", "saga"}
PENALTIES = {"ridge": cs.Ridge(0.3), "elastic": cs.ElasticNet(0.3, 0.4)}
STRUCTURES = {
    "automaton": automaton_parts,
    "tree": tree_parts,
    "shared": shared_parts,
    "candidates": candidate_parts,
    "classes": class_parts,
    "sparse classes": lambda: class_parts(kind="sparse"),
    "labels": label_parts,
}
DUAL = {name: SOLVERS[name] for name in ("bcfw", "bcfw-pairwise", "dual", "eg")}
EPOCHS = 9


def chains(penalty: str = "ridge", loss: Any = "hinge", **options: Any) -> cs.Objective:
    n = 8 if options.get("native", True) else 4  # plain Python is slow
    return chain_parts(valued=True, n=n).objective(PENALTIES[penalty], loss, **options)


def check_goes_on(make: Any, solver: Any, folder: Path, epochs: int = EPOCHS, **options: Any) -> None:
    straight = cs.minimize(make(), solver, epochs, 0.0, **options)
    result = gone_on(make, solver, folder / "run", (1, 4), epochs, **options)
    assert told(result) == told(straight)
    assert os.listdir(folder / "run") == [checkpoint_file.FILE]


# --- the same bits


@pytest.mark.parametrize("native", [True, False], ids=["fused", "composed"])
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("name", [name for name in SOLVERS if name != "sdca"])
def test_a_hinge_loss_goes_on_bit_for_bit(name: str, penalty: str, native: bool, tmp_path: Path) -> None:
    check_goes_on(lambda: chains(penalty, native=native), SOLVERS[name], tmp_path, EPOCHS if native else 6, seed=3)


@pytest.mark.parametrize("native", [True, False], ids=["fused", "composed"])
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("name", sorted(OF_SMOOTH))
def test_a_smooth_loss_goes_on_bit_for_bit(name: str, penalty: str, native: bool, tmp_path: Path) -> None:
    check_goes_on(
        lambda: chains(penalty, "crf", native=native), SOLVERS[name], tmp_path, EPOCHS if native else 6, seed=3
    )


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("name", DUAL)
def test_dual_variables_of_every_structure_come_back(name: str, structure: str, tmp_path: Path) -> None:
    check_goes_on(lambda: STRUCTURES[structure]().objective(PENALTIES["ridge"]), DUAL[name], tmp_path)


@pytest.mark.parametrize("name", ["sgd", "dual", "casimir-saga", "lbfgs"])
def test_epochs_that_are_not_evaluated_are_counted(name: str, tmp_path: Path) -> None:
    check_goes_on(chains, SOLVERS[name], tmp_path, evaluate_every=3)


def test_scores_that_are_not_linear_go_on(tmp_path: Path) -> None:
    parts = elu_parts()
    w0 = 0.1 * np.random.default_rng(0).standard_normal(parts.model.n_params)
    check_goes_on(lambda: elu_parts().objective(0.1), cs.ProxLinear(), tmp_path, w0=w0)


def test_truths_that_are_sets_go_on(tmp_path: Path) -> None:
    def make() -> cs.Objective:
        parts = chain_parts(valued=True, n=8)
        masks: list[Any] = [np.eye(3, dtype=bool)[y] for y in parts.y]
        for mask in masks[::2]:
            mask[0] = True
        return replace(parts, y=masks).objective(0.05)

    check_goes_on(make, cs.ConcaveConvex(), tmp_path, seed=1)


def test_a_metric_of_dense_features_comes_back(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 5)) @ np.diag([1.0, 1.0, 3.0, 10.0, 30.0])
    y = [np.array([k]) for k in rng.integers(3, size=40)]
    check_goes_on(
        lambda: cs.Objective(cs.LinearClassModel(X, 3), cs.Candidates(), cs.Log(), y, 0.3), cs.LBFGS(), tmp_path
    )


def test_a_checkpoint_after_every_epoch_changes_nothing(tmp_path: Path) -> None:
    straight = cs.minimize(chains(), cs.DualProximal(), EPOCHS, 0.0)
    assert told(cs.minimize(chains(), cs.DualProximal(), EPOCHS, 0.0, checkpoint=cs.Checkpoint(tmp_path, 0))) == told(
        straight
    )


def test_clocks_go_on_from_those_of_the_checkpoint(tmp_path: Path) -> None:
    result = gone_on(chains, cs.SGD(), tmp_path, (2, 5))
    for column in ("seconds", "cpu_seconds", "evaluation_seconds"):
        assert np.all(np.diff(result.trace[column]) >= 0.0)


# --- ends


class Counted:
    """How often a solver was run."""

    def __init__(self, solver: Any) -> None:
        self.solver, self.runs = solver, 0

    def fingerprint(self) -> Any:
        return self.solver

    def run(self, *given: Any) -> None:
        self.runs += 1
        self.solver.run(*given)


@pytest.mark.parametrize(("epochs", "tol", "status"), [(4, 0.0, "epochs"), (200, 0.1, "converged")])
def test_a_run_that_has_ended_is_returned_at_once(epochs: int, tol: float, status: str, tmp_path: Path) -> None:
    solver = Counted(cs.DualProximal())
    first, again = (cs.minimize(chains(), solver, epochs, tol, checkpoint=cs.Checkpoint(tmp_path)) for _ in range(2))
    assert first.status == status
    assert told(first) == told(again)
    assert solver.runs == 1


def test_more_epochs_go_on_where_the_budget_ended(tmp_path: Path) -> None:
    kept = cs.Checkpoint(tmp_path)
    assert cs.minimize(chains(), cs.SGD(), 4, 0.0, checkpoint=kept).trace[-1].epoch == 4
    more = cs.minimize(chains(), cs.SGD(), EPOCHS, 0.0, checkpoint=kept)
    assert told(more) == told(cs.minimize(chains(), cs.SGD(), EPOCHS, 0.0))


def test_a_run_that_a_callback_ends_goes_on(tmp_path: Path) -> None:
    kept = cs.Checkpoint(tmp_path)
    ended = cs.minimize(chains(), cs.SGD(), 9, 0.0, callbacks=[lambda row, w: row.epoch == 3], checkpoint=kept)
    assert (ended.status, ended.trace[-1].epoch) == ("callback", 3)
    assert told(cs.minimize(chains(), cs.SGD(), 9, 0.0, checkpoint=kept)) == told(
        cs.minimize(chains(), cs.SGD(), 9, 0.0)
    )


def test_a_stalled_run_is_not_run_again(tmp_path: Path) -> None:
    make = lambda: chain_parts(n_labels=1).objective(0.3)  # noqa: E731
    solver = Counted(cs.LBFGS(mu=0.1))
    results = [cs.minimize(make(), solver, 9, 0.0, checkpoint=cs.Checkpoint(tmp_path)) for _ in range(2)]
    assert told(results[0]) == told(results[1])
    assert solver.runs == 1


@pytest.mark.parametrize("name", ["sgd", "dual", "casimir", "lbfgs"])
def test_ctrl_c_in_an_epoch_ends_the_run_after_it(name: str, tmp_path: Path) -> None:
    calls = 0

    def make(interrupts: bool) -> cs.Objective:
        objective, count = chains(), 0
        evaluate = objective.evaluate

        def signalled(*given: Any, **options: Any) -> Any:
            nonlocal calls, count
            calls, count = calls + 1, count + 1
            if interrupts and count == 4:
                os.kill(os.getpid(), signal.SIGINT)
            return evaluate(*given, **options)

        objective.evaluate = signalled  # type: ignore[method-assign]
        return objective

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        kept = cs.Checkpoint(tmp_path, 1e6)
        ended = cs.minimize(make(True), SOLVERS[name], EPOCHS, 0.0, checkpoint=kept)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended.status == "interrupted"
    assert len(ended.trace) < EPOCHS
    result = cs.minimize(make(False), SOLVERS[name], EPOCHS, 0.0, checkpoint=kept)
    assert told(result) == told(cs.minimize(chains(), SOLVERS[name], EPOCHS, 0.0))


def test_a_second_ctrl_c_does_not_wait(tmp_path: Path) -> None:
    def metric(w: Any) -> float:
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)
        raise AssertionError("goes on")

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            cs.minimize(chains(), cs.SGD(), 3, metrics={"m": metric}, checkpoint=cs.Checkpoint(tmp_path))
    finally:
        signal.signal(signal.SIGINT, before)


def test_callbacks_keep_their_state(tmp_path: Path) -> None:
    class Sum:
        total = 0.0

        def __call__(self, row: Any, w: Any) -> None:
            self.total += row.objective

        def state(self) -> Any:
            return {"total": self.total}

        def restore(self, state: Any) -> None:
            self.total = state["total"]

    straight, first, second = Sum(), Sum(), Sum()
    kept = cs.Checkpoint(tmp_path)
    cs.minimize(chains(), cs.SGD(), EPOCHS, 0.0, callbacks=[straight])
    cs.minimize(chains(), cs.SGD(), EPOCHS, 0.0, callbacks=[first, InterruptAt(4)], checkpoint=kept)
    cs.minimize(chains(), cs.SGD(), EPOCHS, 0.0, callbacks=[second], checkpoint=kept)
    assert first.total < second.total == straight.total


# --- refusals


def changed_labels() -> cs.Objective:
    parts = chain_parts(valued=True, n=8)
    parts.y[0] = (parts.y[0] + 1) % 3
    return parts.objective(PENALTIES["ridge"])


OTHERS: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "labels": ("data", changed_labels, {}),
    "features": ("data", lambda: chain_parts(seed=1, valued=True, n=8).objective(PENALTIES["ridge"]), {}),
    "weights": ("data", lambda: chains(sample_weight=np.arange(1.0, 9.0)), {}),
    "loss": ("loss", lambda: chains(loss="crf"), {}),
    "penalty": ("penalty", lambda: chains("elastic"), {}),
    "solver": ("solver", chains, {"solver": cs.SGD(averaging="none")}),
    "tol": ("tol", chains, {"tol": 0.5}),
    "seed": ("seed", chains, {"seed": 7}),
    "w0": ("w0", chains, {"w0": np.ones(chains().n_params)}),
    "evaluate_every": ("evaluate_every", chains, {"evaluate_every": 2}),
}


@pytest.mark.parametrize("case", OTHERS)
def test_a_checkpoint_of_another_run_is_refused_in_a_sentence(case: str, tmp_path: Path) -> None:
    what, make, options = OTHERS[case]
    given = {"solver": cs.SGD(), "epochs": 9, "tol": 0.0, "checkpoint": cs.Checkpoint(tmp_path)}
    cs.minimize(chains(), callbacks=[InterruptAt(2)], **given)
    before = (tmp_path / checkpoint_file.FILE).read_bytes()
    with pytest.raises(ValueError, match=f"of a run with another .*{what}.*give what that run was given") as error:
        cs.minimize(make(), **given | options)
    assert "\n" not in str(error.value)
    assert (tmp_path / checkpoint_file.FILE).read_bytes() == before


def test_a_checkpoint_of_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"solver": cs.SGD(), "epochs": 9, "tol": 0.0, "checkpoint": cs.Checkpoint(tmp_path)}
    cs.minimize(chains(), callbacks=[InterruptAt(2)], **given)
    monkeypatch.setattr("casimir.solvers.checkpoint.__version__", "9.9")
    with pytest.raises(ValueError, match=r"another version of casimir: .* then, 9\.9 now"):
        cs.minimize(chains(), **given)


def test_a_damaged_checkpoint_is_refused_and_left_alone(tmp_path: Path) -> None:
    given = {"solver": cs.DualProximal(), "epochs": 9, "tol": 0.0, "checkpoint": cs.Checkpoint(tmp_path)}
    cs.minimize(chains(), callbacks=[InterruptAt(2)], **given)
    file = tmp_path / checkpoint_file.FILE
    whole, rng = file.read_bytes(), np.random.default_rng(0)
    for number in range(60):
        damaged = bytearray(whole)
        if number % 3:
            damaged[int(rng.integers(len(whole))) if number % 2 else int(rng.integers(90))] ^= 1 << int(rng.integers(8))
        else:
            del damaged[int(rng.integers(len(whole))) :]
        file.write_bytes(damaged)
        with pytest.raises((ValueError, FileExistsError), match=r"The checkpoint in|no checkpoint of casimir") as error:
            cs.minimize(chains(), **given)
        assert "\n" not in str(error.value)
        assert file.read_bytes() == damaged
    file.write_bytes(whole.replace(b"casimir checkpoint 1 ", b"casimir checkpoint 2 ", 1))
    with pytest.raises(ValueError, match="has the format 2, and this casimir knows 1; remove it"):
        cs.minimize(chains(), **given)


def test_a_folder_that_cannot_be_is_refused_before_training(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(FileExistsError, match="is a file; a checkpoint is kept in a folder"):
        cs.minimize(chains(), cs.SGD(), checkpoint=cs.Checkpoint(tmp_path / "file"))
    with pytest.raises(OSError, match=r"No checkpoint can be written to .* Give a folder"):
        cs.minimize(chains(), cs.SGD(), checkpoint=cs.Checkpoint("/proc/none"))
    (tmp_path / checkpoint_file.FILE).write_text("mine")
    with pytest.raises(FileExistsError, match="is no checkpoint of casimir, so it is left alone"):
        cs.minimize(chains(), cs.SGD(), checkpoint=cs.Checkpoint(tmp_path))
    assert (tmp_path / checkpoint_file.FILE).read_text() == "mine"


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"path": ""}, TypeError),
        ({"path": 3}, TypeError),
        ({"path": "a", "every_seconds": -1}, ValueError),
        ({"path": "a", "every_seconds": float("nan")}, ValueError),
        ({"path": "a", "every_seconds": "1"}, TypeError),
    ],
)
def test_parameters_are_checked(options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        cs.Checkpoint(**options)


def test_a_solver_that_tells_no_state_is_refused(tmp_path: Path) -> None:
    class Own:
        def run(self, objective: Any, w0: Any, monitor: Any, rng: Any) -> None:
            while not monitor.epoch(w0):
                pass

    with pytest.raises(TypeError, match=r"Own tells nobody its state.*monitor\.rest"):
        cs.minimize(chains(), Own(), tol=0.0, checkpoint=cs.Checkpoint(tmp_path))


def test_a_state_that_cannot_be_written_is_refused_at_the_start(tmp_path: Path) -> None:
    class Own:
        def run(self, objective: Any, w0: Any, monitor: Any, rng: Any) -> None:
            monitor.rest({"at": object()})

    with pytest.raises(TypeError, match="a state has a object; it may have numbers"):
        cs.minimize(chains(), Own(), tol=0.0, checkpoint=cs.Checkpoint(tmp_path))


# --- failures


def test_a_checkpoint_that_cannot_be_written_warns_once_and_training_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = cs.Checkpoint(tmp_path, 0)
    cs.minimize(chains(), cs.SGD(), EPOCHS, 0.0, callbacks=[InterruptAt(2)], checkpoint=kept)
    before = (tmp_path / checkpoint_file.FILE).read_bytes()

    def full(*given: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files, "replace_by", full)
    with pytest.warns(RuntimeWarning, match=r"No checkpoint could be written.*No space left.*goes on") as told_:
        result = cs.minimize(chains(), cs.SGD(), EPOCHS, 0.0, checkpoint=kept)
    assert len(told_) == 1
    assert told(result) == told(cs.minimize(chains(), cs.SGD(), EPOCHS, 0.0))
    assert (tmp_path / checkpoint_file.FILE).read_bytes() == before


def test_what_killed_writers_left_behind_is_removed(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    for _ in ("a training", "the same again, which has nothing left to do"):
        (tmp_path / ".casimir-00112233.tmp").write_bytes(b"half")
        cs.minimize(chains(), cs.SGD(), 2, 0.0, checkpoint=cs.Checkpoint(tmp_path))
        assert sorted(os.listdir(tmp_path)) == ["notes.txt", checkpoint_file.FILE]


def test_writing_takes_at_most_a_fiftieth_of_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("casimir.solvers.checkpoint.time.monotonic", lambda: clock[0])

    def slow(*given: Any) -> None:
        clock[0] += 10.0

    monkeypatch.setattr(checkpoint_file, "write", slow)
    keeper = Keeper(cs.Checkpoint(tmp_path, 1.0), {}, "SGD")
    keeper.write(None)
    written, clock[0] = clock[0], clock[0] + 499.0
    assert not keeper.is_due()
    clock[0] = written + 501.0
    assert keeper.is_due()


# --- fingerprints


@pytest.mark.parametrize("make", [chain_parts, *STRUCTURES.values(), tiny_parts])
def test_a_fingerprint_stays_the_same_when_a_model_is_used(make: Any) -> None:
    parts = make()
    given = parts.model, parts.structure, parts.cost, parts.y
    before = fingerprint(given)
    objective = parts.objective(0.3)
    w = cs.minimize(objective, cs.DualProximal(), 2).w
    parts.structure.max(parts.model.scores(w))
    assert fingerprint(given) == before == fingerprint((make().model, *given[1:]))


def test_a_fingerprint_tells_values_types_and_functions_apart() -> None:
    values: list[Any] = [
        *(None, False, 0, 0.0, -0.0, 1, "1", b"1", (1,), [1], {1}, {1: 1}, np.int64(1), np.float64(1.0), np.ones(1)),
        *(
            np.ones((1, 1)),
            np.ones(1, dtype=np.float32),
            lambda x: x,
            lambda x: x + 1,
            cs.SGD(),
            cs.SGD(mu=0.0),
            cs.SGD,
        ),
        *(cs.SVRG(mu=0.1), cs.SVRG(mu=0.2), cs.Ridge(0.1), cs.Ridge(0.2), np.array(["a"], dtype=object)),
    ]
    seen = [fingerprint(value) for value in values]
    same = {(i, j) for i in range(len(seen)) for j in range(i) if seen[i] == seen[j]}
    assert {(values[i], values[j]) for i, j in same} == {(cs.SGD(mu=0.0), cs.SGD())}


def test_a_fingerprint_reads_data_of_any_kind() -> None:
    """A sparse matrix has `tocsr` and `data`; a dataclass may call a field `data` as well."""

    @dataclass
    class Named:
        data: Any

    assert fingerprint(Named(1)) == fingerprint(Named(1)) != fingerprint(Named(2))
    assert fingerprint(np.add) != fingerprint(np.multiply)
    assert fingerprint(np.dtype("f8")) != fingerprint(np.dtype("f4"))
    dense = np.array([[1.0, 0.0], [0.0, 2.0]])
    assert fingerprint(sp.csr_array(dense)) == fingerprint(sp.csr_array(dense.copy())) != fingerprint(dense)
    assert fingerprint(sp.csr_array(dense)) != fingerprint(sp.csr_array(dense.T @ dense))
